// Theorem    topic.attention-limit
// Status     derived here
// Source     the constant that Theorem 3 of Li, Li, Risteski, arXiv 2303.04245, leaves open
// Statement  as T, tau and T/tau grow, with g = y tau or alpha = y tau,
//              dL/dy          -> (2 p_c/w) ((1 - p_c) p_m y/v - 1)/(1 + a y/v)^3,
//            w = v^2 for block-wise W_V, v for diagonal W_V, so that
//              g*/(tau v)     -> 1/((1 - p_c) p_m)   for block-wise W_V
//              alpha*/(tau v) -> 1/((1 - p_c) p_m)   for diagonal W_V
//            with a deviation of first order at least as 1/tau and tau/T fall together; and as
//            tau^3/T^2 falls,
//              beta*          -> a                   for diagonal W_V
// Hypotheses H1 tau large; H2 T/tau large; H3 tau^3/T^2 small, for beta*; H4 p_c > 0;
//            H5 squared loss
// Check      joint limits of the landscape's own coefficients at 1/tau = tau/T = 0, for symbols
//            p_m, p_c, p_r, v; minima at sizes that are doubled, extrapolated
// Controls   1/p_m claimed; limits 10 % too large; a deviation of order 1.1
// Uses       closed form of the landscape, on symbols and in 50 digits

#include "theorems/topic/checks/distant_optimum.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::attention_limit {
namespace {

constexpr Knob words = words_knob(2, 20, 10);
constexpr Knob few_kept = keeping_knob(0.05, 0.8);
constexpr Knob few_masked = masking_knob(0.05, 1);
constexpr Knob active_topics =
    logarithmic_knob("topics-a-document", "tau, number of topics in a document", 2, 1e4, 1e5)
        .breaking("tau large");
constexpr Knob emptiness =
    logarithmic_knob("topics-over-active", "T/tau, topics over those of a document", 1.2, 1e4, 1e5)
        .breaking("T/tau large");

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

void judge_ratio(const LargeLaw& law, bool diagonal, Examination& it) {
  const char* const name = diagonal ? "diagonal" : "block";
  const Quantity limit = 1 / to_double(Rational((1 - law.correct) * law.masked));
  it.judge(Comparison{
      .what = fmt::format("{}: limit of the best weight over tau v", name),
      .measured = {limit_in(inverse_sizes(), at_sizes(law, diagonal, &BestWeights::ratio))},
      .predicted = {limit},
      .mistakes = {predicts("inverse-p_m", 1 / to_double(law.masked)),
                   predicts_times("tenth-more", 1.1)}});
  // Far out: at the usual size, or the instance's own where that is larger.
  const Rational tau = std::max(law.active, Rational(active_topics.usual));
  const Rational wide = std::max(Rational(law.topics / law.active), Rational(emptiness.usual));
  const LargeLaw far{tau * wide, tau, law.words, law.masked, law.correct, law.random};
  std::vector<Quantity> left = at_sizes(far, diagonal, &BestWeights::ratio);
  for (Quantity& each : left) each = abs(each - limit);
  it.judge(Comparison{.what = fmt::format("{}: minus the order of what is left, far out", name),
                      .measured = {-order_in(inverse_sizes(), left)},
                      .relation = Relation::at_most,
                      .predicted = {-1.0},
                      .mistakes = {predicts_times("order", 1.1)}});
}

void examine(const Setting& setting, Examination& it) {
  const auto tau = static_cast<Index>(std::llround(setting.value(active_topics)));
  const auto all = std::llround(static_cast<double>(tau) * setting.value(emptiness));
  // Counts are fractions here, so that there may be any number of words.
  const auto law = examined_law(setting, std::max<Index>(tau + 1, all), tau, setting.count(words),
                                {}, std::numeric_limits<Index>::max());
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  if (!makes_a_law(law, it)) return;
  it.require_positive("p_c > 0", to_double(law.correct),
                      fmt::format("p_c = {}", to_text(law.correct)));
  if (law.correct == 0) return;
  const LargeLaw large = unbounded(law);
  for (const bool active : {true, false}) {
    const LargeLaw larger = enlarged(large, active ? 2 : 1, active ? 1 : 2);
    double share = 0;
    for (const bool diagonal : {false, true}) {
      const Quantity here = best_weights(large, diagonal).ratio;
      share = std::max(share, left_to_limit(here, best_weights(larger, diagonal).ratio, here));
    }
    it.require(active ? "tau large" : "T/tau large", noticed_share - share,
               fmt::format("{:.3g} of the best weights is left", share));
  }
  const std::vector<Quantity> betas = at_sizes(large, true, &BestWeights::beta);
  const double a = to_double(law.kept());
  // A beta* of 0 has all of its way before it.
  const double moves = betas[0].value() > 0 ? left_to_limit(betas[0], betas[1], a) : 1;
  it.require("tau^3/T^2 small", noticed_share - (law.words < 2 ? 0 : moves),
             fmt::format("{:.3g} of the limit is left to beta*", moves));
  for (const bool diagonal : {false, true}) judge_ratio(large, diagonal, it);
  if (law.words < 2) return;
  it.judge(Comparison{.what = "diagonal: limit of the best weight of other words of the topic",
                      .measured = {limit_in(inverse_sizes(), betas)},
                      .predicted = {a},
                      .mistakes = {predicts_times("tenth-more", 1.1)}});
}

}  // namespace

Statement statement() {
  return {.id = "topic.attention-limit",
          .claim = "best attention over tau v tends to 1/((1 - p_c) p_m), block-wise and diagonal",
          .paper = "arXiv 2303.04245, Theorem 3",
          .status = "derived here",
          .hypotheses = {"tau large", "T/tau large", "tau^3/T^2 small", "p_c > 0",
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

}  // namespace popgrad::topic::checks::attention_limit
