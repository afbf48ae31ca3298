// Stable rank of lower weights on the way of training, from random starts: W_1 of both layers of
// networks on the authors' sets, and V of one layer on their token laws.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/stable_rank.hpp"

namespace popgrad::joma::figures::trained_rank_figure {
namespace {

constexpr std::uint32_t starts = 6;
constexpr double network_step = 0.1;
constexpr std::uint64_t network_steps = 1000;
constexpr double step_size = 0.1;        // of the authors' runs
constexpr std::uint64_t steps = 10'000;  // five times as many: ranks come back late
constexpr double seen = 0.02;            // share of the start that a fall or a rise has to reach

// What is followed of one kind of run: a row a save point, a column a start.
struct Ranks {
  std::string what;
  std::vector<std::uint64_t> step;
  Matrix<double> rank;
};

std::vector<std::uint64_t> growing_steps(std::uint64_t last) {
  std::vector<std::uint64_t> found{0};
  for (double step = 1; step < static_cast<double>(last); step *= 1.15) {
    const auto whole = static_cast<std::uint64_t>(std::llround(step));
    if (whole > found.back()) found.push_back(whole);
  }
  found.push_back(last);
  return found;
}

// By `read` from a state, on the way of descent.
template <class Flow, class Read>
void follow(const Flow& flow, double eta, const std::vector<std::uint64_t>& saved, Read read) {
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  std::uint64_t step = 0;
  for (std::size_t k = 0; k < saved.size(); ++k) {
    for (; step < saved[k]; ++step) {
      flow.rhs(x, slope, 0.0);
      x += eta * slope;
    }
    read(k, x);
  }
}

std::vector<Ranks> of_networks(const FigureRequest& request, int jobs) {
  Parameters p("joma");
  p.set("layers", "2");
  p.set("d", "8");
  p.set("latents", Value::List{"8", "10", "12"});
  p.set("children", Value::List{"2", "2", "2"});
  const std::vector<std::uint64_t> saved = growing_steps(network_steps);
  const auto rows = static_cast<Index>(saved.size());
  std::vector<Ranks> found;
  for (const char* what : {"W_1 of layer 0", "W_1 of layer 1"}) {
    found.push_back({what, saved, Matrix<double>(rows, starts)});
  }
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t i = 0; i < starts; ++i) {
    const MultilayerFlow<double> flow(multilayer_instance(p, request.seed + i));
    follow(flow, network_step, saved, [&](std::size_t k, const Vector<double>& x) {
      for (const NetworkBlock& block : flow.network().blocks()) {
        if (!block.name.starts_with("W_1")) continue;
        const Matrix<double> weights =
            x.segment(block.offset, block.rows * block.cols).reshaped(block.rows, block.cols);
        found[block.name == "W_1_0" ? 0 : 1].rank(static_cast<Index>(k), i) = stable_rank(weights);
      }
    });
  }
  return found;
}

Ranks of_one_layer(const FigureRequest& request, int jobs, const char* law) {
  Parameters p("joma");
  p.set("law", law);
  p.set("phi", "tanh");
  p.set("units", "16");
  p.set("attention", "softmax");
  p.set("temperature", "0.5");
  const std::vector<std::uint64_t> saved = growing_steps(steps);
  Ranks found{std::string("V ") + law, saved,
              Matrix<double>(static_cast<Index>(saved.size()), starts)};
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t i = 0; i < starts; ++i) {
    const PopulationFlow<double> flow(class_instance<double>(p, request.seed + i));
    const ClassInstance<double>& instance = flow.instance();
    follow(flow, step_size, saved, [&](std::size_t k, const Vector<double>& x) {
      found.rank(static_cast<Index>(k), i) =
          stable_rank(Matrix<double>(x.head(instance.weights.size())
                                         .reshaped(instance.weights.rows(), instance.units())
                                         .topRows(instance.tokens())));
    });
  }
  return found;
}

// A block a kind of run: step, median, least and largest. In the second file, a row each: starts in
// which the rank falls, and in which it falls and rises again, with what the shares may be.
std::vector<FigureFile> data(const FigureRequest& request) {
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
  std::vector<Ranks> all = of_networks(request, jobs);
  for (const char* law : {"gaussian", "uniform"}) all.push_back(of_one_layer(request, jobs, law));
  CsvText curves{"step", "median", "least", "largest"};
  CsvText shares{"kind",     "starts",    "fall",  "fall_low", "fall_high", "both",
                 "both_low", "both_high", "start", "least",    "end"};
  for (const Ranks& each : all) {
    for (Index k = 0; k < each.rank.rows(); ++k) {
      std::vector<double> values;
      for (Index i = 0; i < starts; ++i) values.push_back(each.rank(k, i));
      std::sort(values.begin(), values.end());
      curves.number(static_cast<double>(each.step[static_cast<std::size_t>(k)]))
          .number((values[starts / 2] + values[(starts - 1) / 2]) / 2)
          .number(values.front())
          .number(values.back())
          .end_row();
    }
    curves.end_block();
    double falls = 0;
    double both = 0;
    const Vector<double> least = each.rank.colwise().minCoeff();
    for (Index i = 0; i < starts; ++i) {
      const double enough = seen * each.rank(0, i);
      const bool fallen = each.rank(0, i) - least[i] > enough;
      falls += fallen ? 1 : 0;
      both += fallen && each.rank(each.rank.rows() - 1, i) - least[i] > enough ? 1 : 0;
    }
    shares.word(each.what).number(starts);
    for (const double count : {falls, both}) {
      const Share share = wilson_interval(count, starts, 0.05);
      shares.number(count).number(share.low).number(share.high);
    }
    shares.number(each.rank.row(0).mean())
        .number(least.mean())
        .number(each.rank.row(each.rank.rows() - 1).mean())
        .end_row();
  }
  return {{request.name + ".csv", curves.text()}, {request.name + "-shares.csv", shares.text()}};
}

constexpr const char* script =
    R"gp(# A block a kind of run: step, median, least and largest over starts: W_1 of two layers, then V for the
# Gaussian law and for the uniform one. -shares.csv: a row a kind; starts in which the rank falls, and in
# which it falls and rises again, with 95 % intervals.
height = 5.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.13,0.96,0.08,0.96 spacing 0,0.12
  set xlabel 'step'
  set ylabel 'stable rank' offset 0.4+right,0
  set logscale x
  set format x '10^{%T}'
  set yrange [0:*]
  set title '(a) W_1 of networks of two layers, ReLU: median and range of 6'
  set xrange [1:1000]
  set key bottom left reverse Left samplen 2
  plot for [k = 0:1] name.'.csv' index k using 1:3:4 with filledcurves linetype k+1 fillstyle transparent solid 0.15 notitle, \
       for [k = 0:1] '' index k using 1:2 with lines linetype k+1 title sprintf('layer %d', k)
  set title '(b) V of one layer, softmax attention, 16 tanh units'
  set xrange [1:10000]
  set key bottom left reverse Left samplen 2
  names = '"Gaussian law" "uniform law"'
  plot for [k = 2:3] name.'.csv' index k using 1:3:4 with filledcurves linetype k-1 fillstyle transparent solid 0.15 notitle, \
       for [k = 2:3] '' index k using 1:2 with lines linetype k-1 title word(names, k-1)
  unset logscale x
  set format x '%g'
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-trained-rank",
               .title = "Stable rank of lower weights while they are trained from random starts"},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::trained_rank_figure
