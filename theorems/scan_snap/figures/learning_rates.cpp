// Attention on distinct tokens after 100 steps on Syn-Medium, against eta_Y/eta_Z: its entropy by
// SGD with momentum over 20 seeds and by momentum descent on the expectation, the signs of its
// trends, and the share of distinct tokens above a threshold.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::figures::learning_rates_figure {
namespace {

constexpr Index seeds = 20;
constexpr Index ratios = 10;
constexpr std::array<Index, 4> sizes{1, 3, 5, 10};
constexpr std::array attention_rates{0.5, 1.0, 2.0, 3.0};
constexpr std::array<Index, 4> paper_ratios{1, 2, 5, 10};
constexpr std::array thresholds{0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5};
constexpr double false_alarm = 0.05;  // of all trends together; of one curve of shares

// Means over classes.
struct Spread {
  double entropy = 0;
  std::array<double, thresholds.size()> above{};  // share of a class's distinct tokens
};

// Of attention on the distinct tokens, renormalised, at a state.
Spread spread(const PopulationFlow<double>& flow, const Vector<double>& state) {
  const SequenceClasses<double>& classes = flow.instance().classes;
  const Vector<double> f = flow.features_at(state);  // in proportion to attention
  const auto K = static_cast<double>(classes.classes());
  Spread found;
  for (std::size_t n = 0; n + 1 < classes.first.size(); ++n) {
    std::vector<double> attention;
    double sum = 0;
    for (Index e = classes.first[n]; e < classes.first[n + 1]; ++e) {
      if (!flow.layout().entry_distinct[static_cast<std::size_t>(e)]) continue;
      attention.push_back(f[e]);
      sum += f[e];
    }
    for (const double raw : attention) {
      const double a = raw / sum;
      if (a > 0) found.entropy -= a * std::log(a) / K;
      for (std::size_t i = 0; i < thresholds.size(); ++i) {
        if (a > thresholds[i]) found.above[i] += 1 / (K * static_cast<double>(attention.size()));
      }
    }
  }
  return found;
}

Spread trained(Index queries, double attention_rate, Index ratio, Index batch, std::uint64_t seed) {
  TrainingInstance<double> instance;
  instance.classes = syn_medium<double>(queries);
  instance.attention_rate = attention_rate;
  instance.decoder_rate = static_cast<double>(ratio) * attention_rate;
  instance.start = Start::uniform;
  instance.seed = seed;
  const PopulationFlow<double> flow(instance);
  const AnyRung<double> rung = forget_type(flow);
  WalkRequest request;
  request.step_size = 1;
  request.steps = 100;
  request.save_steps = {request.steps};
  request.batch = batch;
  request.seed = seed;
  request.jobs = 1;
  request.keep_states = true;
  request.optimiser.rule = Optimiser::Rule::momentum;
  return spread(flow, walk(rung, rung.initial, request).front().states.back());
}

// All seeds at one size and pair of rates; seed 0 stands for descent on the expectation, from the
// start of seed 1.
using Seeds = std::array<Spread, seeds + 1>;
using Grid = std::array<std::array<Seeds, ratios>, attention_rates.size()>;

Grid trained_grid(Index queries, const FigureRequest& request) {
  Grid grid;
  constexpr std::size_t runs = seeds + 1;
  request.each(attention_rates.size() * ratios * runs, [&](std::size_t i) {
    const std::size_t rate = i / (ratios * runs);
    const std::size_t ratio = i / runs % ratios;
    const std::size_t seed = i % runs;
    grid[rate][ratio][seed] =
        trained(queries, attention_rates[rate], static_cast<Index>(ratio) + 1, seed == 0 ? 0 : 128,
                1000 * request.seed + (seed == 0 ? 1 : seed));
  });
  return grid;
}

// What `number` says of a spread, of the seeds of SGD.
template <class Number>
Vector<double> over_seeds(const Grid& grid, std::size_t rate, Index ratio, Number number) {
  Vector<double> found(seeds);
  for (Index k = 0; k < seeds; ++k) {
    found[k] =
        number(grid[rate][static_cast<std::size_t>(ratio - 1)][static_cast<std::size_t>(k + 1)]);
  }
  return found;
}

double entropy(const Spread& one) { return one.entropy; }

std::string name_of_rate(double attention) { return fmt::format("η_Z = {:g}", attention); }
std::string name_of_ratio(Index ratio) { return fmt::format("η_Y / η_Z = {}", ratio); }
std::string size_of(Index queries) {
  return fmt::format("{} quer{}", queries, queries == 1 ? "y" : "ies");
}
std::string block_of(Index queries, double attention_rate) {
  return size_of(queries) + ", " + name_of_rate(attention_rate);
}
std::string block_of(Index queries, double attention_rate, Index ratio) {
  return block_of(queries, attention_rate) + ", " + name_of_ratio(ratio);
}

void add_entropies(Index queries, const Grid& grid, FigureTable& table) {
  for (std::size_t rate = 0; rate < attention_rates.size(); ++rate) {
    table.block(block_of(queries, attention_rates[rate]));
    for (Index ratio = 1; ratio <= ratios; ++ratio) {
      const Vector<double> own = over_seeds(grid, rate, ratio, entropy);
      const double variance = (own.array() - own.mean()).square().sum() / (seeds - 1);
      table.add("n_last", queries, "eta_Z", attention_rates[rate], "ratio", ratio, "mean",
                own.mean(), "deviation", std::sqrt(variance), "descent",
                grid[rate][static_cast<std::size_t>(ratio - 1)].front().entropy);
    }
  }
}

// A step on the paper's grid from one pair of rates to the next, and the sign claimed for the
// change of entropy; 0 from ratio 1 to 2, of which the paper says nothing.
struct Step {
  std::size_t rate_from, rate_to;
  Index ratio_from, ratio_to;
  int claimed;
};

std::vector<Step> steps_of_grid() {
  std::vector<Step> steps;
  for (const Index ratio : paper_ratios) {
    for (std::size_t rate = 1; rate < attention_rates.size(); ++rate) {
      steps.push_back({rate - 1, rate, ratio, ratio, -1});
    }
  }
  for (std::size_t rate = 0; rate < attention_rates.size(); ++rate) {
    for (std::size_t i = 1; i < paper_ratios.size(); ++i) {
      steps.push_back({rate, rate, paper_ratios[i - 1], paper_ratios[i], i > 1 ? 1 : 0});
    }
  }
  return steps;
}

const char* verdict(int claimed, const Quantity& change) {
  if (claimed == 0) return "unclaimed";
  if (std::abs(change.value()) <= change.error()) return "open";
  return (change.value() > 0) == (claimed > 0) ? "holds" : "violated";
}

// Differences are taken seed by seed: starts and samples are the same at both pairs of rates.
void add_trends(Index queries, const Grid& grid, FigureTable& table) {
  const std::vector<Step> steps = steps_of_grid();
  Matrix<double> changes(seeds, std::ssize(steps));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    changes.col(static_cast<Index>(i)) = over_seeds(grid, step.rate_to, step.ratio_to, entropy) -
                                         over_seeds(grid, step.rate_from, step.ratio_from, entropy);
  }
  // Means and variances share what may fail.
  const std::vector<Quantity> means =
      sample_moments(changes, 2 * false_alarm / static_cast<double>(sizes.size())).mean;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const auto rises = (changes.col(static_cast<Index>(i)).array() > 0).count();
    table.add("n_last", queries, "eta_Z_from", attention_rates[step.rate_from], "eta_Z_to",
              attention_rates[step.rate_to], "ratio_from", step.ratio_from, "ratio_to",
              step.ratio_to, "change", means[i].value(), "change_error", means[i].error(),
              "share_of_seeds_rising", static_cast<double>(rises) / seeds, "claimed", step.claimed,
              "verdict", verdict(step.claimed, means[i]));
  }
}

