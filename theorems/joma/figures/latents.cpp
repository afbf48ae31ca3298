// Do hidden units of trained networks stand for latents? Scores by layer and level against the
// untrained network, latents of the wrong sequences, and permuted labels; attention entropy of every
// layer over time; when scores rise, with attention trained and frozen at uniform.

#include <omp.h>

#include <array>
#include <cmath>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::figures::latents_figure {
namespace {

using joma::checks::LatentTraining;
using joma::checks::NetworkScores;

// The shape of Table 1: three layers with LayerNorm, two levels below the classes; d = 1024 there.
constexpr const char* small = "10,20,20";  // latents of both levels, classes
constexpr const char* large = "20,30,60";
constexpr std::uint32_t networks = 10;
constexpr double level_of_intervals = 0.05;

LatentTraining training(const char* sizes, std::uint64_t seed) {
  Parameters p("joma");
  p.set("layers", "3");
  p.set("d", "16");
  p.set("layer-norm", "true");
  Value::List latents;
  std::string text = sizes;
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t cut = text.find(',', at);
    latents.emplace_back(text.substr(at, cut == std::string::npos ? cut : cut - at));
    at = cut == std::string::npos ? cut : cut + 1;
  }
  p.set("latents", std::move(latents));
  p.set("children", Value::List{"2", "2", "2"});
  return {multilayer_instance(p, seed), 0.1, 300};
}

// A row a layer and level: mean and half width of every reading, free and matched.
std::string scores(const FigureRequest& request) {
  CsvText csv{"classes", "layer",      "level",   "reading",
              "free",    "free_error", "matched", "matched_error"};
  for (const char* sizes : {small, large}) {
    const LatentTraining t = training(sizes, request.seed);
    const std::vector<NetworkScores> all = network_scores(t, request.seed, networks, request.jobs);
    const Index levels = std::ssize(t.instance.data.latent_means);
    const Index entries = t.instance.shape.layers * levels;
    for (std::size_t r = 0; r < joma::checks::readings; ++r) {
      Matrix<double> table(networks, 2 * entries);
      for (std::uint32_t i = 0; i < networks; ++i) {
        table.row(i).head(entries) = all[i].of[r].free.transpose();
        table.row(i).tail(entries) = all[i].of[r].matched.transpose();
      }
      for (Index e = 0; e < entries; ++e) {
        const Index layer = e / levels;
        const Matrix<double> own = table(Eigen::all, std::vector<Index>{e, entries + e});
        // Two means and two variances share what may fail.
        const SampleMoments moments = sample_moments(own, 4 * level_of_intervals);
        csv.number(static_cast<double>(t.instance.data.classes()))
            .number(static_cast<double>(layer))
            .number(static_cast<double>(e % levels))
            .number(static_cast<double>(r));
        for (const Quantity& mean : moments.mean) csv.number(mean.value()).number(mean.error());
        csv.end_row();
      }
      csv.end_block();
    }
  }
  return csv.text();
}

// The networks of one kind of attention on their way, saved at steps that grow by a quarter.
std::vector<Trajectory<double>> trajectories(const FigureRequest& request, LatentTraining t,
                                             bool train_attention) {
  t.instance.shape.train_attention = train_attention;
  WalkRequest walking;
  walking.step_size = t.step_size;
  walking.steps = 2 * t.steps;
  walking.jobs = 1;
  walking.save_steps = {0};
  for (double step = 1; step < static_cast<double>(walking.steps); step *= 1.25) {
    const auto whole = static_cast<std::uint64_t>(std::llround(step));
    if (whole > walking.save_steps.back()) walking.save_steps.push_back(whole);
  }
  walking.save_steps.push_back(walking.steps);
  std::vector<Trajectory<double>> runs(networks);
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t i = 0; i < networks; ++i) {
    MultilayerInstance<double> own = t.instance;
    own.start = network_start(own.shape, request.seed + i);
    const AnyRung<double> rung = forget_type(MultilayerFlow<double>(own));
    runs[i] = std::move(walk(rung, rung.initial, walking).front());
  }
  for (const Trajectory<double>& run : runs) require_usable(run.outcome, request.name);
  return runs;
}

