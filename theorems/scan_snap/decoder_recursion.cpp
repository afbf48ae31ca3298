// Theorem    scan-snap.decoder-recursion
// Status     proved in source (Lemma 5)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemma 5, Remark 1
// Statement  repeated for one class n from w = 0,
//              w <- w + eta_Y (e_n - softmax(w))
//            stays on
//              w           = (M-1) h* zeta_n
//              e_n - alpha = (M-1)/(M - 1 + exp(M h*)) zeta_n
//              zeta_n      = M/(M-1) (e_n - 1/M)
//            with
//              h* <- h* + eta_Y/(M - 1 + exp(M h*))
// Hypotheses H1 orthonormal features; H2 the same class drawn again and again
// Check      the recursion itself at 60 digits beside the claim, for several M and eta_Y; what one
//            step does to the claimed form, on symbols
// Controls   zeta without the mean taken off; exp(h) for exp(M h)
// Uses       closed form of the decoder

#include <fmt/format.h>

#include <algorithm>

#include "popgrad/identity.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/scan_snap/decoder.hpp"
#include "popgrad/softmax.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

using namespace popgrad::scan_snap;

constexpr unsigned working_digits = 60;

constexpr Knob vocabulary{.name = "vocabulary",
                          .meaning = "tokens M",
                          .low = 2,
                          .high = 300,
                          .usual = 30,
                          .spacing = Spacing::logarithmic};
constexpr Knob decoder_rate{.name = "decoder-rate",
                            .meaning = "learning rate eta_Y",
                            .low = 0.01,
                            .high = 100,
                            .usual = 1,
                            .spacing = Spacing::logarithmic};
constexpr Knob draws{.name = "draws",
                     .meaning = "draws of the class",
                     .low = 1,
                     .high = 200,
                     .usual = 200,
                     .spacing = Spacing::whole};
constexpr Knob feature_overlap{
    .name = "feature-overlap",
    .meaning = "f_n.f_j with a class j that is drawn as often, at random",
    .low = 1e-4,
    .high = 1,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "orthonormal features"};

// zeta_0 in M coordinates, as the claim or the control has it.
template <class T>
Vector<T> centred(Index m, std::string_view variant) {
  const T size(static_cast<int>(m));
  Vector<T> zeta = Vector<T>::Constant(m, variant == "no-mean" ? T(0) : T(T(-1) / (size - T(1))));
  zeta[0] = variant == "no-mean" ? T(size / (size - T(1))) : T(1);
  return zeta;
}

struct Defect {
  double weights = 0, error = 0;
  std::string where;
};

// What class 0 sees of its decoder: W_0 = Y'f_0 (M) and, if features overlap, that of class 1.
struct Decoder {
  Vector<Real> own, other;
  Real overlap;

  // eta_Y (e - softmax), of the class that is drawn.
  void draw(bool other_class, const Real& eta) {
    const Vector<Real>& seen = other_class ? other : own;
    Vector<Real> pull = -softmax(seen);
    pull[other_class ? 1 : 0] += Real(1);
    pull *= eta;
    (other_class ? other : own) += pull;
    if (overlap > 0) (other_class ? own : other) += pull * overlap;
  }
};

void take_defect(Index m, double rate, const Setting& setting, std::string_view variant,
                 Defect& worst) {
  const Real size_of_vocabulary(static_cast<int>(m));
  const Real eta = from_text<Real>(fmt::format("{}", rate));
  const Vector<Real> zeta = centred<Real>(m, variant);
  Decoder decoder{Vector<Real>::Constant(m, Real(0)), Vector<Real>::Constant(m, Real(0)),
                  Real(setting.value(feature_overlap))};
  Stream stream(setting.seed, 0, 8);
  Real h(0);
  for (Index s = 0; s < setting.count(draws); ++s) {
    // Of orthonormal features no other class is felt.
    while (decoder.overlap > 0 && stream.uniform() < 0.5) decoder.draw(true, eta);
    const Real exponent = variant == "plain-exponent" ? h : Real(size_of_vocabulary * h);
    const Real weight = size_of_vocabulary - Real(1) + exp(exponent);
    Vector<Real> error = -softmax(decoder.own);
    error[0] += Real(1);
    const Vector<Real> claimed = zeta * Real((size_of_vocabulary - Real(1)) / weight);
    worst.error =
        std::max(worst.error, to_double(Vector<Real>(error - claimed).cwiseAbs().maxCoeff()));
    decoder.draw(false, eta);
    h += eta / weight;
    const Real size = decoder.own.cwiseAbs().maxCoeff();
    const Vector<Real> defect = decoder.own - zeta * Real((size_of_vocabulary - Real(1)) * h);
    const double apart = to_double(Real(defect.cwiseAbs().maxCoeff() / size));
    if (apart > worst.weights) {
      worst.weights = apart;
      worst.where = fmt::format("M = {}, eta_Y = {}, step {}", m, rate, s + 1);
    }
  }
}

