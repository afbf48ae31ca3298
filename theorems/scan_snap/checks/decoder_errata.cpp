// Errata about the decoder's closed forms and the gradient that attention sees.

#include "theorems/scan_snap/checks/backprop_identity.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/errata.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {

namespace {

// gamma eta_Y t/(K ln(c eta_Y t/K)) at t0; it depends on eta_Y t/K only. c = 1 or M.
Quantity late_quotient(double m, bool with_vocabulary) {
  const double s = transition_time(m, 1.0, 1);
  const double gamma = backprop_scale(m, decoder_scale(m, 1.0, s));
  const double quotient = gamma * s / std::log(with_vocabulary ? m * s : s);
  return {quotient, {ErrorPart::rounding(10, quotient)}};
}

// The same without M where M h = x, e^x = (M-1) x, eta_Y t/K = 2 x: 2 x^2/((1 + x) ln(2 x)). There
// M h - x is (2 x + 1)/((M-1)(x + 1)), which moves gamma by less than that share, and M/(M-1) is
// left out.
Quantity late_quotient_formula(double m) {
  const double x = crossover(m);
  const double quotient = 2 * x * x / ((1 + x) * std::log(2 * x));
  const double next = ((2 * x + 1) / (x + 1) + 1) / (m - 1);
  return {quotient, {ErrorPart::next_order(quotient * next)}};
}

// I + E of three classes at overlap rho, inverted, at M = vocabulary: xi_0 with the sign of Eqn 88
// over xi_0.
double printed_over_right(const Features& at, double vocabulary) {
  const Vector<double> right =
      relative_xi<double>(beta_of<double>(at.inverse, vocabulary), at.gram);
  const Vector<double> printed =
      relative_xi<double>(beta_of_eqn_88<double>(at.inverse, vocabulary), at.gram);
  return printed[0] / right[0];
}

std::vector<Quantity> logits_at_100(const TrainingInstance<double>& instance) {
  const ReducedFlow<double> flow(instance);
  return Solved(forget_type(flow), {100}, 1e-10).all_at(0, [&](const Vector<double>& x) {
    return flow.logits_at(x);
  });
}

}  // namespace

Erratum late_backprop_regime() {
  return {
      .name = "scan-snap.gamma-late-regime",
      .kind = ErratumClass::does_not_transfer,
      .statement = "scan-snap.decoder-closed-form",
      .place = "arXiv 2305.16380v4, Theorem 1b and Theorem 4 against Lemma 9",
      .grades = {SourceGrade::full_text},
      .known = "read in full, v4; O(.) is printed, an upper bound without a constant",
      .claim =
          "A2, `Y(0) = 0`, `M >> 100`, `M^-0.99 << eta_Y < 1`, uniform classes, `t` after `2 (1 + "
          "delta') t0'`: `gamma` is bounded by a rate in `t`",
      .paper_says = "`gamma = O(K ln(eta_Y t/K)/(eta_Y t))`; Lemma 9 has `ln(M eta_Y t/K)`",
      .algebra_says =
          "for fixed `M` both hold; the bound without `M` is not uniform in `M`, its constant "
          "grows "
          "as `ln M/lnln M`",
      .effect = "none at fixed `M`; read for growing `M`, the factor `M` of Lemma 9 is needed",
      .examine = [](Examination& it) {
        const double least = 1e3;  // M of the smallest instance inside the hypotheses
        require_rates(least, 0.5, it);
        it.hypotheses.push_back(met_by_construction("A2, `Y(0) = 0`, uniform classes",
                                                    "`gamma` depends only on `M` and `eta_Y t/K`"));
        it.hypotheses.push_back(met_by_construction(
            "`t >= 2 (1 + delta') t0'`", "`t` is `t0`, where `exp(M h)` overtakes `(M-1) M h`"));
        Comparison without = equal(
            "`gamma eta_Y t/(K ln(eta_Y t/K))` at `t0`: `2 x^2/((1 + x) ln(2 x))`, `x ~ ln M`, and "
            "not that at `M = 1000`");
        Comparison with = at_most("the same with `M` inside the logarithm: one bound for all `M`");
        for (const double m : {least, 1e6, 1e15}) {
          const std::string place = fmt::format("`M = {:g}`", m);
          without.add(place, late_quotient(m, false), late_quotient_formula(m));
          with.add(place, late_quotient(m, true), 2);
        }
        it.judge(without.unless(in_paper, late_quotient(least, false)));
        it.judge(with);
      }};
}

