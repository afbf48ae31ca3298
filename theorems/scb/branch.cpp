// Theorem    scb.branch
// Status     derived here
// Source     noise model of Ren, Wang, Lee, arXiv 2410.23438, Section 5
// Statement  with constant noise a run from scratch leaves 0 along the right branch
//            (alpha_V, alpha_A > 0), to leading order, with probability
//              Phi(sqrt(2 K_P B/(eta T^2 rate W))),
//            W the variance of one sample's noise along the growing mode y:
//              y = sqrt(K_P) alpha_V + sqrt(K_Q) alpha_A
//              W = sigma_V^2 |P C|^2/K_P + sum_k mu_k^2 sigma_{A,k}^2 |q^k - 1/T|^2/K_Q
// Hypotheses H1 T large, so that y grows at the rate sqrt(K_P K_Q); H2 eta times the
//            growth rate small
// Check      ensembles of noisy-lumped runs at three batch sizes, predicted share between
//            0.6 and 0.95
// Controls   the factor 2 left out; the noise of the attention alone counted in W
// Uses       rung noisy-lumped

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "popgrad/scb/geometry.hpp"
#include "popgrad/scb/lumped_descent.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/statistics.hpp"
#include "popgrad/walk.hpp"
#include "theorems/scb/examples.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 3e3,
                      .high = 1e6,
                      .usual = 1e4,
                      .spacing = Spacing::logarithmic};
constexpr Knob step_size{.name = "step-size",
                         .meaning = "learning rate eta",
                         .low = 0.02,
                         .high = 0.1,
                         .usual = 0.05,
                         .spacing = Spacing::logarithmic};
constexpr Knob argument_knob{.name = "argument",
                             .meaning = "argument of Phi, which the batch follows from",
                             .low = 0.2,
                             .high = 1.8,
                             .usual = 0.8};
constexpr Knob fast_step{.name = "fast-step",
                         .meaning = "eta times the growth rate; 0: that of step_size",
                         .low = 0.1,
                         .high = 5,
                         .usual = 0,
                         .spacing = Spacing::logarithmic,
                         .breaks = "eta times the growth rate small"};

