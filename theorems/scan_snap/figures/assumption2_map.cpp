// How far Theorem 2(a), which is about the reduced flow, transfers to the population flow inside
// Assumption 2: share of random instances in which z' of a distinct token turns negative by t =
// 1e6, and when it first does, over eta_Y/eta_Z and M.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

struct Vocabulary {
  double tokens;
  const char* name;
};
constexpr std::array<Vocabulary, 4> vocabularies{
    {{3e2, "M = 300"}, {3e3, "M = 3000"}, {3e4, "M = 3·10^4"}, {3e5, "M = 3·10^5"}}};

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const auto& [tokens, name] : vocabularies) {
    table.block(name);
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
      const Share share = wilson_interval(static_cast<double>(losses.size()), instances, level);
      table.add(
          "M", tokens, "eta_Y/eta_Z", ratio, "share", share.value, "low", share.low, "high",
          share.high, "median_time",
          losses.empty() ? std::numeric_limits<double>::quiet_NaN() : losses[losses.size() / 2],
          "instances", instances);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const std::string column = "floor(2*log10([eta_Y/eta_Z])+0.5)";
  const std::string row = "floor(log10([M]/300)+0.5)";
  const Panel shares{
      .title = "(a) share where a distinct token loses, 95 % interval",
      .x = {.label = "η_Y / η_Z",
            .range = "-0.5:6.5",
            .tics = "('1' 0, '3' 1, '10' 2, '30' 3, '100' 4, '300' 5, '1000' 6)"},
      .y = {.label = "M",
            .range = "-0.5:3.5",
            .tics = "('300' 0, '3000' 1, '3·10^4' 2, '3·10^5' 3)"},
      .curves = {plot::image(column, row, "share"),
                 plot::texts(column, row + "+0.16", "sprintf('%.0f %%', 100*[share])"),
                 plot::texts(column, row + "-0.2", "sprintf('%.0f–%.0f', 100*[low], 100*[high])")
                     .looking("textcolor rgb '#444444'")},
      .colours = {.range = "0:1", .palette = "defined (0 '#FFFFFF', 1 red)", .bar = false}};
  Panel times{.title = "(b) first loss of a distinct token, median",
              .x = {.label = "η_Y / η_Z", .range = "0.8:500", .logarithmic = true},
              .y = {.label = "t", .range = "1:1e8", .logarithmic = true},
              .key = "top left",
              .curves = {}};
  const std::vector<std::string> names = labels_of(vocabularies, std::mem_fn(&Vocabulary::name));
  times.add_each(plot::line_with_points("eta_Y/eta_Z", "median_time").mark(7, 0.5), names, names);
  return {.height = 4.4, .left = 0.17, .panels = {shares, times}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scan-snap-transfer",
               .title =
                   "Where Theorem 2(a) stops transferring to the flow, by `eta_Y/eta_Z` and `M`",
               .shows = {"scan-snap.fates-assumption2", "scan-snap.fates"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::assumption2_map_figure
