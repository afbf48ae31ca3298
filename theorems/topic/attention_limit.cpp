// Theorem    topic.attention-limit
// Status     derived here
// Source     the constant that Theorem 3 of Li, Li, Risteski, arXiv 2303.04245, leaves open
// Statement  as T, tau and T/tau grow, with g = y tau or alpha = y tau,
//              dL/dy          -> (2 p_c/w) ((1 - p_c) p_m y/v - 1)/(1 + a y/v)^3,
//            w = v^2 for block-wise W_V, v for diagonal W_V, so that
//              g*/(tau v)     -> 1/((1 - p_c) p_m)   for block-wise W_V
//              alpha*/(tau v) -> 1/((1 - p_c) p_m)   for diagonal W_V
//              beta*          -> a                   for diagonal W_V
//            with a deviation of first order as 1/tau and tau/T fall together
// Hypotheses H1 tau large; H2 T/tau large; H3 p_c > 0; H4 squared loss
// Check      symbolic: with tau = 1/e, T = 1/(e d), g = y/e the coefficients of the landscape's own
//            code have joint limits at e = d = 0, which make the slope above, for symbols p_m, p_c,
//            p_r, v; numerical: minima of the landscape at sizes that are doubled, extrapolated
// Controls   1/p_m claimed; limits 10 % too large; a deviation of order 1.1
// Uses       closed form of the landscape, on symbols and in 50 digits

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/order.hpp"
#include "theorems/topic/distant_optimum.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob words = words_knob(2, 20, 10);
constexpr Knob few_kept = keeping_knob(0.05, 0.8);
constexpr Knob few_masked = masking_knob(0.05, 1);
constexpr Knob active_topics{.name = "topics-a-document",
                             .meaning = "tau, number of topics in a document",
                             .low = 2,
                             .high = 1e4,
                             .usual = 1e5,
                             .spacing = Spacing::logarithmic,
                             .breaks = "tau large"};
constexpr Knob emptiness{.name = "topics-over-active",
                         .meaning = "T/tau, topics over those of a document",
                         .low = 1.2,
                         .high = 1e4,
                         .usual = 1e5,
                         .spacing = Spacing::logarithmic,
                         .breaks = "T/tau large"};

// With `masked` in the place of (1 - p_c) p_m.
Truth slope_is(const LimitingSlope& found, const Expression& masked) {
  const Expression claimed = 2 * found.p_c / found.weight * (masked * found.y / found.v - 1);
  return vanishes(found.slope - claimed / GiNaC::pow(1 + found.a * found.y / found.v, 3));
}

void derive(Examination& it) {
  for (const bool diagonal : {false, true}) {
    const LimitingSlope found = limiting_slope(diagonal);
    const Expression masked = (1 - found.p_c) * found.p_m;
    it.judge(Identity{
        .what = fmt::format("{}: limit of dL/dy", diagonal ? "diagonal, any beta" : "block"),
        .holds = [&] { return slope_is(found, masked); },
        .mistakes = {{"inverse-p_m", [&] { return slope_is(found, found.p_m); }},
                     {"tenth-more", [&] { return slope_is(found, masked * 10 / 11); }}}});
  }
}

// What is left of the weights to their limits in tau or T/tau alone: it falls by half when that is
// doubled, so twice the change is all of it. A beta* of 0 has all of its way before it.
double left_to_limit(const LargeLaw& law, int more_active, int emptier) {
  double most = 0;
  for (const bool diagonal : {false, true}) {
    const BestWeights here = best_weights(law, diagonal);
    const BestWeights there = best_weights(enlarged(law, more_active, emptier), diagonal);
    most = std::max(most, std::fabs(2 - 2 * (there.ratio / here.ratio).value()));
    if (!diagonal || law.words < 2) continue;
    const double way = 2 * (there.beta - here.beta).value() / to_double(law.kept());
    most = std::max(most, here.beta.value() > 0 ? std::fabs(way) : 1);
  }
  return most;
}

constexpr std::array<double, 3> steps{1, 0.5, 0.25};

