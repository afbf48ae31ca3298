// Normalised distances to P and Q and the loss: plain noisy descent, the same with part 2 of the
// three-part algorithm, and part 2 without noise. N = 3, T = 5000, Q = 2, B = 64.

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::figures::training_figure {
namespace {

constexpr std::array<const char*, 3> kinds{"plain", "threshold and l1", "the same, no noise"};

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  FigureTable table;
  for (const int curve : {0, 1, 2}) {
    table.block(kinds[static_cast<std::size_t>(curve)]);
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
      table.add("step", run.t[i] / walk_request.step_size, "dist_P", dist_P[i], "dist_Q", dist_Q[i],
                "loss", loss[i]);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto curves = [](const std::string& column) {
    return std::vector<Curve>{plot::line("step", column).of(kinds[0]).colour(2),
                              plot::line("step", column).of(kinds[1]).colour(1),
                              plot::line("step", column).of(kinds[2]).colour(1).dashed()};
  };
  Panel values{.x = {.range = "0:14000", .tics = "4000", .own_range = "0:*"},
               .y = {.label = "‖V − P‖_μ, normalised",
                     .range = "0.001:0.5",
                     .logarithmic = true,
                     .own_range = "*:*"},
               .key = "above",
               .curves = {}};
  for (const Curve& curve : curves("dist_P"))
    values.curves.push_back(curve.titled(kinds[values.curves.size()]));
  Panel attention{.x = values.x, .y = values.y, .curves = curves("dist_Q")};
  attention.y.label = "‖A − Q‖_μ, normalised";
  attention.y.range = "0.005:2";
  Panel loss{.x = values.x, .y = {.label = "loss"}, .curves = curves("loss")};
  loss.x.label = "step";
  return {.height = 4.2, .legend_rows = 2, .panels = {values, attention, loss}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-training",
                   .title = "Distances to `P` and `Q` and loss: plain descent, threshold and `l1`",
                   .in_report = true,
                   .shows = {"scb.convergence", "scb.l1-needed"},
                   .parameters = data_law("3", "5000", "2")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::training_figure
