// Does attention entropy come back on trained models? Full-batch descent on the authors' two data
// laws from small random starts, without any reduction: share of laws with a rebound above 0.1 nats.

#include <omp.h>

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

// Half of the laws are Gaussian, half uniform. The first of them go on beyond the authors' number of
// steps.
constexpr std::uint32_t laws = 200;
constexpr std::uint32_t laws_continued = 20;
constexpr double step_size = 0.1;
constexpr std::uint64_t steps = 2000;
constexpr std::uint64_t longer = 10;
constexpr std::size_t rows_of_steps = 40;
// Steps that oscillate make rebounds of their own: what is clear is looked at again with finer ones.
constexpr std::uint64_t refinement = 4;
constexpr double clear_rebound = 0.1;
constexpr std::array units{1, 4, 16, 64};

struct Setup {
  const char* attention;
  const char* phi;
  int units;
};

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const char* attention : {"exp", "softmax"}) {
    for (const char* phi : {"linear", "relu", "gelu", "tanh"}) {
      for (const int k : units) all.push_back({attention, phi, k});
    }
  }
  return all;
}

// Largest rise of the entropy above what it was at least before, within the authors' number of steps
// and in all.
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
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::size_t i = 0; i < all.size() * laws; ++i) {
    // The widest first, so that no thread ends with one of them.
    const std::size_t s = all.size() - 1 - i / laws;
    const auto law = static_cast<std::uint32_t>(i % laws);
    found[s][law] = rebound(all[s], law, request.seed, 1);
    if (found[s][law].usable && found[s][law].all > clear_rebound) {
      finer[s][law] = rebound(all[s], law, request.seed, refinement);
    }
  }
  CsvText csv{"units", "share",  "low",   "high",      "clear", "clear_with_large_steps",
              "laws",  "median", "steps", "attention", "phi"};
  for (const auto kind : {&Rebound::early, &Rebound::all}) {
    for (std::size_t s = 0; s < all.size(); ++s) {
      const Share share = share_of(found[s], finer[s], kind);
      const Quantity chance = success_probability(share.clear_with_finer_steps, share.runs, 0.05);
      csv.number(all[s].units)
          .number(static_cast<double>(share.clear_with_finer_steps) / share.runs)
          .number(std::max(0.0, chance.value() - chance.error()))
          .number(std::min(1.0, chance.value() + chance.error()))
          .number(share.clear_with_finer_steps)
          .number(share.clear)
          .number(share.runs)
          .number(share.median)
          .number(static_cast<double>(kind == &Rebound::early ? steps : steps * longer));
      csv.word(all[s].attention).word(all[s].phi).end_row();
      if ((s + 1) % units.size() == 0) csv.end_block();
    }
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of units, share, its interval: 2000 steps, then 20000; exp, then softmax attention; linear,
# ReLU, GELU, tanh. A rebound counts if it is above 0.1 nats with steps of 0.1 and of 0.025.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,2 margins 0.13,0.97,0.09,0.95 spacing 0.1,0.12
  set logscale x
  set xrange [0.6:110]
  set xtics (1,4,16,64)
  do for [n=0:1] {
    top = (n == 0 ? 0.1 : 1.0)
    set yrange [-0.03*top:1.03*top]
    do for [a=0:1] {
      set title sprintf('%s, %s steps', word('exp softmax', a + 1), word('2000 20000', n + 1))
      set xlabel (n == 1 ? 'hidden units K' : '')
      set ylabel (a == 0 ? sprintf('share of %s data laws', word('200 20', n + 1)) : '') offset 0.4+right+(n == 0 ? 1.4 : 0),0
      set key top left reverse Left
      if (n + a > 0) { unset key }
      plot for [b=0:3] data index (8*n + 4*a + b) using ($1*1.12**(b - 1.5)):2:3:4 with yerrorbars \
             linetype b+1 pointtype 7 pointsize 0.5 notitle, \
           for [b=0:3] data index (8*n + 4*a + b) using ($1*1.12**(b - 1.5)):2 with lines \
             linetype b+1 title word('linear ReLU GELU tanh', b + 1)
    }
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "joma-bounce",
           .title =
               "Share of trained models whose attention entropy comes back by more than 0.1 nats",
           .shows = {"joma.entropy-bounce"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::bounce_figure
