// Theorem    scan-snap.class-noise
// Status     proved in source (Lemmas 10, 11, Theorem 5, Corollary 1), with the exact law
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 10, 11, Eqns 70 and 71
// Statement  N draws of K equally likely classes, N_n of class n, change W_n by a factor
//            1 + theta_n, e_n - alpha_n by 1 + sigma_n. For 1 - delta, Delta^2 = N ln(1/delta),
//              |N_n - N/K|    <= Delta
//              |theta_n|      <= K Delta/N
//              |sigma_n|      <= eta_Y Delta/3
//              1 + |sigma_n|  <= (1 - K Delta/N)^-2  if N - K Delta >= 2 K (1 + omega1) ln M/eta_Y
//              max_n |theta_n| <= K sqrt(ln(K/delta)/N);
//            1/3 is printed, 1 stands for O(.), and 2 bounds d ln(M - 1 + exp(M h))/d ln s late
//            (e^x >= (M-1) x), where 1 does not do: 0.333 > 0.298 at K = 2, M = 25333, N = 208,
//            delta = 0.01. The law is narrower: over s h'/h at s = N/K, theta_n has the rms
//              sqrt((K - 1)/N) as N -> infinity,
//            order -1/2 in N and, but for 1 - 1/K, 1/2 in K, where the bound has 1
// Hypotheses H1 P(n) = 1/K; H2 N >= K^2; H3 M > 100; H4 M^-0.99 < eta_Y < 1; H5 rows decouple
// Check      quantiles of draws at delta = 0.1 and 0.01 against the exact law of the counts and
//            against the bounds; orders of the rms of draws between N, K and 16 N, 16 K
// Controls   counts of independent classes, variance N/K; order 1 in K; order -0.55 in N
// Uses       decoder; counts of classes

