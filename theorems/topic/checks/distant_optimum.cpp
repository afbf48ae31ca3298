#include "theorems/topic/checks/distant_optimum.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/landscape.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic::checks {

LargeLaw unbounded(const TopicLaw<Rational>& law) {
  return {Rational(law.topics), Rational(law.active), Rational(law.words),
          law.masked,           law.correct,          law.random};
}

LargeLaw enlarged(LargeLaw law, const Rational& more_active, const Rational& emptier) {
  law.active *= more_active;
  law.topics *= more_active * emptier;
  return law;
}

BestWeights best_weights(const LargeLaw& law, bool diagonal) {
  const Landscape<Rational> exact =
      landscape(law, diagonal ? diagonal_value(law) : minimum_norm_value(law));
  const Rational unit = law.active * law.words;
  const double far = to_double(Rational(20 * unit / ((1 - law.correct) * law.masked)));
  // The block-wise loss depends only on g: alpha = g, beta = 0.
  const Minimum begin = find_minimum(exact.cast<double>(), {0, far, 0, diagonal ? 20.0 : 0.0});
  const DigitsScope digits(50);
  const Landscape<Real> made = exact.cast<Real>();
  Real alpha(begin.alpha);
  Real beta(begin.beta);
  for (int i = 0; i < 30; ++i) {
    const Vector<Real> gradient = made.gradient(alpha, beta);
    const Matrix<Real> h = made.hessian(alpha, beta);
    // A beta on the border that descent would leave stays there.
    if (beta == 0 && (!diagonal || gradient[1] >= 0)) {
      alpha = alpha - gradient[0] / h(0, 0);
      continue;
    }
    const Real determinant = h(0, 0) * h(1, 1) - h(0, 1) * h(0, 1);
    beta = beta - (h(0, 0) * gradient[1] - h(0, 1) * gradient[0]) / determinant;
    alpha = alpha - (h(1, 1) * gradient[0] - h(0, 1) * gradient[1]) / determinant;
    if (beta < 0) beta = 0;
  }
  const double ratio = to_double(alpha) / to_double(unit);
  return {{ratio, {ErrorPart::rounding(2, ratio)}}, to_double(beta)};
}

}  // namespace popgrad::topic::checks
