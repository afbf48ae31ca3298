// Theorem    scan-snap.learning-rates
// Status     observed in source (Section 6, Fig. 6)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Section 6
// Statement  Syn-Medium, 100 steps of SGD with momentum 0.9, eta_Z = 1: the entropy of attention on
//            distinct tokens has its minimum over eta_Y/eta_Z near 2; momentum descent on the
//            expected gradient has it there too
// Hypotheses H1 the same data law and start at every ratio; H2 eta_Z = 1; H3 momentum 0.9
// Check      means over seeds at ratios on both sides of 2, with simultaneous confidence; the same
//            by momentum descent; the flow beside them
// Controls   entropy said to fall on to ratio 10; the minimum said to lie at ratio 1
// Uses       rungs sgd, gd, flow

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/walk.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr std::uint64_t steps = 100;

constexpr Knob query_count{.name = "queries",
                           .meaning = "last tokens of Syn-Medium, two classes each",
                           .low = 3,
                           .high = 10,
                           .usual = 5,
                           .spacing = Spacing::whole};
constexpr Knob batch_size{.name = "batch",
                          .meaning = "sequences a step",
                          .low = 64,
                          .high = 256,
                          .usual = 128,
                          .spacing = Spacing::logarithmic};
constexpr Knob sequence_length{.name = "length",
                               .meaning = "tokens T of a sequence",
                               .low = 64,
                               .high = 256,
                               .usual = 128,
                               .spacing = Spacing::logarithmic};
constexpr Knob slowed_attention{.name = "attention-rate",
                                .meaning = "eta_Z, eta_Y in proportion",
                                .low = 0.02,
                                .high = 0.95,
                                .usual = 1,
                                .spacing = Spacing::logarithmic,
                                .breaks = "eta_Z = 1"};
constexpr Knob momentum{.name = "momentum",
                        .meaning = "beta of the heavy ball",
                        .low = 0,
                        .high = 0.89,
                        .usual = 0.9,
                        .breaks = "momentum 0.9"};

TrainingInstance<double> medium(double ratio, std::uint64_t seed, const Setting& setting) {
  TrainingInstance<double> instance;
  instance.classes = syn_medium<double>(setting.count(query_count));
  instance.attention_rate = setting.value(slowed_attention);
  instance.decoder_rate = ratio * instance.attention_rate;
  instance.length = setting.count(sequence_length);
  instance.start = Start::uniform;
  instance.seed = seed;
  return instance;
}

WalkRequest hundred_steps(Index batch, std::uint64_t seed, const Setting& setting) {
  WalkRequest request;
  request.optimiser.momentum = setting.value(momentum);
  request.step_size = 1;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = batch;
  request.seed = seed;
  request.jobs = 1;  // threads are for the seeds
  request.optimiser.rule = Optimiser::Rule::momentum;
  return request;
}

// Mean over classes of the distinct entropy in a row of observables.
double distinct_entropy(const Trajectory<double>& run) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (!run.columns[i].starts_with("distinct_entropy_")) continue;
    sum += run.rows.back()[i];
    ++count;
  }
  return sum / count;
}

// One number a seed: start and samples both follow it.
std::vector<double> over_seeds(double ratio, std::uint32_t seeds, Index batch,
                               const Setting& setting) {
  std::vector<double> entropies(seeds);
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t k = 0; k < seeds; ++k) {
    const std::uint64_t seed = setting.seed * 1000 + k;
    const AnyRung<double> rung = forget_type(PopulationFlow<double>(medium(ratio, seed, setting)));
    entropies[k] =
        distinct_entropy(walk(rung, rung.initial, hundred_steps(batch, seed, setting)).front());
  }
  return entropies;
}

struct Mean {
  double value = 0, deviation = 0;
};

