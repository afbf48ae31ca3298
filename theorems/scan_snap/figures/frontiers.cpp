// How far the hypotheses may be violated: (a) overlap, share of random instances whose conclusions
// fail against the largest eigenvalue of E; (b) eta_Y/eta_Z, share in which the flow breaks the
// fates of tokens, and distances; (c) sequence length T, share of tokens with another fate in SGD.

#include <algorithm>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/random_classes.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::frontiers_figure {
namespace {

constexpr Index vocabulary = 300;
constexpr std::uint32_t instance_run = 0xFFFFFFFEU;

TrainingInstance<double> at_ratio(const SequenceClasses<double>& classes, double ratio) {
  TrainingInstance<double> instance;
  instance.classes = classes;
  instance.attention_rate = 1 / ratio;
  return instance;
}

template <class Rung>
Vector<double> logits_after(const Rung& rung, double t, const std::string& figure) {
  SolveRequest<double> request;
  request.end = t;
  request.save_at = {t};
  request.relative_tolerance = 1e-8;
  request.absolute_tolerance = 1e-12;
  request.find_events = false;
  const Trajectory<double> run = solve(forget_type(rung), request);
  require_usable(run.outcome, figure);
  return rung.logits_at(run.last_state);
}

/// Did each pair of a (query, token) move as its kind should: distinct up, the others down?
struct Fates {
  Index distinct = 0, fallen = 0;
};
Fates fates(const Layout& layout, const Vector<double>& z) {
  Fates found;
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    if (!layout.entry_distinct[e]) continue;
    ++found.distinct;
    if (z[layout.entry_pair[e]] < 0) ++found.fallen;
  }
  return found;
}

/// Shares over the instances of one bin.
struct Bin {
  int count = 0;
  int negative_xi = 0, fallen_reduced = 0, fallen_flow = 0;
  double distance = 0;
};

CsvText overlap_panel(const FigureRequest& request) {
  constexpr int bins = 12;
  constexpr double widest = 2.4;
  std::vector<Bin> found(bins);
  Stream stream(request.seed, instance_run, 0);
  for (int trial = 0; trial < 4000; ++trial) {
    const Index k = 3 + static_cast<Index>(stream.index(3));
    // The smallest vocabulary that has the tokens: where xi_n < 0 is least rare.
    const Index support = k + static_cast<Index>(stream.index(3));
    const SequenceClasses<double> classes = scattered_classes(stream, k, support, support);
    const TrainingInstance<double> instance = at_ratio(classes, 100);
    const ReducedFlow<double> reduced(instance);
    const Matrix<double> overlaps =
        gram(reduced.layout(), k, reduced.features_at(reduced.initial()));
    const Vector<double> eigenvalues = symmetric_eigenvalues<double>(overlaps);
    const double lambda = eigenvalues.maxCoeff() - 1;
    // Where F has next to no rank, xi and the reduced flow are not defined.
    if (eigenvalues.minCoeff() < 1e-3) continue;
    const auto bin = static_cast<std::size_t>(lambda / widest * bins);
    if (bin >= found.size()) continue;
    Bin& own = found[bin];
    ++own.count;
    const Matrix<double> inverse =
        solve_symmetric<double>(overlaps, Matrix<double>::Identity(k, k));
    const auto m = static_cast<double>(support);
    if (relative_xi<double>(beta_of<double>(inverse, m), overlaps).minCoeff() < 0) {
      ++own.negative_xi;
    }
    const PopulationFlow<double> flow(instance);
    const Vector<double> on_reduced = logits_after(reduced, 300, request.name);
    const Vector<double> on_flow = logits_after(flow, 300, request.name);
    if (fates(reduced.layout(), on_reduced).fallen > 0) ++own.fallen_reduced;
    if (fates(flow.layout(), on_flow).fallen > 0) ++own.fallen_flow;
    // Direction only: sizes differ by a factor that grows with M.
    own.distance += 1 - on_reduced.dot(on_flow) / (on_reduced.norm() * on_flow.norm());
  }
  CsvText csv{"lambda_max_E", "xi_negative", "fates_reduced",
              "fates_flow",   "1-cosine",    "instances"};
  for (int b = 0; b < bins; ++b) {
    const Bin& own = found[static_cast<std::size_t>(b)];
    if (own.count < 5) continue;
    const double n = own.count;
    csv.number((b + 0.5) * widest / bins).number(own.negative_xi / n);
    csv.number(own.fallen_reduced / n).number(own.fallen_flow / n).number(own.distance / n);
    csv.number(n).end_row();
  }
  return csv;
}

