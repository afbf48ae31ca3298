// Where formulas of the paper on sparse contextual bigrams and the algebra disagree.

#include "popgrad/identity.hpp"
#include "popgrad/scb/instance.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {

using namespace popgrad::scb;

Erratum uniform_start() {
  return {
      .name = "scb.uniform-start",
      .statement = "scb.reduction",
      .paper_says = "V(0) = 11'/N as the other initialisation, on the constraint set",
      .algebra_says = "V mu = mu fails unless mu is uniform; projecting 11'/N gives mu 1' again",
      .evidence = [] {
        const Bigrams<double> b = random_bigrams(3, 50, 2, 1);
        const Matrix<double> uniform = Matrix<double>::Constant(3, 3, 1.0 / 3);
        // (I - 11'/N) . (I - mu 1') of the distance to mu 1', the constraint set's own point.
        const Matrix<double> ground = b.stationary * Vector<double>::Ones(3).transpose();
        Matrix<double> gap = uniform - ground;
        gap.rowwise() -= gap.colwise().mean().eval();
        gap -= (gap * b.stationary) * Vector<double>::Ones(3).transpose();
        return std::vector<Evidence>{
            bounded(EvidenceKind::numerical, "|V mu - mu| at V = 11'/N, negated",
                    -(uniform * b.stationary - b.stationary).norm(), -1e-3,
                    "mu of a random kernel is not uniform"),
            bounded(EvidenceKind::numerical, "|projection of 11'/N - mu 1'|", gap.norm(), 1e-14,
                    "rounding")};
      }};
}

Erratum square_of_jacobian() {
  return {.name = "scb.softmax-square",
          .statement = "scb.softmax-link",
          .paper_says = "the reply to the reviewers: (J^2)_11 = a_1 (1 - a_1) for a_1 of order one",
          .algebra_says = "that is J_11; (J^2)_11 = a_1^2 (1 - a_1)^2 + O(1/T)",
          .evidence = [] {
            // a_1 = x, the others (1 - x)/(T - 1): (J^2)_11 = x^2 (1-x)^2 (1 + 1/(T-1)).
            const Expression x = symbol("x");
            const Expression t = symbol("T");
            const Expression size = x * x + (1 - x) * (1 - x) / (t - 1);
            const Expression entry = x * x - x * x * (2 * x - size);
            const Expression claimed = x * x * (1 - x) * (1 - x) * (1 + 1 / (t - 1));
            return std::vector<Evidence>{
                identity(EvidenceKind::symbolic, "(J^2)_11 = x^2 (1-x)^2 (1 + 1/(T-1))",
                         vanishes(Expression(entry - claimed))),
                identity(EvidenceKind::symbolic, "it is not x (1-x)",
                         vanishes(Expression(entry - x * (1 - x))) == Truth::no ? Truth::yes
                                                                                : Truth::no)};
          }};
}

}  // namespace popgrad::theorems::scb
