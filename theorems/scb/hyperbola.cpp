// Theorem    scb.hyperbola
// Status     derived here
// Source     the observation of Ren, Wang, Lee, arXiv 2410.23438, Section 6, that distances rise
//            again after a minimum
// Statement  on alpha_A alpha_V = 1 the excess loss is flat for large T:
//              K_P (1 - alpha_V)^2/(2 T);
//            under l1, to leading order,
//              d/dt (K_P alpha_V^2 - K_Q alpha_A^2) = 2 lambda alpha_A;
//            the stage ends at a normalised dist_Q of
//              lambda/(<V,P> - Q lambda) sqrt(sum_k mu_k (Q^2 |q^k|^2 - Q))
// Hypotheses H1 equal supports: every one has Q positions; H2 lambda below q_min <V,P>; H3 T large;
//            H4 lambda T above |<V,P> - S <V,V>| at the start of the stage
// Check      loss of the full model on the hyperbola; slope of the difference and bias of
//            noise-free l1 stages
// Controls   excess without the factor 1/T; drift without the factor 2; bias without the root
// Uses       rungs gd (three-part), flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/random.hpp"
#include "popgrad/scb/geometry.hpp"
#include "popgrad/scb/lumped_three_part.hpp"
#include "popgrad/scb/population_flow.hpp"
#include "theorems/scb/examples.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 1e4,
                      .high = 1e7,
                      .usual = 1e5,
                      .spacing = Spacing::logarithmic};
constexpr Knob looked_at{.name = "support",
                         .meaning = "positions Q that a token looks at",
                         .low = 2,
                         .high = 4,
                         .usual = 2,
                         .spacing = Spacing::whole};
constexpr Knob l1_weight{.name = "l1-weight",
                         .meaning = "lambda over q_min K_P",
                         .low = 0.01,
                         .high = 0.2,
                         .usual = 0.1,
                         .spacing = Spacing::logarithmic};
constexpr Knob heavy_weight{.name = "heavy-weight",
                            .meaning = "lambda over q_min K_P; 0: l1_weight",
                            .low = 0.3,
                            .high = 10,
                            .usual = 0,
                            .spacing = Spacing::logarithmic,
                            .breaks = "lambda below q_min <V,P>"};
constexpr Knob extra_mass{.name = "extra-mass",
                          .meaning = "weight that one token, drawn, gives to a position more",
                          .low = 1e-5,
                          .high = 0.5,
                          .usual = 0,
                          .spacing = Spacing::logarithmic,
                          .breaks = "equal supports"};
constexpr Knob covered_context{.name = "covered-context",
                               .meaning = "Q/T, share of the context looked at; 0: that of length",
                               .low = 1e-4,
                               .high = 0.5,
                               .usual = 0,
                               .spacing = Spacing::logarithmic,
                               .breaks = "T large"};

struct Flatness {
  double miss = 0;      // largest relative one of the excess over the loss at (1, 1)
  double rounding = 0;  // of the losses, over the smallest excess
};
Flatness flatness(const Training<double>& training, bool no_share) {
  const Bigrams<double>& b = training.bigrams;
  const PopulationFlow<double> flow(training);
  const double share = 1 / static_cast<double>(b.context);
  const auto loss_at = [&](double alpha) {
    Vector<double> x = flow.initial();
    const Index n = b.tokens();
    const Matrix<double> ground = training.start;
    x.head(n * n) = (ground + alpha * (b.transition - ground)).reshaped();
    for (Index k = 0; k < n; ++k) {
      const Index begin = b.first[static_cast<std::size_t>(k)];
      for (Index i = 0; i < b.support(k); ++i) {
        x[n * n + begin + k + i] = share + (b.law[begin + i] - share) / alpha;
      }
      x[n * n + begin + k + b.support(k)] = share - share / alpha;
    }
    return flow.loss(x);
  };
  const double least = loss_at(1);
  Flatness found;
  for (const double alpha : {0.5, 0.8, 1.25, 2.0}) {
    const double predicted =
        transition_size(b) * (1 - alpha) * (1 - alpha) / 2 * (no_share ? 1.0 : share);
    found.miss = std::max(found.miss, std::fabs((loss_at(alpha) - least) / predicted - 1));
    found.rounding =
        std::max(found.rounding, 16 * std::numeric_limits<double>::epsilon() * least / predicted);
  }
  return found;
}

struct Stage {
  double drift_miss = 0;  // relative
  double bias_miss = 0;
  /// Of A behind the creep along the hyperbola, relative: alpha_V' over alpha_V K_P alpha_V^2.
  double lag = 0;
};

