// Where formulas of the paper on sparse contextual bigrams and the algebra disagree.

#include "theorems/scb/checks/errata.hpp"

#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks {

Erratum square_of_jacobian() {
  return {
      .name = "scb.softmax-square",
      .kind = ErratumClass::error,
      .statement = "scb.softmax-link",
      .place =
          "arXiv 2410.23438 (version not known), global reply to the reviewers; not the paper, "
          "as far as known",
      .grades = {SourceGrade::reviews},
      .known = "the reply was read; the text of the paper was not seen",
      .claim =
          "`N = 1`, `Q = {1}`, softmax attention, `J = diag(a) - a a'`: when `a_1` is of order one "
          "and the "
          "others `O(1/T)`, small weights stay as they are, as `l1` steps do",
      .paper_says = "`J^2 = a_1 (1 - a_1) e_1 e_1' + O(1/T)`",
      .algebra_says =
          "`a_1 (1 - a_1)` is `J_11`; `(J^2)_11 = a_1^2 [(1 - a_1)^2 + sum_{t > 1} a_t^2] = a_1^2 "
          "(1 - "
          "a_1)^2 + O(1/T)`, a factor 4 at `a_1 = 1/2`",
      .effect = "the conclusion stands: positions of small weight hardly move",
      .examine = [](Examination& it) {
        const Vector<Expression> a = symbols("a", 4);
        Matrix<Expression> jacobian = -a * a.transpose();
        for (Index t = 0; t < a.size(); ++t) jacobian(t, t) = jacobian(t, t) + a[t];
        const Expression entry = (jacobian * jacobian)(0, 0);
        Expression others = (1 - a[0]) * (1 - a[0]);
        for (Index t = 1; t < a.size(); ++t) others = others + a[t] * a[t];
        it.hypotheses.push_back(met_by_construction("`N = 1`, softmax attention",
                                                    "`J` is the Jacobian of one softmax"));
        it.hypotheses.push_back(
            met_by_construction("`a_1` of order one, the others `O(1/T)`",
                                "`a_1 = x` and `(1 - x)/(T - 1)` in the second"));
        it.judge(
            identity(
                "`(J^2)_11 = a_1^2 [(1 - a_1)^2 + sum_{t > 1} a_t^2]`, not `a_1 (1 - a_1)`, four "
                "positions",
                [&] { return vanishes(Expression(entry - a[0] * a[0] * others)); })
                .unless(in_paper, [&] { return vanishes(Expression(entry - jacobian(0, 0))); }));
        const Expression x = symbol("x");
        const Expression positions = symbol("T");
        const Expression sum = (1 - x) * (1 - x) / (positions - 1);
        const Expression even = x * x * ((1 - x) * (1 - x) + sum);
        const Expression form = x * x * (1 - x) * (1 - x) * positions / (positions - 1);
        it.judge(identity("even others: `x^2 (1-x)^2 (1 + 1/(T-1))`, not `x (1-x)`", [&] {
                   return vanishes(Expression(even - form));
                 }).unless(in_paper, [&] { return vanishes(Expression(even - x * (1 - x))); }));
      }};
}

}  // namespace popgrad::scb::checks
