// Theorem    scan-snap.decoder-recursion
// Status     proved in source (Lemma 5)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemma 5, Remark 1
// Statement  repeated for one class n from w = 0,
//              w <- w + eta_Y (e_n - alpha),  alpha = softmax(w),
//            stays on
//              w           = (M-1) h* zeta_n
//              e_n - alpha = (M-1)/(M - 1 + exp(M h*)) zeta_n
//              zeta_n      = M/(M-1) (e_n - 1/M)
//            with
//              h* <- h* + eta_Y/(M - 1 + exp(M h*))
// Hypotheses H1 orthonormal features; H2 one class is drawn again and again
// Check      e_n - alpha at the claimed w on symbols; w and e_n - alpha of the recursion itself
//            after 1, 2, 4, ... draws, at 60 digits and at 30; both by the code of training
// Controls   exp((M-1) h*) for exp(M h*); zeta_n with 1/(M-1) in place of 1/M
// Uses       closed form of the decoder, its answer to a feature

#include <array>

#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks::decoder_recursion {
namespace {

constexpr Knob vocabulary = vocabulary_knob(2, 1e5, 30);
constexpr Knob decoder_rate = decoder_rate_knob(0.01, 100);
constexpr Knob draws = whole_knob("draws", "draws of the class", 1, 200, 200);
enum class Claim { lemma_5, short_exponent, wrong_mean };

// zeta_n at token n and at any other one; h*' = eta_Y/(M - 1 + exp(M h)), e_n - alpha in zeta_n.
template <class T>
struct Claimed {
  T own, other, rate, error;
  Claimed(Claim claim, const T& m, const T& eta, const T& h) {
    const T mean = T(1) / (claim == Claim::wrong_mean ? T(m - T(1)) : m);
    own = m / (m - T(1)) * (T(1) - mean);
    other = -m / (m - T(1)) * mean;
    const T shorter = (m - T(1)) / m * h;
    rate = decoder_rate_of<T>(m, eta, claim == Claim::short_exponent ? shorter : h);
    error = (m - T(1)) / eta * rate;
  }
};

// At w = (M-1) h zeta_n: M h at token n and 0 elsewhere, up to a shift.
Truth symbolic_error(Claim claim) {
  const Expression m = symbol("M");
  const Expression h = symbol("h");
  const std::array<Expression, 2> logits{m * h, Expression(0)};
  const Vector<Expression> multiplicity{{Expression(1), Expression(m - 1)}};
  std::array<Expression, 2> residual;
  respond(logits.data(), multiplicity, 0, residual.data());
  const Claimed<Expression> claimed(claim, m, symbol("eta_Y"), h);
  return vanishes(Matrix<Expression>{{Expression(residual[0] - claimed.error * claimed.own),
                                      Expression(residual[1] - claimed.error * claimed.other)}});
}

void derive(Examination& it) {
  it.judge(Identity{
      .what = "e_n - alpha at w = (M-1) h zeta_n is the claimed multiple of zeta_n",
      .holds = [] { return symbolic_error(Claim::lemma_5); },
      .mistakes = {{"short-exponent", [] { return symbolic_error(Claim::short_exponent); }},
                   {"wrong-mean", [] { return symbolic_error(Claim::wrong_mean); }}},
      .detail = "generic M and h"});
}

// (w - (M-1) h* zeta_n)/((M-1) h*) and e_n - alpha minus its claimed value, in so many digits.
std::vector<double> defects(const Decoder& decoder, const Setting& setting, Claim claim,
                            unsigned digits) {
  const DigitsScope scope(digits);
  const Real m(decoder.vocabulary);
  const Real eta(decoder.rate);
  Real h(0);
  long s = 0;
  std::vector<double> found;
  for (const AfterDraws& at : repeated_draws(decoder, setting.value(feature_overlap_knob),
                                             setting.count(draws), setting.seed)) {
    for (; s < at.draws; ++s) h = h + Claimed<Real>(claim, m, eta, h).rate;
    const Claimed<Real> claimed(claim, m, eta, h);
    for (Index token = 0; token < at.w.size(); ++token) {
      const Real& zeta = token == 0 ? claimed.own : claimed.other;
      found.push_back(to_double(Real(at.w[token] / ((m - Real(1)) * h) - zeta)));
      found.push_back(to_double(Real(at.error[token] - claimed.error * zeta)));
    }
  }
  return found;
}

void examine(const Setting& setting, Examination& it) {
  const Decoder decoder = chosen_decoder(setting, vocabulary, decoder_rate);
  const double overlap = setting.value(feature_overlap_knob);
  it.parameters = {{"M", decoder.vocabulary},
                   {"eta_Y", decoder.rate},
                   {"draws", setting.count(draws)},
                   {"feature overlap", overlap},
                   {"seed", setting.seed}};
  it.require("orthonormal features", -overlap, fmt::format("f_n.f_j = {:.3g}", overlap));
  const auto measured = [&](Claim claim) {
    return with_change(defects(decoder, setting, claim, 60), defects(decoder, setting, claim, 30));
  };
  it.judge(Comparison{
      .what = "w over (M-1) h* minus zeta_n, e_n - alpha minus its multiple of it",
      .measured = measured(Claim::lemma_5),
      .predicted = {0.0},
      .scale = {1.0},
      .mistakes = {measures("short-exponent", [&] { return measured(Claim::short_exponent); }),
                   measures("wrong-mean", [&] { return measured(Claim::wrong_mean); })}});
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.decoder-recursion",
          .claim = "repeated draws of one class move its decoder along zeta_n, w = (M-1) h* zeta_n",
          .paper = "arXiv 2305.16380, Lemma 5",
          .status = "proved in source",
          .hypotheses = {"orthonormal features",
                         by_construction("one class is drawn again and again",
                                         "where features are orthonormal no other class is felt")},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"short-exponent", "exp((M-1) h*) in place of exp(M h*)"},
                       {"wrong-mean", "1/(M-1) taken off in zeta_n, not 1/M"}},
          .knobs = {vocabulary, decoder_rate, draws, feature_overlap_knob},
          .reads = "reduced",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::decoder_recursion
