// Theorem    scb.softmax-link
// Status     claimed in source (the authors' reply), corrected here
// Source     Ren, Wang, Lee, arXiv 2410.23438, reply to the reviewers
// Statement  softmax attention moves by J^2, J = diag(a) - a a':
//              (J^2)_ij = a_i^2 delta_ij - a_i a_j (a_i + a_j - |a|^2)
//              J^2      = (I - 11'/T)/T^2   at a = 1/T;
//            so near the start softmax with eta T^2 follows linear attention with eta
// Hypotheses H1 near the start, T Q large
// Check      both facts on symbols; curves of both flows near the start, the deviation's order
// Controls   time rescaled by T in place of T^2; J in place of J^2 (as the reply prints for
//            a_1 of order one)
// Uses       rung flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/scb/population_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 50,
                      .high = 1e6,
                      .usual = 1000,
                      .spacing = Spacing::logarithmic};
constexpr Knob logit{.name = "logit",
                     .meaning = "T alpha_A up to which the curves are compared",
                     .low = 1e-3,
                     .high = 0.1,
                     .usual = 0.1,
                     .spacing = Spacing::logarithmic};
constexpr Knob far_from_start{
    .name = "far-from-start",
    .meaning =
        "T alpha_A up to which the curves are compared, against the deviation allowed at "
        "logit; 0: up to logit itself",
    .low = 0.01,
    .high = 0.7,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "near the start"};

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

// Largest |alpha_A of softmax - alpha_A of linear| up to t = end while the latter is
// below `top`, over `top`.
double deviation_below(double top, const Training<double>& linear, double end,
                       std::string_view variant) {
  Training<double> softmax = linear;
  softmax.softmax = true;
  const auto positions = static_cast<double>(linear.bigrams.context);
  softmax.attention_rate = variant == "same-time" ? positions : positions * positions;
  const Trajectory<double> a = follow(linear, end);
  const Trajectory<double> b = follow(softmax, end);
  double worst = 0;
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    if (a.rows[i][1] > top) break;
    worst = std::max(worst, std::fabs(a.rows[i][1] - b.rows[i][1]) / top);
  }
  return worst;
}

// sum_k mu_k sum_t q^3 over that of q^2: how much a weight of the context counts on average.
double mean_weight(const Bigrams<double>& b) {
  double cubes = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k));
    cubes += b.stationary[k] * law.array().cube().sum();
  }
  return cubes / context_size(b);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Training<double> training = from_scratch(setting.count(tokens), setting.count(length),
                                                 setting.count(support_knob), setting.seed);
  const Bigrams<double>& b = training.bigrams;
  const auto positions = static_cast<double>(b.context);
  const double near = setting.value(logit);
  const double far = setting.value(far_from_start);
  const double top = far > 0 ? far : near;
  result.parameters = {{"symbols", "T = 4"},
                       {"flows", fmt::format("N = {}, T = {}, Q = {}", b.tokens(), b.context,
                                             setting.count(support_knob))},
                       {"T alpha_A", top},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"near the start", top <= 0.1 ? Truth::yes : Truth::no,
                               fmt::format("up to T alpha_A = {:.3g}", top)});
  if (variant != "same-time" && !setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic, "J^2 entry by entry",
                                       square_formula(variant), "generic attention, T = 4"));
  }
  if (variant.empty() && !setting.only_what_varies) {
    result.evidence.push_back(
        identity(EvidenceKind::symbolic, "J^2 = (I - 11'/T)/T^2 at a = 1/T", at_uniform()));
  }
  if (variant != "jacobian") {
    // The flow passes alpha_A = K_P t^2/(2 T) at first, later it is faster.
    const double end =
        setting.only_what_varies ? 1.1 * std::sqrt(2 * top / transition_size(b)) : 30;
    // a' = (T a)^2 g where linear attention has a' = g. With x = T alpha_A q that adds x^2 while
    // alpha_A grows as t^2, and 4/3 x^2 while it grows as an exponential; then terms x^3.
    const double next = 4.0 / 3 * near * mean_weight(b) * (1 + 2 * near);
    std::string detail;
    if (!setting.only_what_varies) {
      detail = fmt::format("{:.3g} up to a tenth of it, {:.3g} up to ten times",
                           deviation_below(0.1 * top / positions, training, end, variant),
                           deviation_below(10 * top / positions, training, end, variant));
    }
    result.evidence.push_back(bounded(
        EvidenceKind::numerical,
        fmt::format("alpha_A of softmax minus linear, up to T alpha_A = {:.3g}, relative", top),
        deviation_below(top / positions, training, end, variant), setting.allow(next),
        "the next order is 4/3 T alpha_A times the mean of q", detail));
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
          .knobs = {tokens, length, support_knob, logit, far_from_start},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
