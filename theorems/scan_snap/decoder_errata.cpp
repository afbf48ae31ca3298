// Errata about the decoder's closed forms and the gradient that attention sees.

#include <fmt/format.h>

#include <cmath>

#include "popgrad/scan_snap/decoder.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

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

}  // namespace popgrad::theorems::scan_snap
