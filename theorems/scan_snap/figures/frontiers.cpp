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
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/random_classes.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::frontiers_figure {
namespace {

constexpr Index vocabulary = 300;
constexpr std::uint32_t instance_run = 0xFFFFFFFEU;

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

/// Pairs of a query and a distinct token, and those of them that lost attention.
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

FigureTable overlaps(const FigureRequest& request) {
  constexpr int bins = 12;
  constexpr double widest = 2.4;
  std::vector<Bin> found(bins);
  Stream stream(request.seed, instance_run, 0);
  for (int trial = 0; trial < 4000; ++trial) {
    const Index k = 3 + static_cast<Index>(stream.index(3));
    // The smallest vocabulary that has the tokens: where xi_n < 0 is least rare.
    const Index support = k + static_cast<Index>(stream.index(3));
    const SequenceClasses<double> classes = scattered_classes(stream, k, support, support);
    const TrainingInstance<double> instance = checks::with_ratio(classes, 100);
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
  FigureTable table;
  for (int b = 0; b < bins; ++b) {
    const Bin& own = found[static_cast<std::size_t>(b)];
    if (own.count < 5) continue;
    const double n = own.count;
    table.add("lambda_max_E", (b + 0.5) * widest / bins, "xi_negative", own.negative_xi / n,
              "fates_reduced", own.fallen_reduced / n, "fates_flow", own.fallen_flow / n,
              "1-cosine", own.distance / n, "instances", n);
  }
  return table;
}

FigureTable ratios(const FigureRequest& request) {
  FigureTable table;
  for (int i = 0; i <= 8; ++i) {
    const double ratio = std::pow(10.0, 0.5 * i);
    Stream stream(request.seed, instance_run, 1);  // the same instances at every ratio
    constexpr double instances = 100;
    int flow_breaks = 0;
    int fast_breaks = 0;
    int reduced_breaks = 0;
    for (int trial = 0; trial < instances; ++trial) {
      const Index k = 2 + static_cast<Index>(stream.index(4));
      const TrainingInstance<double> instance =
          checks::with_ratio(random_classes(stream, k, 1, 3, 0.5, vocabulary), ratio);
      const PopulationFlow<double> flow(instance);
      const PopulationFlow<double> fast(instance, DecoderRule::fast);
      const ReducedFlow<double> reduced(instance);
      if (fates(flow.layout(), logits_after(flow, 300, request.name)).fallen > 0) ++flow_breaks;
      if (fates(fast.layout(), logits_after(fast, 300, request.name)).fallen > 0) ++fast_breaks;
      if (fates(reduced.layout(), logits_after(reduced, 300, request.name)).fallen > 0) {
        ++reduced_breaks;
      }
    }
    table.add("eta_Y/eta_Z", ratio, "fates_flow", flow_breaks / instances, "fates_fast_decoder",
              fast_breaks / instances, "fates_reduced", reduced_breaks / instances);
  }
  return table;
}

FigureTable lengths(const FigureRequest& request) {
  FigureTable table;
  TrainingInstance<double> instance = checks::with_ratio(syn_small<double>(), 1);
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
    table.add("T", length, "fallen",
              static_cast<double>(all.fallen) / static_cast<double>(all.distinct), "distance",
              distance, "bias", (mean - limit).norm() / limit.norm());
  }
  return table;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {overlaps(request).file(request, "overlap"), ratios(request).file(request, "ratio"),
          lengths(request).file(request, "length")};
}

Picture picture() {
  const auto curve = [](const char* part, const char* x, const char* y, int colour, int mark,
                        const char* name) {
    return plot::line_with_points(x, y).in(part).colour(colour).mark(mark, 0.5).titled(name);
  };
  const Panel overlap{
      .title = "(a) overlap, η_Y/η_Z = 100",
      .x = {.label = "λ_{max}(E)", .range = "0:2.4"},
      .y = {.label = "share of instances", .range = "0:0.3", .tics = "0.1"},
      .key = "top left",
      .curves = {
          curve("overlap", "lambda_max_E", "xi_negative", 1, 7, "ξ_n < 0 for some n"),
          curve("overlap", "lambda_max_E", "fates_reduced", 3, 9,
                "a distinct token falls, reduced"),
          curve("overlap", "lambda_max_E", "fates_flow", 2, 5, "a distinct token falls, flow"),
          plot::line("lambda_max_E", "1-cosine")
              .in("overlap")
              .colour(4)
              .dashed()
              .titled("1 − cos(z_{reduced}, z_{flow})"),
      }};
  const Panel rates{
      .title = "(b) learning rates, one common token",
      .x = {.label = "η_Y / η_Z", .range = "1:1e4", .logarithmic = true},
      .y = {.label = "share of instances", .range = "0:1", .tics = "0.2"},
      .key = "top right",
      .curves = {
          curve("ratio", "eta_Y/eta_Z", "fates_flow", 2, 5, "a distinct token falls, flow"),
          curve("ratio", "eta_Y/eta_Z", "fates_fast_decoder", 1, 7, "fast-decoder"),
          curve("ratio", "eta_Y/eta_Z", "fates_reduced", 3, 9, "reduced"),
      }};
  const Panel length{
      .title = "(c) sequence length, Syn-Small, 100 steps of SGD, batch 128",
      .x = {.label = "sequence length T", .range = "2:1100", .logarithmic = true, .format = "%g"},
      .y = {.label = "share, relative distance", .range = "0:1.3", .tics = "0.2"},
      .key = "top right",
      .curves = {
          curve("length", "T", "fallen", 2, 5, "distinct tokens that fell"),
          curve("length", "T", "distance", 1, 7, "z of one run, from descent"),
          curve("length", "T", "bias", 3, 9, "z of the mean over runs"),
      }};
  return {.height = 5.2, .left = 0.15, .panels = {overlap, rates, length}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scan-snap-frontiers",
               .title = "How far overlap, `eta_Y/eta_Z` and `T` may leave the hypotheses before "
                        "conclusions fail",
               .shows = {"scan-snap.fates", "scan-snap.assumptions"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::frontiers_figure
