// How far Theorem 2(a), which is about the reduced flow, transfers to the population flow inside
// Assumption 2: share of random instances in which z' of a distinct token turns negative by t = 1e6,
// and when it first does, over eta_Y/eta_Z and M.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "theorems/scan_snap/checks/assumption2_classes.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::figures::assumption2_map_figure {
namespace {

using namespace scan_snap::checks;

constexpr int instances = 400;
constexpr double last_time = 1e6;
constexpr double level = 0.05;
constexpr std::uint32_t instance_run = 0xFFFFFFFDU;
// Below this share of the largest |z'| a sign is one of rounding.
constexpr double resolved = 1e-8;

/// K from 2 to 5 as M allows, one common token, lambda_1 log-uniform between the bounds of
/// Assumption 2, both of which the classes meet.
SequenceClasses<double> drawn_classes(Stream& stream, double tokens) {
  const double least = 6 / std::sqrt(tokens);
  const auto most = static_cast<std::uint32_t>(std::min(5.0, 0.95 / least));
  for (;;) {
    const Index k = 2 + static_cast<Index>(stream.index(most - 1));
    const double lowest = static_cast<double>(k) * least;
    const double share = lowest * std::pow(0.99 / lowest, stream.uniform());
    const std::optional<OverlapClasses> found = drawn_overlap(stream, {k, 1, 3, share});
    if (!found || found->least < least) continue;
    SequenceClasses<double> classes = found->classes;
    classes.tokens = static_cast<Index>(tokens);
    return classes;
  }
}

/// The first saved time at which a distinct token loses attention on the flow; infinity: none.
double first_loss(const TrainingInstance<double>& instance) {
  std::vector<double> times;
  for (int i = 0; i <= 112; ++i) times.push_back(0.1 * std::pow(last_time / 0.1, i / 112.0));
  const PopulationFlow<double> flow(instance);
  const Trajectory<double> run = follow(forget_type(flow), times, 1e-10);
  require_usable(run.outcome, "scan-snap-transfer");
  const Layout& layout = flow.layout();
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    Vector<double> rate(run.states[i].size());
    flow.rhs(run.states[i], rate, run.t[i]);
    const Vector<double> dz = flow.logits_at(rate);
    const double bar = -resolved * dz.cwiseAbs().maxCoeff();
    for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
      if (layout.entry_distinct[e] && dz[layout.entry_pair[e]] < bar) return run.t[i];
    }
  }
  return std::numeric_limits<double>::infinity();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"M", "eta_Y/eta_Z", "share", "low", "high", "median_time", "instances"};
  for (const double tokens : {3e2, 3e3, 3e4, 3e5}) {
    std::vector<SequenceClasses<double>> drawn;
    Stream stream(request.seed, instance_run, static_cast<std::uint64_t>(tokens));
    for (int i = 0; i < instances; ++i) drawn.push_back(drawn_classes(stream, tokens));
    for (const double ratio : {1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3}) {
      std::vector<double> losses;
      for (const SequenceClasses<double>& classes : drawn) {
        const double time = first_loss(with_ratio(classes, ratio));
        if (std::isfinite(time)) losses.push_back(time);
      }
      std::sort(losses.begin(), losses.end());
      const auto found = static_cast<double>(losses.size());
      const Share share = wilson_interval(found, instances, level);
      csv.number(tokens).number(ratio).number(share.value).number(share.low).number(share.high);
      csv.number(losses.empty() ? std::numeric_limits<double>::quiet_NaN()
                                : losses[losses.size() / 2]);
      csv.number(instances).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, M = 300, 3000, 3e4, 3e5: M, eta_Y/eta_Z, share of instances in which z' of a
# distinct token turns negative on the flow by t = 1e6, its 95 % interval, median of the first such
# time, instances.
height = 4.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.97,0.09,0.955 spacing 0,0.13
  m(b) = 'M = '.word('300 3000 3·10^4 3·10^5', b+1)
  set title '(a) share of 400 instances, 95 % interval'
  set xlabel 'η_Y / η_Z'
  set ylabel 'M' offset 0.5+right,0
  set xrange [-0.5:6.5]
  set yrange [-0.5:3.5]
  set xtics ('1' 0, '3' 1, '10' 2, '30' 3, '100' 4, '300' 5, '1000' 6) offset 0,0.3+tight
  set ytics ('300' 0, '3000' 1, '3·10^4' 2, '3·10^5' 3)
  set cbrange [0:1]
  set palette defined (0 '#FFFFFF', 1 red)
  unset colorbox
  unset key
  column_of(r) = r < 2 ? 0 : r < 5 ? 1 : r < 20 ? 2 : r < 50 ? 3 : r < 200 ? 4 : r < 500 ? 5 : 6
  row_of(t) = t < 1e3 ? 0 : t < 1e4 ? 1 : t < 1e5 ? 2 : 3
  plot for [b=0:3] name.'.csv' index b every ::(b==0) using (column_of($2)):(row_of($1)):(0.5):(0.5):3 with boxxyerror fillstyle solid 1 noborder fillcolor palette, \
       for [b=0:3] name.'.csv' index b every ::(b==0) using (column_of($2)):(row_of($1)+0.16):(sprintf('%.0f %%', 100*$3)) with labels, \
       for [b=0:3] name.'.csv' index b every ::(b==0) using (column_of($2)):(row_of($1)-0.2):(sprintf('%.0f–%.0f', 100*$4, 100*$5)) with labels textcolor rgb '#444444'
  set title "(b) first loss of a distinct token, median"
  set key top left reverse Left
  set ytics auto
  set xtics auto
  set logscale xy
  set format xy '10^{%T}'
  set xrange [0.8:500]
  set yrange [1:1e8]
  set ylabel 't' offset 0.5+right,0
  plot for [b=0:3] name.'.csv' index b every ::(b==0) using 2:6 with linespoints linetype b+1 pointtype 7 pointsize 0.5 title m(b)
  unset logscale
  unset title
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scan-snap-transfer",
               .title = "Where Theorem 2(a) stops transferring to the flow, by eta_Y/eta_Z and M",
               .shows = {"scan-snap.fates-assumption2", "scan-snap.fates"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::scan_snap::figures::assumption2_map_figure
