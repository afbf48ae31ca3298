// Fig 3 as it was run: four components of one unit's weights under softmax attention with linear
// phi, beside Theorem 2's law with the gradients of the start, on the best clock and on that of exp
// attention; what each misses of all weights.

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/joma/checks/softmax_growth_parts.hpp"

namespace popgrad::joma::figures::softmax_growth_figure {
namespace {

namespace parts = joma::checks;

constexpr std::uint64_t starts = 10;
constexpr std::uint64_t last_step = 2000;
constexpr std::uint64_t every = 50;
constexpr std::array<Index, 4> shown{0, 5, 10, 15};  // which four the figure shows is not known
constexpr double tolerance = 1e-8;

struct Misses {
  double best = 0, own = 0, straight = 0;
};

// One start of one law: components on the way, and what is missed.
struct Way {
  parts::GrowthRun run;
  parts::GrowthLaw law;
  std::vector<Misses> missed;
};

Way way(TokenLaw law, std::uint64_t seed) {
  const ClassInstance<double> instance = invariant_instance(law, seed);
  Way found;
  found.run = parts::growth_run(instance, last_step, every, HUGE_VAL);
  found.law = parts::growth_law(instance, last_step * parts::growth_step, 0.5, tolerance);
  for (std::size_t i = 0; i < found.run.v.size(); ++i) {
    const Matrix<double>& v = found.run.v[i];
    found.missed.push_back({parts::nearest(found.law, v).miss,
                            parts::miss_at(found.law, v, parts::growth_step * found.run.step[i]),
                            parts::nearest_straight(instance, v)});
  }
  return found;
}

// A block a component: step, v of the run, by the law on its best clock, on that of exp attention
// (empty after the blow-up).
std::string components(const Way& found) {
  CsvText csv{"step", "v", "best_clock", "exp_clock"};
  for (const Index l : shown) {
    for (std::size_t i = 0; i < found.run.v.size(); ++i) {
      const parts::NearestGrowth best = parts::nearest(found.law, found.run.v[i]);
      const auto at = [&](double s) {
        const auto k = std::lower_bound(found.law.s.begin(), found.law.s.end(), s);
        return k == found.law.s.end()
                   ? std::nan("")
                   : found.law.v[static_cast<std::size_t>(k - found.law.s.begin())](l, 0);
      };
      csv.number(found.run.step[i])
          .number(found.run.v[i](l, 0))
          .number(at(best.s))
          .number(at(parts::growth_step * found.run.step[i]))
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

void add_misses(CsvText& csv, const std::vector<Way>& all) {
  for (std::size_t i = 0; i < all.front().missed.size(); ++i) {
    csv.number(all.front().run.step[i]);
    for (const auto kind : {&Misses::best, &Misses::own, &Misses::straight}) {
      std::vector<double> values;
      for (const Way& each : all) values.push_back(each.missed[i].*kind);
      std::sort(values.begin(), values.end());
      const std::size_t n = values.size();
      csv.number((values[(n - 1) / 2] + values[n / 2]) / 2)
          .number(values.front())
          .number(values.back());
    }
    csv.end_row();
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText misses{"step",    "best",    "best_min", "best_max",     "own",
                 "own_min", "own_max", "straight", "straight_min", "straight_max"};
  std::vector<FigureFile> files;
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    std::vector<Way> all;
    for (std::uint64_t k = 0; k < starts; ++k) all.push_back(way(law, request.seed + k));
    add_misses(misses, all);
    const char* name = law == TokenLaw::gaussian ? "-gaussian.csv" : "-uniform.csv";
    files.push_back({request.name + name, components(all.front())});
  }
  files.push_back({request.name + "-misses.csv", misses.text()});
  return files;
}

constexpr const char* script =
    R"gp(# -gaussian.csv, -uniform.csv, a block a component: step, v, by the law on its best clock, on that of
# exp attention. -misses.csv, a block a law: step, then median, least and largest miss on the best
# clock, on that of exp attention, of straight lines.
height = 6.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.13,0.96,0.07,0.97 spacing 0,0.085
  set xlabel 'step'
  set xrange [0:2000]
  set xtics 500
  set ylabel 'component of v_0' offset 0.4+right,0
  set xzeroaxis linecolor rgb grey linewidth 0.4
  do for [law = 0:1] {
    file = name.(law == 0 ? '-gaussian.csv' : '-uniform.csv')
    set title (law == 0 ? '(a) Gaussian law: tokens 0, 5, 10, 15' : '(b) uniform law: tokens 0, 5, 10, 15')
    stats file using 2 nooutput
    span = STATS_max - STATS_min
    set yrange [STATS_min-0.15*span:STATS_max+0.45*span]
    if (law == 0) { set key top left reverse Left samplen 2 maxrows 3 } else { unset key }
    plot for [i = 0:3] file index i using 1:2 with lines linetype i+1 notitle, \
         for [i = 0:3] '' index i using 1:3 with lines linetype i+1 dashtype 2 notitle, \
         for [i = 0:3] '' index i using 1:4 with lines linetype i+1 dashtype 3 linewidth 0.7 notitle, \
         NaN with lines linecolor rgb black title 'descent', \
         NaN with lines linecolor rgb black dashtype 2 title 'law, best clock', \
         NaN with lines linecolor rgb black dashtype 3 linewidth 0.7 title 'law, clock of exp attention'
  }
  unset xzeroaxis
  set title '(c) missed of the change of all v, 10 starts'
  set ylabel 'share missed' offset 0.4+right,0
  set logscale y
  set format y '10^{%T}'
  set yrange [1e-3:100]
  set key top left reverse Left samplen 2 maxrows 3 width -2
  set arrow 1 from 0, 0.1 to 2000, 0.1 nohead linecolor rgb grey linewidth 0.7 dashtype 2
  file = name.'-misses.csv'
  plot for [law = 0:1] file index law using 1:3:4 with filledcurves linetype 1+law fillstyle transparent solid 0.15 notitle, \
       for [law = 0:1] '' index law using 1:2 with lines linetype 1+law title (law == 0 ? 'Gaussian, best clock' : 'uniform, best clock'), \
       for [law = 0:1] '' index law using 1:5 with lines linetype 1+law dashtype 3 linewidth 0.8 title (law == 0 ? 'Gaussian, exp clock' : 'uniform, exp clock'), \
       for [law = 0:1] '' index law using 1:8 with lines linetype 1+law dashtype 2 linewidth 0.8 title (law == 0 ? 'Gaussian, straight' : 'uniform, straight')
  unset arrow 1
  unset logscale y
  set format y '%g'
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-softmax-growth",
               .title = "Fig 3 as it was run, with softmax attention, against the law of Theorem 2",
               .shows = {"joma.softmax-growth"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::softmax_growth_figure