void add_shares(Index queries, const Grid& grid, FigureTable& table) {
  for (std::size_t rate = 0; rate < attention_rates.size(); ++rate) {
    for (const Index ratio : paper_ratios) {
      table.block(block_of(queries, attention_rates[rate], ratio));
      Matrix<double> above(seeds, std::ssize(thresholds));
      for (std::size_t i = 0; i < thresholds.size(); ++i) {
        above.col(static_cast<Index>(i)) =
            over_seeds(grid, rate, ratio, [i](const Spread& one) { return one.above[i]; });
      }
      const std::vector<Quantity> means = sample_moments(above, 2 * false_alarm).mean;
      for (std::size_t i = 0; i < thresholds.size(); ++i) {
        table.add("n_last", queries, "eta_Z", attention_rates[rate], "ratio", ratio, "threshold",
                  thresholds[i], "share", means[i].value(), "share_error", means[i].error());
      }
    }
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable entropies, trends, shares;
  for (const Index queries : sizes) {
    const Grid grid = trained_grid(queries, request);
    add_entropies(queries, grid, entropies);
    add_trends(queries, grid, trends);
    add_shares(queries, grid, shares);
  }
  return {entropies.file(request), trends.file(request, "trends"), shares.file(request, "shares")};
}

// Mean and standard deviation over the seeds, dashed: descent.
Panel entropy_panel(Index queries) {
  Panel panel{.title = fmt::format("{}, {} classes", size_of(queries), 2 * queries),
              .x = {.label = "η_Y / η_Z", .range = "0.5:10.5", .tics = "(1,2,4,6,8,10)"},
              .y = {.range = "1.4:2.15", .tics = "0.1"},
              .curves = {}};
  const std::vector<std::string> blocks =
      labels_of(attention_rates, [&](double rate) { return block_of(queries, rate); });
  // Side by side at a ratio.
  panel.add_each(plot::line_with_error_bars("[ratio]+0.1*(floor([eta_Z])-1.5)", "mean",
                                            "[mean]-[deviation]", "[mean]+[deviation]")
                     .mark(7, 0.35),
                 blocks, labels_of(attention_rates, name_of_rate));
  panel.add_each(plot::line("ratio", "descent").dashed(), blocks);
  return panel;
}

Picture picture() {
  Picture made{.height = 5.4, .columns = 2, .left = 0.14, .right = 0.975};
  for (const Index queries : sizes) made.panels.push_back(entropy_panel(queries));
  made.panels[0].y.label = made.panels[2].y.label = "distinct entropy (nats)";
  made.panels.back().key = "bottom right samplen 1.2";
  Panel& three = made.panels[1];
  three.key = "bottom right samplen 1.2";
  for (Curve& curve : three.curves) curve = curve.titled("");
  three.curves.push_back(plot::legend_line("SGD").coloured("grey"));
  three.curves.push_back(plot::legend_line("descent").coloured("grey").dashed());
  const Curve share = plot::line_with_error_bars("threshold", "share", "[share]-[share_error]",
                                                 "[share]+[share_error]")
                          .in("shares")
                          .mark(7, 0.35);
  Panel by_rate{.title = "5 queries, " + name_of_ratio(2),
                .x = {.label = "threshold", .range = "0:0.52", .tics = "0.1"},
                .y = {.label = "share of tokens above", .range = "0:1", .tics = "0.2"},
                .key = "top right samplen 1.2",
                .curves = {}};
  Panel by_ratio = by_rate;
  by_rate.add_each(share,
                   labels_of(attention_rates, [](double rate) { return block_of(5, rate, 2); }),
                   labels_of(attention_rates, name_of_rate));
  by_ratio.title = "5 queries, " + name_of_rate(1);
  by_ratio.y.label.clear();
  by_ratio.add_each(share,
                    labels_of(paper_ratios, [](Index ratio) { return block_of(5, 1, ratio); }),
                    labels_of(paper_ratios, name_of_ratio));
  made.panels.push_back(by_rate);
  made.panels.push_back(by_ratio);
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-entropy",
                   .title =
                       "Distinct entropy on Syn-Medium against `eta_Y/eta_Z`, 20 seeds, four sizes",
                   .shows = {"scan-snap.learning-rates"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::learning_rates_figure
