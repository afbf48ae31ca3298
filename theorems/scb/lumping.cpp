// Theorem    scb.lumping
// Status     derived here
// Source     noise model of Ren, Wang, Lee, arXiv 2410.23438, Section 5
// Statement  support values, mean and centred norm of the rest follow the law of the dense noisy
//            descent without its T coordinates; so do zeros and nonzeros in the l1 stage
// Hypotheses H1 q^k vanishes off its support; H2 Gaussian noise, projected: its mean over positions
//            is taken off before the l1 stage
// Check      covariance of support and mean after one step in rationals; one-step mean and variance
//            of r^2 against chi-square; two-sample tests (Kolmogorov-Smirnov) over 10000 runs each
//            at T = 8, 50, 1000, after nine boosting steps and after ten more of the l1 stage
// Controls   n - 1 degrees of freedom in place of n - 2; the mean over positions not taken off;
//            m with a draw of its own; zeros that leave upwards only
// Uses       rungs noisy, noisy-lumped

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "popgrad/scalar/rational.hpp"
#include "popgrad/scb/lumped_three_part.hpp"
#include "popgrad/scb/three_part_descent.hpp"
#include "popgrad/statistics.hpp"
#include "popgrad/walk.hpp"
#include "theorems/scb/examples.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the (longest) context",
                      .low = 4,
                      .high = 1000,
                      .usual = 1000,
                      .spacing = Spacing::logarithmic};
constexpr Knob step_size{.name = "step-size",
                         .meaning = "learning rates of both parts",
                         .low = 0.02,
                         .high = 0.3,
                         .usual = 0.2,
                         .spacing = Spacing::logarithmic};
constexpr Knob batch_size{.name = "batch-size",
                          .meaning = "sequences B of a step",
                          .low = 4,
                          .high = 256,
                          .usual = 8,
                          .spacing = Spacing::logarithmic};
constexpr Knob l1_weight{.name = "l1-weight",
                         .meaning = "weight lambda of the l1 norm",
                         .low = 0.005,
                         .high = 0.2,
                         .usual = 0.05,
                         .spacing = Spacing::logarithmic};
constexpr Knob leak{.name = "leak",
                    .meaning = "weight that one token, drawn, gives to a position off the support",
                    .low = 1e-4,
                    .high = 0.9,
                    .usual = 0,
                    .spacing = Spacing::logarithmic,
                    .breaks = "q vanishes off its support"};

// alpha_V, alpha_A, dist_Q, loss, nonzeros
const std::vector<std::size_t> compared{0, 1, 3, 4, 9};
constexpr std::uint64_t boost_steps = 10;
constexpr std::uint64_t all_steps = 20;

Training<double> small_training(const Setting& setting, Index context) {
  Training<double> training;
  const Index support = setting.count(support_knob);
  training.bigrams = random_bigrams(3, context, std::min(support, context), setting.seed);
  training.start = transfer_start(training.bigrams, 1.0, 0.8, setting.seed);
  return training;
}

// What the dense descent sees where the support of one token is not all of its law.
Training<double> with_leak(const Setting& setting, const Training<double>& training) {
  const double weight = setting.value(leak);
  Training<double> leaking = training;
  if (weight == 0) return leaking;
  Bigrams<double>& b = leaking.bigrams;
  Stream stream(setting.seed, 0, 0);
  const Index token = stream.index(static_cast<std::uint32_t>(b.tokens()));
  add_position(b, token, weight);
  return leaking;
}

// Ten steps of boosting, then a threshold that some of the rest survive, and l1 steps whose noise
// and threshold are of one size, so that zeros come and go.
Schedule short_schedule(const Setting& setting, Index context) {
  Schedule schedule;
  schedule.boost_until = 1e9;
  schedule.boost_steps = boost_steps;
  schedule.threshold = 1.0 / static_cast<double>(context) + 0.05;
  schedule.l1_step = setting.value(step_size);
  schedule.l1_weight = setting.value(l1_weight);
  return schedule;
}

