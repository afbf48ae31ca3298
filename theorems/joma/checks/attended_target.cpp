#include "theorems/joma/checks/attended_target.hpp"

#include "scalars/softmax.hpp"
#include "theorems/joma/checks/attended_unit.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

namespace popgrad::joma::checks::attended_target {
namespace {

Statement sheet{.id = "joma.attended-target",
                .paper = "arXiv 2310.00535, Eqn 10",
                .status = "derived here",
                .about = "the population flow of one unit",
                .theorem = R"(
One unit (tanh, ReLU, GELU; cross entropy), exp attention, z(0) = v(0)^2/(2T), tau = 2 T^2, G the
field under uniform attention with the zero mu:
  v' = a o G(a o v),  a = exp(v^2/tau),
where Eqn 10 leaves the argument of phi' as it is. So v ends where a o v = mu, and not at mu; with
W Lambert's function
  v_j^2 = (tau/2) W(2 mu_j^2/tau),
and where G(u) = h (mu - u) to first order
  d/dt ln(1/|delta_j|) -> h (2 mu_j^2/tau) (1 + 1/W(2 mu_j^2/tau)),
in place of h exp(mu_j^2/tau) by Eqn 10. For linear phi nothing changes.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .knobs = knobs_of_attended_unit()};

const Clause scaled_argument = sheet.clause("exp attention: v' = a o G(a o v)");
const Clause ends = sheet.clause("a unit ends at v^2 = (tau/2) W(2 mu^2/tau), not at mu by Eqn 10");
const Clause last_rates = sheet.clause("at rates (2 mu^2/tau)(1 + 1/W)");

const Hypothesis one_unit =
    sheet.assume(by_construction("exp attention, one unit", "the unit is made so"));
const Hypothesis own_classes = sheet.assume(one_token_a_class);
const Hypothesis tied_logits = sheet.assume(tied_start);
const Hypothesis open_gate = sheet.assume("phi' > 0 on the way");

const Control eqn_10 = sheet.control("eqn-10", "Eqn 10: ends at mu, rates exp(mu^2/tau)");
const Control still_attention =
    sheet.control("still-attention", "rates e^w in place of (1 + w) e^w");
const Control half_argument =
    sheet.control("half-argument", "W(mu^2/tau) in place of W(2 mu^2/tau)");
const Control larger_rate = sheet.control("rate", "rates 10 % larger");

// On the code of the rung `attended`: at mu = v exp(v^2/tau)
//   v' = 0,  -dv'/dv = (1 + w) e^w,  w = 2 v^2/tau;
// for linear phi the field is that of `reduced`. `moving` false: e^w, as if attention stood still.
Truth attended_linearisation(bool moving) {
  ReducedInstance<Expression> instance;
  const Expression v = symbol("v");
  const Expression mu = symbol("mu");
  instance.target = Matrix<Expression>::Constant(1, 1, mu);
  instance.start = Matrix<Expression>::Constant(1, 1, v);
  instance.logits = Vector<Expression>::Constant(1, Expression(0));
  instance.nonlinear = true;
  instance.attended = true;
  instance.tau = symbol("tau");
  const auto field = [&] {
    Vector<Expression> rate(1);
    ReducedFlow<Expression>(instance).rhs(Vector<Expression>::Constant(1, v), rate, Expression(0));
    return rate[0];
  };
  const Expression at_rest = v * GiNaC::exp(v * v / instance.tau);
  const Expression w = 2 * v * v / instance.tau;
  const Expression attended = field();
  Matrix<Expression> defect(3, 1);
  defect(0, 0) = attended.subs(mu == at_rest);
  defect(1, 0) = attended.diff(GiNaC::ex_to<GiNaC::symbol>(v)).subs(mu == at_rest) +
                 (moving ? 1 + w : Expression(1)) * GiNaC::exp(w);
  instance.nonlinear = false;
  const Expression linear = field();
  instance.attended = false;
  defect(2, 0) = linear - field();
  return vanishes(defect);
}

void prove(Examination& it) {
  it.judge(scaled_argument,
           identity("v' = a o G(a o v), T z' = v o v', the query's weight alike", [] {
             return attention_scales_argument(true);
           }).unless(eqn_10, [] {
               return attention_scales_argument(false);
             }).with("two tokens, two classes, phi = tanh, generic symbols"));
  it.judge(last_rates,
           identity("rung attended: zero at a v = mu, rate (1 + w) e^w there, w = 2 v^2/tau", [] {
             return attended_linearisation(true);
           }).unless(still_attention, [] { return attended_linearisation(false); }));
}

std::vector<Quantity> over_first(std::vector<Quantity> values) {
  const Quantity first = values.front();
  values.erase(values.begin());
  for (Quantity& value : values) value = value / first;
  return values;
}

double entropy_at(const Vector<double>& v, double tau) {
  return softmax_entropy(Vector<double>(v.array().square() / tau));
}

void judge(const AttendedUnit& unit, const AttendedEnd& end, Examination& it) {
  const double tau = unit.tau;
  std::vector<std::string> places;
  for (const double mu : unit.target) places.push_back(fmt::format("mu = {:.4g}", mu));
  const auto of_tokens = [&](const auto& formula) {
    std::vector<Quantity> values;
    for (const double mu : unit.target) values.emplace_back(formula(mu));
    return values;
  };
  const auto last = [tau](double mu) { return attended_fixed_point(mu, tau); };
  const auto of_half = [tau](double mu) {  // (tau/2) W(mu^2/tau)
    return attended_fixed_point(mu / std::sqrt(2.0), tau);
  };
  const auto at_rest = [tau](double mu) {
    return std::exp(2 * std::pow(attended_fixed_point(mu, tau), 2) / tau);
  };
  const std::vector<Quantity> rates =
      of_tokens([tau](double mu) { return attended_rate(mu, tau); });
  const std::vector<Quantity> rates_by_eqn_10 =
      of_tokens([tau](double mu) { return std::exp(mu * mu / tau); });
  it.judge(ends, equal("weights of the trained unit at its end", end.weight, of_tokens(last))
                     .at(places)
                     .unless(eqn_10, of_tokens([](double mu) { return mu; }))
                     .unless(half_argument, of_tokens(of_half)));
  it.judge(last_rates, equal("late rate of ln(1/|delta|) over h", end.rate, rates)
                           .at(places)
                           .unless(eqn_10, rates_by_eqn_10)
                           .unless(still_attention, of_tokens(at_rest))
                           .unless(larger_rate, times(1.1)));
  it.judge(last_rates, equal("late ratio of ln(1/|delta|) to that of the weakest token",
                             over_first(end.rate), over_first(rates))
                           .at(std::vector(places.begin() + 1, places.end()))
                           .unless(eqn_10, over_first(rates_by_eqn_10)));
  it.judge(ends, equal("attention entropy of the trained unit at its end", end.entropy,
                       entropy_at(unit.target.unaryExpr(last), tau))
                     .unless(eqn_10, entropy_at(unit.target, tau)));
}

void examine(const Setting& setting, Examination& it) {
  const AttendedUnit unit = attended_unit(setting);
  it.parameters = {{"mu", numbers_of(unit.target)},
                   {"tau", unit.tau},
                   {"h", unit.slope},
                   {"seed", setting.seed}};
  it.require(own_classes, -unit.mixing,
             fmt::format("{:.3g} of it is spread over all", unit.mixing));
  it.require(tied_logits, -unit.offset, fmt::format("off by {:.3g}", unit.offset));
  it.require(open_gate, unit.least_gate > 0,
             fmt::format("at least {:.3g} at the start and at mu", unit.least_gate));
  judge(unit, train(unit), it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::attended_target
