#include "theorems/topic/checks/distant_optimum.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/landscape.hpp"

namespace popgrad::topic::checks::attention_limit {
namespace {

Statement sheet{.id = "topic.attention-limit",
                .paper = "arXiv 2303.04245, Theorem 3",
                .status = "derived here: the constant that Theorem 3 leaves open",
                .about = "the loss by attention weights",
                .theorem = R"(
As T, tau and T/tau grow, with g = y tau (block-wise W_V, g = alpha + (v - 1) beta) or alpha = y tau
(diagonal W_V),
  dL/dy          -> (2 p_c/w) ((1 - p_c) p_m y/v - 1)/(1 + a y/v)^3,
with a = 1 - (1 - p_c) p_m, w = v^2 for block-wise W_V and v for diagonal W_V, so that
  g*/(tau v)     -> 1/((1 - p_c) p_m)   for block-wise W_V
  alpha*/(tau v) -> 1/((1 - p_c) p_m)   for diagonal W_V
with a deviation of first order at least as 1/tau and tau/T fall together; and as tau^3/T^2 falls,
  beta*          -> a                   for diagonal W_V;
where tau^3/T^2 does not fall it tends to less than a, at the usual probabilities to 0 where tau^3 = T^2.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .no_rival = "a limit, proved for generic symbols",
                .false_version = "inverse-p_m",
                .reads = "optimum"};

const Clause sum_limit = sheet.clause("block-wise `g*/(tau v)` tends to `1/((1 - p_c) p_m)`");
const Clause alpha_limit = sheet.clause("diagonal `alpha*/(tau v)` as well");
const Clause first_order = sheet.clause("in first order at least");
const Clause beta_limit = sheet.clause("`beta*` tends to `a`");

const Hypothesis many_active = sheet.assume("`tau` large");
const Hypothesis many_topics = sheet.assume("`T/tau` large");
const Hypothesis few_active =
    sheet.assume({"`tau^3/T^2` small", Basis::evaluated, "`beta*` needs it"});
const Hypothesis some_kept = sheet.assume("`p_c > 0`");
const Hypothesis squared_loss =
    sheet.assume(by_construction("squared loss", "the landscape is that of it"));

const Control inverse_masking = sheet.control(
    "inverse-p_m", "`1/p_m`: how often a selected position keeps its word plays no part");
const Control tenth_more = sheet.control("tenth-more", "limits 10 % too large");
const Control other_order =
    sheet.control("order", "what is left falls with the power 1.1 of the size");
const Control any_growth = sheet.control(
    "any-growth",
    "`beta*` tends to a however `T`, `tau` and `T/tau` grow: where `tau^3 = T^2` as well");

const Knob words = sheet.knob(words_knob(2, 20, 10));
const Knob few_masked = sheet.knob(masking_knob(0.05, 1));
const Knob few_kept = sheet.knob(keeping_knob(0.05, 0.8));
const Knob any_replacing = sheet.knob(replacing);
const Knob active_topics = sheet.knob(
    logarithmic_knob("topics-a-document", "tau, number of topics in a document", 2, 1e4, 1e5)
        .breaking(many_active));
const Knob emptiness = sheet.knob(
    logarithmic_knob("topics-over-active", "T/tau, topics over those of a document", 1.2, 1e4, 1e5)
        .breaking(many_topics));

// The joint limit of a fraction of polynomials as e and d go to 0: throws if it has a pole there.
Expression joint_limit(const Expression& fraction, const Expression& e, const Expression& d) {
  const Expression top = fraction.normal().numer_denom();
  const GiNaC::exmap zero{{e, 0}, {d, 0}};
  const Expression under = top.op(1).subs(zero).normal();
  if (under.is_zero()) throw Failure("a coefficient has a pole in the limit");
  return top.op(0).subs(zero) / under;
}

// dL/dy in the limit, beta a symbol for diagonal W_V.
struct LimitingSlope {
  Expression v, p_m, p_c, y, a;
  Expression weight;  // w
  Expression slope;
};

// From the limits of the coefficients of the landscape at e = 1/tau = 0 and d = tau/T = 0.
LimitingSlope limiting_slope(bool diagonal) {
  const Expression e = symbol("e");
  const Expression d = symbol("d");
  LimitingSlope made;
  made.v = symbol("v");
  made.p_m = symbol("p_m");
  made.p_c = symbol("p_c");
  made.y = symbol("y");
  const TopicLaw<Expression, Expression> law{1 / (e * d), 1 / e,    made.v,
                                             made.p_m,    made.p_c, symbol("p_r")};
  made.a = law.kept();
  made.weight = diagonal ? made.v : Expression(made.v * made.v);
  const auto whole = landscape(law, diagonal ? diagonal_value(law) : minimum_norm_value(law));
  // The block-wise loss depends only on g: alpha = g, beta = 0.
  const Expression beta = diagonal ? symbol("beta") : Expression(0);
  const auto limit = [&](const Expression& c) { return joint_limit(c, e, d); };
  const auto of_beta = [&](const Expression& c) { return diagonal ? limit(c) : Expression(0); };
  for (const auto& part : whole.parts) {
    const auto linear = [&](const LinearForm<Expression>& f) {
      return Expression(limit(f.c[0]) + of_beta(f.c[2]) * beta + limit(f.c[1] / e) * made.y);
    };
    const auto& q = part.square.q;
    const Expression square = limit(q[0]) + (of_beta(q[2]) + of_beta(q[5]) * beta) * beta +
                              (limit(q[1] / e) + of_beta(q[4] / e) * beta) * made.y +
                              limit(q[3] / (e * e)) * made.y * made.y;
    const Expression n = linear(part.normaliser);
    made.slope +=
        (square / (n * n) - linear(part.linear) / n).diff(GiNaC::ex_to<GiNaC::symbol>(made.y));
  }
  return made;
}

// With `masked` in the place of (1 - p_c) p_m.
Truth slope_is(const LimitingSlope& found, const Expression& masked) {
  const Expression claimed = 2 * found.p_c / found.weight * (masked * found.y / found.v - 1);
  return vanishes(found.slope - claimed / GiNaC::pow(1 + found.a * found.y / found.v, 3));
}

void prove(Examination& it) {
  for (const bool diagonal : {false, true}) {
    const LimitingSlope found = limiting_slope(diagonal);
    const Expression masked = (1 - found.p_c) * found.p_m;
    it.judge(
        diagonal ? alpha_limit : sum_limit,
        identity(fmt::format("{}: limit of `dL/dy`", diagonal ? "diagonal, any `beta`" : "block"),
                 [&] { return slope_is(found, masked); })
            .unless(inverse_masking, [&] { return slope_is(found, found.p_m); })
            .unless(tenth_more, [&] { return slope_is(found, masked * 10 / 11); }));
  }
}

// One over the sizes of at_sizes, in units of the first: 1, 1/2, 1/4.
std::vector<double> inverse_sizes() { return falling_parameters(1, 2, 3); }

// At a size and at twice and four times it in tau and T/tau.
std::vector<Quantity> at_sizes(const LargeLaw& law, bool diagonal, Quantity BestWeights::*weight) {
  std::vector<Quantity> found;
  for (const double h : inverse_sizes()) {
    const LargeLaw larger = enlarged(law, Rational(1 / h), Rational(1 / h));
    found.push_back(best_weights(larger, diagonal).*weight);
  }
  return found;
}

// With tau^3 = T^2.
LargeLaw on_border(LargeLaw law) {
  const Rational root(active_topics.usual);
  law.active = root * root;
  law.topics = root * law.active;
  return law;
}

// beta* there as 1/h, the square root of tau, is doubled twice.
std::vector<Quantity> betas_on_border(const LargeLaw& law) {
  std::vector<Quantity> found;
  for (const double h : inverse_sizes()) {
    const LargeLaw larger = enlarged(on_border(law), Rational(1 / (h * h)), Rational(1 / h));
    found.push_back(best_weights(larger, true).beta);
  }
  return found;
}

// Twice the change when the size is doubled, in units of `unit`: what is left to a limit that is
// approached in first order.
double left_to_limit(const Quantity& here, const Quantity& there, const Quantity& unit) {
  return std::fabs(2 * ((there - here) / unit).value());
}

void judge_ratio(const LargeLaw& law, bool diagonal, Examination& it) {
  const char* const name = diagonal ? "diagonal" : "block";
  const Quantity limit = 1 / to_double(Rational((1 - law.correct) * law.masked));
  const std::vector<Quantity> ratios = at_sizes(law, diagonal, &BestWeights::ratio);
  it.judge(diagonal ? alpha_limit : sum_limit,
           equal(fmt::format("{}: limit of the best weight over `tau v`", name),
                 limit_in(inverse_sizes(), ratios), limit)
               .unless(inverse_masking, 1 / to_double(law.masked))
               .unless(tenth_more, times(1.1)));
  // Far out: at the usual size, or the instance's own where that is larger.
  const Rational tau = std::max(law.active, Rational(active_topics.usual));
  const Rational wide = std::max(Rational(law.topics / law.active), Rational(emptiness.usual));
  const LargeLaw far{tau * wide, tau, law.words, law.masked, law.correct, law.random};
  std::vector<Quantity> left = at_sizes(far, diagonal, &BestWeights::ratio);
  for (Quantity& each : left) each = abs(each - limit);
  it.judge(first_order, at_most(fmt::format("{}: minus the order of what is left, far out", name),
                                -order_in(inverse_sizes(), left), -1)
                            .unless(other_order, times(1.1)));
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
  it.require_positive(some_kept, to_double(law.correct),
                      fmt::format("`p_c = {}`", to_text(law.correct)));
  if (law.correct == 0) return;
  const LargeLaw large = unbounded(law);
  for (const bool active : {true, false}) {
    const LargeLaw larger = enlarged(large, active ? 2 : 1, active ? 1 : 2);
    double share = 0;
    for (const bool diagonal : {false, true}) {
      const Quantity here = best_weights(large, diagonal).ratio;
      share = std::max(share, left_to_limit(here, best_weights(larger, diagonal).ratio, here));
    }
    it.require(active ? many_active : many_topics, noticed_share - share,
               fmt::format("{:.3g} of the best weights is left", share));
  }
  const std::vector<Quantity> betas = at_sizes(large, true, &BestWeights::beta);
  const double a = to_double(law.kept());
  // A beta* of 0 has all of its way before it.
  const double moves = betas[0].value() > 0 ? left_to_limit(betas[0], betas[1], a) : 1;
  it.require(few_active, noticed_share - (law.words < 2 ? 0 : moves),
             fmt::format("{:.3g} of the limit is left to `beta*`", moves));
  for (const bool diagonal : {false, true}) judge_ratio(large, diagonal, it);
  if (law.words < 2) return;
  it.judge(beta_limit, equal("diagonal: limit of the best weight of other words of the topic",
                             limit_in(inverse_sizes(), betas), a)
                           .unless(tenth_more, times(1.1))
                           .unless(any_growth, [&] {
                             return limit_in(inverse_sizes(), betas_on_border(large));
                           }));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::topic::checks::attention_limit
