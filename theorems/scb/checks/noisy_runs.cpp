#include "theorems/scb/checks/noisy_runs.hpp"

#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::checks {

Vector<double> ends_of_runs(const NoisyRuns& noisy, Index batch, std::uint32_t runs,
                            std::uint32_t first_run, const Setting& setting) {
  const Bigrams<double>& b = noisy.training.bigrams;
  Schedule schedule = part_two_schedule(b, noisy.weight);
  // Half of the least attention of an attended position, where part 1 ends.
  schedule.threshold = b.law.minCoeff() * boost_goal(schedule, noisy.training) / 2;
  schedule.l1_steps =
      static_cast<std::uint64_t>(std::ceil(3 / (slowest_rate(b) * schedule.l1_step)));
  const AnyRung<double> rung = forget_type(
      LumpedThreePart(noisy.training, schedule, levels_of_shape(b, NoiseShape::multiplicative)));
  WalkRequest request;
  request.step_size = boost_step;
  // Once part 3 has come nothing moves any more.
  request.steps = 2 * quiet_boost_steps(noisy.training, schedule, boost_step) + schedule.l1_steps;
  request.save_steps = {request.steps};
  request.batch = batch;
  request.runs = runs;
  request.first_run = first_run;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  Vector<double> ends(runs);
  Index r = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    ends[r++] = run.rows.empty() ? std::numeric_limits<double>::quiet_NaN()
                                 : std::max(run.column("dist_P_normalised").back(),
                                            run.column("dist_Q_normalised").back());
  }
  return ends;
}

double highest_noise(const Bigrams<double>& b) {
  return noise_at_solution(b).attention.maxCoeff() *
         std::sqrt(2 * std::log(static_cast<double>(b.context)));
}

}  // namespace popgrad::scb::checks
