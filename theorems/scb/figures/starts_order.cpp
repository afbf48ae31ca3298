// How far apart the runs from both starts of V, mu 1' and 11'/N, end as N grows: squared distances
// after the growth of the population flow, with projected gradients and without. Laws with mu N
// drawn within 1 +- 0.5, T = 1000, Q = 2, three instances; the second table has the exponents of N.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "statistics/critical.hpp"
#include "theorems/scb/checks/tilted_law.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::figures::starts_order_figure {
namespace {

constexpr const char* projected = "projected gradients";
constexpr const char* not_projected = "not projected";

// Squared distances of V and of A in |.|_mu between the runs from both starts, after the growth.
std::array<double, 2> apart_at_end(Training<double> training, bool project,
                                   const FigureRequest& request) {
  const Bigrams<double>& b = training.bigrams;
  const Index n = b.tokens();
  training.project = project;
  SolveRequest<double> solve_request;
  const double rate = std::sqrt(transition_size(b) * context_size(b));
  // Beyond alpha_A alpha_V = 1, by ten growth times.
  solve_request.end = (std::log(static_cast<double>(b.context)) + 10) / rate;
  solve_request.save_at = {solve_request.end};
  solve_request.relative_tolerance = 1e-10;
  solve_request.absolute_tolerance = 1e-13;
  solve_request.find_events = false;
  solve_request.keep_states = true;
  std::array<Vector<double>, 2> ends;
  for (Vector<double>& end : ends) {
    const auto run = solve(forget_type(PopulationFlow<double>(training)), solve_request);
    require_usable(run.outcome, request.name);
    end = run.states.back();
    training.start.setConstant(1.0 / static_cast<double>(n));
  }
  const Vector<double> gap = ends[0] - ends[1];
  double attention = 0;
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    const double rest = gap[at + b.support(k)];
    attention += b.stationary[k] * (gap.segment(at, b.support(k)).squaredNorm() +
                                    static_cast<double>(b.context - b.support(k)) * rest * rest);
    at += b.support(k) + 1;
  }
  return {stationary_square(Matrix<double>(gap.head(n * n).reshaped(n, n)), b.stationary),
          attention};
}

// Against N, and exponents whose intervals are those of the scatter about a power.
std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  FigureTable fits;
  for (const bool project : {true, false}) {
    table.block(project ? projected : not_projected);
    std::vector<double> sizes;
    std::vector<Crossing> distances;
    for (const Index tokens : {3, 10, 30, 100, 300}) {
      for (std::uint64_t instance = 0; instance < 3; ++instance) {
        const Training<double> training =
            scb::checks::tilted_training(tokens, 1000, 0.5, request.seed + instance);
        const auto [values, attention] = apart_at_end(training, project, request);
        const double offset =
            (training.bigrams.stationary.array() - 1.0 / static_cast<double>(tokens))
                .square()
                .sum();
        table.add("N", tokens, "projected", project, "dist_V_squared", values, "dist_A_squared",
                  attention, "offset_squared", offset);
        sizes.push_back(static_cast<double>(tokens));
        Crossing& distance = distances.emplace_back();
        distance.size = distance.low = distance.high = values;
      }
    }
    const Exponent exponent = fit_exponent(sizes, distances);
    fits.add("projected", project, "exponent_of_N", exponent.value, "half_width",
             exponent.half_width);
  }
  return {table.file(request), fits.file(request, "fits")};
}

Picture picture() {
  const auto points = [](const char* column, const char* block, const std::string& title) {
    return plot::points("N", column).of(block).titled(title + block);
  };
  return {
      .height = 2.7,
      .panels = {
          {.title = "T = 1000, Q = 2, three data laws for each N",
           .x = {.label = "tokens N",
                 .range = "2.4:400",
                 .logarithmic = true,
                 .tics = "(3, 10, 30, 100, 300)"},
           .y = {.label = "squared distance of the runs", .range = "1e-8:3", .logarithmic = true},
           .key = "top right",
           .curves = {points("dist_V_squared", projected, "of V, ").colour(1).mark(7, 0.6),
                      points("dist_V_squared", not_projected, "of V, ").colour(3).mark(9, 0.7),
                      points("dist_A_squared", not_projected, "of A, ").colour(4).mark(13, 0.7),
                      plot::formula("0.08/x").colour(7).dashed().wide(0.6).titled("∝ 1/N")}}}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-starts-order",
                   .title = "Distance of the runs from both initialisations of `V` against `N`",
                   .shows = {"scb.starts"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::starts_order_figure
