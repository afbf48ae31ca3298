// Theorem    topic.attention-diagonal
// Status     described in source (Theorem 3, diagonal W_V); slopes, beta* < 1 and the order of
//            alpha* derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 3
// Statement  with diagonal W_V the loss at uniform attention falls with the weight of the same word
//            and rises with that of other words of the topic,
//              dL/dalpha = -2 p_c pi_1 (tau v - 1)/(a tau v)
//              dL/dbeta  =  2 p_c pi_1 (v - 1)/(a tau v);
//            the optimum is a single point: alpha* of order tau as tau grows at one T/tau, and
//              0 <= beta* < 1:
//            other words of the topic get less than words of other topics (and nothing where
//            dL/dbeta >= 0 at the best alpha of beta = 0), the topic with the own word more,
//              (alpha* + (v - 1) beta*)/v > 1.
//            Beyond the hypotheses: alpha* = beta* = 1 at p_c = 0; at tau = 1 that mean is below 1
// Hypotheses H1 tau >= 2; H2 p_c > 0; H3 squared loss; H4 v >= 2; H5 diagonal W_V
// Check      slopes at uniform attention, also for symbols T, tau, v, p_m, p_c, p_r; certified
//            enclosure of all minimisers, also at p_c = 0; inertia of the Hessian there; order of
//            alpha* in tau from far out; the mean over the topic in 50 digits,
//            also at tau = 1
// Controls   tau v for tau v - 1; v for v - 1; an order of 1.1; 1.1 for 1 at p_c = 0
// Uses       closed form of the landscape; certified minimum

#include "theorems/topic/checks/attention_borders.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::attention_diagonal {
namespace {

constexpr Knob deviation = value_deviation_knob("diagonal W_V");

void derive(Examination& it) {
  const Expression tau = symbol("tau");
  const Expression v = symbol("v");
  const TopicLaw<Expression, Expression> law{symbol("T"),   tau,           v,
                                             symbol("p_m"), symbol("p_c"), symbol("p_r")};
  const Vector<Expression> slopes =
      landscape(law, diagonal_value(law)).gradient(Expression(1), Expression(1));
  const auto falls = [&](const Expression& n) {
    return vanishes(slopes[0] + pull_at_uniform(law, n));
  };
  const auto rises = [&](const Expression& n) {
    return vanishes(slopes[1] - pull_at_uniform(law, n));
  };
  it.judge(Identity{.what = "dL/dalpha at uniform attention",
                    .holds = [&] { return falls(tau * v - 1); },
                    .mistakes = {{"same-word", [&] { return falls(tau * v); }}}});
  it.judge(Identity{.what = "dL/dbeta at uniform attention",
                    .holds = [&] { return rises(v - 1); },
                    .mistakes = {{"other-words", [&] { return rises(v); }}}});
}

void judge_slopes(const TopicLaw<Rational>& law, const Landscape<Rational>& made, Examination& it) {
  const auto pull = [&](Index n) {
    const double size = to_double(pull_at_uniform(law, Rational(n)));
    return Quantity(size, {ErrorPart::rounding(2, size)});
  };
  const Index all = law.active * law.words;
  const Vector<Rational> slopes = made.gradient(1, 1);
  it.judge(Comparison{.kind = EvidenceKind::exact,
                      .what = "-dL/dalpha at uniform attention",
                      .measured = {-to_double(slopes[0])},
                      .predicted = {pull(all - 1)},
                      .mistakes = {predicts("same-word", pull(all))}});
  it.judge(Comparison{.kind = EvidenceKind::exact,
                      .what = "dL/dbeta at uniform attention",
                      .measured = {to_double(slopes[1])},
                      .predicted = {pull(law.words - 1)},
                      .mistakes = {predicts("other-words", pull(law.words))}});
}

// Along the weights that are not on the border.
bool positive_definite(const Landscape<Rational>& made, const Certificate& found) {
  const Matrix<Rational> hessian = made.hessian(found.alpha, found.beta);
  return found.beta == 0 ? hessian(0, 0) > 0 : inertia(hessian).positive == 2;
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
  it.require("v >= 2", static_cast<double>(law.words - 2), fmt::format("v = {}", law.words));
  const double off = setting.value(deviation);
  it.require("diagonal W_V", -off, fmt::format("off by {:.3g} of its largest entry", off));
  if (law.words < 2) return;
  const Landscape<Rational> made =
      landscape(law, value_beside(diagonal_value(law), off, setting.seed));
  judge_uniform(made, it);
  if (law.correct == 0) return;
  judge_slopes(law, made, it);
  const CertifiedWeights best = certified_weights(law, made, true);
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "beta* below 1",
                      .measured = {best.beta},
                      .relation = Relation::below,
                      .predicted = {1.0},
                      .detail = fmt::format("alpha* = {:.5g}; {} boxes", best.alpha.value(),
                                            best.certificate.boxes)});
  it.judge(Comparison{.what = "uniform weight below the mean over the topic, own word included",
                      .measured = {1.0},
                      .relation = Relation::below,
                      .predicted = {mean_weight(law)}});
  it.judge(Identity{
      .kind = EvidenceKind::exact,
      .what = "the Hessian at the minimum is positive definite",
      .holds = [&] { return positive_definite(made, best.certificate) ? Truth::yes : Truth::no; }});
  it.judge(Comparison{.what = "order of alpha* in tau, far out",
                      .measured = {order_in_active(law, true)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("order", 1.1)}});
  judge_diagonal_borders(law, it);
}

}  // namespace

Statement statement() {
  return {.id = "topic.attention-diagonal",
          .claim = "diagonal W_V: a single best point, alpha* of order tau v, 0 <= beta* < 1",
          .paper = "arXiv 2303.04245, Theorem 3",
          .status = "described in source",
          .hypotheses = {"tau >= 2", "p_c > 0",
                         by_construction("squared loss", "the landscape is that of it"), "v >= 2",
                         "diagonal W_V"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::certified,
                      EvidenceKind::numerical},
          .controls = {{"same-word", "tau v in place of tau v - 1 in dL/dalpha"},
                       {"other-words", "v in place of v - 1 in dL/dbeta"},
                       {"order", "alpha* grows as tau^1.1"},
                       {"never-kept", "weights a tenth above 1 at p_c = 0"}},
          .knobs = {active_topics, crowding, words_of_topic, some_masking, some_keeping, replacing,
                    deviation, single_topic, never_kept},
          .reads = "optimum",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::topic::checks::attention_diagonal