Mean mean_of(const std::vector<double>& values) {
  Mean mean;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) mean.value += v / n;
  for (const double v : values) mean.deviation += (v - mean.value) * (v - mean.value) / (n - 1);
  mean.deviation = std::sqrt(mean.deviation / n);
  return mean;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const std::uint32_t seeds = setting.full ? 100 : setting.only_what_varies ? 8 : 20;
  const Index batch = setting.count(batch_size);
  result.parameters = {{"preset", "syn-medium"},
                       {"n_last", setting.count(query_count)},
                       {"eta_Z", setting.value(slowed_attention)},
                       {"momentum", setting.value(momentum)},
                       {"steps", steps},
                       {"batch", batch},
                       {"T", setting.count(sequence_length)},
                       {"seeds", seeds},
                       {"seed", setting.seed}};
  result.hypotheses.push_back(
      {"eta_Z = 1", setting.value(slowed_attention) == 1 ? Truth::yes : Truth::no, ""});
  result.hypotheses.push_back(
      {"momentum 0.9", setting.value(momentum) == momentum.usual ? Truth::yes : Truth::no, ""});
  const std::vector<double> ratios{1, 2, 5, 10};
  const auto descent_at_two = [&](std::vector<double>& descent) {
    for (const double ratio : ratios) {
      // Ratio 5 is told, not judged.
      const bool needed = !setting.only_what_varies || ratio != 5;
      descent.push_back(needed ? mean_of(over_seeds(ratio, 5, 0, setting)).value : 0);
    }
    return bounded(EvidenceKind::numerical,
                   "momentum descent: entropy at ratio 2 minus the smaller of its "
                   "neighbours in {1, 10}",
                   descent[1] - std::min(descent[0], descent[3]), 0,
                   "deterministic, a strict sign");
  };
  if (setting.slack > 0) {
    // Away from the hypotheses the samples of a few seeds decide nothing; the expectation does.
    std::vector<double> descent;
    result.evidence.push_back(descent_at_two(descent));
    return result;
  }
  std::vector<std::vector<double>> sampled;
  for (const double ratio : ratios) {
    const bool needed = !setting.only_what_varies || ratio != 5;
    sampled.push_back(needed ? over_seeds(ratio, seeds, batch, setting) : std::vector<double>{});
  }
  const int looks = 2;
  // Student's, for the deviation is that of the same few seeds.
  const double z =
      -quantile(boost::math::students_t(seeds - 1.0), setting.false_alarm / (2 * looks));
  // entropy(a) - entropy(b) < 0, seed by seed, so that the common start cancels.
  const auto lower = [&](std::size_t a, std::size_t b) {
    std::vector<double> difference(seeds);
    for (std::uint32_t k = 0; k < seeds; ++k) difference[k] = sampled[a][k] - sampled[b][k];
    const Mean mean = mean_of(difference);
    Evidence item =
        bounded(EvidenceKind::statistical,
                fmt::format("distinct entropy at ratio {} minus at ratio {}", ratios[a], ratios[b]),
                mean.value, 0, "differs from 0 by more than its confidence interval",
                fmt::format("{:.4f} +- {:.4f}, {} seeds", mean.value, z * mean.deviation, seeds));
    if (std::fabs(mean.value) <= z * mean.deviation) item.verdict = Verdict::inconclusive;
    result.evidence.push_back(item);
  };
  if (variant == "falls-on") {
    lower(3, 1);
    return result;
  }
  if (variant == "minimum-at-one") {
    lower(0, 1);
    return result;
  }
  lower(1, 0);
  lower(1, 3);
  std::vector<double> descent;
  const Evidence at_two = descent_at_two(descent);
  if (setting.only_what_varies) {
    result.evidence.push_back(at_two);
    return result;
  }
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const Mean mean = mean_of(sampled[i]);
    result.evidence.push_back(reported(fmt::format("SGD with momentum, ratio {}", ratios[i]),
                                       mean.value,
                                       fmt::format("+- {:.4f} (mean)", mean.deviation)));
  }
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    result.evidence.push_back(
        reported(fmt::format("momentum descent on the expectation, ratio {}", ratios[i]),
                 descent[i], "mean of 5 starts"));
  }
  result.evidence.push_back(at_two);
  for (const double ratio : ratios) {
    // t = 1000: ten times the steps, as momentum 0.9 is often read.
    const AnyRung<double> rung =
        forget_type(PopulationFlow<double>(medium(ratio, setting.seed, setting)));
    SolveRequest<double> request;
    request.end = 1000;
    request.save_at = {1000};
    request.relative_tolerance = request.absolute_tolerance = 1e-7;
    request.find_events = false;
    result.evidence.push_back(reported(fmt::format("flow at t = 1000, ratio {}", ratio),
                                       distinct_entropy(solve(rung, request))));
  }
  return result;
}

}  // namespace

Statement learning_rates() {
  return {.id = "scan-snap.learning-rates",
          .claim = "attention on distinct tokens is most concentrated at eta_Y/eta_Z near 2",
          .paper = "arXiv 2305.16380, Section 6",
          .status = "observed in source",
          .hypotheses = {"the same data law and start at every ratio", "eta_Z = 1", "momentum 0.9"},
          .reaches = {EvidenceKind::statistical, EvidenceKind::numerical},
          .controls = {{"falls-on", "entropy lower at ratio 10 than at 2"},
                       {"minimum-at-one", "entropy lower at ratio 1 than at 2"}},
          .knobs = {query_count, batch_size, sequence_length, slowed_attention, momentum},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scan_snap
