#include "theorems/joma/checks/entropy_curve.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::entropy_bounce {
namespace {

Statement sheet{.id = "joma.entropy-bounce",
                .paper = "arXiv 2310.00535, Section 4",
                .status = "observed in source, corrected here",
                .about = "the reduced flow",
                .theorem = R"(
Nonlinear phi, one unit, equal starts v0 below all mu_j. With z_j = v_j^2/tau the attention entropy H
of d tokens falls first, as
  ln d - H = Var(z)/2 + ...,  z_j = (v0 + v_j'(0) t)^2/tau,
its minimum lies below the entropy at mu, and it rises last, to H(mu), by the tokens that come last:
  H(mu) - H = sum_j w_j + ...,  w_j = (dH/dv_j)(mu) (mu_j - v_j)        (t -> infinity)
  d ln(H(mu) - H)/dt = -sum_j w_j a_j/sum_j w_j + ...,  a_j = exp(mu_j^2/tau) on the exp clock,
which tends to the rate of the least mu. A single bounce is not general: mu = 1.63, 1.77, 1.79,
1.82, 1.83, 1.83, 4.23, 4.25, v0 = 0.05, tau = 3 has two.)",
                .reaches = {EvidenceKind::numerical},
                .false_version = "back-to-even",
                .reads = "reduced"};

const Clause falls_first = sheet.clause("nonlinear `phi`: entropy falls first");
const Clause rises_last = sheet.clause("rises last, to the entropy at `mu`");
const Clause minimum = sheet.clause("minimum below the entropy at `mu`");
[[maybe_unused]] const Clause how_often = sheet.not_checked("how often it comes back");

const Hypothesis one_unit = sheet.assume("one unit");
const Hypothesis nonlinear = sheet.assume("nonlinear `phi`");
const Hypothesis equal_starts = sheet.assume("`v_j(0) = v0` for all `j`");
const Hypothesis below_mu = sheet.assume("`0 <= v0 < mu_j`");
const Hypothesis unlike = sheet.assume("`mu` not constant");

const Control fall_rate = sheet.control("fall-rate", "the first fall 10 % faster");
const Control last_rate = sheet.control("last-rate", "the rate of the last rise 10 % larger");
const Control back_to_even =
    sheet.control("back-to-even", "attention gets as even again as it began");

const Rival uniform_attention =
    sheet.rival("uniform-attention",
                "the weights make the bounce by themselves, at one rate for all tokens", "a clock");

// The authors' temperature in their figure of the entropy.
const Knob tau_of_figure =
    sheet.knob(logarithmic_knob("tau", "tau = 2 temperature^2 of the attention", 0.7, 8, 3));

const Knob spread =
    sheet.knob(logarithmic_knob("spread", "width of the law 1 + spread U(0, 1) of mu", 0.1, 3, 3));
const Knob start = sheet.knob(linear_knob("start", "common start v0 of all tokens", 0, 0.9, 0.05));
const Knob drawn_tokens = sheet.knob(whole_knob("tokens", "tokens of a draw of mu", 2, 10, 10));
const Knob overshoot = sheet.knob(
    logarithmic_knob("overshoot", "v0 beyond the least mu, in units of it; 0: as `start` says",
                     1e-3, 3, 0)
        .breaking(below_mu));
const Knob unevenness =
    sheet.knob(logarithmic_knob("unevenness",
                                "deviation of v_j(0) from v0, in units of the least mu", 1e-4, 1, 0)
                   .breaking(equal_starts));

// mu = 1 + spread U(0, 1), by the authors' law; the exp clock has the same orbit
// (joma.clock-change) and settles by a known time.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  ReducedInstance<double> instance = entropy_instance(setting.seed);
  const Index all = instance.tokens();
  const Index d = setting.count(drawn_tokens);
  Matrix<double> target(d, 1);
  for (Index l = 0; l < d; ++l) {
    target(l, 0) = 1 + setting.value(spread) / 3 * (instance.target(l * all / d, 0) - 1);
  }
  const double smallest = target.minCoeff();
  const double beyond = setting.value(overshoot);
  const double v0 = beyond > 0 ? smallest * (1 + beyond) : setting.value(start);
  instance.target = target;
  instance.start = Matrix<double>::Constant(d, 1, v0);
  if (const double uneven = setting.value(unevenness); uneven > 0) {
    Stream stream(setting.seed, stream_of_drawn_instances, 8);
    for (double& v : instance.start.reshaped()) v += uneven * smallest * stream.normal();
  }
  instance.logits = Vector<double>::Zero(d);
  instance.tau = setting.value(tau_of_figure);
  instance.attention = Attention::exp;
  return instance;
}

template <class T>
void judge(const ReducedFlow<T>& flow, Examination& it) {
  const AnyRung<T> rung = forget_type(flow);
  it.judge(falls_first,
           equal("first fall of the entropy over `Var(z)/2`", first_fall(flow, rung), 1)
               .unless(fall_rate, times(1.1)));
  const LastRise rise = last_rise(flow, rung);
  it.judge(rises_last,
           equal("rate of the last rise of the entropy", rise.rate, rise.linearised_rate)
               .at(fmt::format("`t = {:.4g}`", rise.time))
               .unless(last_rate, times(1.1)));
  it.judge(rises_last, equal("what the entropy lacks of that at `mu`, over the sizes of its terms",
                             rise.lack, rise.linearised_lack)
                           .unless(back_to_even, [&] { return rise.lack_of_even; })
                           .against(uniform_attention, rise.uniform_lack));
  const double even = std::log(static_cast<double>(rung.dimension));
  it.judge(minimum,
           below("least entropy against that at `mu`", rise.least_entropy, rise.entropy_at_target)
               .in_units_of(even - rise.entropy_at_target));
}

void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  const double v0 = instance.start(0, 0);
  it.parameters = {{"mu", numbers_of(instance.target)},
                   {"v0", v0},
                   {"tau", instance.tau},
                   {"seed", setting.seed}};
  const double least = instance.target.minCoeff();
  const double apart = instance.target.maxCoeff() - least;
  const double uneven = (instance.start.array() - v0).abs().maxCoeff();
  const bool one = it.require(one_unit, 1.0 - static_cast<double>(instance.units()));
  const bool bent = it.require(nonlinear, instance.nonlinear);
  it.require(equal_starts, -uneven, fmt::format("apart by {:.3g}", uneven));
  it.require(below_mu, std::min(v0, least - v0),
             fmt::format("`v0 = {:.4g}`, least `mu = {:.4g}`", v0, least));
  it.require_positive(unlike, apart, fmt::format("apart by {:.3g}", apart));
  if (!one || !bent) return;
  in_refined_digits([&]<class T>() { judge(ReducedFlow<T>(instance.cast<T>()), it); });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::entropy_bounce
