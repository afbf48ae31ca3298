// Normalised distances to P and Q and the loss: plain noisy descent, the same with part 2 of the
// three-part algorithm, and part 2 without noise. N = 3, T = 5000, Q = 2, B = 64.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::theorems::scb::figures::training_figure {
namespace {

using namespace popgrad::scb;

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training =
      popgrad::scb::training<double>(request.parameters, request.seed);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  CsvText csv{"step", "dist_P", "dist_Q", "loss"};
  for (const int curve : {0, 1, 2}) {
    Schedule schedule;
    if (curve == 0) {
      // Never leaves part 1.
      schedule.boost_until = 1e9;
      schedule.boost_steps = 1'000'000'000;
    }
    const AnyRung<double> rung = forget_type(LumpedThreePart(training, schedule, levels));
    WalkRequest walk_request;
    walk_request.step_size = 0.01;
    // Transitions are about 1/(3 N) in size, and the time to learn them goes with N.
    walk_request.steps = static_cast<std::uint64_t>(14'000 * training.bigrams.tokens() / 3);
    walk_request.save_steps = evenly_spread_steps(walk_request.steps, 281);
    walk_request.batch = curve == 2 ? 0 : 64;
    walk_request.seed = request.seed;
    const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
    const std::vector<double> dist_P = run.column("dist_P_normalised");
    const std::vector<double> dist_Q = run.column("dist_Q_normalised");
    const std::vector<double> loss = run.column("loss");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      csv.number(run.t[i] / walk_request.step_size).number(dist_P[i]).number(dist_Q[i]);
      csv.number(loss[i]).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-training",
                   .title = "Distances to P and Q and loss: plain descent, threshold and l1",
                   .in_report = true,
                   .shows = {"scb.convergence", "scb.l1-needed"},
                   .parameters = data_law("3", "5000", "2")},
          .data = data};
}

}  // namespace popgrad::theorems::scb::figures::training_figure
