// What the size of the model does, one layer with K = 1 to 256 hidden units: loss, how well Theorem
// 1 predicts the logits in size, how far gradients move from those of the start, stable rank, and
// the rebound of attention entropy; means over starts with intervals.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::figures::model_size_figure {
namespace {

constexpr std::array<int, 5> units{1, 4, 16, 64, 256};
constexpr std::uint32_t starts = 4;
constexpr double step_size = 0.1;
constexpr int steps = 2000;  // as the authors take
constexpr int steps_between_looks = 40;
constexpr Index numbers = 5;

// A single ReLU unit may be off from the start on, without gradients: NaN.
// loss; |z - z_hat|/|z - z(0)|; drift of E[g phi' x] in units of the start; stable rank at the end;
// largest rise of the attention entropy.
Vector<double> measured(const char* phi, int count, std::uint64_t seed) {
  Parameters p("joma");
  p.set("phi", phi);
  p.set("units", std::to_string(count));
  p.set("attention", "softmax");
  p.set("temperature", "0.5");
  const PopulationFlow<double> flow(class_instance<double>(p, seed));
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const Matrix<double> gradient = flow.mean_gradient(x);
  const auto entropy = [&] {
    return softmax_entropy(Vector<double>(flow.logits(x) / flow.instance().temperature));
  };
  double least = entropy();
  double rebound = 0;
  for (int step = 1; step <= steps; ++step) {
    flow.rhs(x, slope, 0.0);
    x += step_size * slope;
    if (step % steps_between_looks != 0) continue;
    least = std::min(least, entropy());
    rebound = std::max(rebound, entropy() - least);
  }
  std::vector<double> row(flow.columns().size());
  flow.observe(x, 0.0, row);
  const std::vector<std::string> names = flow.columns();
  const auto column = [&](std::string_view name) {
    return row[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) -
                                        names.begin())];
  };
  return Vector<double>{{flow.loss(x), column("invariant_residual_relative"),
                         (flow.mean_gradient(x) - gradient).norm() / gradient.norm(),
                         column("stable_rank"), rebound}};
}

// A block a phi: K, then mean and half width of every number.
std::vector<FigureFile> data(const FigureRequest& request) {
  constexpr std::array phis{"linear", "relu"};
  std::vector<Matrix<double>> found(phis.size() * units.size(), Matrix<double>(starts, numbers));
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::size_t i = 0; i < found.size() * starts; ++i) {
    // The widest first, so that no thread ends with one of them.
    const std::size_t setup = found.size() - 1 - i / starts;
    const auto start = static_cast<Index>(i % starts);
    found[setup].row(start) = measured(phis[setup % phis.size()], units[setup / phis.size()],
                                       request.seed + static_cast<std::uint64_t>(start))
                                  .transpose();
  }
  CsvText csv{"units",       "loss", "loss_error", "size_error", "size_error_error", "drift",
              "drift_error", "rank", "rank_error", "rebound",    "rebound_error"};
  for (std::size_t f = 0; f < phis.size(); ++f) {
    for (std::size_t k = 0; k < units.size(); ++k) {
      csv.number(units[k]);
      for (Index n = 0; n < numbers; ++n) {
        const Matrix<double> own = found[k * phis.size() + f].col(n);
        // A mean and a variance share what may fail.
        const Quantity mean = sample_moments(own, 2 * 0.05).mean.front();
        csv.number(mean.value()).number(mean.error());
      }
      csv.end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# A block a phi (linear, ReLU): K, then mean and half width of the 95 % interval of loss, error of
# Theorem 1 in the size of the logits, drift of the gradients, stable rank, rebound of the entropy.
height = 5.4
shift(k, x) = x*1.12**(k-0.5)
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 4,1 margins 0.15,0.97,0.075,0.97 spacing 0,0.075
  set logscale x 2
  set xrange [0.7:400]
  set xtics (1, 4, 16, 64, 256)
  titles = '"(a) loss after 2000 steps (nats)" "(b) error of Theorem 1 in size of the logits" "(c) change of E[g φ'' x], share of the start" "(d) stable rank of V"'
  names = 'linear ReLU'
  do for [n = 1:4] {
    set title word(titles, n)
    set yrange [*:*]
    if (n == 2) { set yrange [0:10]; set ytics 2 }
    if (n == 3) { set yrange [0:1.2]; set ytics 0.4 }
    if (n == 4) { set yrange [0.9:1.6]; set ytics 0.2 }
    if (n == 4) { set xlabel 'hidden units K' } else { set xlabel '' }
    if (n == 1) { set key bottom left reverse Left samplen 1.5 } else { unset key }
    plot for [k = 0:1] name.'.csv' index k using (shift(k,$1)):(column(2*n)):(column(2*n+1)) with yerrorbars linetype k+1 pointtype 7 pointsize 0.4 title word(names, k+1), \
         for [k = 0:1] '' index k using (shift(k,$1)):(column(2*n)) with lines linetype k+1 notitle
  }
  unset logscale x
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-model-size",
                   .title = "One layer with 1 to 256 hidden units: what theory predicts of each"},
          .data = data,
          .script = script};
}

}  // namespace popgrad::joma::figures::model_size_figure
