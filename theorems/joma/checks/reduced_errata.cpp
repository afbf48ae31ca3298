// Errata about Eqn 10 of JoMA, arXiv 2310.00535, and the simulation of its entropy figure.

#include "popgrad/scalars/interval.hpp"
#include "theorems/joma/checks/attended_target.hpp"
#include "theorems/joma/checks/clocks.hpp"
#include "theorems/joma/checks/errata.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/enumerations.hpp"

namespace popgrad::joma::checks {
namespace {

constexpr double tolerance = 1e-11;

// mu = 1.2 .. 3.8, v(0) = 0.05: a draw of the authors' law, rounded.
ReducedInstance<double> entropy_example(double tau) {
  ReducedInstance<double> instance;
  const std::vector<double> mu{1.2, 1.5, 1.8, 2, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8};
  instance.target = Eigen::Map<const Vector<double>>(mu.data(), std::ssize(mu));
  instance.nonlinear = true;
  instance.start = Matrix<double>::Constant(std::ssize(mu), 1, 0.05);
  instance.logits = Vector<double>::Zero(std::ssize(mu));
  instance.tau = tau;
  return instance;
}

void require_eqn_10(const ReducedInstance<double>& instance, Examination& it) {
  it.require("nonlinear `phi`, one unit", instance.nonlinear && instance.units() == 1);
  it.require("exp attention", instance.attention == Attention::exp,
             fmt::format("{} attention", name_of(instance.attention)));
}

// The fixed point of the rung, one token, between places where its field has certain signs.
Quantity enclosed_fixed_point(double mu, double tau) {
  ReducedInstance<Interval> instance;
  instance.target = Matrix<Interval>::Constant(1, 1, Interval(mu));
  instance.start = Matrix<Interval>::Constant(1, 1, Interval(0));
  instance.logits = Vector<Interval>::Constant(1, Interval(0));
  instance.nonlinear = true;
  instance.attended = true;
  instance.tau = Interval(tau);
  const ReducedFlow<Interval> flow(instance);
  double low = 0;
  double high = mu;
  while (true) {
    const double middle = low + (high - low) / 2;
    Vector<Interval> x = Vector<Interval>::Constant(1, Interval(middle));
    Vector<Interval> dx = x;
    flow.rhs(x, dx, Interval(0));
    const bool rises = lower_double(dx[0]) > 0;
    const bool falls = upper_double(dx[0]) < 0;
    if (middle <= low || middle >= high || !(rises || falls)) break;
    (rises ? low : high) = middle;
  }
  return {low + (high - low) / 2, {ErrorPart::enclosure((high - low) / 2)}};
}

// Rebounds of the reduced rungs and of a unit with a target of its own, by name.
void refute_rebound(std::string_view reading, ReducedInstance<double> instance,
                    const Matrix<double>& target, Examination& it) {
  const EntropyBounce direct = entropy_bounce_of(instance);
  instance.target = target;
  instance.attended = true;
  const EntropyBounce attended = entropy_bounce_of(instance);
  refute(equal(fmt::format(
                   "rebound of the entropy at `mu = 1.2..3.8`, `tau = {}`, `v(0) = 0.05`, `mu` {}, "
                   "against that of Eqn 10",
                   instance.tau, reading),
               attended.rebound(), direct.rebound())
             .with(fmt::format("Eqn 10 `{:.3f} -> {:.3f}`, the unit `{:.3f} -> {:.3f}`",
                               direct.least.value(), direct.last, attended.least.value(),
                               attended.last)),
         it);
}

void show_target_at_rest(Examination& it) {
  require_eqn_10(entropy_example(3), it);
  it.hypotheses.push_back(not_evaluated(
      "near a fixed point `mu`",
      "of the field under uniform attention, or of the weights: not known, and both are examined; "
      "the script starts at `v = 0.05`, which is near neither"));
  it.judge(
      identity("`v' = a o G(a o v)` with `a = exp(z/T)`, not `a o G(v)`, on the code of training",
               [] { return attention_scales_argument(true); })
          .unless(in_paper, [] { return attention_scales_argument(false); }));
  for (const double mu : {1.5, 2.5}) {
    const double closed = attended_fixed_point(mu, 2.0);
    it.judge(
        equal(
            fmt::format(
                "end of the unit if `mu = {}` is the zero of `G`, `tau = 2`: `sqrt(W(mu^2))`", mu),
            enclosed_fixed_point(mu, 2), Quantity(closed, {ErrorPart::rounding(3, closed)}))
            .of_kind(EvidenceKind::certified)
            .unless(in_paper, mu));
  }
  it.judge(
      identity(
          "rate if `mu` is the end of the unit: `(1 + w) e^w`, `w = 2 mu^2/tau`, not `e^{w/2}`",
          [] {
            return attended_linearisation(
                [](const Expression& w) { return Expression((1 + w) * GiNaC::exp(w)); });
          })
          .unless(in_paper, [] {
            return attended_linearisation([](const Expression& w) { return GiNaC::exp(w / 2); });
          }));
  const double strong = attended_fixed_point(2.5, 2.0);
  const double weak = attended_fixed_point(1.5, 2.0);
  const auto by_eqn_10 = [](double mu_j, double mu_k) {
    return std::exp((mu_j * mu_j - mu_k * mu_k) / 2);
  };
  it.report("ratio of `ln(1/|delta|)` at `mu = 2.5`, 1.5, `tau = 2`, by Eqn 10",
            by_eqn_10(2.5, 1.5));
  it.report("of the unit, `mu` the zero of `G`", attended_rate(2.5, 2.0) / attended_rate(1.5, 2.0),
            fmt::format("by Eqn 10 with its ends {:.4f}, {:.4f} for `mu`: {:.3f}", strong, weak,
                        by_eqn_10(strong, weak)));
  it.report("of the unit, `mu` its end", 7.25 / 3.25 * by_eqn_10(2.5, 1.5) * by_eqn_10(2.5, 1.5));
  for (const double tau : {3.0, 2.0}) {
    const ReducedInstance<double> instance = entropy_example(tau);
    refute_rebound("the zero of `G`", instance, instance.target, it);
  }
  // At tau = 2 the rates at the end, up to 3e7, are apart by more than a solve takes.
  const ReducedInstance<double> instance = entropy_example(3);
  refute_rebound("the end of the unit", instance,
                 instance.target.array() * (instance.target.array().square() / instance.tau).exp(),
                 it);
}

FoundEvent minimum_of(const ReducedInstance<double>& instance, double end) {
  for (const FoundEvent& event :
       events_of(forget_type(ReducedFlow<double>(instance)), end, tolerance)) {
    if (event.name == "entropy-minimum") return event;
  }
  throw Failure("the entropy has no minimum");
}

// t_exp at a time of the softmax clock; an error of that moves it by its slope, 1/sum_l a_l.
Quantity time_of_exp_clock(const ReducedInstance<double>& softmax, const Quantity& time) {
  const Solved run = solve_softmax_flow(softmax, {time.value()}, tolerance).front();
  const Index tokens = softmax.tokens();
  const double sum = (run.state(0).head(tokens).array().square() / softmax.tau).exp().sum();
  return run.at(0, [&](const Vector<double>& state) { return state[tokens]; }) +
         mapped(time, 0, 1 / sum);
}

void show_clock_of_figure(Examination& it) {
  ReducedInstance<double> instance = entropy_example(3);
  const FoundEvent exp = minimum_of(instance, 2);
  instance.attention = Attention::softmax;
  require_eqn_10(instance, it);
  const FoundEvent softmax = minimum_of(instance, 100);
  it.judge(equal("least entropy with softmax attention: that with exp attention", softmax.value,
                 exp.value));
  it.judge(equal("its time with exp attention, from that with softmax attention", exp.time,
                 time_of_exp_clock(instance, softmax.time))
               .unless(in_paper, softmax.time));
}

}  // namespace

Erratum target_at_rest() {
  return {
      .name = "joma.eqn10-target",
      .kind = ErratumClass::does_not_transfer,
      .statement = "joma.attended-target",
      .place = "arXiv 2310.00535 (version not known), Eqn 10 and Theorem 4",
      .grades = {SourceGrade::authors_code, SourceGrade::third_party},
      .known =
          "Eqn 10 from a report by others and from the authors' script; its derivation was not "
          "seen. Pending the text: if Eqn 10 is derived there from the unit without a further "
          "assumption, that step is an error",
      .claim =
          "nonlinear `phi`, exp attention, near a fixed point `mu`: `v' = (mu - v) o exp(v^2/2)`; "
          "on "
          "it salient components converge faster by `e^{(mu_j^2 - mu_k^2)/2}`",
      .paper_says = "not seen in the paper itself; `v' = (mu - v) o exp(v^2/2)` by both sources",
      .algebra_says =
          "Theorem 4 is true of Eqn 10. A unit with exp attention follows `v' = a o G(a o v)`, `a "
          "= e^{v^2/2}`, `G` its field under uniform attention; let `G` fall with one slope for "
          "all "
          "tokens, and that be 1 as in Eqn 10. If `mu` is the zero of `G`, the unit ends at `v^2 = "
          "W(mu^2)` and not at `mu`, with rates `(1 + v^2) e^{v^2}`; if `mu` is the end of the "
          "unit, "
          "its rates are `(1 + mu^2) e^{mu^2}` and not `e^{mu^2/2}`",
      .effect =
          "with both readings salient tokens are learned first and the entropy falls and comes "
          "back, and neither has the size of Eqn 10: from `v = 0.05` at `mu = 1.2..3.8`, `tau = "
          "3`, "
          "it comes back by 0.013 nats (`mu` the zero of `G`) or 1.11 (`mu` the end), by Eqn 10 "
          "0.68. "
          "Theorem 4's rates are those of a unit near `mu` if `E[g phi' x]` with attention, and "
          "not `G`, falls there with the same slope for all tokens; linear `phi` (Theorem 2) is "
          "untouched",
      .examine = show_target_at_rest};
}

Erratum clock_of_figure() {
  return {
      .name = "joma.entropy-clock",
      .kind = ErratumClass::does_not_transfer,
      .statement = "joma.clock-change",
      .place = "arXiv 2310.00535 (version not known), Section 4, entropy figure",
      .grades = {SourceGrade::authors_code, SourceGrade::third_party},
      .known =
          "the script of the figure has `a = softmax(v^2/3)`; that Eqn 10 and Theorem 4 are for "
          "exp attention is from a report by others, and no source says that the times of the "
          "figure are theirs. Pending the text",
      .claim =
          "Eqn 10 is `v' = (mu - v) o a` with exp attention; a simulation of `v' = (mu - v) o a` "
          "shows entropy that falls and comes back",
      .paper_says = "the script: softmax attention, `d = 10`, 5000 steps of 0.02",
      .algebra_says =
          "the same orbit on another clock, `dt_softmax = sum_l a_l dt_exp`: the entropies of "
          "the figure are those of Eqn 10, its times and rates are not",
      .effect = "the shape of the curve stands",
      .examine = show_clock_of_figure};
}

}  // namespace popgrad::joma::checks
