// Attention on distinct tokens after 100 steps on Syn-Medium, against eta_Y/eta_Z: its entropy by
// SGD with momentum over 20 seeds and by momentum descent on the expectation, the signs of its
// trends, and the share of distinct tokens above a threshold.

#include <omp.h>

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
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel for collapse(3) num_threads(jobs) schedule(dynamic, 1)
  for (std::size_t rate = 0; rate < attention_rates.size(); ++rate) {
    for (Index ratio = 1; ratio <= ratios; ++ratio) {
      for (std::uint64_t seed = 0; seed <= seeds; ++seed) {
        grid[rate][static_cast<std::size_t>(ratio - 1)][seed] =
            trained(queries, attention_rates[rate], ratio, seed == 0 ? 0 : 128,
                    1000 * request.seed + (seed == 0 ? 1 : seed));
      }
    }
  }
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

void write_entropies(Index queries, const Grid& grid, CsvText& csv) {
  for (std::size_t rate = 0; rate < attention_rates.size(); ++rate) {
    for (Index ratio = 1; ratio <= ratios; ++ratio) {
      const Vector<double> own = over_seeds(grid, rate, ratio, entropy);
      const double variance = (own.array() - own.mean()).square().sum() / (seeds - 1);
      csv.number(static_cast<double>(queries)).number(attention_rates[rate]);
      csv.number(static_cast<double>(ratio)).number(own.mean()).number(std::sqrt(variance));
      csv.number(grid[rate][static_cast<std::size_t>(ratio - 1)].front().entropy).end_row();
    }
    csv.end_block();
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
void write_trends(Index queries, const Grid& grid, CsvText& csv) {
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
    csv.number(static_cast<double>(queries)).number(attention_rates[step.rate_from]);
    csv.number(attention_rates[step.rate_to]).number(static_cast<double>(step.ratio_from));
    csv.number(static_cast<double>(step.ratio_to)).number(means[i].value());
    csv.number(means[i].error()).number(static_cast<double>(rises) / seeds).number(step.claimed);
    csv.word(verdict(step.claimed, means[i])).end_row();
  }
}

void write_shares(Index queries, const Grid& grid, CsvText& csv) {
  for (std::size_t rate = 0; rate < attention_rates.size(); ++rate) {
    for (const Index ratio : paper_ratios) {
      Matrix<double> above(seeds, std::ssize(thresholds));
      for (std::size_t i = 0; i < thresholds.size(); ++i) {
        above.col(static_cast<Index>(i)) =
            over_seeds(grid, rate, ratio, [i](const Spread& one) { return one.above[i]; });
      }
      const std::vector<Quantity> means = sample_moments(above, 2 * false_alarm).mean;
      for (std::size_t i = 0; i < thresholds.size(); ++i) {
        csv.number(static_cast<double>(queries)).number(attention_rates[rate]);
        csv.number(static_cast<double>(ratio)).number(thresholds[i]);
        csv.number(means[i].value()).number(means[i].error()).end_row();
      }
      csv.end_block();
    }
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText entropies{"n_last", "eta_Z", "ratio", "mean", "deviation", "descent"};
  CsvText trends{"n_last",   "eta_Z_from", "eta_Z_to",     "ratio_from",
                 "ratio_to", "change",     "change_error", "share_of_seeds_rising",
                 "claimed",  "verdict"};
  CsvText shares{"n_last", "eta_Z", "ratio", "threshold", "share", "share_error"};
  for (const Index queries : sizes) {
    const Grid grid = trained_grid(queries, request);
    write_entropies(queries, grid, entropies);
    write_trends(queries, grid, trends);
    write_shares(queries, grid, shares);
  }
  return {{request.name + ".csv", entropies.text()},
          {request.name + "-trends.csv", trends.text()},
          {request.name + "-shares.csv", shares.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: n_last in (1,3,5,10), within it eta_Z in (0.5,1,2,3): n_last, eta_Z, ratio, mean over
# seeds, standard deviation, momentum descent on the expectation.
# -trends.csv: n_last, eta_Z from, to, ratio from, to, change of entropy, its half width (95 % for all
# together), share of seeds in which it rises, sign claimed, verdict.
# Blocks of -shares.csv: n_last, within it eta_Z, within it ratio in (1,2,5,10): n_last, eta_Z, ratio,
# threshold, share of distinct tokens above it, half width (95 % for a curve).
height = 5.4
data = name.'.csv'
shares = name.'-shares.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,2 margins 0.14,0.975,0.07,0.965 spacing 0.1,0.1
  set xrange [0.5:10.5]
  set xtics (1,2,4,6,8,10)
  set yrange [1.45:2.15]
  set ytics 0.1
  do for [p=0:3] {
    set title sprintf('%s quer%s, %d classes', word('1 3 5 10', p+1), (p == 0 ? 'y' : 'ies'), 2*real(word('1 3 5 10', p+1)))
    set xlabel (p > 1 ? 'η_Y / η_Z' : '')
    set ylabel (p % 2 == 0 ? 'distinct entropy (nats)' : '') offset 0.8+right,0
    if (p == 3) { set key bottom right samplen 1.2 } else { unset key }
    plot for [e=0:3] data index 4*p+e using ($3+0.1*(e-1.5)):4:5 with yerrorlines linetype e+1 \
           pointtype 7 pointsize 0.35 title 'η_Z = '.word('0.5 1 2 3', e+1), \
         for [e=0:3] data index 4*p+e using 3:6 with lines linetype e+1 dashtype 2 notitle
  }
  set xrange [0:0.52]
  set xtics 0.1
  set yrange [0:1]
  set ytics 0.2
  set xlabel 'threshold'
  set key top right samplen 1.2
  set title '5 queries, η_Y / η_Z = 2'
  set ylabel 'share of tokens above' offset 0.8+right,0
  plot for [e=0:3] shares index 32+4*e+1 using 4:5:6 with yerrorlines linetype e+1 \
         pointtype 7 pointsize 0.35 title 'η_Z = '.word('0.5 1 2 3', e+1)
  set title '5 queries, η_Z = 1'
  set ylabel ''
  plot for [r=0:3] shares index 32+4+r using 4:5:6 with yerrorlines linetype r+1 \
         pointtype 7 pointsize 0.35 title 'η_Y / η_Z = '.word('1 2 5 10', r+1)
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scan-snap-entropy",
               .title = "Distinct entropy on Syn-Medium against eta_Y/eta_Z, 20 seeds, four sizes",
               .shows = {"scan-snap.learning-rates"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::scan_snap::figures::learning_rates_figure
