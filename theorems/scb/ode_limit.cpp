// Theorem    scb.ode-limit
// Status     derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 2 (gradient flow in place of SGD)
// Statement  descent follows the flow with an error O(eta); the spread of SGD over runs is
//            O(sqrt(eta/B)), projected, at a fixed time
// Hypotheses H1 a fixed time before noise decides the branch; H2 independent minibatches
// Check      slope of |descent - flow| in eta; slope of the spread in eta/B over runs
// Controls   order 2 claimed for descent; order 1 claimed for the spread
// Uses       rungs sgd, gd, flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scb/population_flow.hpp"
#include "popgrad/scb/sequence_sgd.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/statistics.hpp"
#include "popgrad/walk.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 5,
                      .high = 50,
                      .usual = 20,
                      .spacing = Spacing::whole};
constexpr Knob correlation{.name = "correlation",
                           .meaning = "of the transferred kernel with P, where training starts",
                           .low = 0.1,
                           .high = 1,
                           .usual = 0.8};
constexpr Knob horizon_knob{
    .name = "horizon", .meaning = "the fixed time", .low = 2, .high = 8, .usual = 4};
constexpr Knob largest_step{.name = "largest-step",
                            .meaning = "largest learning rate of the descent",
                            .low = 0.05,
                            .high = 0.4,
                            .usual = 0.4,
                            .spacing = Spacing::logarithmic};
constexpr Knob shared_time{.name = "shared-time",
                           .meaning = "time over which steps share one minibatch, over the horizon",
                           .low = 0.01,
                           .high = 1,
                           .usual = 0,
                           .spacing = Spacing::logarithmic,
                           .breaks = "independent minibatches"};

// A transfer start, so that the field is of order one at once.
Training<double> small_training(const Setting& setting) {
  Training<double> training;
  training.bigrams = random_bigrams(setting.count(tokens), setting.count(length),
                                    setting.count(support_knob), setting.seed);
  training.start = transfer_start(training.bigrams, 1.0, setting.value(correlation), setting.seed);
  return training;
}

std::uint64_t steps_to(double horizon, double eta) {
  return static_cast<std::uint64_t>(std::llround(horizon / eta));
}

Vector<double> after(const AnyRung<double>& rung, double horizon, double eta) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps_to(horizon, eta);
  request.save_steps = {request.steps};
  request.keep_states = true;
  return walk(rung, rung.initial, request).front().states.front();
}

double descent_order(const Setting& setting) {
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(small_training(setting)));
  const double largest = setting.value(largest_step);
  // A whole number of each step.
  const double horizon =
      largest * static_cast<double>(steps_to(setting.value(horizon_knob), largest));
  SolveRequest<double> request;
  request.end = horizon;
  request.save_at = {horizon};
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-14;
  request.find_events = false;
  const Vector<double> limit = solve(rung, request).last_state;
  const std::vector<double> etas{largest, largest / 2, largest / 4, largest / 8};
  std::vector<double> errors;
  for (const double eta : etas) errors.push_back((after(rung, horizon, eta) - limit).norm());
  return log_log_slope(etas, errors);
}

// Descent whose minibatch changes after every `shared` steps only.
Vector<double> with_shared_batches(const AnyRung<double>& rung, const WalkRequest& request,
                                   std::uint32_t run, std::uint64_t shared) {
  Vector<double> x = rung.initial;
  Vector<double> dx(x.size());
  for (std::uint64_t step = 0; step < request.steps; ++step) {
    Stream stream(request.seed, run, step / shared);
    rung.sample_rhs(x, dx, stream, request.batch);
    x += request.step_size * dx;
  }
  return x;
}

std::vector<Vector<double>> final_states(const AnyRung<double>& rung, const WalkRequest& request,
                                         std::uint64_t shared) {
  std::vector<Vector<double>> states;
  if (shared > 1) {
    for (std::uint32_t run = 0; run < request.runs; ++run) {
      states.push_back(with_shared_batches(rung, request, request.first_run + run, shared));
    }
    return states;
  }
  for (const auto& run : walk(rung, rung.initial, request)) states.push_back(run.states.front());
  return states;
}

