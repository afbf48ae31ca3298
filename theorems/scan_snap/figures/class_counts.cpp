// Noise of random classes, M = 1000, eta_Y = 0.5, K = 2, 8, 32: quantiles of |theta_n| and |sigma_n|
// exceeded with probability 0.01 against the draws N, and draws T until |e_n - alpha_n| <= eps for
// all n against 1/eps; exact law, random draws with 95 % intervals, bounds of the paper.

#include "theorems/scan_snap/checks/class_counts.hpp"

#include <algorithm>
#include <cmath>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::scan_snap::figures::class_counts_figure {
namespace {

using namespace scan_snap::checks;

const Decoder decoder{1000, 0.5};
constexpr double beyond = 0.01;
constexpr double level = 0.05;
constexpr std::uint32_t runs = 10'000;
const std::vector<Index> class_counts{2, 8, 32};

void add(CsvText& csv, const Quantity& value) {
  csv.number(value.value()).number(value.value() - value.error());
  csv.number(value.value() + value.error());
}

CsvText quantiles() {
  CsvText csv{"K", "N", "theta", "theta_bound", "sigma", "sigma_early_bound"};
  for (const Index k : class_counts) {
    for (int i = 0; i <= 48; ++i) {
      const double mean = 4 * std::pow(2.0, i / 4.0);
      if (mean < static_cast<double>(k)) continue;  // N >> K^2
      const DrawnClasses at{decoder, k, k * std::lround(mean)};
      const CountNoise noise(at);
      const CountLaw law = binomial_law(at.draws, 1 / at.k());
      csv.number(at.k()).number(at.n());
      csv.number(quantile(law, noise.theta, beyond)).number(at.deviation(beyond) / at.mean());
      csv.number(quantile(law, noise.sigma, beyond));
      csv.number(decoder.rate * at.deviation(beyond) / 3).end_row();
    }
    csv.end_block();
  }
  return csv;
}

CsvText sampled(const FigureRequest& request) {
  CsvText csv{"K", "N", "theta", "theta_low", "theta_high", "sigma", "sigma_low", "sigma_high"};
  for (const Index k : class_counts) {
    for (const long mean : {8, 32, 128, 512, 2048}) {
      const DrawnClasses at{decoder, k, k * mean};
      if (mean < k || at.draws > 40'000) continue;
      const CountNoise noise(at);
      const auto own = drawn_counts(at, runs, request.seed, 30).leftCols(1).eval();
      csv.number(at.k()).number(at.n());
      add(csv, sampled_quantile(largest_of(noise.theta, own), beyond, level));
      add(csv, sampled_quantile(largest_of(noise.sigma, own), beyond, level));
      csv.end_row();
    }
    csv.end_block();
  }
  return csv;
}

CsvText waiting(const FigureRequest& request) {
  CsvText csv{"K", "1/eps", "mean", "quantile", "quantile_low", "quantile_high", "sum", "bound"};
  for (const Index k : class_counts) {
    for (int i = 0; i <= 8; ++i) {
      const double eps = 0.3 * std::pow(0.1, i / 4.0);
      const long own = discrete_draws_until(decoder, eps);
      const double unit = static_cast<double>(k) / decoder.rate;
      const double logarithm = std::log(decoder.vocabulary / eps);
      csv.number(static_cast<double>(k)).number(1 / eps);
      csv.number(mean_draws_for_all(k, own).value());
      add(csv, sampled_quantile(drawn_for_all(k, own, runs, request.seed, 31), beyond, level));
      csv.number(unit * (1 / eps + logarithm)).number(unit / eps * logarithm).end_row();
    }
    csv.end_block();
  }
  return csv;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {{request.name + ".csv", quantiles().text()},
          {request.name + "-draws.csv", sampled(request).text()},
          {request.name + "-waiting.csv", waiting(request).text()}};
}

constexpr const char* script =
    R"gp(# .csv, blocks K = 2, 8, 32: K, N, quantile of |theta_n| by the exact law, its bound, quantile of
# |sigma_n|, its early bound. -draws.csv, the same blocks: K, N, quantiles of draws with intervals.
# -waiting.csv, the same blocks: K, 1/eps, mean T, quantile of T with its interval, the sum, the bound.
height = 5.6
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.15,0.97,0.07,0.965 spacing 0,0.09
  set logscale xy
  set format xy '10^{%T}'
  set bars 0.4
  set title '(a) factor 1 + θ_n of W_n'
  set xlabel 'draws N'
  set ylabel '|θ_n|, exceeded with 1 %' offset 0+right,0
  set xrange [8:6e5]
  set yrange [1e-4:1e4]
  set key top right
  k(b) = 'K = '.word('2 8 32', b+1)
  plot for [b=0:2] name.'.csv' index b every ::(b==0) using 2:4 with lines linetype b+1 dashtype 2 notitle, \
       for [b=0:2] name.'.csv' index b every ::(b==0) using 2:3 with lines linetype b+1 title k(b), \
       for [b=0:2] name.'-draws.csv' index b every ::(b==0) using 2:3:4:5 with yerrorbars linetype b+1 pointtype 6 pointsize 0.5 notitle, \
       NaN with lines linetype 7 title 'exact law, ○ draws', \
       NaN with lines linetype 7 dashtype 2 title 'K Δ/N'
  set title '(b) factor 1 + σ_n of e_n − α_n'
  set ylabel '|σ_n|, exceeded with 1 %' offset 0+right,0
  set yrange [1e-3:3e3]
  set key top left reverse Left
  plot for [b=0:2] name.'.csv' index b every ::(b==0) using 2:6 with lines linetype b+1 dashtype 2 notitle, \
       for [b=0:2] name.'.csv' index b every ::(b==0) using 2:4 with lines linetype b+1 dashtype 3 notitle, \
       for [b=0:2] name.'-draws.csv' index b every ::(b==0) using 2:6:7:8 with yerrorbars linetype b+1 pointtype 6 pointsize 0.5 notitle, \
       for [b=0:2] name.'.csv' index b every ::(b==0) using 2:5 with lines linetype b+1 notitle, \
       NaN with lines linetype 7 dashtype 2 title 'η_Y Δ/3, the same for all K', \
       NaN with lines linetype 7 dashtype 3 title 'K Δ/N, for late N'
  set title '(c) draws until |e_n − α_n| ≤ ε for all n'
  set xlabel '1/ε'
  set ylabel 'draws T' offset 0.5+right,0
  set xrange [3:400]
  set yrange [30:1e6]
  plot for [b=0:2] name.'-waiting.csv' index b every ::(b==0) using 2:8 with lines linetype b+1 dashtype 2 notitle, \
       for [b=0:2] name.'-waiting.csv' index b every ::(b==0) using 2:3 with lines linetype b+1 notitle, \
       for [b=0:2] name.'-waiting.csv' index b every ::(b==0) using 2:4:5:6 with yerrorbars linetype b+1 pointtype 6 pointsize 0.5 notitle, \
       NaN with lines linetype 7 dashtype 2 title 'K ln(M/ε)/(ε η_Y)', \
       NaN with lines linetype 7 title 'mean T, exact law', \
       NaN with points linetype 7 pointtype 6 pointsize 0.5 title 'T exceeded with 1 %, draws'
  unset logscale
  unset title
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-classes",
                   .title = "Noise of random classes in the decoder: exact law, draws, bounds",
                   .shows = {"scan-snap.class-noise", "scan-snap.draws-until"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::class_counts_figure
