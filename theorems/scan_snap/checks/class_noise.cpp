#include "theorems/scan_snap/checks/class_counts.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::class_noise {
namespace {

constexpr Hypothesis enough_draws{"`N >= K^2`"};
constexpr Knob mean_count =
    logarithmic_knob("draws", "random draws of a class, on average", 200, 400, 250);

Statement sheet{.id = "scan-snap.class-noise",
                .paper = "arXiv 2305.16380, Lemmas 10, 11, Theorem 5, Corollary 1, Eqns 70, 71",
                .status = "proved in source, with the exact law here",
                .about = "the decoder after random draws of classes",
                .theorem = R"(
N draws of K equally likely classes, N_n of class n, change W_n by a factor 1 + theta_n, e_n -
alpha_n by 1 + sigma_n. For 1 - delta, Delta^2 = N ln(1/delta),
  |N_n - N/K|    <= Delta
  |theta_n|      <= K Delta/N
  |sigma_n|      <= eta_Y Delta/3
  1 + |sigma_n|  <= (1 - K Delta/N)^-2  if N - K Delta >= 2 K (1 + omega1) ln M/eta_Y
  max_n |theta_n| <= K sqrt(ln(K/delta)/N);
1/3 is printed, 1 stands for O(.), and 2 bounds d ln(M - 1 + exp(M h))/d ln s late (e^x >= (M-1)
x), where 1 does not do: 0.333 > 0.298 at K = 2, M = 25333, N = 208, delta = 0.01. The law is
narrower: over s h'/h at s = N/K, theta_n has the rms
  sqrt((K - 1)/N) as N -> infinity,
order -1/2 in N and, but for 1 - 1/K, 1/2 in K, where the bound has 1.)",
                .hypotheses = drawn_class_hypotheses({enough_draws}),
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "bound-as-law",
                .knobs = drawn_class_knobs(mean_count),
                .reads = "fast-decoder"};

const Clause near_mean = sheet.clause("`N_n` is within `Delta` of `N/K`");
const Clause exact_law = sheet.clause("random classes move the decoder by the law of `N_n`");
const Clause within_bounds = sheet.clause("at most by the order `K/sqrt N`");
const Clause narrower = sheet.clause("by the order `sqrt(K/N)`");

const Control independent_counts =
    sheet.control("independent-counts", "counts with the variance `N/K`");
const Control narrow = sheet.control("narrow", "a fifth of `Delta`");
const Control order_in_draws = sheet.control("order-in-draws", "`theta` of order -0.55 in `N`");

const Rival bound_as_law = sheet.rival(
    "bound-as-law", "`theta` is as wide as its bound up to a constant: of order 1 in `K`",
    "the constant");

constexpr std::uint32_t runs = 20'000;
constexpr int finer = 16;
const std::vector<double> levels{0.1, 0.01};

void judge_counts(const DrawnClasses& at, Examination& it) {
  const auto beyond = [&](double part) {
    std::vector<Quantity> found;
    for (const double level : levels) {
      found.emplace_back(expectation(binomial_law(at.draws, 1 / at.k()), [&](long count) {
        const double off = std::fabs(static_cast<double>(count) - at.mean());
        return off > part * at.deviation(level) ? 1.0 : 0.0;
      }));
    }
    return found;
  };
  it.judge(near_mean, at_most("`P[|N_n - N/K| > Delta]` by the exact law, at most `delta`",
                              beyond(1), std::vector<Quantity>(levels.begin(), levels.end()))
                          .unless(narrow, [&] { return beyond(0.2); }));
}

void judge_law(const DrawnClasses& at, const Matrix<std::uint32_t>& counts, double alarm,
               Examination& it) {
  const CountNoise noise(at);
  Comparison quantiles = equal("quantiles of draws against the exact law")
                             .of_kind(EvidenceKind::statistical)
                             .with(fmt::format("`N = {}`, {} runs", at.draws, counts.rows()));
  std::vector<Quantity> independent;
  for (const double level : levels) {
    for (const auto* table : {&noise.theta, &noise.sigma}) {
      quantiles.add(
          fmt::format("{}, `delta = {}`", table == &noise.theta ? "`theta`" : "`sigma`", level),
          sampled_quantile(largest_of(*table, counts.leftCols(1)), level, alarm),
          quantile(binomial_law(at.draws, 1 / at.k()), *table, level));
      independent.emplace_back(quantile(poisson_law(at.mean()), *table, level));
    }
  }
  it.judge(exact_law, quantiles.unless(independent_counts, independent));
}

void judge_bounds(const DrawnClasses& at, const Matrix<std::uint32_t>& counts, double alarm,
                  Examination& it) {
  const CountNoise noise(at);
  Comparison bounds =
      at_most("quantiles of draws against the bounds").of_kind(EvidenceKind::statistical);
  const double late = 2 * crossover(at.decoder.vocabulary) / at.decoder.rate;
  for (const double level : levels) {
    const auto judge = [&](const char* what, const auto& table, const auto& of, double bound) {
      bounds.add(fmt::format("{}, `delta = {}`", what, level),
                 sampled_quantile(largest_of(table, of), level, alarm), bound);
    };
    const double apart = at.deviation(level) / at.mean();
    judge("`theta`", noise.theta, counts.leftCols(1), apart);
    judge("max theta", noise.theta, counts, at.deviation(level / at.k()) / at.mean());
    judge("`sigma`", noise.sigma, counts.leftCols(1), at.decoder.rate * at.deviation(level) / 3);
    if (at.mean() * (1 - apart) < late) continue;
    judge("`sigma` late", noise.sigma, counts.leftCols(1), std::pow(1 - apart, -2) - 1);
  }
  it.judge(within_bounds, bounds);
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
  const auto both = [](double of_draws, double of_classes) {
    return std::vector<Quantity>{of_draws, of_classes};
  };
  it.judge(narrower, equal("orders of the rms of `theta_n` over `s h'/h`")
                         .of_kind(EvidenceKind::statistical)
                         .add("in `N`", in_draws, -0.5)
                         .add("in `K`", in_classes, exact)
                         .with(fmt::format("{:.3f}, {:.3f}", in_draws.value(), in_classes.value()))
                         .against(bound_as_law, both(-0.5, 1))
                         .unless(order_in_draws, both(-0.55, exact)));
}

void examine(const Setting& setting, Examination& it) {
  DrawnClasses at = drawn_classes(setting, it);
  at.draws = at.classes * std::lround(setting.value(mean_count));
  it.parameters["N"] = at.draws;
  it.require(enough_draws, at.n() / (at.k() * at.k()) - 1);
  if (at.classes < 2) return;
  judge_counts(at, it);
  const Matrix<std::uint32_t> counts =
      drawn_counts(at, setting.draws(runs), setting.draw_seed(), 20);
  judge_law(at, counts, setting.false_alarm / 4, it);
  judge_bounds(at, counts, setting.false_alarm / 8, it);
  judge_orders(at, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::class_noise