// A block a layer: step, then mean, least and largest attention entropy over the networks.
std::string entropies(const std::vector<Trajectory<double>>& runs, std::size_t layers, double eta) {
  CsvText csv{"step", "layer", "mean", "least", "largest"};
  for (std::size_t h = 0; h < layers; ++h) {
    for (std::size_t k = 0; k < runs.front().t.size(); ++k) {
      Vector<double> entropy(networks);
      for (std::uint32_t i = 0; i < networks; ++i) entropy[i] = runs[i].rows[k][2 + h];
      csv.number(std::round(runs.front().t[k] / eta))
          .number(static_cast<double>(h))
          .number(entropy.mean())
          .number(entropy.minCoeff())
          .number(entropy.maxCoeff())
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

// The first time at which a column is halfway from its start to its end.
double time_halfway(const Trajectory<double>& run, std::size_t column) {
  const double first = run.rows.front()[column];
  const double way = run.rows.back()[column] - first;
  const auto share = [&](std::size_t k) { return (run.rows[k][column] - first) / way; };
  std::size_t k = 1;
  while (k + 1 < run.t.size() && share(k) < 0.5) ++k;
  const double part = (0.5 - share(k - 1)) / (share(k) - share(k - 1));
  return run.t[k - 1] + part * (run.t[k] - run.t[k - 1]);
}

// A row a layer and level: steps until the score is halfway, mean over the networks and half width.
void add_order(CsvText& csv, const std::vector<Trajectory<double>>& runs, std::size_t layers,
               std::size_t levels, double eta) {
  for (std::size_t e = 0; e < layers * levels; ++e) {
    const std::size_t layer = e / levels;
    Matrix<double> times(networks, 1);
    for (std::uint32_t i = 0; i < networks; ++i) {
      times(i, 0) = time_halfway(runs[i], 2 + layers + 2 * e) / eta;
    }
    // A mean and a variance share what may fail.
    const Quantity mean = sample_moments(times, 2 * level_of_intervals).mean.front();
    csv.number(static_cast<double>(layer))
        .number(static_cast<double>(e % levels))
        .number(mean.value())
        .number(mean.error())
        .end_row();
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const LatentTraining t = training(large, request.seed);
  const auto layers = static_cast<std::size_t>(t.instance.shape.layers);
  const std::size_t levels = t.instance.data.latent_means.size();
  const auto trained = trajectories(request, t, true);
  CsvText order{"layer", "level", "step", "half_width"};
  add_order(order, trained, layers, levels, t.step_size);
  add_order(order, trajectories(request, t, false), layers, levels, t.step_size);
  return {{request.name + "-scores.csv", scores(request)},
          {request.name + "-entropy.csv", entropies(trained, layers, t.step_size)},
          {request.name + "-order.csv", order.text()}};
}

constexpr const char* script =
    R"gp(# -scores.csv, a block a data set (20, 60 sequences) and reading (trained, untrained, latents of the
# wrong sequences on both, permuted labels): classes, layer, level, reading, free, its half width,
# matched, its half width. -entropy.csv, a block a layer: step, layer, mean, least, largest.
# -order.csv, blocks of attention trained and frozen: layer, level, step, half width.
height = 7.2
place(layer, level) = 3*layer + level + 0.5
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 4,1 margins 0.13,0.97,0.058,0.973 spacing 0,0.08
  set ylabel 'mean best |corr|' offset 0.4+right,0
  set xrange [-0.2:8.2]
  set xtics ("0, 0" 0.5, "0, 1" 1.5, "1, 0" 3.5, "1, 1" 4.5, "2, 0" 6.5, "2, 1" 7.5)
  set ytics 0.1
  do for [set_of_data = 0:1] {
    set title (set_of_data == 0 ? '(a) 20 sequences, latents 10, 20' : '(b) 60 sequences, latents 20, 30')
    set xlabel 'layer, level of the latents'
    if (set_of_data == 0) { set yrange [0.1:0.8]; set key bottom left reverse Left samplen 0.5 maxrows 3 width -3 }
    if (set_of_data == 1) { set yrange [0.2:0.6]; unset key }
    first = 5*set_of_data
    plot name.'-scores.csv' index first using (place($2,$3)-0.24):5:6 with yerrorbars pointtype 7 pointsize 0.6 linecolor rgb blue title 'trained', \
         '' index first+4 using (place($2,$3)-0.12):5:6 with yerrorbars pointtype 6 pointsize 0.6 linecolor rgb sky title 'permuted labels', \
         '' index first+1 using (place($2,$3)):5:6 with yerrorbars pointtype 5 pointsize 0.6 linecolor rgb orange title 'untrained', \
         '' index first+2 using (place($2,$3)+0.12):5:6 with yerrorbars pointtype 9 pointsize 0.6 linecolor rgb red title 'wrong latents', \
         '' index first+3 using (place($2,$3)+0.24):5:6 with yerrorbars pointtype 8 pointsize 0.6 linecolor rgb pink title 'untrained, wrong latents'
  }
  set title '(c) attention entropy at the last position, 60 sequences'
  set xlabel 'step'
  set ylabel 'entropy (nats)'
  set xrange [1:*]
  set logscale x
  set xtics autofreq
  set format x '10^{%T}'
  set ytics autofreq
  set yrange [*:*]
  set key bottom left reverse Left samplen 2
  plot for [h = 0:2] name.'-entropy.csv' index h using 1:4:5 with filledcurves linetype h+1 fillstyle transparent solid 0.15 notitle, \
       for [h = 0:2] '' index h using 1:3 with lines linetype h+1 title sprintf('layer %d', h)
  unset logscale x
  set format x '%g'
  set title '(d) step at which scores are halfway, 60 sequences'
  set xlabel 'layer, level of the latents'
  set ylabel 'step'
  set xrange [-0.2:8.2]
  set xtics ("0, 0" 0.5, "0, 1" 1.5, "1, 0" 3.5, "1, 1" 4.5, "2, 0" 6.5, "2, 1" 7.5)
  set yrange [0:350]
  set key top right reverse Left samplen 0.5
  plot name.'-order.csv' index 0 using (place($1,$2)-0.1):3:4 with yerrorbars pointtype 7 pointsize 0.6 linecolor rgb blue title 'attention trained', \
       '' index 1 using (place($1,$2)+0.1):3:4 with yerrorbars pointtype 6 pointsize 0.6 linecolor rgb red title 'attention uniform'
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-latents",
                   .title = "Hidden units and latents: trained networks against their nulls",
                   .shows = {"joma.latent-labels", "joma.latent-scores"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::joma::figures::latents_figure
