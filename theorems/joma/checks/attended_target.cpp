#include "theorems/joma/checks/attended_target.hpp"

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
where Eqn 10 leaves the argument of phi' as it is. So v ends where a o v = mu; with W Lambert's
function
  v_j^2 = (tau/2) W(2 mu_j^2/tau),
and where G(u) = h (mu - u) to first order
  d/dt ln(1/|delta_j|) -> h (1 + w_j) exp(w_j),  w_j = 2 v_j^2/tau.
Near which fixed point Eqn 10 is meant is not stated. With the zero of G for its mu, it ends at mu,
at h exp(mu_j^2/tau); with the end of v for its mu, it ends there by definition, at h' exp(w_j/2).
From equal starts below its end the attention entropy falls first, as all tokens start alike, and
rises last, as the token of least mu, which is the last to arrive, gets its attention back: it falls
below its end. For linear phi nothing changes.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "no-bounce",
                .knobs = knobs_of_attended_unit()};

const Clause scaled_argument = sheet.clause("exp attention: `v' = a o G(a o v)`");
const Clause ends =
    sheet.clause("a unit ends at `v^2 = (tau/2) W(2 mu^2/tau)`, `mu` the zero of `G`");
const Clause last_rates = sheet.clause(
    "at rates `(1 + w) e^w`, `w = 2 v^2/tau`, and not `e^{w/2}` as by Eqn 10 about its end");
const Clause comes_back =
    sheet.clause("its attention entropy falls below that of its end and comes back");

const Hypothesis one_unit =
    sheet.assume(by_construction("exp attention, one unit", "the unit is made so"));
const Hypothesis own_classes = sheet.assume(one_token_a_class);
const Hypothesis tied_logits = sheet.assume(tied_start);
const Hypothesis open_gate = sheet.assume("`phi' > 0` on the way");
const Hypothesis below_ends = sheet.assume("equal starts, below all ends");

const Control eqn_10 = sheet.control("eqn-10", "Eqn 10: ends at `mu`, rates `exp(mu^2/tau)`");
const Control still_attention =
    sheet.control("still-attention", "rates `e^w` in place of `(1 + w) e^w`");
const Control half_argument =
    sheet.control("half-argument", "`W(mu^2/tau)` in place of `W(2 mu^2/tau)`");
const Control larger_rate = sheet.control("rate", "rates 10 % larger");
const Control no_bounce = sheet.control("no-bounce", "the entropy never falls below its end");

const Rival own_end =
    sheet.rival("own-end", "Eqn 10 with the unit's own end for `mu`: rates `e^{w/2}`", "clock");

void prove(Examination& it) {
  it.judge(scaled_argument,
           identity("`v' = a o G(a o v)`, `T z' = v o v'`, the query's weight alike", [] {
             return attention_scales_argument(true);
           }).unless(eqn_10, [] {
               return attention_scales_argument(false);
             }).with("two tokens, two classes, `phi` = tanh, generic symbols"));
  it.judge(
      last_rates,
      identity("rung attended: zero at a `v = mu`, rate `(1 + w) e^w` there, `w = 2 v^2/tau`", [] {
        return attended_linearisation(
            [](const Expression& w) { return Expression((1 + w) * GiNaC::exp(w)); });
      }).unless(still_attention, [] {
        return attended_linearisation([](const Expression& w) { return GiNaC::exp(w); });
      }));
}

std::vector<Quantity> over_first(std::vector<Quantity> values) {
  const Quantity first = values.front();
  values.erase(values.begin());
  for (Quantity& value : values) value = value / first;
  return values;
}

// Eqn 10 with the end of the unit for its mu.
ReducedInstance<double> eqn_10_about(const AttendedUnit& unit, const Vector<double>& last) {
  ReducedInstance<double> instance;
  instance.target = last;
  instance.nonlinear = true;
  instance.start = unit.training.weights;
  instance.logits = Vector<double>::Zero(last.size());
  instance.tau = unit.tau;
  return instance;
}

void judge(const AttendedUnit& unit, const AttendedEnd& end, Examination& it) {
  const double tau = unit.tau;
  std::vector<std::string> places;
  for (const double mu : unit.target) places.push_back(fmt::format("`mu = {:.4g}`", mu));
  const auto of_tokens = [&](const auto& formula) {
    std::vector<Quantity> values;
    for (const double mu : unit.target) values.emplace_back(formula(mu));
    return values;
  };
  const auto last = [tau](double mu) { return attended_fixed_point(mu, tau); };
  const auto of_half = [tau](double mu) {  // (tau/2) W(mu^2/tau)
    return attended_fixed_point(mu / std::sqrt(2.0), tau);
  };
  const auto exp_w = [tau](double mu) {
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
  it.judge(last_rates, equal("late rate of `ln(1/|delta|)` over `h`", end.rate, rates)
                           .at(places)
                           .unless(eqn_10, rates_by_eqn_10)
                           .unless(still_attention, of_tokens(exp_w))
                           .unless(larger_rate, times(1.1)));
  it.judge(last_rates,
           equal("late ratio of `ln(1/|delta|)` to that of the weakest token", over_first(end.rate),
                 over_first(rates))
               .at(std::vector(places.begin() + 1, places.end()))
               .unless(eqn_10, over_first(rates_by_eqn_10))
               .against(own_end,
                        over_first(of_tokens([&](double mu) { return std::sqrt(exp_w(mu)); }))));
  const Vector<double> at_end = unit.target.unaryExpr(last);
  it.judge(ends, equal("attention entropy of the trained unit at its end", end.entropy,
                       attention_entropy(at_end, tau))
                     .unless(eqn_10, attention_entropy(unit.target, tau)));
  it.judge(
      comes_back,
      equal("how far the attention entropy of the trained unit comes back, by `v' = a o G(a o v)`",
            rebound(unit, end), rebound_by_law(unit, at_end, end.time))
          .unless(no_bounce, 0.0)
          .against(own_end, instead([&] {
                     return entropy_bounce_of(eqn_10_about(unit, at_end)).rebound();
                   })));
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
             fmt::format("at least {:.3g} at the start and at `mu`", unit.least_gate));
  const double start = unit.training.weights.maxCoeff();
  const double least_end = attended_fixed_point(unit.target[0], unit.tau);
  it.require(below_ends, least_end - start,
             fmt::format("`v(0) = {:.4g}`, least end {:.4g}", start, least_end));
  judge(unit, train(unit), it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::attended_target
