// Errata about the decoder's closed forms and the gradient that attention sees.

#include <fmt/format.h>

#include <cmath>

#include "popgrad/scalar/rational.hpp"
#include "popgrad/scan_snap/decoder.hpp"
#include "popgrad/scan_snap/random_classes.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "theorems/scan_snap/backprop_identity.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/features_at_rest.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

Erratum centred_sum() {
  return {.name = "scan-snap.zeta-sum",
          .statement = "scan-snap.decoder-recursion",
          .paper_says = "Remark 1: the zeta_n sum to 0",
          .algebra_says = "they do if all M tokens are next tokens; the sum over K < M is not 0",
          .evidence = [] {
            const auto size_of_sum = [](Index classes, Index m) {
              Vector<Rational> sum = Vector<Rational>::Constant(m, Rational(0));
              for (Index n = 0; n < classes; ++n) {
                for (Index l = 0; l < m; ++l) {
                  const Rational own = l == n ? Rational(1) : Rational(0);
                  sum[l] += Rational(m) / Rational(m - 1) * (own - Rational(1) / Rational(m));
                }
              }
              return Rational(sum.squaredNorm());
            };
            return std::vector<Evidence>{
                identity(EvidenceKind::exact, "K = M = 5: |sum|^2 = 0",
                         size_of_sum(5, 5) == 0 ? Truth::yes : Truth::no),
                identity(EvidenceKind::exact, "K = 3, M = 5: |sum|^2 is not 0",
                         size_of_sum(3, 5) != 0 ? Truth::yes : Truth::no,
                         fmt::format("|sum|^2 = {}", to_text(size_of_sum(3, 5))))};
          }};
}

Erratum late_backprop_regime() {
  return {.name = "scan-snap.gamma-late-regime",
          .statement = "scan-snap.decoder-closed-form",
          .paper_says = "Theorem 1: gamma ~ K ln(eta_Y t/K)/(eta_Y t) for late t",
          .algebra_says = "the logarithm has a factor M: gamma ~ K ln(M eta_Y t/K)/(eta_Y t)",
          .evidence = [] {
            const double m = 1000;
            const double s = 1e6;
            const double gamma = backprop_scale(m, decoder_scale(m, 1.0, s));
            return std::vector<Evidence>{
                bounded(EvidenceKind::numerical,
                        "relative error with the factor, M = 1000, eta_Y t/K = 1e6",
                        std::fabs(late_backprop_scale(m, 1.0, s) / gamma - 1), 3e-3,
                        "neglects ((M-1)/M)^2, 2e-3, and M h/(eta_Y s), 2e-5"),
                bounded(EvidenceKind::numerical, "relative error without it, negated",
                        -std::fabs(std::log(s) / s / gamma - 1), -0.3,
                        "ln 1e6 is two thirds of ln 1e9")};
          }};
}

Erratum cross_scale_sign() {
  return {.name = "scan-snap.eqn88-sign",
          .statement = "scan-snap.backprop-gradient",
          .paper_says =
              "Eqn 88: beta_nn' with + q0 (1 + theta_n') in its second term; appendix D.1 "
              "defines E' with the opposite sign",
          .algebra_says =
              "- q0 (1 + theta_n'): zeta_j.zeta_n = q0 < 0 enters beta, the coefficient of "
              "-f_n'; I - E' = (I + E)^{-1}",
          .evidence = [] {
            Stream stream(1, 0, 5);
            const Features at(random_classes(stream, 3, 1, 2, 0.5, 8));
            const Vector<double> right =
                relative_xi<double>(beta_of<double>(at.inverse, 8), at.gram);
            const Vector<double> printed =
                relative_xi<double>(beta_of_eqn_88<double>(at.inverse, 8), at.gram);
            return std::vector<Evidence>{
                identity(EvidenceKind::symbolic, "with -q0 the identity holds for generic G",
                         gradient_identity(Beta::derived)),
                identity(EvidenceKind::symbolic, "with +q0 it does not",
                         gradient_identity(Beta::of_eqn_88) == Truth::no ? Truth::yes : Truth::no),
                reported("xi_0 with the sign of Eqn 88 over xi_0, K = 3, M = 8",
                         printed[0] / right[0])};
          }};
}

Erratum attention_clock() {
  return {
      .name = "scan-snap.eqn10-clock",
      .statement = "scan-snap.assumptions",
      .paper_says = "Eqn 10: h runs on t/K, the attention sum over classes has weight 1",
      .algebra_says = "a class is drawn with probability 1/K in both: weight 1 is eta_Z times K",
      .evidence = [] {
        TrainingInstance<double> instance = with_ratio(syn_small<double>(), 10);
        const auto end = [](const TrainingInstance<double>& i) {
          const ReducedFlow<double> flow(i);
          return flow.logits_at(follow(forget_type(flow), {100}).states.front());
        };
        const Vector<double> ours = end(instance);
        instance.clock = Clock::paper;
        const Vector<double> papers = end(instance);
        instance.clock = Clock::consistent;
        instance.attention_rate *= 2;  // K = 2
        const Vector<double> faster = end(instance);
        return std::vector<Evidence>{
            bounded(EvidenceKind::numerical, "the paper's clock minus K eta_Z, relative",
                    (papers - faster).norm() / faster.norm(), 1e-8, "solver tolerance 1e-10"),
            bounded(EvidenceKind::numerical, "the paper's clock minus ours, relative, negated",
                    -(papers - ours).norm() / ours.norm(), -0.1, "z grows about K times as fast")};
      }};
}

}  // namespace popgrad::theorems::scan_snap
