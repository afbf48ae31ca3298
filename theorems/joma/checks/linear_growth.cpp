// Theorem    joma.linear-growth
// Status     proved in source (Theorem 2)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 2
// Statement  v' = Delta o exp(v^2/tau), v(0) = 0, is solved by
//              erf(v_l/sqrt tau) sqrt(pi tau)/2 = Delta_l t;
//            the tokens of largest |Delta| blow up at
//              t* = sqrt(pi tau)/(2 |Delta|_max),
//            the others stop at
//              v_l = sqrt(tau) erfinv(Delta_l/|Delta|_max);
//            the attention entropy H falls all the way from ln d to ln m, m the number of ties for
//            |Delta|_max, as
//              ln d - H = t^4 Var(Delta^2)/(2 tau^2) + ...                       (t -> 0)
//              H - ln m = sum_others (1 + x^2 - y_l^2) exp(y_l^2 - x^2)/m + ...  (t -> t*),
//            x = erfinv(t/t*), y_l = erfinv(Delta_l/|Delta|_max)
// Hypotheses H1 linear phi; H2 exp attention; H3 one hidden unit; H4 v(0) = 0; H5 Delta is not 0
// Check      separation of variables on symbols; the law along the flow; the blow-up as an event;
//            limits of the others; sign and both ends of the fall of the entropy
// Controls   a law with tau 10 % too large; a blow-up 10 % late; limits of Delta_l 10 % too small;
//            a first fall 10 % faster; one tie more than there are
// Uses       rungs reduced, closed-form

#include "theorems/joma/checks/growth_parts.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::linear_growth {
namespace {

constexpr Knob largest = logarithmic_knob("largest", "|Delta| of the salient tokens", 0.1, 10, 2);
constexpr Knob runner_up =
    linear_knob("runner-up", "|Delta| of the next token, in units of the largest", 0.1, 0.95, 0.75);
constexpr Knob ties = whole_knob("ties", "tokens m that share the largest |Delta|", 1, 3, 1);
constexpr Knob others = whole_knob("others", "tokens beside those", 1, 8, 3);
constexpr Knob start =
    logarithmic_knob("start", "deviation of v(0), in units of sqrt tau", 1e-4, 1, 0)
        .breaking("v(0) = 0");
constexpr Knob second_unit =
    logarithmic_knob("second-unit", "deviation of Delta of a second unit, over the largest", 1e-3,
                     3, 0)
        .breaking("one hidden unit");

// Signs are drawn, and the sizes of the tokens after the runner-up.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  const Index tied = setting.count(ties);
  const Index d = tied + setting.count(others);
  const double top = setting.value(largest);
  ReducedInstance<double> instance;
  instance.tau = setting.value(tau);
  instance.target.resize(d, setting.value(second_unit) > 0 ? 2 : 1);
  Stream stream(setting.seed, stream_of_drawn_instances, 2);
  for (Index l = 0; l < d; ++l) {
    const double sign = stream.uniform() < 0.5 ? -1 : 1;
    const double share = l == tied ? 1 : 0.1 + 0.9 * stream.uniform();
    instance.target(l, 0) = sign * top * (l < tied ? 1 : share * setting.value(runner_up));
  }
  instance.start = Matrix<double>::Zero(d, instance.units());
  for (double& v : instance.start.col(0)) {
    v = setting.value(start) * std::sqrt(instance.tau) * stream.normal();
  }
  for (Index l = 0; l < d && instance.units() == 2; ++l) {
    instance.target(l, 1) = setting.value(second_unit) * top * stream.normal();
  }
  instance.logits = Vector<double>::Zero(d);
  return instance;
}

void require_hypotheses(const ReducedInstance<double>& instance, Examination& it) {
  it.require("linear phi", instance.nonlinear ? Truth::no : Truth::yes);
  it.require("exp attention", instance.attention == Attention::exp ? Truth::yes : Truth::no);
  it.require("one hidden unit", 1.0 - static_cast<double>(instance.units()),
             fmt::format("{} units", instance.units()));
  const double off = instance.start.cwiseAbs().maxCoeff();
  it.require("v(0) = 0", -off, fmt::format("largest |v(0)| {:.3g}", off));
  it.require("Delta is not 0", largest_gradient(instance) > 0 ? Truth::yes : Truth::no);
}

void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  it.parameters = {
      {"delta", std::vector<double>(instance.target.col(0).begin(), instance.target.col(0).end())},
      {"tau", instance.tau},
      {"seed", setting.seed}};
  require_hypotheses(instance, it);
  const double top = largest_gradient(instance);
  if (instance.nonlinear || instance.attention != Attention::exp || top == 0) return;
  const BlowUp blow_up = blow_up_of(instance, 10 * std::sqrt(M_PI * instance.tau) / top);
  judge_blow_up(instance, blow_up, it);
  judge_law(instance, blow_up, it);
  judge_entropy(instance, blow_up, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "joma.linear-growth",
      .claim = "linear phi: erf(v_l) in proportion to Delta_l t; the salient token blows up first",
      .paper = "arXiv 2310.00535, Theorem 2",
      .status = "proved in source",
      .hypotheses = {"linear phi", "exp attention", "one hidden unit", "v(0) = 0",
                     "Delta is not 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"wide-law", "tau 10 % too large in the law"},
                   {"blow-up-late", "blow-up 10 % late"},
                   {"limits", "limits of 0.9 Delta_l in place of Delta_l"},
                   {"first-fall", "the first fall of the entropy 10 % faster"},
                   {"tie-more", "the entropy's way to ln m with m + 1 for m"}},
      .knobs = {tau, largest, runner_up, ties, others, start, second_unit},
      .reads = "reduced",
      .derive = prove_growth,
      .examine = examine};
}

}  // namespace popgrad::joma::checks::linear_growth
