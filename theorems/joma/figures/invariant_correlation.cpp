// How well Theorem 1 predicts the logits z of softmax attention on the authors' instance: the
// direction (normalised correlation) beside the size (relative error), full-batch descent.

#include <algorithm>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::figures::invariant_correlation_figure {
namespace {

constexpr std::uint64_t starts = 10;  // seeds of X, W(0), z(0)
constexpr std::uint64_t last_step = 2000;
constexpr double step_size = 0.1;

struct Spread {
  double median, least, largest;
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {0.5 * (values[(n - 1) / 2] + values[n / 2]), values.front(), values.back()};
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"law",    "step",         "nc_median", "nc_min",
              "nc_max", "error_median", "error_min", "error_max"};
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
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
      csv.word(law == TokenLaw::gaussian ? "gaussian" : "uniform");
      csv.number(std::round(runs.front().t[i] / step_size));
      for (const Spread& s : {spread(correlations), spread(errors)}) {
        csv.number(s.median).number(s.least).number(s.largest);
      }
      csv.end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Columns: law, step, then median, least and largest over the starts of the normalised
# correlation and of the relative error.
height = 3.0
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.955,0.12,0.95 spacing 0,0.07
  set xrange [0:2000]
  set xlabel ''
  set format x ''
  set ylabel 'correlation NC(z, ẑ)'
  set yrange [0.75:1]
  set ytics 0.05
  set key bottom right
  set style fill transparent solid 0.2 noborder
  plot data index 0 using 2:4:5 with filledcurves linecolor rgb blue notitle, \
       data index 1 using 2:4:5 with filledcurves linecolor rgb red notitle, \
       data index 0 using 2:3 with lines linetype 1 title 'Gaussian X', \
       data index 1 using 2:3 with lines linetype 2 dashtype 2 title 'uniform X'
  set format x '%g'
  set xlabel 'step (full batch, η = 0.1)'
  set ylabel 'relative error |ẑ − z| / |z|'
  set logscale y
  set yrange [0.02:20]
  set ytics autofreq
  set key bottom right
  plot data index 0 using 2:7:8 with filledcurves linecolor rgb blue notitle, \
       data index 1 using 2:7:8 with filledcurves linecolor rgb red notitle, \
       data index 0 using 2:6 with lines linetype 1 title 'Gaussian X', \
       data index 1 using 2:6 with lines linetype 2 dashtype 2 title 'uniform X', \
       1 with lines linecolor rgb grey linewidth 0.6 dashtype 3 notitle
  unset logscale y
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-invariant-correlation",
               .title =
                   "Theorem 1 for softmax attention: the direction of the logits and their size",
               .shows = {"joma.invariant-softmax"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::invariant_correlation_figure