// On a grid, or in a search at one point of it.
Defect largest_defect(const Setting& setting, std::string_view variant) {
  const DigitsScope scope(working_digits);
  Defect worst;
  if (setting.only_what_varies) {
    take_defect(setting.count(vocabulary), setting.value(decoder_rate), setting, variant, worst);
    return worst;
  }
  for (const Index m : {2, 5, 30, 400}) {
    for (const double rate : {0.1, 1.0, 20.0}) take_defect(m, rate, setting, variant, worst);
  }
  return worst;
}

// softmax((M-1) h zeta_n) of the right token 0 and of another one 1, for a symbolic M:
//   u       = exp(M h) = exp((M-1) h (zeta_0 - zeta_1))
//   alpha_0 = u/(u + M - 1)
//   alpha_1 = 1/(u + M - 1)
Truth symbolic_step(std::string_view variant) {
  const Expression m = symbol("M");
  const Expression u = symbol("u");  // exp of the difference of the two logits
  const Expression exponential =
      variant == "plain-exponent" ? symbol("v") : u;  // exp(h) is another number
  const Expression others = m - 1;
  const Expression factor = others / (others + exponential);
  const Expression mean = variant == "no-mean" ? Expression(0) : Expression(1 / m);
  const Expression own = m / others * (1 - mean);
  const Expression other = -m / others * mean;
  const Matrix<Expression> defects{{Expression(1 - u / (u + others) - factor * own),
                                    Expression(-1 / (u + others) - factor * other)}};
  return vanishes(defects);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double overlap = setting.value(feature_overlap);
  if (setting.only_what_varies) {
    result.parameters = {{"M", setting.count(vocabulary)},
                         {"eta_Y", setting.value(decoder_rate)},
                         {"steps", setting.count(draws)},
                         {"feature overlap", overlap},
                         {"seed", setting.seed}};
  } else {
    result.parameters = {
        {"M", "2, 5, 30, 400"}, {"eta_Y", "0.1, 1, 20"}, {"steps", setting.count(draws)}};
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "one step keeps w a multiple of zeta, at the claimed rate",
                                       symbolic_step(variant), "generic M and h"));
  }
  result.hypotheses.push_back({"orthonormal features", overlap == 0 ? Truth::yes : Truth::no,
                               fmt::format("f_n.f_j = {:.3g}", overlap)});
  const Defect defect = largest_defect(setting, variant);
  const std::string reason = "200 steps of rounding at 60 digits, of 1 - alpha times eta_Y/20";
  const double rate = setting.only_what_varies ? setting.value(decoder_rate) : 20;
  const double allowed = setting.allow(1e-55 * std::max(1.0, rate / 20));
  result.evidence.push_back(bounded(EvidenceKind::numerical, "w minus (M-1) h* zeta, relative",
                                    defect.weights, allowed, reason, "worst at " + defect.where));
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "e_n - alpha minus its claimed multiple of zeta", defect.error,
                                    allowed, reason));
  return result;
}

}  // namespace

Statement decoder_recursion() {
  return {.id = "scan-snap.decoder-recursion",
          .claim = "repeated draws of one class move its decoder along zeta_n, w = (M-1) h* zeta_n",
          .paper = "arXiv 2305.16380, Lemma 5",
          .status = "proved in source",
          .hypotheses = {"orthonormal features", "one class is drawn again and again"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"no-mean", "zeta without the mean taken off"},
                       {"plain-exponent", "exp(h) in place of exp(M h)"}},
          .knobs = {vocabulary, decoder_rate, draws, feature_overlap},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scan_snap
