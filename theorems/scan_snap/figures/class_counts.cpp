// Noise of random classes, M = 1000, eta_Y = 0.5, K = 2, 8, 32: quantiles of |theta_n| and
// |sigma_n| exceeded with probability 0.01 against the draws N, and draws T until |e_n - alpha_n|
// <= eps for all n against 1/eps; exact law, random draws with 95 % intervals, bounds of the paper.

#include "theorems/scan_snap/checks/class_counts.hpp"

#include <fmt/format.h>

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

std::string name_of(Index k) { return fmt::format("K = {}", k); }

FigureTable quantiles() {
  FigureTable table;
  for (const Index k : class_counts) {
    table.block(name_of(k));
    for (int i = 0; i <= 48; ++i) {
      const double mean = 4 * std::pow(2.0, i / 4.0);
      if (mean < static_cast<double>(k)) continue;  // N >> K^2
      const DrawnClasses at{decoder, k, k * std::lround(mean)};
      const CountNoise noise(at);
      const CountLaw law = binomial_law(at.draws, 1 / at.k());
      table.add("K", k, "N", at.n(), "theta", quantile(law, noise.theta, beyond), "theta_bound",
                at.deviation(beyond) / at.mean(), "sigma", quantile(law, noise.sigma, beyond),
                "sigma_early_bound", decoder.rate * at.deviation(beyond) / 3);
    }
  }
  return table;
}

double low(const Quantity& value) { return value.value() - value.error(); }
double high(const Quantity& value) { return value.value() + value.error(); }

FigureTable sampled(const FigureRequest& request) {
  FigureTable table;
  for (const Index k : class_counts) {
    table.block(name_of(k));
    for (const long mean : {8, 32, 128, 512, 2048}) {
      const DrawnClasses at{decoder, k, k * mean};
      if (mean < k || at.draws > 40'000) continue;
      const CountNoise noise(at);
      const auto own = drawn_counts(at, runs, request.seed, 30).leftCols(1).eval();
      const Quantity theta = sampled_quantile(largest_of(noise.theta, own), beyond, level);
      const Quantity sigma = sampled_quantile(largest_of(noise.sigma, own), beyond, level);
      table.add("K", k, "N", at.n(), "theta", theta.value(), "theta_low", low(theta), "theta_high",
                high(theta), "sigma", sigma.value(), "sigma_low", low(sigma), "sigma_high",
                high(sigma));
    }
  }
  return table;
}

FigureTable waiting(const FigureRequest& request) {
  FigureTable table;
  for (const Index k : class_counts) {
    table.block(name_of(k));
    for (int i = 0; i <= 8; ++i) {
      const double eps = 0.3 * std::pow(0.1, i / 4.0);
      const long own = discrete_draws_until(decoder, eps);
      const double unit = static_cast<double>(k) / decoder.rate;
      const double logarithm = std::log(decoder.vocabulary / eps);
      const Quantity beyond_it =
          sampled_quantile(drawn_for_all(k, own, runs, request.seed, 31), beyond, level);
      table.add("K", k, "1/eps", 1 / eps, "mean", mean_draws_for_all(k, own).value(), "quantile",
                beyond_it.value(), "quantile_low", low(beyond_it), "quantile_high", high(beyond_it),
                "sum", unit * (1 / eps + logarithm), "bound", unit / eps * logarithm);
    }
  }
  return table;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {quantiles().file(request), sampled(request).file(request, "draws"),
          waiting(request).file(request, "waiting")};
}

Picture picture() {
  const std::vector<std::string> names = labels_of(class_counts, name_of);
  const Axis draws{.label = "draws N", .range = "8:6e5", .logarithmic = true};
  const auto drawn = [](const char* x, const std::string& y) {
    return plot::error_bars(x, y, y + "_low", y + "_high").mark(6, 0.5);
  };
  const auto legend = [](const char* text) { return plot::legend_line(text).colour(7); };
  Panel theta{.title = "(a) factor 1 + θ_n of W_n",
              .x = draws,
              .y = {.label = "|θ_n|, exceeded with 1 %", .range = "1e-4:1e4", .logarithmic = true},
              .key = "top right",
              .settings = {{"set bars 0.4", ""}}};
  theta.add_each(plot::line("N", "theta_bound").dashed(), names);
  theta.add_each(plot::line("N", "theta"), names, names);
  theta.add_each(drawn("N", "theta").in("draws"), names);
  theta.curves.push_back(legend("exact law, ○ draws"));
  theta.curves.push_back(legend("K Δ/N").dashed());
  Panel sigma{.title = "(b) factor 1 + σ_n of e_n − α_n",
              .x = draws,
              .y = {.label = "|σ_n|, exceeded with 1 %", .range = "1e-3:3e3", .logarithmic = true},
              .key = "top left",
              .curves = {}};
  sigma.add_each(plot::line("N", "sigma_early_bound").dashed(), names);
  sigma.add_each(plot::line("N", "theta_bound").dashed(3), names);
  sigma.add_each(drawn("N", "sigma").in("draws"), names);
  sigma.add_each(plot::line("N", "sigma"), names);
  sigma.curves.push_back(legend("η_Y Δ/3, the same for all K").dashed());
  sigma.curves.push_back(legend("K Δ/N, for late N").dashed(3));
  Panel waiting{.title = "(c) draws until |e_n − α_n| ≤ ε for all n",
                .x = {.label = "1/ε", .range = "3:400", .logarithmic = true},
                .y = {.label = "draws T", .range = "30:1e6", .logarithmic = true},
                .key = "top left",
                .curves = {}};
  waiting.add_each(plot::line("1/eps", "bound").in("waiting").dashed(), names);
  waiting.add_each(plot::line("1/eps", "mean").in("waiting"), names);
  waiting.add_each(drawn("1/eps", "quantile").in("waiting"), names);
  waiting.curves.push_back(legend("K ln(M/ε)/(ε η_Y)").dashed());
  waiting.curves.push_back(legend("mean T, exact law"));
  waiting.curves.push_back(
      plot::legend_points("T exceeded with 1 %, draws").colour(7).mark(6, 0.5));
  return {.height = 5.6, .left = 0.15, .panels = {theta, sigma, waiting}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-classes",
                   .title = "Noise of random classes in the decoder: exact law, draws, bounds",
                   .shows = {"scan-snap.class-noise", "scan-snap.draws-until"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::class_counts_figure
