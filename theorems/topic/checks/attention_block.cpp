// Theorem    topic.attention-block
// Status     proved in source (Theorem 3, block W_V)
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 3
// Statement  with the minimum-norm W_V the loss depends on
//              g = alpha + (v - 1) beta
//            alone, so that the minimisers form a line; from uniform attention it falls as
//              dL/dalpha = -2 p_c pi_1 (tau - 1)/(a tau v),
//            the mean weight of same-topic words, g*/v, is above 1, and of order tau as tau grows
//            at one T/tau. Beyond the hypotheses uniform attention is optimal: g* = v at tau = 1
//            and at p_c = 0, where g*/v - 1 comes to 0 as p_c does
// Hypotheses H1 tau >= 2; H2 p_c > 0; H3 squared loss; H4 W_V of least norm
// Check      L on the line against L at its end, in fractions; slope at uniform attention, also for
//            symbols T, tau, v, p_m, p_c, p_r, u; certified enclosures of g*, also at tau = 1 and
//            p_c = 0; order of g* in tau from far out, of g*/v - 1 in p_c
// Controls   tau for tau - 1 in the slope; the line of alpha + v beta; an order of 1.1 in tau;
//            1.1 v for v at tau = 1; 1.1 v for v at p_c = 0; an order of 1.1 in p_c
// Uses       closed form of the landscape; certified minimum

#include "theorems/topic/checks/attention_borders.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::attention_block {
namespace {

constexpr Knob deviation = value_deviation_knob("W_V of least norm");

void derive(Examination& it) {
  const Expression tau = symbol("tau");
  const TopicLaw<Expression, Expression> law{symbol("T"),   tau,           symbol("v"),
                                             symbol("p_m"), symbol("p_c"), symbol("p_r")};
  const auto value = member(law, symbol("u"), Expression(0));
  const Expression slope = landscape(law, value).gradient(Expression(1), Expression(1))[0];
  const auto is = [&](const Expression& n) { return vanishes(slope + pull_at_uniform(law, n)); };
  it.judge(Identity{.what = "dL/dalpha at uniform attention",
                    .holds = [&] { return is(tau - 1); },
                    .mistakes = {{"tau", [&] { return is(tau); }}}});
}

void judge_slope(const TopicLaw<Rational>& law, const Landscape<Rational>& made, Examination& it) {
  const Rational tau(law.active);
  const double claimed = to_double(pull_at_uniform(law, Rational(tau - 1)));
  it.judge(Comparison{.kind = EvidenceKind::exact,
                      .what = "-dL/dalpha at uniform attention",
                      .measured = {-to_double(made.gradient(1, 1)[0])},
                      .predicted = {{claimed, {ErrorPart::rounding(2, claimed)}}},
                      .mistakes = {predicts("tau", to_double(pull_at_uniform(law, tau)))}});
}

// L on the line of g, at two beta, less L at beta = 0, over the depth of L below uniform attention.
// `others` is v - 1.
std::vector<Quantity> rises(const Landscape<Rational>& made, const Rational& g, const Rational& v,
                            const Rational& others) {
  const Rational at_end = made(g, 0);
  const Rational depth = made(1, 1) - at_end;
  std::vector<Quantity> found;
  for (const Rational& beta : {Rational(g / (2 * v)), Rational(g / v)}) {
    const Rational rise = made(g - others * beta, beta) - at_end;
    found.emplace_back(to_double(Rational(rise / depth)));
  }
  return found;
}

void judge_line(const TopicLaw<Rational>& law, const Landscape<Rational>& made, Examination& it) {
  const Rational v(law.words);
  const BestSum best = best_sum(law, made);
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "uniform weight below the mean weight g*/v of the topic",
                      .measured = {1.0},
                      .relation = Relation::below,
                      .predicted = {best.g * Quantity(1 / to_double(v))}});
  const auto along = [&](const Rational& others) { return rises(made, best.at, v, others); };
  it.judge(Comparison{.kind = EvidenceKind::exact,
                      .what = "L on the line of g* less L at beta = 0, over its depth",
                      .measured = along(v - 1),
                      .predicted = {0.0},
                      .scale = {1},
                      .mistakes = {measures("line", [&] { return along(v); })},
                      .places = {"beta = g*/(2 v)", "beta = g*/v"}});
}

void examine(const Setting& setting, Examination& it) {
  const TopicLaw<Rational> law = bordering_law(setting);
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  it.require("tau >= 2", static_cast<double>(law.active - 2), fmt::format("tau = {}", law.active));
  it.require_positive("p_c > 0", to_double(law.correct),
                      fmt::format("p_c = {}", to_text(law.correct)));
  const double off = setting.value(deviation);
  it.require("W_V of least norm", -off, fmt::format("off by {:.3g} of its largest entry", off));
  const Landscape<Rational> made =
      landscape(law, value_beside(minimum_norm_value(law), off, setting.seed));
  judge_uniform(made, it);
  if (law.active < 2 || law.correct == 0) return;
  judge_slope(law, made, it);
  judge_line(law, made, it);
  judge_block_borders(law, it);
  it.judge(Comparison{.what = "order of g* in tau, far out",
                      .measured = {order_in_active(law, false)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("order", 1.1)}});
}

}  // namespace

Statement statement() {
  return {.id = "topic.attention-block",
          .claim = "block-wise W_V: best attention is a line, same topic above others, order tau",
          .paper = "arXiv 2303.04245, Theorem 3",
          .status = "proved in source",
          .hypotheses = {"tau >= 2", "p_c > 0",
                         by_construction("squared loss", "the landscape is that of it"),
                         "W_V of least norm"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::certified,
                      EvidenceKind::numerical},
          .controls = {{"tau", "tau in place of tau - 1 in the slope at uniform attention"},
                       {"line", "the line of alpha + v beta"},
                       {"order", "g* grows as tau^1.1"},
                       {"single", "the optimum at tau = 1 a tenth above v"},
                       {"never-kept", "the optimum at p_c = 0 a tenth above v"},
                       {"vanishing", "g*/v - 1 goes as p_c^1.1"}},
          .knobs = {active_topics, crowding, words_of_topic, some_masking, some_keeping, replacing,
                    deviation, single_topic, never_kept},
          .reads = "optimum",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::topic::checks::attention_block
