// Theorem    topic.ode-limit
// Status     derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 4 (gradient flow in place of SGD)
// Statement  descent follows the flow with an error O(eta); the spread of SGD over runs is
//            O(sqrt(eta/B)); the expected gradient on documents of N tokens is off by O(1/N)
// Hypotheses H1 a fixed time; H2 independent documents
// Check      slopes of the three errors; the last one by many documents, N = 8 to 64
// Controls   order 2 claimed for descent; order 1 claimed for the spread; order 2 in 1/N
// Uses       rungs sgd, gd, flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/statistics.hpp"
#include "popgrad/topic/population_flow.hpp"
#include "popgrad/walk.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob horizon{.name = "horizon",
                       .meaning = "time at which the flow is compared",
                       .low = 10,
                       .high = 60,
                       .usual = 40};
constexpr Knob start_size{.name = "start",
                          .meaning = "deviation of the entries of all matrices at first",
                          .low = 0.3,
                          .high = 1,
                          .usual = 0.7};  // of order one at once
constexpr Knob growth{.name = "horizon-growth",
                      .meaning = "power of 1/eta as which the time grows",
                      .low = 0.02,
                      .high = 2,
                      .usual = 0,
                      .spacing = Spacing::logarithmic,
                      .breaks = "a fixed time"};
constexpr Knob repeated{.name = "repeated-batch",
                        .meaning = "probability that all documents of a batch are the same",
                        .low = 0.003,
                        .high = 1,
                        .usual = 0,
                        .spacing = Spacing::logarithmic,
                        .breaks = "independent documents"};

Training small_training(const Setting& setting, Index document) {
  Training training;
  training.law = law_of<double>(3, 2, 2);
  training.key_width = 3;
  training.scale = setting.value(start_size);
  if (setting.only_what_varies) training.seed = setting.seed;
  training.start = ValueStart::normal;
  training.document = document;
  return training;
}

WalkRequest request_of(double eta, double time) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = static_cast<std::uint64_t>(std::llround(time / eta));
  request.save_steps = {request.steps};
  request.keep_states = true;
  return request;
}

double descent_order(const Setting& setting) {
  const AnyRung<double> rung = forget_type(PopulationFlow(small_training(setting, 64)));
  std::vector<double> etas{0.8, 0.4, 0.2, 0.1};
  // Steps that are small at the usual start are not at every one.
  if (setting.only_what_varies) etas = {0.1, 0.05, 0.025, 0.0125};
  std::vector<double> errors;
  for (const double eta : etas) {
    // A whole number of the largest steps, so that all end at the same time.
    const double whole = 0.8 * std::round(setting.value(horizon) / 0.8);
    const double time = whole * std::pow(etas.front() / eta, setting.value(growth));
    const WalkRequest step = request_of(eta, time);
    SolveRequest<double> request = tight_request(static_cast<double>(step.steps) * eta, 2);
    request.relative_tolerance = 1e-12;
    request.absolute_tolerance = 1e-14;
    const Vector<double> limit = solve(rung, request).last_state;
    errors.push_back((walk(rung, rung.initial, step).front().states.front() - limit).norm());
  }
  return log_log_slope(etas, errors);
}

// A share of the batches has one document only: their mean is that of the document many times.
AnyRung<double> repeating(const Training& training, double share) {
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  if (share == 0) return rung;
  rung.sample_rhs = [inner = rung.sample_rhs, share](const Vector<double>& x, Vector<double>& dx,
                                                     Stream& stream, Index batch) {
    const bool same = stream.uniform() < share;
    inner(x, dx, stream, same ? 1 : batch);
  };
  // Threads work on clones, which have to repeat as well.
  rung.clone = [training, share] { return repeating(training, share); };
  return rung;
}

double spread_order(const Setting& setting) {
  const AnyRung<double> rung = repeating(small_training(setting, 64), setting.value(repeated));
  // As for descent; a third of the runs, for the time they take.
  const double finer = setting.only_what_varies ? 2 : 1;
  std::vector<double> ratios, spreads;
  std::uint32_t first = 0;
  for (const auto& [eta, batch] : {std::pair{0.8, 2}, {0.4, 4}, {0.4, 16}, {0.2, 32}}) {
    WalkRequest request = request_of(eta / finer, setting.value(horizon));
    request.batch = batch;
    request.runs = setting.full ? 1000 : setting.only_what_varies ? 40 : 120;
    request.first_run = first;
    request.seed = setting.seed;
    request.jobs = setting.jobs;
    first += request.runs;
    const auto runs = walk(rung, rung.initial, request);
    Vector<double> mean = Vector<double>::Zero(rung.dimension);
    for (const auto& run : runs) mean += run.states.front() / request.runs;
    double variance = 0;
    for (const auto& run : runs) {
      variance += (run.states.front() - mean).squaredNorm() / (request.runs - 1);
    }
    ratios.push_back(eta / batch);
    spreads.push_back(std::sqrt(variance));
  }
  return log_log_slope(ratios, spreads);
}

