// Theorem    scb.softmax-link                        Status  claimed in the authors' reply,
// corrected Source     Ren, Wang, Lee, arXiv 2410.23438, reply to the reviewers Statement  softmax
// attention moves by J^2, J = diag(a) - a a': (J^2)_ij = a_i^2 delta_ij -
//            a_i a_j (a_i + a_j - |a|^2), which is (I - 11'/T)/T^2 at a = 1/T; so near the start
//            softmax with eta T^2 follows linear attention with eta
// Hypotheses H1 near the start, T Q large
// Check      both facts on symbols; curves of both flows near the start, the deviation's order
// Controls   time not rescaled; J in place of J^2 (as the reply prints for a_1 of order one)
// Uses       rung flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/identity.hpp"
#include "popgrad/scb/population_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

Truth square_formula(std::string_view variant) {
  // Four weights that sum to 1.
  Vector<Expression> a(4);
  const Vector<Expression> free = symbols("a", 3);
  a << free[0], free[1], free[2], 1 - free[0] - free[1] - free[2];
  Matrix<Expression> j(4, 4);
  Expression size = 0;
  for (Index i = 0; i < 4; ++i) {
    size += a[i] * a[i];
    for (Index k = 0; k < 4; ++k) j(i, k) = (i == k ? a[i] : Expression(0)) - a[i] * a[k];
  }
  const Matrix<Expression> square = variant == "jacobian" ? j : Matrix<Expression>(j * j);
  Matrix<Expression> defect(4, 4);
  for (Index i = 0; i < 4; ++i) {
    for (Index k = 0; k < 4; ++k) {
      const Expression own = i == k ? a[i] * a[i] : Expression(0);
      defect(i, k) = square(i, k) - own + a[i] * a[k] * (a[i] + a[k] - size);
    }
  }
  return vanishes(defect);
}

// At a = 1/T, T a symbol: entries of J^2 on and off the diagonal by the formula.
Truth at_uniform() {
  const Expression t = symbol("T");
  const Expression a = 1 / t;
  const Expression off = -a * a * (2 * a - a);  // |a|^2 = 1/T
  const Expression on = a * a + off;
  return vanishes(Matrix<Expression>{
      {Expression(on - (1 - 1 / t) / (t * t)), Expression(off + 1 / (t * t * t))}});
}

Trajectory<double> follow(const Training<double>& training, double end) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, 41);
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-15;
  request.find_events = false;
  return solve(forget_type(PopulationFlow<double>(training)), request);
}

// Largest |alpha_A of softmax - alpha_A of linear| while the latter is below `top`, over `top`.
double deviation_below(double top, std::uint64_t seed, std::string_view variant) {
  Training<double> linear;
  linear.bigrams = random_bigrams(3, 1000, 2, seed);
  linear.start = linear.bigrams.stationary * Vector<double>::Ones(3).transpose();
  Training<double> softmax = linear;
  softmax.softmax = true;
  const double length = 1000;
  softmax.attention_rate = variant == "same-time" ? length : length * length;
  const Trajectory<double> a = follow(linear, 30);
  const Trajectory<double> b = follow(softmax, 30);
  double worst = 0;
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    if (a.rows[i][1] > top) break;
    worst = std::max(worst, std::fabs(a.rows[i][1] - b.rows[i][1]) / top);
  }
  return worst;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  result.parameters = {
      {"symbols", "T = 4"}, {"flows", "N = 3, T = 1000, Q = 2"}, {"seed", setting.seed}};
  if (variant != "same-time") {
    result.evidence.push_back(identity(EvidenceKind::symbolic, "J^2 entry by entry",
                                       square_formula(variant), "generic attention, T = 4"));
  }
  if (variant.empty()) {
    result.evidence.push_back(
        identity(EvidenceKind::symbolic, "J^2 = (I - 11'/T)/T^2 at a = 1/T", at_uniform()));
  }
  if (variant != "jacobian") {
    // a moves by exp(w): the curves part when w T alpha is of order one, i.e. alpha_A near 1/T.
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "alpha_A of softmax minus linear, up to alpha_A = 1e-4, relative",
        deviation_below(1e-4, setting.seed, variant), 0.1,
        "the next order is w = T alpha_A q, up to 0.1 there, halved",
        fmt::format("{:.3g} up to 1e-5, {:.3g} up to 1e-3",
                    deviation_below(1e-5, setting.seed, variant),
                    deviation_below(1e-3, setting.seed, variant))));
  }
  return result;
}

}  // namespace

Statement softmax_link() {
  return {.id = "scb.softmax-link",
          .claim = "near the start softmax attention is linear attention slowed down by T^2",
          .paper = "arXiv 2410.23438, reply to the reviewers",
          .status = "claimed in source",
          .hypotheses = {"near the start"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"same-time", "rate T in place of T^2"}, {"jacobian", "J in place of J^2"}},
          .examine = examine};
}

Erratum square_of_jacobian() {
  return {.name = "scb.softmax-square",
          .statement = "scb.softmax-link",
          .paper_says = "the reply to the reviewers: (J^2)_11 = a_1 (1 - a_1) for a_1 of order one",
          .algebra_says = "that is J_11; (J^2)_11 = a_1^2 (1 - a_1)^2 + O(1/T)",
          .evidence = [] {
            // a_1 = x, the others (1 - x)/(T - 1): (J^2)_11 = x^2 (1-x)^2 (1 + 1/(T-1)).
            const Expression x = symbol("x");
            const Expression t = symbol("T");
            const Expression size = x * x + (1 - x) * (1 - x) / (t - 1);
            const Expression entry = x * x - x * x * (2 * x - size);
            const Expression claimed = x * x * (1 - x) * (1 - x) * (1 + 1 / (t - 1));
            return std::vector<Evidence>{
                identity(EvidenceKind::symbolic, "(J^2)_11 = x^2 (1-x)^2 (1 + 1/(T-1))",
                         vanishes(Expression(entry - claimed))),
                identity(EvidenceKind::symbolic, "it is not x (1-x)",
                         vanishes(Expression(entry - x * (1 - x))) == Truth::no ? Truth::yes
                                                                                : Truth::no)};
          }};
}

}  // namespace popgrad::theorems::scb
