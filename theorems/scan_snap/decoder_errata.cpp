// Errata about the decoder's closed forms and the gradient that attention sees.

#include <fmt/format.h>

#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/scan_snap/decoder.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "theorems/scan_snap/backprop_identity.hpp"
#include "theorems/scan_snap/claim_hypotheses.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/features_at_rest.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

namespace {

// gamma eta_Y t/(K ln(c eta_Y t/K)) at t0; it depends on eta_Y t/K alone. c = 1 or M.
double late_quotient(double m, bool with_vocabulary) {
  const double s = transition_time(m, 1.0, 1);
  const double gamma = backprop_scale(m, decoder_scale(m, 1.0, s));
  return gamma * s / std::log(with_vocabulary ? m * s : s);
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

Vector<double> logits_at_100(const TrainingInstance<double>& instance) {
  const ReducedFlow<double> flow(instance);
  return flow.logits_at(follow(forget_type(flow), {100}).states.front());
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
          "A2, Y(0) = 0, M >> 100, M^-0.99 << eta_Y < 1, uniform classes, t after 2 (1 + "
          "delta') t0': gamma is bounded by a rate in t",
      .paper_says = "gamma = O(K ln(eta_Y t/K)/(eta_Y t)); Lemma 9 has ln(M eta_Y t/K)",
      .algebra_says =
          "for fixed M both hold; the bound without M is not uniform in M, its constant grows "
          "as ln M/lnln M",
      .effect = "none at fixed M; read for growing M, the factor M of Lemma 9 is needed",
      .examine = [](Examination& it) {
        const double least = 1e3;  // M of the smallest instance inside the hypotheses
        require_rates(least, 0.5, it);
        it.hypotheses.push_back(met_by_construction("A2, Y(0) = 0, uniform classes",
                                                    "gamma depends on M and eta_Y t/K alone"));
        it.hypotheses.push_back(met_by_construction("t >= 2 (1 + delta') t0'",
                                                    "t is t0, where exp(M h) overtakes (M-1) M h"));
        std::string without;
        std::string with;
        double largest = 0;
        for (const double m : {1e2, 1e3, 1e6, 1e15}) {
          without += fmt::format("{}{:.3g} at M = {:g}", without.empty() ? "" : ", ",
                                 late_quotient(m, false), m);
          with += fmt::format("{}{:.3g}", with.empty() ? "" : ", ", late_quotient(m, true));
          largest = std::fmax(largest, late_quotient(m, true));
        }
        it.evidence.push_back(at_least(
            EvidenceKind::numerical, "gamma eta_Y t/(K ln(eta_Y t/K)) at t0: M = 1e15 over M = 1e3",
            late_quotient(1e15, false) / late_quotient(least, false), 2,
            "a constant would have the quotient 1", without));
        it.evidence.push_back(bounded(EvidenceKind::numerical,
                                      "the same with M inside the logarithm, largest", largest, 2,
                                      "one constant for all M", with));
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
          "A2, Y(0) = 0, M >> 100, M^-0.99 << eta_Y < 1, uniform classes, decoder by Eqn 26: g_n = "
          "gamma (iota_n f_n - sum beta_nn' f_n') with beta in closed form",
      .paper_says =
          "beta_nn' = (1 + sigma) [q1 (1 + theta_n) E'_nn' + q0 ((1 + theta_n') + sum_{k != n} (1 "
          "+ theta_k) E'_kn')]",
      .algebra_says =
          "- q0 (1 + theta_n') in its first q0 term; the sum over k and iota (Eqn 86) are right",
      .effect =
          "none for Theorem 1, which uses the size of that term alone; within A2 it is of order "
          "1/M",
      .examine = [](Examination& it) {
        const SequenceClasses<double> classes = one_shared_token();
        require_assumption_2(classes, it);
        require_rates(static_cast<double>(classes.tokens), 0.5, it);
        require_uniform_classes(classes, it);
        it.hypotheses.push_back(met_by_construction("Y(0) = 0, decoder by Eqn 26",
                                                    "the identity is that of Eqn 70 at theta = 0"));
        it.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "with -q0 the identity holds for generic G and M",
                                       gradient_identity(Beta::derived)));
        it.evidence.push_back(
            identity(EvidenceKind::symbolic, "as printed it does not",
                     gradient_identity(Beta::of_eqn_88) == Truth::no ? Truth::yes : Truth::no));
        const Features at(classes);
        it.report("xi_0 as printed over xi_0 on the instance", printed_over_right(at, 1e5));
        it.report("the same features at M = 8, outside A2", printed_over_right(at, 8));
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
      .claim = "F'F = I + E of full rank: E' is what the inverse differs by from I",
      .paper_says =
          "D.1 defines E' with the sign opposite to that of Lemma 14, (I + E)^-1 = I - E'",
      .algebra_says = "Lemma 14's sign: E'_ii <= 0, as the paper states, and E' = E to first order",
      .effect = "none: the proofs use Lemma 14",
      .examine = [](Examination& it) {
        const Expression rho = symbol("rho");
        it.hypotheses.push_back(met_by_construction("F has full rank", "0 < rho^2 < 1"));
        // Two classes: (I + E)^-1 = 1/(1 - rho^2) (1, -rho; -rho, 1).
        const Expression own = 1 - 1 / (1 - rho * rho);
        const Expression other = rho / (1 - rho * rho);
        it.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "two classes: E'_ii = -rho^2/(1 - rho^2)",
                                       vanishes(Expression(own + rho * other))));
        it.evidence.push_back(
            identity(EvidenceKind::symbolic, "E'_01 - E_01 is of second order and higher",
                     vanishes(Expression(other - rho - rho * rho * rho / (1 - rho * rho)))));
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
          "T -> infinity and the gradient of Theorem 1: z' of a query sums over its classes, on "
          "the clock of batch-1 steps",
      .paper_says = "Eqns 94-96 and B_n weigh each class by 1, gamma(t) of Theorem 1 runs on t/K",
      .algebra_says = "a class is drawn with probability 1/K in both: weight 1 is eta_Z times K",
      .effect =
          "a unit of eta_Z: Theorems 2 to 4 agree among themselves, SGD is slower by K than they "
          "say",
      .examine = [](Examination& it) {
        TrainingInstance<double> instance = with_ratio(small_overlap(), 10);
        require_assumption_2(instance.classes, it);
        require_uniform_classes(instance.classes, it);
        it.hypotheses.push_back(
            met_by_construction("T -> infinity", "the reduced flow has no sampled sequences"));
        const Vector<double> ours = logits_at_100(instance);
        instance.clock = Clock::paper;
        const Vector<double> papers = logits_at_100(instance);
        instance.clock = Clock::consistent;
        instance.attention_rate *= 2;  // K = 2
        const Vector<double> faster = logits_at_100(instance);
        it.evidence.push_back(bounded(
            EvidenceKind::numerical, "the paper's clock minus K eta_Z, relative, at t = 100",
            (papers - faster).norm() / faster.norm(), 1e-8, "solver tolerance 1e-10"));
        it.evidence.push_back(
            at_least(EvidenceKind::numerical, "the paper's clock minus ours, relative",
                     (papers - ours).norm() / ours.norm(), 0.1, "z grows about K times as fast",
                     fmt::format("|z| {:.3g} against {:.3g}", papers.norm(), ours.norm())));
      }};
}

}  // namespace popgrad::theorems::scan_snap
