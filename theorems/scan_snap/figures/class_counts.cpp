// Noise of random classes, M = 1000, eta_Y = 0.5, K = 2, 8, 32: quantiles of |theta_n| and |sigma_n|
// exceeded with probability 0.01 against the draws N, and draws T until |e_n - alpha_n| <= eps for
// all n against 1/eps; exact law, random draws with 95 % intervals, bounds of the paper.

#include "theorems/scan_snap/checks/class_counts.hpp"

#include <algorithm>
#include <cmath>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::theorems::scan_snap::figures::class_counts_figure {
namespace {

using namespace theorems::scan_snap;

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

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-classes",
                   .title = "Noise of random classes in the decoder: exact law, draws, bounds",
                   .shows = {"scan-snap.class-noise", "scan-snap.draws-until"}},
          .data = data};
}

}  // namespace popgrad::theorems::scan_snap::figures::class_counts_figure