Stage l1_stage(const Training<double>& training, double weight, Index support,
               std::string_view variant) {
  const Bigrams<double>& b = training.bigrams;
  const double transition = transition_size(b);
  const double context = context_size(b);
  Schedule schedule;
  schedule.threshold = 1e-3;
  schedule.l1_step = 0.01;
  schedule.l1_weight = weight;
  const LumpedThreePart rung(training, schedule, no_noise(b.tokens()));
  Vector<double> x = rung.initial();
  Stream unused(0, 0, 0);
  while (part_of(x) == Part::boost) rung.sample_step(x, 0.05, unused, 0);
  std::vector<double> row(rung.columns().size());
  const auto look = [&] {
    rung.observe(x, 0.0, row);
    return transition * row[0] * row[0] - context * row[1] * row[1];
  };
  // Transients decay at the rates <V,V> = K_P alpha_V^2 and d; twenty times their scale
  // is behind them.
  const auto advance = [&](double time) {
    const long steps = std::lround(time / schedule.l1_step);
    for (long i = 0; i < steps; ++i) rung.sample_step(x, 0.05, unused, 0);
  };
  advance(20 / transition);
  look();
  const double strength = row[0] * row[0];
  if (strength < 1) advance(20 / transition * (1 / std::max(strength, 0.05) - 1));
  const double before = look();
  const double attention = row[1];
  constexpr double span = 2;
  advance(span);
  const double drift = (look() - before) / span;
  Stage stage;
  const double expected = (variant == "half-drift" ? 1 : 2) * weight * (attention + row[1]) / 2;
  stage.drift_miss = std::fabs(drift / expected - 1);
  double spread = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k));
    const auto equal = static_cast<double>(support);
    spread += b.stationary[k] * (equal * equal * law.squaredNorm() - equal);
  }
  const double bias = weight / (row[0] * transition - static_cast<double>(support) * weight) *
                      (variant == "no-root" ? spread : std::sqrt(spread));
  stage.bias_miss = std::fabs(row[7] / bias - 1);
  const double square = row[0] * row[0];
  const double creep = weight / (transition * square + context / square);
  stage.lag = creep / (transition * square * row[0]);
  return stage;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Index support = setting.count(looked_at);
  const double covered = setting.value(covered_context);
  const Index positions =
      covered > 0 ? std::lround(static_cast<double>(support) / covered) : setting.count(length);
  Training<double> training = from_scratch(setting.count(tokens), positions, support, setting.seed);
  const double least = training.bigrams.law.minCoeff();
  const double extra = setting.value(extra_mass);
  if (extra > 0) {
    Stream stream(setting.seed, 0, 0);
    const Index token = stream.index(static_cast<std::uint32_t>(training.bigrams.tokens()));
    add_position(training.bigrams, token, extra);
  }
  const Bigrams<double>& b = training.bigrams;
  const double transition = transition_size(b);
  const double share = setting.value(l1_weight);
  const double heavy = setting.value(heavy_weight);
  const double weight = (heavy > 0 ? heavy : share) * least * transition;
  result.parameters = {{"N", b.tokens()},  {"Q", support},   {"T", b.context},
                       {"lambda", weight}, {"extra", extra}, {"seed", setting.seed}};
  result.hypotheses.push_back({"equal supports", extra == 0 ? Truth::yes : Truth::no,
                               fmt::format("one position more with weight {:.3g}", extra)});
  result.hypotheses.push_back(
      {"lambda below q_min <V,P>", heavy == 0 ? Truth::yes : Truth::no,
       fmt::format("lambda = {:.3g}, {:.3g} of q_min K_P", weight, heavy > 0 ? heavy : share)});
  result.hypotheses.push_back({"T large", covered == 0 ? Truth::yes : Truth::no,
                               fmt::format("T = {}, Q = {}", b.context, support)});
  // The stage takes a time 1/K_P.
  if (transition < 0.01) {
    result.hypotheses.push_back({"columns of P apart, K_P at least 0.01", Truth::no,
                                 fmt::format("K_P = {:.3g}", transition)});
    return result;
  }
  // The mean that is taken off gradients moves positions outside the support, where the stage
  // begins with S = 1, by
  //   |<V,P> - S <V,V>|/T = K_P alpha_V |1 - alpha_V|/T;
  // a smaller lambda lets them in, and takes a time 1/lambda to take them away again.
  const double start = 0.75 * std::pow(context_size(b) / transition, 0.25);
  const double pushed = transition *
                        std::max(start < 1 ? 0.25 : 0.0, start * std::fabs(start - 1)) /
                        static_cast<double>(b.context);
  const bool kept_out = weight >= pushed;
  if (covered == 0) {
    result.hypotheses.push_back({"lambda T above |<V,P> - S <V,V>| at the start of the stage",
                                 kept_out ? Truth::yes : Truth::no,
                                 fmt::format("lambda = {:.3g}, it over T {:.3g}", weight, pushed)});
    if (!kept_out && setting.slack == 0) return result;
  }
  if (variant.empty() || variant == "not-flat") {
    const Flatness flat = flatness(training, variant == "not-flat");
    result.evidence.push_back(bounded(EvidenceKind::numerical,
                                      "excess loss on the hyperbola, relative miss", flat.miss,
                                      setting.allow(std::max(1e-6, flat.rounding)),
                                      "a difference of 1e-7 of a loss of order one, in double"));
  }
  if (variant == "not-flat") return result;
  const Stage stage = l1_stage(training, weight, support, variant);
  const double allowed = setting.allow(0.5 * share);
  result.evidence.push_back(bounded(EvidenceKind::numerical, "drift under l1, relative miss",
                                    stage.drift_miss, allowed,
                                    "next order: half of lambda over q_min <V,P>"));
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "normalised bias of Q, relative miss", stage.bias_miss,
              setting.allow(std::max(0.5 * share, 2 * stage.lag)),
              "next order: half of lambda over q_min <V,P>, or twice the lag behind the drift"));
  return result;
}

}  // namespace

Statement hyperbola() {
  return {
      .id = "scb.hyperbola",
      .claim = "the loss is flat along alpha_A alpha_V = 1, l1 drifts along it with a known bias",
      .paper = "arXiv 2410.23438, Section 6",
      .status = "derived here",
      .hypotheses = {"equal supports", "lambda below q_min <V,P>", "T large",
                     "lambda T above |<V,P> - S <V,V>| at the start of the stage"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"not-flat", "excess without the factor 1/T"},
                   {"half-drift", "drift without the factor 2"},
                   {"no-root", "bias without the root"}},
      .knobs = {tokens, length, looked_at, l1_weight, heavy_weight, extra_mass, covered_context},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