CsvText ratio_panel(const FigureRequest& request) {
  CsvText csv{"eta_Y/eta_Z", "fates_flow", "fates_fast_decoder", "fates_reduced"};
  for (int i = 0; i <= 8; ++i) {
    const double ratio = std::pow(10.0, 0.5 * i);
    Stream stream(request.seed, instance_run, 1);  // the same instances at every ratio
    constexpr int instances = 100;
    int flow_breaks = 0;
    int fast_breaks = 0;
    int reduced_breaks = 0;
    for (int trial = 0; trial < instances; ++trial) {
      const Index k = 2 + static_cast<Index>(stream.index(4));
      const TrainingInstance<double> instance =
          at_ratio(random_classes(stream, k, 1, 3, 0.5, vocabulary), ratio);
      const PopulationFlow<double> flow(instance);
      const PopulationFlow<double> fast(instance, DecoderRule::fast);
      const ReducedFlow<double> reduced(instance);
      if (fates(flow.layout(), logits_after(flow, 300, request.name)).fallen > 0) ++flow_breaks;
      if (fates(fast.layout(), logits_after(fast, 300, request.name)).fallen > 0) ++fast_breaks;
      if (fates(reduced.layout(), logits_after(reduced, 300, request.name)).fallen > 0) {
        ++reduced_breaks;
      }
    }
    csv.number(ratio).number(flow_breaks / double{instances});
    csv.number(fast_breaks / double{instances})
        .number(reduced_breaks / double{instances})
        .end_row();
  }
  return csv;
}

CsvText length_panel(const FigureRequest& request) {
  CsvText csv{"T", "fallen", "distance", "bias"};
  TrainingInstance<double> instance = at_ratio(syn_small<double>(), 1);
  constexpr std::uint64_t steps = 100;
  constexpr std::uint32_t runs = 16;
  WalkRequest walk_request;
  walk_request.step_size = 1;
  walk_request.steps = steps;
  walk_request.save_steps = {steps};
  walk_request.runs = runs;
  walk_request.seed = request.seed;
  walk_request.jobs = request.jobs;
  walk_request.keep_states = true;
  for (const Index length : {2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025}) {
    instance.length = length;
    const PopulationFlow<double> flow(instance);
    const AnyRung<double> rung = forget_type(flow);
    WalkRequest descent = walk_request;
    descent.runs = 1;
    const Vector<double> limit =
        flow.logits_at(walk(rung, rung.initial, descent).front().states.front());
    walk_request.batch = 128;
    Fates all;
    double distance = 0;
    Vector<double> mean = Vector<double>::Zero(limit.size());
    for (const Trajectory<double>& run : walk(rung, rung.initial, walk_request)) {
      const Vector<double> z = flow.logits_at(run.states.front());
      const Fates one = fates(flow.layout(), z);
      all.distinct += one.distinct;
      all.fallen += one.fallen;
      distance += (z - limit).norm() / limit.norm() / runs;
      mean += z / runs;
    }
    walk_request.batch = 0;
    csv.number(static_cast<double>(length));
    csv.number(static_cast<double>(all.fallen) / static_cast<double>(all.distinct));
    csv.number(distance).number((mean - limit).norm() / limit.norm()).end_row();
  }
  return csv;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {{request.name + "-overlap.csv", overlap_panel(request).text()},
          {request.name + "-ratio.csv", ratio_panel(request).text()},
          {request.name + "-length.csv", length_panel(request).text()}};
}

constexpr const char* script =
    R"gp(# -overlap.csv: lambda_max(E), shares of random instances with some xi_n < 0, with a fallen distinct
# token on reduced and on flow, 1 - cosine of z on both. -ratio.csv: eta_Y/eta_Z, shares of instances
# with a fallen distinct token on flow, fast-decoder, reduced. -length.csv: T, share of fallen distinct
# tokens, distance of z from descent (one run, mean of runs).
height = 5.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.15,0.97,0.075,0.965 spacing 0,0.1
  set yrange [0:0.3]
  set ytics 0.1
  set title '(a) overlap, η_Y/η_Z = 100'
  set xlabel 'λ_{max}(E)'
  set ylabel 'share of instances' offset 0+right,0
  set xrange [0:2.4]
  set key top left reverse Left
  plot name.'-overlap.csv' every ::1 using 1:2 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'ξ_n < 0 for some n', \
       name.'-overlap.csv' every ::1 using 1:3 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'a distinct token falls, reduced', \
       name.'-overlap.csv' every ::1 using 1:4 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'a distinct token falls, flow', \
       name.'-overlap.csv' every ::1 using 1:5 with lines linetype 4 dashtype 2 title '1 − cos(z_{reduced}, z_{flow})'
  set yrange [0:1]
  set ytics 0.2
  set title '(b) learning rates, one common token'
  set xlabel 'η_Y / η_Z'
  set logscale x
  set xrange [1:1e4]
  set format x '10^{%T}'
  set key top right noreverse Right
  plot name.'-ratio.csv' every ::1 using 1:2 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'a distinct token falls, flow', \
       name.'-ratio.csv' every ::1 using 1:3 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'fast-decoder', \
       name.'-ratio.csv' every ::1 using 1:4 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'reduced'
  set title '(c) sequence length, Syn-Small, 100 steps of SGD, batch 128'
  set xlabel 'sequence length T'
  set ylabel 'share, relative distance' offset 0.5+right,0
  set xrange [2:1100]
  set format x '%g'
  set yrange [0:1.2]
  plot name.'-length.csv' every ::1 using 1:2 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'distinct tokens that fell', \
       name.'-length.csv' every ::1 using 1:3 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'z of one run, from descent', \
       name.'-length.csv' every ::1 using 1:4 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'z of the mean over runs'
  unset logscale x
  unset title
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-frontiers",
                   .title = "How far overlap, eta_Y/eta_Z and T may leave the hypotheses before "
                            "conclusions fail",
                   .shows = {"scan-snap.fates", "scan-snap.assumptions"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::frontiers_figure
