// Theorem    scb.lumping                             Status  derived here
// Source     noise model of Ren, Wang, Lee, arXiv 2410.23438, Section 5
// Statement  support values, mean and centred norm of the rest follow the law of the dense noisy
//            descent without its T coordinates (stage 1)
// Hypotheses H1 q^k vanishes off its support; H2 Gaussian noise, mean over positions taken off
// Check      two-sample tests (Kolmogorov-Smirnov) of alpha_V, alpha_A, dist_Q and loss over 10000
//            runs each at T = 8, 50, 1000; one-step mean and variance of r^2 against chi-square
// Controls   n - 1 degrees of freedom in place of n - 2; the mean over positions not taken off
// Uses       rungs noisy, noisy-lumped

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/scb/lumped_descent.hpp"
#include "popgrad/scb/noisy_descent.hpp"
#include "popgrad/statistics.hpp"
#include "popgrad/walk.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

const std::vector<Index> contexts{8, 50, 1000};
const std::vector<std::size_t> compared{0, 1, 3, 4};  // alpha_V, alpha_A, dist_Q, loss

Training<double> small_training(Index context, std::uint64_t seed) {
  Training<double> training;
  training.bigrams = random_bigrams(3, context, 2, seed);
  training.start = transfer_start(training.bigrams, 1.0, 0.8, seed);
  return training;
}

// Samples of each compared column after ten steps, runs in order.
std::vector<std::vector<double>> sample(const AnyRung<double>& rung, std::uint32_t runs,
                                        std::uint32_t first, const Setting& setting) {
  WalkRequest request;
  request.step_size = 0.2;
  request.steps = 10;
  request.save_steps = {request.steps};
  request.batch = 8;
  request.runs = runs;
  request.first_run = first;
  request.seed = setting.seed;
  request.jobs = setting.jobs;
  std::vector<std::vector<double>> columns(compared.size());
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    for (std::size_t i = 0; i < compared.size(); ++i) {
      columns[i].push_back(run.rows.front()[compared[i]]);
    }
  }
  return columns;
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
  Training<double> training = small_training(context, setting.seed);
  NoiseLevels levels;
  levels.value = 0;
  levels.attention = Vector<double>::Ones(3);
  levels.shape = NoiseShape::constant;
  const LumpedDescent rung(training, levels, mistake);
  constexpr int draws = 40'000;
  const double degrees = static_cast<double>(context) - 2 - 1;  // n - 1
  double sum = 0;
  double square = 0;
  for (int i = 0; i < draws; ++i) {
    Stream stream(setting.seed, 77, static_cast<std::uint64_t>(i));
    Vector<double> x = rung.initial();
    rung.sample_step(x, 1.0, stream, 1);
    const double r = x[9 + 2 + 1];  // V, the support of token 0, its mean, its norm
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

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const std::uint32_t runs = 10'000;
  result.parameters = {{"N", 3},      {"Q", 2},       {"T", "8, 50, 1000"},
                       {"steps", 10}, {"runs", runs}, {"seed", setting.seed}};
  const LumpingMistake mistake = variant == "degrees-of-freedom"
                                     ? LumpingMistake::degrees_of_freedom
                                 : variant == "no-mean" ? LumpingMistake::no_mean_subtraction
                                                        : LumpingMistake::none;
  const int looks = static_cast<int>(contexts.size() * compared.size()) + 2;
  const double share = setting.false_alarm / looks;
  // Smirnov: P(D > x) <= 2 exp(-2 x^2 n m/(n + m)).
  const double bound = std::sqrt(-std::log(share / 2) / static_cast<double>(runs));
  double worst = 0;
  std::string where;
  for (const Index context : contexts) {
    // A control that is seen at the shortest context need not be drawn at the longest.
    if (!variant.empty() && context > 8) continue;
    const Training<double> training = small_training(context, setting.seed);
    const NoiseLevels levels = noise_at_solution(training.bigrams);
    const auto dense = sample(forget_type(NoisyDescent(training, levels)), runs, 0, setting);
    const auto lumped =
        sample(forget_type(LumpedDescent(training, levels, mistake)), runs, 1'000'000, setting);
    for (std::size_t i = 0; i < compared.size(); ++i) {
      const double apart = smirnov(dense[i], lumped[i]);
      if (apart > worst) {
        worst = apart;
        where = fmt::format("T = {}, column {}", context,
                            LumpedDescent(training, levels).columns()[compared[i]]);
      }
    }
  }
  result.evidence.push_back(bounded(EvidenceKind::statistical,
                                    "largest distance of distribution functions, dense and lumped",
                                    worst, bound, "Smirnov's bound at this share of the level",
                                    fmt::format("worst at {}, {} runs each", where, runs)));
  if (variant != "no-mean") {
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
          .reaches = {EvidenceKind::statistical},
          .controls = {{"degrees-of-freedom", "n - 1 degrees of freedom in place of n - 2"},
                       {"no-mean", "the mean over positions not taken off"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::scb