std::uint32_t runs_of(const Setting& setting) {
  return setting.full ? 1000 : setting.only_what_varies ? 30 : 100;
}

double spread_order(const Setting& setting) {
  const AnyRung<double> rung = forget_type(SequenceSgd<double>(small_training(setting)));
  const double horizon = setting.value(horizon_knob);
  std::vector<double> ratios, spreads;
  std::uint32_t first = 0;
  const Index smallest = setting.only_what_varies ? 16 : 64;
  for (const auto& [eta, times] : {std::pair{0.1, 1}, {0.05, 2}, {0.05, 8}, {0.025, 16}}) {
    const Index batch = times * smallest;
    WalkRequest request;
    request.step_size = eta;
    request.steps = steps_to(horizon, eta);
    request.save_steps = {request.steps};
    request.batch = batch;
    request.runs = runs_of(setting);
    request.first_run = first;
    request.seed = setting.seed;
    request.jobs = setting.jobs;
    request.keep_states = true;
    first += request.runs;
    const double shared = setting.value(shared_time) * static_cast<double>(request.steps);
    const auto states =
        final_states(rung, request, static_cast<std::uint64_t>(std::max(1L, std::lround(shared))));
    Vector<double> mean = Vector<double>::Zero(rung.dimension);
    for (const Vector<double>& state : states) mean += state / request.runs;
    double variance = 0;
    for (const Vector<double>& state : states) {
      variance += (state - mean).squaredNorm() / (request.runs - 1);
    }
    ratios.push_back(eta / static_cast<double>(batch));
    spreads.push_back(std::sqrt(variance));
  }
  return log_log_slope(ratios, spreads);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double shared = setting.value(shared_time);
  result.parameters = {{"N", setting.count(tokens)},
                       {"T", setting.count(length)},
                       {"t", setting.value(horizon_knob)},
                       {"shared", shared},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"independent minibatches", shared == 0 ? Truth::yes : Truth::no,
                               fmt::format("shared over {:.3g} of the time", shared)});
  if (variant != "linear-spread") {
    const double claimed = variant == "second-order" ? 2.0 : 1.0;
    const double order = descent_order(setting);
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, "order of descent towards the flow, minus the claimed one",
                std::fabs(order - claimed), 0.2, "the next order adds a fraction eta of the slope",
                fmt::format("measured {:.3f}", order)));
  }
  if (variant != "second-order") {
    const double claimed = variant == "linear-spread" ? 1.0 : 0.5;
    const double order = spread_order(setting);
    // The variance sums components, some of them alike: its logarithm is known to sqrt(2/runs) or
    // better, half of it is that of the spread, and the slope over a factor 64 to 0.32 of that.
    const double deviation = 0.25 / std::sqrt(static_cast<double>(runs_of(setting)));
    const double looks = std::max(4.0, two_sided_normal_bound(setting.false_alarm, 1));
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "order of the spread in eta/B, minus the claimed one",
        std::fabs(order - claimed), deviation * looks,
        "four deviations of the slope over a factor 64", fmt::format("measured {:.3f}", order)));
  }
  return result;
}

}  // namespace

Statement ode_limit() {
  return {
      .id = "scb.ode-limit",
      .claim = "descent follows the flow to O(eta), the spread of SGD is O(sqrt(eta/B))",
      .paper = "arXiv 2410.23438, Section 2",
      .status = "derived here",
      .hypotheses = {"a fixed time", "independent minibatches"},
      .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
      .controls = {{"second-order", "O(eta^2) claimed for descent"},
                   {"linear-spread", "a spread O(eta/B)"}},
      .knobs = {tokens, length, support_knob, correlation, horizon_knob, largest_step, shared_time},
      .examine = examine};
}

}  // namespace popgrad::theorems::scb
