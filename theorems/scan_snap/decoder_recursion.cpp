// Theorem    scan-snap.decoder-recursion             Status  proved in source (Lemma 5)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemma 5, Remark 1
// Statement  w <- w + eta_Y (e_n - softmax(w)), w(0) = 0, repeated for one class n:
//            w = (M-1) h* zeta_n and e_n - alpha = (M-1)/(M - 1 + exp(M h*)) zeta_n,
//            zeta_n = M/(M-1) (e_n - 1/M), h* <- h* + eta_Y/(M - 1 + exp(M h*))
// Hypotheses H1 orthonormal features; H2 the same class drawn again and again
// Check      the recursion itself at 60 digits beside the claim, for several M and eta_Y; what one
//            step does to the claimed form, on symbols
// Controls   zeta without the mean taken off; exp(h) for exp(M h)
// Uses       decoder

#include <fmt/format.h>

#include <algorithm>

#include "popgrad/identity.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/scan_snap/decoder.hpp"
#include "popgrad/softmax.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

using namespace popgrad::scan_snap;

constexpr unsigned working_digits = 60;
constexpr int steps = 200;

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

Defect largest_defect(std::string_view variant) {
  const DigitsScope scope(working_digits);
  Defect worst;
  for (const Index m : {2, 5, 30, 400}) {
    for (const char* const rate : {"0.1", "1", "20"}) {
      const Real vocabulary(static_cast<int>(m));
      const Real eta = from_text<Real>(rate);
      const Vector<Real> zeta = centred<Real>(m, variant);
      Vector<Real> w = Vector<Real>::Constant(m, Real(0));
      Real h(0);
      for (int s = 0; s < steps; ++s) {
        const Real exponent = variant == "plain-exponent" ? h : Real(vocabulary * h);
        const Real weight = vocabulary - Real(1) + exp(exponent);
        Vector<Real> error = -softmax(w);
        error[0] += Real(1);
        const Vector<Real> claimed = zeta * Real((vocabulary - Real(1)) / weight);
        worst.error =
            std::max(worst.error, to_double(Vector<Real>(error - claimed).cwiseAbs().maxCoeff()));
        w += error * eta;
        h += eta / weight;
        const Real size = w.cwiseAbs().maxCoeff();
        const Vector<Real> defect = w - zeta * Real((vocabulary - Real(1)) * h);
        const double apart = to_double(Real(defect.cwiseAbs().maxCoeff() / size));
        if (apart > worst.weights) {
          worst.weights = apart;
          worst.where = fmt::format("M = {}, eta_Y = {}, step {}", m, rate, s + 1);
        }
      }
    }
  }
  return worst;
}

// softmax((M-1) h zeta_n) of the right token and of another, for a symbolic M: with
// u = exp(M h) = exp((M-1) h (zeta_0 - zeta_1)), alpha_0 = u/(u + M - 1), alpha_1 = 1/(u + M - 1).
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

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  Examination result;
  result.parameters = {{"M", "2, 5, 30, 400"}, {"eta_Y", "0.1, 1, 20"}, {"steps", steps}};
  result.evidence.push_back(identity(EvidenceKind::symbolic,
                                     "one step keeps w a multiple of zeta, at the claimed rate",
                                     symbolic_step(variant), "generic M and h"));
  const Defect defect = largest_defect(variant);
  const std::string reason = "200 steps of rounding at 60 digits";
  result.evidence.push_back(bounded(EvidenceKind::numerical, "w minus (M-1) h* zeta, relative",
                                    defect.weights, 1e-55, reason, "worst at " + defect.where));
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "e_n - alpha minus its claimed multiple of zeta", defect.error,
                                    1e-55, reason));
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
          .examine = examine};
}

Erratum centred_sum() {
  return {.name = "scan-snap.zeta-sum",
          .statement = "scan-snap.decoder-recursion",
          .paper_says = "Remark 1: the zeta_n sum to 0",
          .algebra_says = "they do if all M tokens are next tokens; the sum over K < M is not 0",
          .evidence = [] {
            const auto size_of_sum = [](Index classes, Index m) {
              Vector<Rational> sum = Vector<Rational>::Constant(m, Rational(0));
              for (Index n = 0; n < classes; ++n) {
                for (Index l = 0; l < m; ++l) {
                  const Rational own = l == n ? Rational(1) : Rational(0);
                  sum[l] += Rational(m) / Rational(m - 1) * (own - Rational(1) / Rational(m));
                }
              }
              return Rational(sum.squaredNorm());
            };
            return std::vector<Evidence>{
                identity(EvidenceKind::exact, "K = M = 5: |sum|^2 = 0",
                         size_of_sum(5, 5) == 0 ? Truth::yes : Truth::no),
                identity(EvidenceKind::exact, "K = 3, M = 5: |sum|^2 is not 0",
                         size_of_sum(3, 5) != 0 ? Truth::yes : Truth::no,
                         fmt::format("|sum|^2 = {}", to_text(size_of_sum(3, 5))))};
          }};
}

}  // namespace popgrad::theorems::scan_snap
