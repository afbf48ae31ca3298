// How well Theorem 1 predicts the logits z of softmax attention on the authors' instance: the
// direction (normalised correlation) and the size (relative error), full-batch descent.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/figures/series.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::figures::invariant_correlation_figure {
namespace {

constexpr std::uint64_t starts = 10;  // seeds of X, W(0), z(0)
constexpr std::uint64_t last_step = 2000;
constexpr double step_size = 0.1;
constexpr std::array names{"gaussian", "uniform"};

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    const char* name = law == TokenLaw::gaussian ? names[0] : names[1];
    table.block(name);
    std::vector<Trajectory<double>> runs;
    std::size_t nc = 0;
    std::size_t error = 0;
    for (std::uint64_t k = 0; k < starts; ++k) {
      const AnyRung<double> rung =
          forget_type(PopulationFlow<double>(invariant_instance(law, request.seed + k)));
      nc = place_of(rung.observables.columns, "normalised_correlation");
      error = place_of(rung.observables.columns, "invariant_residual_relative");
      WalkRequest walk_request;
      walk_request.step_size = step_size;
      walk_request.steps = last_step;
      // Step 0 is left out: the random start is not what the invariant speaks of.
      for (std::uint64_t s = 20; s <= last_step; s += 20) walk_request.save_steps.push_back(s);
      walk_request.jobs = request.jobs;
      runs.push_back(std::move(walk(rung, rung.initial, walk_request).front()));
      require_usable(runs.back().outcome, request.name);
    }
    for (std::size_t i = 0; i < runs.front().rows.size(); ++i) {
      std::vector<double> correlations;
      std::vector<double> errors;
      for (const Trajectory<double>& run : runs) {
        correlations.push_back(run.rows[i][nc]);
        errors.push_back(run.rows[i][error]);
      }
      const Spread direction = spread(correlations);
      const Spread size = spread(errors);
      table.add("law", name, "step", std::round(runs.front().t[i] / step_size), "nc_median",
                direction.median, "nc_min", direction.least, "nc_max", direction.largest,
                "error_median", size.median, "error_min", size.least, "error_max", size.largest);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto curves = [](const std::string& what) {
    const auto band = [&](const char* law) {
      return plot::band("step", what + "_min", what + "_max").of(law);
    };
    const auto median = [&](const char* law) {
      return plot::line("step", what + "_median").of(law);
    };
    return std::vector<Curve>{band(names[0]).colour(1), band(names[1]).colour(2),
                              median(names[0]).colour(1).titled("Gaussian X"),
                              median(names[1]).colour(2).dashed().titled("uniform X")};
  };
  const Panel direction{.x = {.range = "0:2000"},
                        .y = {.label = "correlation NC(z, ẑ)", .range = "0.75:1", .tics = "0.05"},
                        .key = "bottom right",
                        .curves = curves("nc")};
  const Panel size{.x = {.label = "step (full batch, η = 0.1)", .range = "0:2000"},
                   .y = {.label = "relative error |ẑ − z| / |z|",
                         .range = "0.02:20",
                         .logarithmic = true,
                         .format = "%g"},
                   .key = "bottom right",
                   .curves = curves("error"),
                   .guides = {{.y = "1"}}};
  return {.height = 3.0, .left = 0.15, .right = 0.955, .panels = {direction, size}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-invariant-correlation",
               .title =
                   "Theorem 1 for softmax attention: the direction of the logits and their size",
               .shows = {"joma.invariant-softmax"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::joma::figures::invariant_correlation_figure