// Component of the error of the mean gradient along the error at the shortest documents, whose
// share of noise is small.
double document_order(const Setting& setting, double& noise) {
  const std::vector<double> lengths{8, 16, 32, 64};
  const PopulationFlow flow(small_training(setting, 8));
  const Vector<double> x = flow.initial();
  Vector<double> exact(x.size());
  flow.rhs(x, exact, 0.0);
  const Index documents = setting.full ? 2'000'000 : setting.only_what_varies ? 80'000 : 300'000;
  std::vector<double> errors;
  Vector<double> direction;
  noise = 0;
  for (const double length : lengths) {
    const PopulationFlow finite(small_training(setting, static_cast<Index>(length)));
    Vector<double> mean = Vector<double>::Zero(x.size());
    double square = 0;
    constexpr int parts = 40;
    std::vector<Vector<double>> means;
    for (int part = 0; part < parts; ++part) {
      Vector<double> dx(x.size());
      Stream stream(setting.seed, 1, static_cast<std::uint64_t>(part));
      finite.sample_rhs(x, dx, stream, documents / parts);
      mean += dx / parts;
      means.push_back(dx);
    }
    if (direction.size() == 0) direction = (mean - exact).normalized();
    const double error = (mean - exact).dot(direction);
    for (const Vector<double>& one : means) {
      square += std::pow((one - mean).dot(direction), 2) / (parts * (parts - 1.0));
    }
    noise = std::max(noise, std::sqrt(square) / std::fabs(error));
    errors.push_back(std::fabs(error));
  }
  std::vector<double> inverse;
  for (const double length : lengths) inverse.push_back(1 / length);
  return log_log_slope(inverse, errors);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  result.parameters = sizes(3, 2, 2);
  result.parameters["t"] = setting.value(horizon);
  result.parameters["start"] = setting.value(start_size);
  const bool grows = setting.value(growth) != 0;
  const bool repeats = setting.value(repeated) != 0;
  if (grows) {
    result.hypotheses.push_back(
        {"a fixed time", Truth::no, fmt::format("it grows as eta^-{:.3g}", setting.value(growth))});
  }
  if (repeats) {
    result.hypotheses.push_back(
        {"independent documents", Truth::no,
         fmt::format("{:.3g} of the batches are of one", setting.value(repeated))});
  }
  if ((variant.empty() && !repeats) || variant == "second-order") {
    const double claimed = variant == "second-order" ? 2.0 : 1.0;
    const double order = descent_order(setting);
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, "order of descent towards the flow, minus the claimed one",
                std::fabs(order - claimed), 0.2, "the next order adds a fraction eta of the slope",
                fmt::format("measured {:.3f}", order)));
  }
  if ((variant.empty() && !grows) || variant == "linear-spread") {
    const double claimed = variant == "linear-spread" ? 1.0 : 0.5;
    const double order = spread_order(setting);
    // A search looks many times, at a third of the runs.
    const double wider =
        setting.only_what_varies
            ? std::sqrt(3.0) * std::max(1.0, two_sided_normal_bound(setting.false_alarm, 1) / 4)
            : 1.0;
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "order of the spread in eta/B, minus the claimed one",
        std::fabs(order - claimed), 0.1 * wider, "four deviations of the slope over a factor 64",
        fmt::format("measured {:.3f}", order)));
  }
  if ((variant.empty() && !grows && !repeats) || variant == "square-length") {
    const double claimed = variant == "square-length" ? 2.0 : 1.0;
    double noise = 0;
    const double order = document_order(setting, noise);
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "order of the gradient's error in 1/N, minus the claimed one",
        std::fabs(order - claimed), 0.25, "noise of the longest documents, and the order 1/N^2",
        fmt::format("measured {:.3f}; noise {:.2f} of the error at worst", order, noise)));
  }
  return result;
}

}  // namespace

Statement ode_limit() {
  return {.id = "topic.ode-limit",
          .claim = "descent follows the flow to O(eta), SGD to O(sqrt(eta/B)), documents to O(1/N)",
          .paper = "arXiv 2303.04245, Section 4",
          .status = "derived here",
          .hypotheses = {"a fixed time", "independent documents"},
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"second-order", "O(eta^2) claimed for descent"},
                       {"linear-spread", "a spread O(eta/B)"},
                       {"square-length", "O(1/N^2) claimed for documents"}},
          .knobs = {horizon, start_size, growth, repeated},
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