// Samples of each compared column, before the threshold and at the end, runs in order.
std::vector<std::vector<double>> sample(const AnyRung<double>& rung, std::uint32_t runs,
                                        std::uint32_t first, const Setting& setting) {
  WalkRequest request;
  request.step_size = setting.value(step_size);
  request.steps = all_steps;
  request.save_steps = {boost_steps - 1, all_steps};
  request.batch = setting.count(batch_size);
  request.runs = runs;
  request.first_run = first;
  request.seed = setting.seed;
  request.jobs = setting.jobs;
  std::vector<std::vector<double>> columns(2 * compared.size());
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      // A run that has diverged keeps no later rows: beyond all numbers, in both samples.
      const std::size_t row = i / compared.size();
      columns[i].push_back(row < run.rows.size() ? run.rows[row][compared[i % compared.size()]]
                                                 : std::numeric_limits<double>::max());
    }
  }
  return columns;
}

// Covariance of the support and the mean m of the rest after one step, in units of s^2, minus that
// of normals less their mean over T positions:
//   support with itself  1 - 1/T
//   m with itself        1/n - 1/T
//   two different ones   -1/T
Truth one_step_covariance(LumpingMistake mistake) {
  using T = Rational;
  constexpr Index support = 3;
  const T positions(50);
  const T rest = positions - T(3);
  // Column j: what the unit draw j does to support and mean; the last draw is rest_sum, N(0, n).
  Matrix<T> effect(support + 1, support + 1);
  for (Index j = 0; j <= support; ++j) {
    Vector<T> z = Vector<T>::Constant(support, T(0));
    if (j < support) z[j] = T(1);
    const T rest_sum = j == support ? T(1) : T(0);
    if (mistake != LumpingMistake::no_mean_subtraction) take_off_mean(z, rest_sum, positions);
    for (Index i = 0; i < support; ++i) effect(i, j) = z[i];
    effect(support, j) = -T(z.sum() / rest);
  }
  for (Index i = 0; i <= support; ++i) {
    for (Index k = 0; k <= support; ++k) {
      T covariance(0);
      for (Index j = 0; j <= support; ++j) {
        covariance = covariance + effect(i, j) * effect(k, j) * (j == support ? rest : T(1));
      }
      T expected = -T(1) / positions;
      if (i == k) expected = expected + (i == support ? T(T(1) / rest) : T(1));
      if (covariance != expected) return Truth::no;
    }
  }
  return Truth::yes;
}

// Largest distance of the two empirical distribution functions.
double smirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double largest = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double at = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= at) ++i;
    while (j < b.size() && b[j] <= at) ++j;
    const double gap = static_cast<double>(i) / static_cast<double>(a.size()) -
                       static_cast<double>(j) / static_cast<double>(b.size());
    largest = std::max(largest, std::fabs(gap));
  }
  return largest;
}

// One step from r = 0: r^2/s^2 is chi-square with n - 1 degrees; its mean and variance in standard
// errors, the worse of the two.
double one_step_moments(LumpingMistake mistake, const Setting& setting) {
  const Index context = 50;
  const Training<double> training = small_training(setting, context);
  const Index support = training.bigrams.support(0);
  NoiseLevels levels;
  levels.value = 0;
  levels.attention = Vector<double>::Ones(3);
  levels.shape = NoiseShape::constant;
  const LumpedDescent rung(training, levels, mistake);
  constexpr int draws = 40'000;
  const auto degrees = static_cast<double>(context - support - 1);  // n - 1
  double sum = 0;
  double square = 0;
  for (int i = 0; i < draws; ++i) {
    Stream stream(setting.seed, 77, static_cast<std::uint64_t>(i));
    Vector<double> x = rung.initial();
    rung.sample_step(x, 1.0, stream, 1);
    const double r = x[9 + support + 1];  // V, the support of token 0, its mean, its norm
    sum += r * r / draws;
    square += r * r * r * r / draws;
  }
  const double variance = square - sum * sum;
  // chi^2_d: variance 2 d, fourth central moment 12 d^2 + 48 d.
  const double of_mean = std::fabs(sum - degrees) / std::sqrt(2 * degrees / draws);
  const double of_variance =
      std::fabs(variance - 2 * degrees) / std::sqrt((8 * degrees * degrees + 48 * degrees) / draws);
  return std::max(of_mean, of_variance);
}

