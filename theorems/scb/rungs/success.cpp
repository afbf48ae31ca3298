#include "theorems/scb/rungs/success.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb {
namespace {

constexpr std::uint64_t most_steps = 10'000'000;

AnyRung<double> make_rung(const Training<double>& training, const Schedule& schedule,
                          const AttemptSetting& setting) {
  switch (setting.sampling) {
    case Sampling::sequences:
      return forget_type(ThreePartDescent(training, schedule));
    case Sampling::dense_noise:
      return forget_type(ThreePartDescent(training, schedule, setting.levels));
    case Sampling::lumped_noise:
      break;
  }
  return forget_type(LumpedThreePart(training, schedule, setting.levels));
}

// Steps until part 1 ends, at most `steps`.
bool boosted(const AnyRung<double>& rung, const AttemptSetting& setting, Index batch,
             std::uint32_t run, std::uint64_t steps, double wanted) {
  Vector<double> x = rung.initial;
  for (std::uint64_t step = 0; step < steps && !stop_asked(); ++step) {
    Stream stream(setting.seed, run, step);
    rung.draws.step(x, setting.step, stream, batch);
    if (part_of(x) == Part::boost) continue;
    if (setting.attempt == Attempt::rise) return true;
    return setting.attempt == Attempt::supports ? observed_at(rung, x, "nonzeros") == wanted
                                                : observed_at(rung, x, "dist_Q_normalised") <= 0.5;
  }
  return false;  // neither has a run that turned into NaN got there
}

CountSuccesses count_boosts(const AnyRung<double>& rung, const AttemptSetting& setting,
                            std::uint64_t steps, double wanted) {
  return [rung, setting, steps, wanted](double size, std::uint32_t first_run, std::uint32_t runs) {
    const Index batch = std::max<Index>(1, std::llround(size));
    const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
    std::uint32_t successes = 0;
#pragma omp parallel num_threads(jobs)
    {
      AnyRung<double> own;
#pragma omp critical(popgrad_clone_rung)
      own = rung.clone();
#pragma omp for schedule(dynamic, 1) reduction(+ : successes)
      for (std::uint32_t run = 0; run < runs; ++run) {
        successes += boosted(own, setting, batch, first_run + run, steps, wanted) ? 1U : 0U;
      }
    }
    throw_if_stopped();
    return successes;
  };
}

// Walks all that is asked for from `initial`.
CountSuccesses count_recoveries(const AnyRung<double>& rung, const Vector<double>& initial,
                                const WalkRequest& request, double goal) {
  return [rung, initial, request, goal](double size, std::uint32_t first_run,
                                        std::uint32_t runs) -> std::uint32_t {
    WalkRequest own = request;
    own.batch = std::max<Index>(1, std::llround(size));
    own.first_run = first_run;
    own.runs = runs;
    try {
      std::uint32_t successes = 0;
      for (const Trajectory<double>& run : walk(rung, initial, own)) {
        if (run.rows.empty()) continue;
        const bool good = run.column("dist_P_normalised").back() <= goal &&
                          run.column("dist_Q_normalised").back() <= goal;
        successes += good ? 1U : 0U;
      }
      return successes;
    } catch (const InputError&) {
      return 0;  // more nonzeros than memory holds
    }
  };
}

}  // namespace

std::uint64_t quiet_boost_steps(const Training<double>& training, const Schedule& schedule,
                                double step) {
  const LumpedThreePart rung(training, schedule, no_noise(training.bigrams.tokens()));
  Vector<double> x = rung.initial();
  Stream unused(0, 0, 0);
  std::uint64_t steps = 0;
  while (part_of(x) == Part::boost && steps < most_steps) {
    throw_if_stopped();
    rung.sample_step(x, step, unused, 0);
    ++steps;
  }
  return steps;
}

CountSuccesses success_counter(const Training<double>& training, const AttemptSetting& setting) {
  Schedule schedule = setting.schedule;
  if (setting.attempt == Attempt::whole) {
    const AnyRung<double> rung = make_rung(training, schedule, setting);
    WalkRequest request;
    request.step_size = setting.step;
    request.seed = setting.seed;
    request.jobs = setting.jobs;
    request.steps = setting.steps;
    request.save_steps = {request.steps};
    return count_recoveries(rung, rung.initial, request, setting.goal);
  }
  const std::uint64_t quiet = quiet_boost_steps(training, schedule, setting.step);
  if (setting.attempt == Attempt::rise) {
    schedule.threshold = std::numeric_limits<double>::max();  // nothing has to be kept
  }
  return count_boosts(make_rung(training, schedule, setting), setting, 2 * quiet,
                      static_cast<double>(training.bigrams.entries()));
}

}  // namespace popgrad::scb
