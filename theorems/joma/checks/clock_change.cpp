// Theorem    joma.clock-change
// Status     derived here
// Source     ours; on the reduced flow of Tian et al., JoMA, arXiv 2310.00535, Section 4
// Statement  the softmax reduced flow is the exp orbit on another clock,
//              dt_softmax = sum_l a_l dt_exp,  a_l = exp(sum_k v_lk^2/tau),
//            and along it, for every one of any number of units, since they share a,
//              sum_l ln(|delta_l(0)|/|delta_l|) = t,  delta_l = 1 - v_l/mu_l   (nonlinear phi)
//              sum_l (v_l - v_l(0))/Delta_l     = t                            (linear phi)
// Hypotheses H1 mu_l and Delta_l are not 0; H2 v(0) differs from mu
// Check      both fields and the rates of the sums on symbols; the sums along the softmax flow;
//            its states against those of the exp flow at the times of the other clock, while a
//            double resolves these
// Controls   the inverse clock, dt_exp = sum_l a_l dt_softmax; the sum without the logarithm; sums
//            that grow 10 % faster; the last token left out of the sums; an exp clock 10 % short
// Uses       rung reduced

#include "theorems/joma/checks/clocks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::clock_change {
namespace {

constexpr double tolerance = 1e-12;

constexpr Knob size =
    logarithmic_knob("size", "size of mu and Delta, in units of the usual one", 0.3, 1.2, 1);
constexpr Knob start =
    linear_knob("start", "v(0) of all tokens, in units of the smallest |mu|", 0, 0.9, 0.05);
constexpr Knob units = whole_knob("units", "hidden units K", 1, 2, 1);
constexpr Knob phi =
    whole_knob("phi", "0: linear phi, Delta given; 1: nonlinear phi, mu given", 0, 1, 1);

// mu or Delta of sizes in [1, 2.5] and of either sign.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  ReducedInstance<double> instance;
  instance.nonlinear = setting.count(phi) == 1;
  instance.tau = setting.value(tau);
  instance.target.resize(setting.count(token_count), setting.count(units));
  Stream stream(setting.seed, stream_of_drawn_instances, 14);
  for (double& m : instance.target.reshaped()) {
    m = setting.value(size) * (stream.uniform() < 0.5 ? -1 : 1) * (1 + 1.5 * stream.uniform());
  }
  const double smallest = instance.target.cwiseAbs().minCoeff();
  instance.start = instance.target;
  instance.start.setConstant(setting.value(start) * smallest);
  instance.logits = Vector<double>::Zero(instance.tokens());
  return instance;
}

void require_hypotheses(const ReducedInstance<double>& instance, Examination& it) {
  const double least = instance.target.cwiseAbs().minCoeff();
  it.require("mu and Delta are not 0", least > 0 ? Truth::yes : Truth::no,
             fmt::format("least size {:.3g}", least));
  const double way = (instance.target - instance.start).cwiseAbs().minCoeff();
  it.require("v(0) differs from mu", instance.nonlinear && way == 0 ? Truth::no : Truth::yes,
             instance.nonlinear ? fmt::format("by at least {:.3g}", way) : "linear phi has no mu");
}

void prove(Examination& it) {
  prove_clock_change(true, it);
  prove_clock_change(false, it);
}

// How long until some a_l may have grown by exp(2.25) through one unit: a token is at most as fast as
// alone. Much later a spacing of the exp clock in double moves the states by more than their size.
double time_of_growth(const ReducedInstance<double>& instance) {
  const double first = instance.start.cwiseAbs().maxCoeff();
  const double growth = 2.25 * instance.tau;  // of v^2
  const double way = growth / (first + std::sqrt(first * first + growth));
  if (!instance.nonlinear) return way / instance.target.cwiseAbs().maxCoeff();
  const double share = way / (instance.target - instance.start).cwiseAbs().maxCoeff();
  return share < 1 ? -std::log1p(-share) : std::numeric_limits<double>::infinity();
}

// Both clocks are run, whichever attention an instance file names.
void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  it.parameters = {{"mu or delta", std::vector<double>(instance.target.reshaped().begin(),
                                                       instance.target.reshaped().end())},
                   {"phi", instance.nonlinear ? "nonlinear" : "linear"},
                   {"v0", instance.start(0, 0)},
                   {"tau", instance.tau},
                   {"seed", setting.seed}};
  require_hypotheses(instance, it);
  // Until the sum of logarithms is 4, or the steepest token would have reached 1.5 sqrt tau alone.
  const double end = instance.nonlinear
                         ? 4
                         : 1.5 * std::sqrt(instance.tau) / instance.target.cwiseAbs().maxCoeff();
  const auto softmax_until = [&](double last) {
    return solve_softmax_flow(instance, {last / 4, last / 2, last}, tolerance);
  };
  judge_sums(instance, softmax_until(end), it);
  judge_orbits(instance, softmax_until(std::min(end, time_of_growth(instance))), tolerance, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "joma.clock-change",
      .claim =
          "softmax reduced flow = exp orbit on the clock dt = sum a dt_exp, with two exact sums",
      .paper = "arXiv 2310.00535, Section 4",
      .status = "derived here",
      .hypotheses = {"mu and Delta are not 0", "v(0) differs from mu"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"inverse-clock", "dt_exp = sum a dt_softmax"},
                   {"no-logarithm", "sum of 1 - delta in place of sum of ln(1/delta)"},
                   {"sum-rate", "sums said to be 1.1 t"},
                   {"token-short", "the sums without the last token"},
                   {"exp-clock", "times of the exp clock 10 % short"}},
      .knobs = {tau, token_count, size, start, units, phi},
      .reads = "reduced",
      .derive = prove,
      .examine = examine};
}

}  // namespace popgrad::joma::checks::clock_change