LumpingMistake mistake_of(std::string_view variant) {
  if (variant == "degrees-of-freedom") return LumpingMistake::degrees_of_freedom;
  if (variant == "no-mean") return LumpingMistake::no_mean_subtraction;
  if (variant == "independent-mean") return LumpingMistake::independent_mean;
  if (variant == "one-sided") return LumpingMistake::one_sided;
  return LumpingMistake::none;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const std::uint32_t runs = setting.full ? 40'000 : setting.only_what_varies ? 1'000 : 10'000;
  std::vector<Index> contexts{setting.count(length)};
  if (!setting.only_what_varies) contexts = {8, 50, contexts.front()};
  const double leaking = setting.value(leak);
  result.parameters = {{"N", 3},
                       {"Q", setting.count(support_knob)},
                       {"T", contexts},
                       {"eta", setting.value(step_size)},
                       {"B", setting.count(batch_size)},
                       {"lambda", setting.value(l1_weight)},
                       {"leak", leaking},
                       {"steps", all_steps},
                       {"runs", runs},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"q vanishes off its support", leaking == 0 ? Truth::yes : Truth::no,
                               fmt::format("a weight {:.3g} off it", leaking)});
  const LumpingMistake mistake = mistake_of(variant);
  const int looks = static_cast<int>(2 * contexts.size() * compared.size()) + 2;
  const double share = setting.false_alarm / looks;
  // Smirnov: P(D > x) <= 2 exp(-2 x^2 n m/(n + m)).
  const double bound = std::sqrt(-std::log(share / 2) / static_cast<double>(runs));
  if ((variant.empty() && !setting.only_what_varies) || variant == "no-mean") {
    result.evidence.push_back(identity(EvidenceKind::exact,
                                       "covariance of support and mean after one step",
                                       one_step_covariance(mistake), "Q = 3, T = 50, rationals"));
  }
  std::array<double, 2> worst{};
  std::array<std::string, 2> where;
  for (const Index context : contexts) {
    // A control that is seen at a short context need not be drawn at the longest.
    if (!variant.empty() && context > 8) continue;
    const Training<double> training = small_training(setting, context);
    const NoiseLevels levels = noise_at_solution(training.bigrams);
    const Schedule schedule = short_schedule(setting, context);
    const ThreePartDescent rung(with_leak(setting, training), schedule, levels);
    const auto dense = sample(forget_type(rung), runs, 0, setting);
    const auto lumped = sample(forget_type(LumpedThreePart(training, schedule, levels, mistake)),
                               runs, 1'000'000, setting);
    for (std::size_t i = 0; i < dense.size(); ++i) {
      const std::size_t part = i / compared.size();
      const double apart = smirnov(dense[i], lumped[i]);
      if (apart <= worst[part]) continue;
      worst[part] = apart;
      where[part] =
          fmt::format("T = {}, column {}", context, rung.columns()[compared[i % compared.size()]]);
    }
  }
  for (const std::size_t part : {0U, 1U}) {
    result.evidence.push_back(
        bounded(EvidenceKind::statistical,
                fmt::format("distance of distribution functions, {}",
                            part == 0 ? "before the threshold" : "in the l1 stage"),
                worst[part], bound, "Smirnov's bound at this share of the level",
                fmt::format("worst at {}, {} runs each", where[part], runs)));
  }
  if (variant.empty() || variant == "degrees-of-freedom") {
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "one step: mean and variance of r^2, in standard errors",
        one_step_moments(mistake, setting), two_sided_normal_bound(setting.false_alarm, looks),
        "chi-square moments known exactly, 40000 draws"));
  }
  return result;
}

}  // namespace

Statement lumping() {
  return {.id = "scb.lumping",
          .claim = "noisy descent keeps its law when T positions are lumped into Q + 2 numbers",
          .paper = "arXiv 2410.23438, Section 5",
          .status = "derived here",
          .hypotheses = {"q vanishes off its support", "Gaussian noise, projected"},
          .reaches = {EvidenceKind::exact, EvidenceKind::statistical},
          .controls = {{"degrees-of-freedom", "n - 1 degrees of freedom in place of n - 2"},
                       {"no-mean", "the mean over positions not taken off"},
                       {"independent-mean", "m with a draw of its own"},
                       {"one-sided", "zeros of the l1 stage leave upwards only"}},
          .knobs = {length, support_knob, step_size, batch_size, l1_weight, leak},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