// W; the part of the values left out if asked.
double growing_noise(const Bigrams<double>& b, const NoiseLevels& levels, bool attention_only) {
  const Vector<double>& mu = b.stationary;
  const Matrix<double> covariance = Matrix<double>(mu.asDiagonal()) - mu * mu.transpose();
  double w =
      levels.value * levels.value * (b.transition * covariance).squaredNorm() / transition_size(b);
  if (attention_only) w = 0;
  const double share = 1 / static_cast<double>(b.context);
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k));
    const double level = mu[k] * levels.attention[k];
    w += level * level * (law.squaredNorm() - share) / context_size(b);
  }
  return w;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  Training<double> training = from_scratch(setting.count(tokens), setting.count(length),
                                           setting.count(support_knob), setting.seed);
  const double shortness = setting.value(short_context);
  if (shortness > 0) {
    // K_P and K_Q do not depend on the length.
    const double growth =
        std::sqrt(transition_size(training.bigrams) * context_size(training.bigrams));
    const Index least = setting.count(support_knob) + 2;
    const Index positions = std::lround(length_at(shortness, growth, 0));
    training = from_scratch(setting.count(tokens), std::max(least, positions),
                            setting.count(support_knob), setting.seed);
  }
  const Bigrams<double>& b = training.bigrams;
  NoiseLevels levels = levels_of_shape(b, NoiseShape::constant);
  const double transition = transition_size(b);
  const auto positions = static_cast<double>(b.context);
  const double rate = growth_rate(transition, context_size(b), positions);
  const double factor = variant == "no-factor" ? 1 : 2;
  const double fast = setting.value(fast_step);
  const double step = fast > 0 ? fast / rate : setting.value(step_size);
  // The batch at which the true formula has this argument.
  const auto batch_at = [&](double argument) {
    return argument * argument * step * positions * positions * rate *
           growing_noise(b, levels, false) / (2 * transition);
  };
  // The noise counts over the batch only, whose rounding must not.
  constexpr double least_batch = 1000;
  const double batch = batch_at(setting.value(argument_knob));
  if (batch < least_batch) {
    const double louder = std::sqrt(least_batch / batch);
    levels.value *= louder;
    levels.attention *= louder;
  }
  const double w = growing_noise(b, levels, variant == "attention-only");
  const AnyRung<double> rung = forget_type(LumpedDescent(training, levels));
  const std::uint32_t runs = setting.full ? 10'000 : setting.only_what_varies ? 300 : 1'000;
  result.parameters = {{"N", b.tokens()}, {"T", b.context},
                       {"eta", step},     {"argument", setting.value(argument_knob)},
                       {"runs", runs},    {"seed", setting.seed}};
  result.hypotheses.push_back({"T large", positions * rate >= 200 ? Truth::yes : Truth::no,
                               fmt::format("T is {:.3g} growth times", positions * rate)});
  result.hypotheses.push_back({"eta times the growth rate small",
                               step * rate <= 0.08 ? Truth::yes : Truth::no,
                               fmt::format("eta rate = {:.3g}", step * rate)});
  if (result.verdict() == Verdict::not_applicable && setting.slack == 0) return result;
  WalkRequest request;
  request.step_size = step;
  // Long enough for a deviate of 0.05 standard deviations to have grown to order one.
  request.steps =
      static_cast<std::uint64_t>(std::ceil((std::log(positions) + std::log(20.0)) / (rate * step)));
  request.save_steps = {request.steps};
  request.runs = runs;
  request.seed = setting.seed;
  request.jobs = setting.jobs;
  double worst = 0;
  std::string table;
  std::vector<double> arguments{setting.value(argument_knob)};
  if (!setting.only_what_varies) arguments = {0.3, arguments.front(), 1.5};
  const auto looks = static_cast<int>(arguments.size());
  for (const double argument : arguments) {
    request.batch = std::llround(batch_at(argument));
    std::uint32_t right = 0;
    for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
      right += !run.rows.empty() && run.rows.back()[0] > 0 ? 1U : 0U;
    }
    request.first_run += runs;
    const double predicted = boost::math::cdf(
        boost::math::normal(), std::sqrt(factor * transition * static_cast<double>(request.batch) /
                                         (step * positions * positions * rate * w)));
    const double share = static_cast<double>(right) / runs;
    // Of the observed and of the predicted share: either is too small near 1.
    const double deviation = std::sqrt(std::max(share * (1 - share), predicted * (1 - predicted)) /
                                       static_cast<double>(runs));
    worst = std::max(worst, std::fabs(share - predicted) / std::max(deviation, 1.0 / runs));
    table += fmt::format("{}B = {}: {:.3f} of {:.3f}", table.empty() ? "" : ", ", request.batch,
                         share, predicted);
  }
  // Besides the sampling error: terms O(eta rate) and O(1/(T rate)), about 1 % of the argument.
  const double systematic = 0.01 * 0.4 / std::sqrt(0.25 / runs);
  result.evidence.push_back(
      bounded(EvidenceKind::statistical, "share of runs on the right branch, in standard errors",
              worst, two_sided_normal_bound(setting.false_alarm, looks) + systematic,
              "all looks; and 1 % of the argument for the next order in eta and 1/T", table));
  return result;
}

}  // namespace

Statement branch() {
  return {
      .id = "scb.branch",
      .claim =
          "noise leaves a run on the right branch with probability Phi(sqrt(2 K_P B/(eta T^2 "
          "rate W)))",
      .paper = "arXiv 2410.23438, Section 5",
      .status = "derived here",
      .hypotheses = {"T large", "eta times the growth rate small"},
      .reaches = {EvidenceKind::statistical},
      .controls = {{"no-factor", "the factor 2 under the root left out"},
                   {"attention-only", "the noise of the values left out of W"}},
      .knobs = {tokens, length, support_knob, step_size, argument_knob, short_context, fast_step},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
