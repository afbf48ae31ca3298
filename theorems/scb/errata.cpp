// Where formulas of the paper on sparse contextual bigrams and the algebra disagree.

#include "popgrad/identity.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {

Erratum square_of_jacobian() {
  return {.name = "scb.softmax-square",
          .kind = ErratumClass::error,
          .statement = "scb.softmax-link",
          .place = "arXiv 2410.23438, global reply to the reviewers",
          .known = "reviews and replies",
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
