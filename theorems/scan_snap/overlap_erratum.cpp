// Erratum: the effective learning rate of overlapping classes (Remark 1) rests on a sum that is not 0.

#include <fmt/format.h>

#include "popgrad/linear_algebra.hpp"
#include "popgrad/scalar/rational.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

// xi_n at the first steps, up to one factor: with overlaps G = (1 - rho) I + rho 11' of K classes and
// M tokens, Y = F A and g = F c with c = s A'(e_n - 1/M) under the true gradient (Eqn 7), G^{-1} times
// that under the modified one (Eqn 26); xi_n = -rho sum_{n' != n} c_n'.
Rational early_xi(Index classes, const Rational& tokens, const Rational& rho, bool modified) {
  const Matrix<Rational> overlaps =
      Matrix<Rational>::Constant(classes, classes, rho) +
      Matrix<Rational>(Vector<Rational>::Constant(classes, 1 - rho).asDiagonal());
  Vector<Rational> coefficients = Vector<Rational>::Constant(classes, Rational(-1) / tokens);
  coefficients[0] += 1;
  if (modified) coefficients = solve_square<Rational>(overlaps, coefficients);
  return -rho * coefficients.tail(classes - 1).sum();
}

}  // namespace

Erratum centred_sum() {
  return {.name = "scan-snap.zeta-sum",
          .kind = ErratumClass::error,
          .statement = "scan-snap.decoder-recursion",
          .place = "arXiv 2305.16380v4, Remark 1 (Eqns 40-43)",
          .known = "full text, v4",
          .paper_says =
              "classes that overlap by rho learn as apart ones do, at the rate (1 - rho) "
              "eta_Y, because the zeta_n sum to 0",
          .algebra_says =
              "they sum to 0 for K = M alone; xi of the modified gradient over that of the "
              "true one is (1 + rho (M-K)/(1 + (K-1) rho))/(1 - rho)",
          .evidence = [] {
            const Index classes = 10;
            const Rational k(10);
            const Rational m(1000);
            const Rational rho = Rational(13) / 1000;
            const Rational ratio =
                Rational(early_xi(classes, m, rho, true) / early_xi(classes, m, rho, false));
            const Rational formula =
                Rational((1 + rho * (m - k) / (1 + (k - 1) * rho)) / (1 - rho));
            const Rational centred =
                Rational(early_xi(classes, k, rho, true) / early_xi(classes, k, rho, false));
            return std::vector<Evidence>{
                identity(EvidenceKind::exact,
                         "the quotient is the formula at K = 10, M = 1000, rho = 0.013",
                         ratio == formula ? Truth::yes : Truth::no,
                         fmt::format("{:.4f} against {:.4f} of the remark", to_double(ratio),
                                     to_double(Rational(1 / (1 - rho))))),
                identity(EvidenceKind::exact, "K = M: the remark's 1/(1 - rho)",
                         centred == 1 / (1 - rho) ? Truth::yes : Truth::no)};
          }};
}

}  // namespace popgrad::theorems::scan_snap