#include "theorems/scan_snap/checks/class_counts.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::class_noise {
namespace {

constexpr Knob mean_count =
    logarithmic_knob("draws", "random draws of a class, on average", 200, 400, 250);

constexpr std::uint32_t runs = 20'000;
constexpr int finer = 16;
const std::vector<double> levels{0.1, 0.01};

void judge_counts(const DrawnClasses& at, Examination& it) {
  std::vector<Quantity> beyond;
  for (const double level : levels) {
    beyond.emplace_back(expectation(binomial_law(at.draws, 1 / at.k()), [&](long count) {
      return std::fabs(static_cast<double>(count) - at.mean()) > at.deviation(level) ? 1.0 : 0.0;
    }));
  }
  it.judge(Comparison{.what = "P[|N_n - N/K| > Delta] by the exact law, at most delta",
                      .measured = beyond,
                      .relation = Relation::at_most,
                      .predicted = {levels.begin(), levels.end()}});
}

void judge_law(const DrawnClasses& at, const Matrix<std::uint32_t>& counts, double alarm,
               Examination& it) {
  const CountNoise noise(at);
  Comparison quantiles{.kind = EvidenceKind::statistical,
                       .what = "quantiles of draws against the exact law",
                       .detail = fmt::format("N = {}, {} runs", at.draws, counts.rows())};
  std::vector<Quantity> independent;
  for (const double level : levels) {
    for (const auto* table : {&noise.theta, &noise.sigma}) {
      const std::vector<double> values = largest_of(*table, counts.leftCols(1));
      quantiles.measured.push_back(sampled_quantile(values, level, alarm));
      quantiles.predicted.emplace_back(quantile(binomial_law(at.draws, 1 / at.k()), *table, level));
      independent.emplace_back(quantile(poisson_law(at.mean()), *table, level));
      quantiles.places.push_back(
          fmt::format("{}, delta = {}", table == &noise.theta ? "theta" : "sigma", level));
    }
  }
  quantiles.mistakes = {predicts("independent-counts", independent)};
  it.judge(quantiles);
}

void judge_bounds(const DrawnClasses& at, const Matrix<std::uint32_t>& counts, double alarm,
                  Examination& it) {
  const CountNoise noise(at);
  Comparison bounds{.kind = EvidenceKind::statistical,
                    .what = "quantiles of draws against the bounds",
                    .relation = Relation::at_most};
  const double late = 2 * crossover(at.decoder.vocabulary) / at.decoder.rate;
  for (const double level : levels) {
    const auto judge = [&](const char* what, const auto& table, const auto& of, double bound) {
      bounds.measured.push_back(sampled_quantile(largest_of(table, of), level, alarm));
      bounds.predicted.emplace_back(bound);
      bounds.places.push_back(fmt::format("{}, delta = {}", what, level));
    };
    const double apart = at.deviation(level) / at.mean();
    judge("theta", noise.theta, counts.leftCols(1), apart);
    judge("max theta", noise.theta, counts, at.deviation(level / at.k()) / at.mean());
    judge("sigma", noise.sigma, counts.leftCols(1), at.decoder.rate * at.deviation(level) / 3);
    if (at.mean() * (1 - apart) < late) continue;
    judge("sigma late", noise.sigma, counts.leftCols(1), std::pow(1 - apart, -2) - 1);
  }
  it.judge(bounds);
}

void judge_orders(const DrawnClasses& at, const Setting& setting, Examination& it) {
  const std::uint32_t taken = setting.draws(runs / 4);
  const DrawnClasses longer{at.decoder, at.classes, finer * at.draws};
  const DrawnClasses parted{at.decoder, finer * at.classes, finer * at.draws};
  const Matrix<std::uint32_t> more = drawn_counts(parted, taken, setting.draw_seed(), 21);
  const Quantity unit = std::log(double{finer});
  const double alarm = setting.false_alarm / 3;
  const Quantity few =
      log_rms_of_theta(at, drawn_counts(at, taken, setting.draw_seed(), 22), alarm);
  const Quantity middle = log_rms_of_theta(longer, more, alarm);
  const Quantity in_draws = (middle - few) / unit;
  const Quantity in_classes = (log_rms_of_theta(parted, more, alarm) - middle) / unit;
  const double exact = 0.5 * std::log((parted.k() - 1) / (at.k() - 1)) / unit.value();
  it.judge(
      Comparison{.kind = EvidenceKind::statistical,
                 .what = "orders of the rms of theta_n over s h'/h",
                 .measured = {in_draws, in_classes},
                 .predicted = {-0.5, exact},
                 .mistakes = {predicts("order-in-classes", {-0.5, 1.0}),
                              predicts("order-in-draws", {-0.55, exact})},
                 .places = {"in N", "in K"},
                 .detail = fmt::format("{:.3f}, {:.3f}", in_draws.value(), in_classes.value())});
}

void examine(const Setting& setting, Examination& it) {
  DrawnClasses at = drawn_classes(setting, it);
  at.draws = at.classes * std::lround(setting.value(mean_count));
  it.parameters["N"] = at.draws;
  it.require("N >= K^2", at.n() / (at.k() * at.k()) - 1);
  if (at.classes < 2) return;
  judge_counts(at, it);
  const Matrix<std::uint32_t> counts =
      drawn_counts(at, setting.draws(runs), setting.draw_seed(), 20);
  judge_law(at, counts, setting.false_alarm / 4, it);
  judge_bounds(at, counts, setting.false_alarm / 8, it);
  judge_orders(at, setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.class-noise",
          .claim = "random classes move the decoder by at most the order K/sqrt N, by sqrt(K/N)",
          .paper = "arXiv 2305.16380, Lemmas 10 and 11, Theorem 5 and Corollary 1",
          .status = "proved in source",
          .hypotheses = drawn_class_hypotheses({"N >= K^2"}),
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"independent-counts", "counts with the variance N/K"},
                       {"order-in-classes", "theta of order 1 in K, as the bound"},
                       {"order-in-draws", "theta of order -0.55 in N"}},
          .knobs = drawn_class_knobs(mean_count),
          .reads = "fast-decoder",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::class_noise