// From a size and twice and four times it in tau and T/tau.
void judge_limit(const LargeLaw& law, bool diagonal, Examination& it) {
  std::vector<Quantity> ratios;
  std::vector<Quantity> betas;
  for (const double h : steps) {
    const BestWeights best =
        best_weights(enlarged(law, Rational(1 / h), Rational(1 / h)), diagonal);
    ratios.push_back(best.ratio);
    betas.push_back(best.beta);
  }
  it.judge(Comparison{.what = fmt::format("{}: limit of the best weight over tau v",
                                          diagonal ? "diagonal" : "block"),
                      .measured = {limit_in(steps, ratios)},
                      .predicted = {1 / to_double(Rational((1 - law.correct) * law.masked))},
                      .mistakes = {predicts("inverse-p_m", 1 / to_double(law.masked)),
                                   predicts_times("tenth-more", 1.1)},
                      .detail = fmt::format("{:.6g} at the least size", ratios.front().value())});
  if (!diagonal || law.words < 2) return;
  it.judge(Comparison{.what = "diagonal: limit of the best weight of other words of the topic",
                      .measured = {limit_in(steps, betas)},
                      .predicted = {to_double(law.kept())},
                      .mistakes = {predicts_times("tenth-more", 1.1)}});
}

// The order of what is left to the limit, from the usual size or beyond.
void judge_order(LargeLaw law, bool diagonal, Examination& it) {
  const double limit = 1 / to_double(Rational((1 - law.correct) * law.masked));
  const Rational crowd = law.topics / law.active;
  const Rational tau(std::max(to_double(law.active), active_topics.usual));
  law = {tau * std::max(crowd, Rational(emptiness.usual)),
         tau,
         law.words,
         law.masked,
         law.correct,
         law.random};
  std::vector<Quantity> left;
  for (const double h : steps) {
    const LargeLaw larger = enlarged(law, Rational(1 / h), Rational(1 / h));
    left.push_back(abs(best_weights(larger, diagonal).ratio - Quantity(limit)));
  }
  it.judge(Comparison{
      .what = fmt::format("{}: order of what is left, far out", diagonal ? "diagonal" : "block"),
      .measured = {order_in(steps, left)},
      .predicted = {1.0},
      .mistakes = {predicts_times("order", 1.1)}});
}

void examine(const Setting& setting, Examination& it) {
  const auto tau = static_cast<Index>(std::llround(setting.value(active_topics)));
  const auto wide = static_cast<double>(tau) * setting.value(emptiness);
  const auto law = examined_law(setting, std::max<Index>(tau + 1, std::llround(wide)), tau,
                                setting.count(words));
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  if (!makes_a_law(law, it)) return;
  const LargeLaw large = unbounded(law);
  it.require("p_c > 0", law.correct > 0 ? Truth::yes : Truth::no,
             fmt::format("p_c = {}", to_text(law.correct)));
  if (law.correct == 0) return;
  for (const bool active : {true, false}) {
    const double share = active ? left_to_limit(large, 2, 1) : left_to_limit(large, 1, 2);
    it.require(active ? "tau large" : "T/tau large", noticed_share - share,
               fmt::format("{:.3g} of the best weights is left to the limit of {}", share,
                           active ? "tau" : "T/tau"));
  }
  for (const bool diagonal : {false, true}) {
    judge_limit(large, diagonal, it);
    judge_order(large, diagonal, it);
  }
}

}  // namespace

Statement attention_limit() {
  return {.id = "topic.attention-limit",
          .claim = "best attention over tau v tends to 1/((1 - p_c) p_m), block-wise and diagonal",
          .paper = "arXiv 2303.04245, Theorem 3",
          .status = "derived here",
          .hypotheses = {"tau large", "T/tau large", "p_c > 0",
                         by_construction("squared loss", "the landscape is that of it")},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"inverse-p_m", "1/p_m claimed"},
                       {"tenth-more", "limits 10 % too large"},
                       {"order", "what is left falls with the power 1.1 of the size"}},
          .knobs = {words, few_masked, few_kept, replacing, active_topics, emptiness},
          .reads = "optimum",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
