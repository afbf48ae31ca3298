// Does the nonlinearity change the sample complexity? Sequences that plain SGD needs until alpha_A
// reaches 0.4, median of 9 runs, the best over batch, step size and rate of attention, for linear
// and softmax attention against T. N = 3, Q = 1.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::figures::sample_complexity_figure {
namespace {

constexpr std::uint32_t runs = 9;
constexpr double goal = 0.4;

struct Best {
  double median = std::numeric_limits<double>::infinity();
  double low = 0, high = 0;  // quartiles of the runs; runs end at `cut`
  double cut = 0;
  double batch = 0, step = 0, rate = 0;
};

// Sequences until the goal; infinite if more than `most` are needed.
double samples_of_run(const SequenceSgd<double>& rung, double step, Index batch, double most,
                      std::uint64_t seed, std::uint32_t run) {
  Vector<double> x = rung.initial();
  Vector<double> dx(x.size());
  const std::vector<std::string> columns = rung.columns();
  const std::size_t alpha_A = place_of(columns, "alpha_A");
  const std::size_t loss = place_of(columns, "loss");
  std::vector<double> row(columns.size());
  double used = 0;
  for (std::uint64_t i = 0; used < most; ++i) {
    Stream stream(seed, run, i);
    rung.sample_rhs(x, dx, stream, batch);
    x += step * dx;
    used += static_cast<double>(batch);
    rung.observe(x, 0.0, row);
    // Linear attention that has diverged passes the goal as well, with a loss above that of mu.
    if (row[alpha_A] >= goal)
      return row[loss] < 0.5 ? used : std::numeric_limits<double>::infinity();
    if (!(std::fabs(row[alpha_A]) < 10)) break;
  }
  return std::numeric_limits<double>::infinity();
}

Best best_over_grid(Index context, bool softmax, const FigureRequest& request) {
  Parameters at_context = request.parameters;
  at_context.set("T", std::to_string(context));
  Training<double> training = scb::training<double>(at_context, request.seed);
  training.softmax = softmax;
  Best best;
  const auto positions = static_cast<double>(context);
  for (const double rate : softmax ? std::vector<double>{0.5, 1, 1.5} : std::vector<double>{0}) {
    training.attention_rate = std::pow(positions, rate);
    const SequenceSgd<double> rung(training);
    for (const double step : {0.02, 0.05, 0.1, 0.2, 0.4}) {
      for (Index batch = 1; batch <= 256; batch *= 4) {
        const double most = std::min(3 * best.median, 3e6);
        std::vector<double> used(runs);
        const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel num_threads(jobs)
        {
          SequenceSgd<double> own = rung;
#pragma omp for schedule(dynamic, 1)
          for (std::uint32_t run = 0; run < runs; ++run) {
            used[run] = samples_of_run(own, step, batch, most, request.seed, run);
          }
        }
        std::sort(used.begin(), used.end());
        if (used[runs / 2] < best.median) {
          best = {used[runs / 2],
                  used[runs / 4],
                  used[3 * runs / 4],
                  most,
                  static_cast<double>(batch),
                  step,
                  training.attention_rate};
        }
      }
    }
  }
  return best;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"T", "samples", "low", "high", "B", "eta", "eta_A"};
  for (const bool softmax : {false, true}) {
    for (const Index context : {10, 20, 40, 80, 160, 320}) {
      const Best best = best_over_grid(context, softmax, request);
      if (!std::isfinite(best.median)) continue;
      csv.number(static_cast<double>(context)).number(best.median).number(best.low);
      csv.number(std::isfinite(best.high) ? best.high : best.cut);
      csv.number(best.batch).number(best.step).number(best.rate).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: linear, softmax: T, sequences needed (median), quartiles (the upper one where runs
# were cut, if more than a quarter of them were), best B, eta and eta_A.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set format y '10^{%T}'
  set xrange [8:400]
  set xtics (10, 20, 40, 80, 160, 320)
  set xlabel 'context length T'
  set ylabel 'sequences until α_A = 0.4' offset 0+right,0
  set key top left
  plot data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'linear attention', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'softmax attention', \
       20*x with lines linetype 7 dashtype 2 linewidth 0.6 title 'T'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-samples",
                   .title = "Sequences needed by linear and by softmax attention against T",
                   .shows = {"scb.softmax-link"},
                   .parameters = {{parameter::N, "3"}, {parameter::Q, "1"}}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::sample_complexity_figure