Erratum cross_scale_sign() {
  return {
      .name = "scan-snap.eqn88-sign",
      .kind = ErratumClass::error,
      .statement = "scan-snap.backprop-gradient",
      .place = "arXiv 2305.16380v4, Eqn 88",
      .grades = {SourceGrade::full_text},
      .known = "read in full, v4",
      .claim =
          "A2, `Y(0) = 0`, `M >> 100`, `M^-0.99 << eta_Y < 1`, uniform classes, decoder by Eqn 26: "
          "`g_n = "
          "gamma (iota_n f_n - sum beta_nn' f_n')` with `beta` in closed form",
      .paper_says =
          "`beta_nn' = (1 + sigma) [q1 (1 + theta_n) E'_nn' + q0 ((1 + theta_n') + sum_{k != n} (1 "
          "+ theta_k) E'_kn')]`",
      .algebra_says =
          "`- q0 (1 + theta_n')` in its first `q0` term; the sum over `k` and `iota` (Eqn 86) are "
          "right",
      .effect =
          "none for Theorem 1, which uses only the size of that term; within A2 it is of order "
          "`1/M`",
      .examine = [](Examination& it) {
        const SequenceClasses<double> classes = one_shared_token();
        require_assumption_2(classes, it);
        require_rates(static_cast<double>(classes.tokens), 0.5, it);
        require_uniform_classes(classes, it);
        it.hypotheses.push_back(met_by_construction(
            "`Y(0) = 0`, decoder by Eqn 26", "the identity is that of Eqn 70 at `theta = 0`"));
        it.judge(
            identity("with `-q0`, not as printed, the identity holds for generic `G` and `M`", [] {
              return gradient_identity(Beta::derived);
            }).unless(in_paper, [] { return gradient_identity(Beta::of_eqn_88); }));
        const Features at(classes);
        it.report("`xi_0` as printed over `xi_0` on the instance", printed_over_right(at, 1e5));
        it.report("the same features at `M = 8`, outside A2", printed_over_right(at, 8));
      }};
}

Erratum inverse_sign() {
  return {
      .name = "scan-snap.inverse-sign",
      .kind = ErratumClass::error,
      .statement = "scan-snap.backprop-gradient",
      .place = "arXiv 2305.16380v4, appendix D.1 against Lemma 14",
      .grades = {SourceGrade::full_text},
      .known = "read in full, v4; a misprint",
      .claim = "`F'F = I + E` of full rank: `E'` is what the inverse differs by from `I`",
      .paper_says =
          "D.1 defines `E'` with the sign opposite to that of Lemma 14, `(I + E)^-1 = I - E'`",
      .algebra_says =
          "Lemma 14's sign: `E'_ii <= 0`, as the paper states, and `E' = E` to first order",
      .effect = "none: the proofs use Lemma 14",
      .examine = [](Examination& it) {
        const Expression rho = symbol("rho");
        it.hypotheses.push_back(met_by_construction("`F` has full rank", "`0 < rho^2 < 1`"));
        // Two classes: (I + E)^-1 = 1/(1 - rho^2) (1, -rho; -rho, 1).
        const Expression own = 1 - 1 / (1 - rho * rho);
        const Expression other = rho / (1 - rho * rho);
        it.judge(identity("two classes: `E'_ii = -rho^2/(1 - rho^2)`", [&] {
                   return vanishes(Expression(own + rho * other));
                 }).unless(in_paper, [&] { return vanishes(Expression(-own + rho * other)); }));
        const Expression third = rho * rho * rho / (1 - rho * rho);
        it.judge(identity("`E'_01 - E_01` is of second order and higher", [&] {
                   return vanishes(Expression(other - rho - third));
                 }).unless(in_paper, [&] { return vanishes(Expression(-other - rho - third)); }));
      }};
}

Erratum attention_clock() {
  return {
      .name = "scan-snap.eqn10-clock",
      .kind = ErratumClass::error,
      .statement = "scan-snap.assumptions",
      .place = "arXiv 2305.16380v4, Eqns 10 and 94-96 against Theorem 1b",
      .grades = {SourceGrade::full_text},
      .known = "read in full, v4",
      .claim =
          "`T -> infinity` and the gradient of Theorem 1: `z'` of a query sums over its classes, "
          "on "
          "the clock of batch-1 steps",
      .paper_says =
          "Eqns 94-96 and `B_n` weigh each class by 1, `gamma(t)` of Theorem 1 runs on `t/K`",
      .algebra_says =
          "a class is drawn with probability `1/K` in both: weight 1 is `eta_Z` times `K`",
      .effect =
          "a unit of `eta_Z`: Theorems 2 to 4 agree among themselves, SGD is slower by `K` than "
          "they "
          "say",
      .examine = [](Examination& it) {
        TrainingInstance<double> instance = with_ratio(small_overlap(), 10);
        require_assumption_2(instance.classes, it);
        require_uniform_classes(instance.classes, it);
        it.hypotheses.push_back(
            met_by_construction("`T -> infinity`", "the reduced flow has no sampled sequences"));
        const std::vector<Quantity> ours = logits_at_100(instance);
        instance.clock = Clock::paper;
        const std::vector<Quantity> papers = logits_at_100(instance);
        instance.clock = Clock::consistent;
        instance.attention_rate *= 2;  // K = 2
        it.judge(
            equal("logits at `t = 100` on the paper's clock: those of `K eta_Z`, not of `eta_Z`",
                  papers, logits_at_100(instance))
                .with(fmt::format("`|z|` {:.3g} against {:.3g}", norm(papers).value(),
                                  norm(ours).value()))
                .unless(in_paper, ours));
      }};
}

}  // namespace popgrad::scan_snap::checks
