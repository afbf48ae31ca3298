// Theorem    joma.stable-rank
// Status     observed in source, conditions derived here
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 5 (low rank during training)
// Statement  reduced flow, nonlinear phi, K units, V(0) = 0, one token dominant: the stable rank
//              |V|_F^2/|V|_2^2
//            starts (t -> 0+) and ends at that of Mu and falls in between
// Hypotheses H1 V(0) = 0; H2 one token dominates: the tokens of Mu differ in size
// Check      Mu = diag(3, 2.5, 2, 1.5), tau = 2, along the integrated flow
// Controls   equal v(0) in all units (starts at 1); a monotone rise claimed
// Uses       rung reduced

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/joma/stable_rank.hpp"
#include "popgrad/random.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob dominant{.name = "dominant",
                        .meaning = "size of the dominant token of Mu",
                        .low = 1,
                        .high = 3,
                        .usual = 3,
                        .spacing = Spacing::logarithmic};
constexpr Knob weakest{.name = "weakest",
                       .meaning = "size of the weakest token, in units of the dominant one",
                       .low = 0.05,
                       .high = 0.95,
                       .usual = 0.5};
constexpr Knob start{.name = "start",
                     .meaning = "deviation of V(0), in units of the dominant token",
                     .low = 1e-9,
                     .high = 0.3,
                     .usual = 0,
                     .spacing = Spacing::logarithmic,
                     .breaks = "V(0) = 0"};
constexpr Knob mixing{.name = "mixing",
                      .meaning =
                          "deviation of Mu's entries off the diagonal, in units of the "
                          "dominant token",
                      .low = 1e-3,
                      .high = 10,
                      .usual = 0,
                      .spacing = Spacing::logarithmic,
                      .breaks = "one token dominates"};

// Mu = diag: evenly spaced as in the fixed instance, or drawn between weakest and dominant.
Matrix<double> target_of(const Setting& setting, Examination& result) {
  const Index d = setting.count(token_count);
  const double top = setting.value(dominant);
  const double least = setting.value(weakest);
  Stream stream(setting.seed, stream_of_drawn_instances, 10);
  Vector<double> mu(d);
  for (Index l = 0; l < d; ++l) {
    const double place = setting.only_what_varies && l > 0 && l + 1 < d
                             ? stream.uniform()
                             : static_cast<double>(l) / static_cast<double>(d - 1);
    mu[l] = top - top * (1 - least) * place;
  }
  Matrix<double> target = mu.asDiagonal();
  if (const double size = setting.value(mixing); size > 0) {
    for (Index l = 0; l < d; ++l) {
      for (Index k = 0; k < d; ++k) target(l, k) += size * mu[l] * stream.normal();
      target.row(l) *= mu[l] / target.row(l).norm();
    }
    result.hypotheses.push_back(
        {"one token dominates", Truth::no, fmt::format("rows turned by {}", size)});
  }
  return target;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Index d = setting.count(token_count);
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.target = target_of(setting, result);
  instance.tau = setting.value(tau);
  for (Index l = 0; l < d; ++l) result.parameters["Mu"].push_back(instance.target(l, l));
  result.parameters["tau"] = instance.tau;
  result.parameters["seed"] = setting.seed;
  const bool equal_start = variant == "equal-start";
  instance.start = Matrix<double>::Constant(d, d, equal_start ? 0.01 : 0.0);
  if (const double size = setting.value(start); size > 0) {
    Stream stream(setting.seed, stream_of_drawn_instances, 11);
    for (double& v : instance.start.reshaped()) {
      v = size * setting.value(dominant) * stream.normal();
    }
    result.hypotheses.push_back({"V(0) = 0", Truth::no, fmt::format("of size {}", size)});
  }
  instance.logits = Vector<double>::Zero(d);
  const double target = popgrad::joma::stable_rank<double>(instance.target);

  SolveRequest<double> request;
  request.end = 30.0;
  request.step_budget = 1'000'000;
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-13;
  // Fine where the rank falls, coarse while it returns; the first time stands for t -> 0+.
  request.save_at = {1e-6};
  for (int k = 1; k <= 1000; ++k) request.save_at.push_back(2.0 * k / 1000);
  request.save_at.push_back(30.0);
  const Trajectory<double> run = solve(forget_type(ReducedFlow<double>(instance)), request);
  if (!run.outcome.usable()) return result;
  double least = run.rows.front()[1];
  std::size_t at = 0;
  for (std::size_t k = 0; k < run.rows.size(); ++k) {
    if (run.rows[k][1] < least) {
      least = run.rows[k][1];
      at = k;
    }
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "start (t = 1e-6) minus the rank of Mu",
      std::fabs(run.rows.front()[1] - target), allowance(setting, 1e-5, target),
      "V = t Mu + O(t^2)", fmt::format("{:.6f} against {:.6f}", run.rows.front()[1], target)));
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "end minus the rank of Mu", std::fabs(run.rows.back()[1] - target),
      allowance(setting, 1e-8, target), "delta of the slowest token is below e^{-30}"));
  if (variant == "monotone") {
    result.evidence.push_back(bounded(EvidenceKind::numerical, "fall below the start",
                                      run.rows.front()[1] - least, 1e-9, "a rise has no fall"));
    return result;
  }
  if (!setting.only_what_varies) {
    result.evidence.push_back(bounded(EvidenceKind::numerical, "minimum against 1.535220",
                                      std::fabs(least - 1.535220), 1e-5,
                                      "five digits of a minimum read at save points every 2e-3",
                                      fmt::format("{:.7f} at t = {:.4f}", least, run.t[at])));
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical, "minimum minus the rank of Mu",
                                    least - target, -1e-6 * target,
                                    "below, by more than the solve resolves"));
  double wrong_way = 0;
  for (std::size_t k = 1; k < run.rows.size(); ++k) {
    const double change = run.rows[k][1] - run.rows[k - 1][1];
    wrong_way = std::max(wrong_way, k <= at ? change : -change);
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "largest rise before the minimum, or fall after it", wrong_way,
                                    allowance(setting, 1e-9, target), "what the solve resolves"));
  return result;
}

}  // namespace

Statement stable_rank() {
  return {.id = "joma.stable-rank",
          .claim = "stable rank from V(0) = 0 falls and returns to that of Mu",
          .paper = "arXiv 2310.00535, Section 5",
          .status = "observed in source, conditions derived here",
          .hypotheses = {"V(0) = 0", "one token dominates"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"equal-start", "v(0) = 0.01 in all units in place of 0"},
                       {"monotone", "no fall in between"}},
          .knobs = {tau, token_count, dominant, weakest, start, mixing},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
