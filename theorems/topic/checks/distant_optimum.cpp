#include "theorems/topic/checks/distant_optimum.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/landscape.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic::checks {

namespace {

// The joint limit of a fraction of polynomials as e and d go to 0: throws if it has a pole there.
Expression limit_of(const Expression& fraction, const Expression& e, const Expression& d) {
  const Expression top = fraction.normal().numer_denom();
  const GiNaC::exmap zero{{e, 0}, {d, 0}};
  const Expression below = top.op(1).subs(zero).normal();
  if (below.is_zero()) throw Failure("a coefficient has a pole in the limit");
  return top.op(0).subs(zero) / below;
}

}  // namespace

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
  // The block-wise loss depends on g alone: alpha = g, beta = 0.
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

std::vector<double> inverse_sizes() { return falling_parameters(1, 2, 3); }

std::vector<Quantity> at_sizes(const LargeLaw& law, bool diagonal, Quantity BestWeights::*weight) {
  std::vector<Quantity> found;
  for (const double h : inverse_sizes()) {
    const LargeLaw larger = enlarged(law, Rational(1 / h), Rational(1 / h));
    found.push_back(best_weights(larger, diagonal).*weight);
  }
  return found;
}

double left_to_limit(const Quantity& here, const Quantity& there, const Quantity& unit) {
  return std::fabs(2 * ((there - here) / unit).value());
}

LimitingSlope limiting_slope(bool diagonal) {
  const Expression e = symbol("e");
  const Expression d = symbol("d");
  LimitingSlope made;
  made.v = symbol("v");
  made.p_m = symbol("p_m");
  made.p_c = symbol("p_c");
  made.y = symbol("y");
  const TopicLaw<Expression, Expression> law{1 / (e * d), 1 / e,    made.v,
                                             made.p_m,    made.p_c, symbol("p_r")};
  made.a = law.kept();
  made.weight = diagonal ? made.v : Expression(made.v * made.v);
  const auto whole = landscape(law, diagonal ? diagonal_value(law) : minimum_norm_value(law));
  // The block-wise loss depends on g alone: alpha = g, beta = 0.
  const Expression beta = diagonal ? symbol("beta") : Expression(0);
  const auto limit = [&](const Expression& c) { return limit_of(c, e, d); };
  const auto of_beta = [&](const Expression& c) { return diagonal ? limit(c) : Expression(0); };
  for (const auto& part : whole.parts) {
    const auto linear = [&](const LinearForm<Expression>& f) {
      return Expression(limit(f.c[0]) + of_beta(f.c[2]) * beta + limit(f.c[1] / e) * made.y);
    };
    const auto& q = part.square.q;
    const Expression square = limit(q[0]) + (of_beta(q[2]) + of_beta(q[5]) * beta) * beta +
                              (limit(q[1] / e) + of_beta(q[4] / e) * beta) * made.y +
                              limit(q[3] / (e * e)) * made.y * made.y;
    const Expression n = linear(part.normaliser);
    made.slope +=
        (square / (n * n) - linear(part.linear) / n).diff(GiNaC::ex_to<GiNaC::symbol>(made.y));
  }
  return made;
}

}  // namespace popgrad::topic::checks
