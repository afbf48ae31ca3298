// Theorem    joma.attended-target
// Status     derived here
// Source     Tian et al., JoMA, arXiv 2310.00535, Eqn 10, which leaves the argument of phi' alone
// Statement  one unit, exp attention, z(0) = v(0)^2/(2T), tau = 2 T^2, G the field under uniform
//            attention with the zero mu:
//              v' = a o G(a o v),  a = exp(v^2/tau),
//            so v ends where a o v = mu, and not at mu; with W Lambert's function
//              v_j^2 = (tau/2) W(2 mu_j^2/tau),
//            and where G(u) = h (mu - u) to first order
//              d/dt ln(1/|delta_j|) -> h (2 mu_j^2/tau) (1 + 1/W(2 mu_j^2/tau)),
//            in place of h exp(mu_j^2/tau) by Eqn 10. For linear phi nothing changes.
// Hypotheses H1 exp attention, one unit; H2 every class has one token; H3 z(0) = v(0)^2/(2T);
//            H4 phi' > 0 on the way
// Check      the chain rule and the linearisation on symbols, by the code of training and of the
//            rung; ends, rates, their ratios and the end of the entropy on a trained unit (tanh,
//            ReLU, GELU; cross entropy), whose mu and h are known in closed form
// Controls   Eqn 10; attention at rest in the linearisation; W(mu^2/tau); rates 10 % larger
// Uses       rungs flow, reduced, attended; closed forms

#include "theorems/joma/checks/attended_target.hpp"

#include "scalars/softmax.hpp"
#include "theorems/joma/checks/attended_unit.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::attended_target {
namespace {

void derive(Examination& it) {
  it.judge(Identity{.what = "v' = a o G(a o v), T z' = v o v', the query's weight alike",
                    .holds = [] { return attention_scales_argument(true); },
                    .mistakes = {{"eqn-10", [] { return attention_scales_argument(false); }}},
                    .detail = "two tokens, two classes, phi = tanh, generic symbols"});
  it.judge(
      Identity{.what = "rung attended: zero at a v = mu, rate (1 + w) e^w there, w = 2 v^2/tau",
               .holds = [] { return attended_linearisation(true); },
               .mistakes = {{"still-attention", [] { return attended_linearisation(false); }}}});
}

template <class Formula>
std::vector<Quantity> of_tokens(const AttendedUnit& unit, const Formula& formula) {
  std::vector<Quantity> values;
  for (const double mu : unit.target) values.emplace_back(formula(mu));
  return values;
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

void require_hypotheses(const AttendedUnit& unit, Examination& it) {
  it.require("every class has one token", -unit.mixing,
             fmt::format("{:.3g} of it is spread over all", unit.mixing));
  it.require("z(0) = v(0)^2/(2T)", -unit.offset, fmt::format("off by {:.3g}", unit.offset));
  it.require("phi' > 0 on the way", unit.least_gate > 0 ? Truth::yes : Truth::no,
             fmt::format("at least {:.3g} at the start and at mu", unit.least_gate));
}

void examine(const Setting& setting, Examination& it) {
  const AttendedUnit unit = attended_unit(setting);
  const double tau = unit.tau;
  it.parameters = {{"mu", std::vector<double>(unit.target.begin(), unit.target.end())},
                   {"tau", tau},
                   {"h", unit.slope},
                   {"seed", setting.seed}};
  require_hypotheses(unit, it);
  const AttendedEnd end = train(unit);
  std::vector<std::string> places;
  for (const double mu : unit.target) places.push_back(fmt::format("mu = {:.4g}", mu));
  const auto by_eqn_10 = [tau](double mu) { return std::exp(mu * mu / tau); };
  const auto rate = [tau](double mu) { return attended_rate(mu, tau); };
  const auto still = [tau](double mu) {
    return std::exp(2 * std::pow(attended_fixed_point(mu, tau), 2) / tau);
  };
  const auto half_argument = [tau](double mu) {  // (tau/2) W(mu^2/tau)
    return attended_fixed_point(mu / std::sqrt(2.0), tau);
  };
  it.judge(Comparison{
      .what = "weights of the trained unit at its end",
      .measured = end.weight,
      .predicted = of_tokens(unit, [tau](double mu) { return attended_fixed_point(mu, tau); }),
      .mistakes = {predicts("eqn-10", of_tokens(unit, [](double mu) { return mu; })),
                   predicts("half-argument", of_tokens(unit, half_argument))},
      .places = places});
  it.judge(Comparison{.what = "late rate of ln(1/|delta|) over h",
                      .measured = end.rate,
                      .predicted = of_tokens(unit, rate),
                      .mistakes = {predicts("eqn-10", of_tokens(unit, by_eqn_10)),
                                   predicts("still-attention", of_tokens(unit, still)),
                                   predicts_times("rate", 1.1)},
                      .places = places});
  it.judge(Comparison{.what = "late ratio of ln(1/|delta|) to that of the weakest token",
                      .measured = over_first(end.rate),
                      .predicted = over_first(of_tokens(unit, rate)),
                      .mistakes = {predicts("eqn-10", over_first(of_tokens(unit, by_eqn_10)))},
                      .places = {places.begin() + 1, places.end()}});
  Vector<double> last(unit.target.size());
  for (Index l = 0; l < last.size(); ++l) last[l] = attended_fixed_point(unit.target[l], tau);
  it.judge(Comparison{.what = "attention entropy of the trained unit at its end",
                      .measured = {end.entropy},
                      .predicted = {entropy_at(last, tau)},
                      .mistakes = {predicts("eqn-10", entropy_at(unit.target, tau))}});
}

}  // namespace

Statement statement() {
  return {.id = "joma.attended-target",
          .claim =
              "a unit ends at v^2 = (tau/2) W(2 mu^2/tau), at rates (2 mu^2/tau)(1 + 1/W), not at "
              "mu by Eqn 10",
          .paper = "arXiv 2310.00535, Eqn 10",
          .status = "derived here",
          .hypotheses = {by_construction("exp attention, one unit", "the unit is made so"),
                         "every class has one token", "z(0) = v(0)^2/(2T)", "phi' > 0 on the way"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"eqn-10", "Eqn 10: ends at mu, rates exp(mu^2/tau)"},
                       {"still-attention", "rates e^w in place of (1 + w) e^w"},
                       {"half-argument", "W(mu^2/tau) in place of W(2 mu^2/tau)"},
                       {"rate", "rates 10 % larger"}},
          .knobs = knobs_of_attended_unit(),
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::joma::checks::attended_target
