// Does attention entropy come back on trained models? Full-batch descent on the authors' two data
// laws from small random starts, without any reduction: share of laws with a rebound above 0.1
// nats.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::figures::bounce_figure {
namespace {

// Half of the laws are Gaussian, half uniform. The first of them go on beyond the authors' number
// of steps.
constexpr std::uint32_t laws = 200;
constexpr std::uint32_t laws_continued = 20;
constexpr double step_size = 0.1;
constexpr std::uint64_t steps = 2000;
constexpr std::uint64_t longer = 10;
constexpr std::size_t rows_of_steps = 40;
// Steps that oscillate make rebounds of their own: what is clear is run again with finer ones.
constexpr std::uint64_t refinement = 4;
constexpr double clear_rebound = 0.1;
constexpr std::array units{1, 4, 16, 64};
constexpr std::array attentions{"exp", "softmax"};
constexpr std::array phis{"linear", "relu", "gelu", "tanh"};
constexpr std::array names{"linear", "ReLU", "GELU", "tanh"};

std::string block_of(const char* attention, const char* phi, std::uint64_t of_steps) {
  return fmt::format("{}, {}, {} steps", attention, phi, of_steps);
}

struct Setup {
  const char* attention;
  const char* phi;
  int units;
};

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const char* attention : attentions) {
    for (const char* phi : phis) {
      for (const int k : units) all.push_back({attention, phi, k});
    }
  }
  return all;
}

// Largest rise of the entropy above what it was at least before, within the authors' number of
// steps and in all.
struct Rebound {
  bool usable = false;  // the run does not diverge
  double early = 0;
  double all = 0;
};

Rebound rebound(const Setup& setup, std::uint32_t law, std::uint64_t seed, std::uint64_t finer) {
  Parameters p("joma");
  p.set("law", law % 2 == 0 ? "gaussian" : "uniform");
  p.set("attention", setup.attention);
  p.set("phi", setup.phi);
  p.set("units", std::to_string(setup.units));
  const PopulationFlow<double> flow(class_instance<double>(p, seed + law));
  AnyRung<double> rung = forget_type(flow);
  rung.observables.columns = {"attention_entropy"};
  rung.observables.read = [&flow](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = softmax_entropy(Vector<double>(flow.logits(x) / flow.instance().temperature));
  };
  const std::uint64_t times = law < laws_continued ? longer : 1;
  WalkRequest request;
  request.step_size = step_size / static_cast<double>(finer);
  request.steps = steps * times * finer;
  request.save_steps = evenly_spread_steps(request.steps, rows_of_steps * times + 1);
  request.jobs = 1;
  const Trajectory<double> run = std::move(walk(rung, rung.initial, request).front());
  Rebound found;
  found.usable = run.outcome.usable();
  double least = run.rows.front()[0];
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    least = std::min(least, run.rows[i][0]);
    found.all = std::max(found.all, run.rows[i][0] - least);
    if (i <= rows_of_steps) found.early = found.all;
  }
  return found;
}

// Of the usable runs of a setup, by one of the two rebounds.
struct Share {
  std::uint32_t runs = 0, clear = 0, clear_with_finer_steps = 0;
  double median = 0;
};

Share share_of(const std::vector<Rebound>& found, const std::vector<Rebound>& finer,
               double Rebound::*kind) {
  Share share;
  std::vector<double> sizes;
  const std::size_t count = kind == &Rebound::all ? laws_continued : laws;
  for (std::size_t i = 0; i < count; ++i) {
    if (!found[i].usable) continue;
    sizes.push_back(found[i].*kind);
    if (!(found[i].*kind > clear_rebound)) continue;
    ++share.clear;
    if (finer[i].usable && finer[i].*kind > clear_rebound) ++share.clear_with_finer_steps;
  }
  share.runs = static_cast<std::uint32_t>(sizes.size());
  std::sort(sizes.begin(), sizes.end());
  share.median = sizes.empty() ? std::nan("") : sizes[sizes.size() / 2];
  return share;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const std::vector<Setup> all = setups();
  std::vector<std::vector<Rebound>> found(all.size(), std::vector<Rebound>(laws));
  std::vector<std::vector<Rebound>> finer = found;
  request.each(all.size() * laws, [&](std::size_t i) {
    // The widest first, so that no thread ends with one of them.
    const std::size_t s = all.size() - 1 - i / laws;
    const auto law = static_cast<std::uint32_t>(i % laws);
    found[s][law] = rebound(all[s], law, request.seed, 1);
    if (found[s][law].usable && found[s][law].all > clear_rebound) {
      finer[s][law] = rebound(all[s], law, request.seed, refinement);
    }
  });
  FigureTable table;
  for (const auto kind : {&Rebound::early, &Rebound::all}) {
    const std::uint64_t of_steps = kind == &Rebound::early ? steps : steps * longer;
    for (std::size_t s = 0; s < all.size(); ++s) {
      const auto& [attention, phi, count] = all[s];
      if (s % units.size() == 0) table.block(block_of(attention, phi, of_steps));
      const Share share = share_of(found[s], finer[s], kind);
      const Quantity chance = success_probability(share.clear_with_finer_steps, share.runs, 0.05);
      table.add(
          "units", count, "share", static_cast<double>(share.clear_with_finer_steps) / share.runs,
          "low", std::max(0.0, chance.value() - chance.error()), "high",
          std::min(1.0, chance.value() + chance.error()), "clear", share.clear_with_finer_steps,
          "clear_with_large_steps", share.clear, "laws", share.runs, "median", share.median,
          "steps", of_steps, "attention", attention, "phi", phi);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 4.2, .columns = 2, .left = 0.14};
  for (const bool all : {false, true}) {
    const std::uint64_t of_steps = all ? steps * longer : steps;
    for (const char* attention : attentions) {
      const bool first = attention == attentions.front();
      Panel panel{
          .title = fmt::format("{}, {} steps", attention, of_steps),
          .x = {.label = all ? "hidden units K" : "",
                .range = "0.6:110",
                .logarithmic = true,
                .tics = "(1, 4, 16, 64)"},
          .y = {.label =
                    first ? fmt::format("share of {} data laws", all ? laws_continued : laws) : "",
                .range = all ? "-0.03:1.03" : "-0.003:0.103"},
          .key = made.panels.empty() ? "top left" : "",
          .curves = {}};
      for (std::size_t b = 0; b < phis.size(); ++b) {
        panel.curves.push_back(plot::line_with_error_bars(
                                   fmt::format("[units]*1.12**{}", static_cast<double>(b) - 1.5),
                                   "share", "low", "high")
                                   .of(block_of(attention, phis[b], of_steps))
                                   .colour(static_cast<int>(b) + 1)
                                   .mark(7, 0.5)
                                   .titled(names[b]));
      }
      made.panels.push_back(panel);
    }
  }
  return made;
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "joma-bounce",
           .title =
               "Share of trained models whose attention entropy comes back by more than 0.1 nats",
           .shows = {"joma.entropy-bounce"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::joma::figures::bounce_figure
