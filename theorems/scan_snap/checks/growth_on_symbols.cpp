// What scan-snap.growth proves for generic symbols, on the reduced flow that is integrated.

#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

// Class 0 has tokens 0 (common), 1, 2 (distinct), class 1 has 0 and 3.
void derive_growth(Examination& it) {
  TrainingInstance<Expression> instance;
  SequenceClasses<Expression>& classes = instance.classes;
  classes.tokens = 4;
  classes.query = {0, 0};
  classes.next = {0, 1};
  classes.first = {0, 3, 5};
  classes.token = {0, 1, 2, 0, 3};
  classes.law = symbols("P", 5);
  classes.weight = symbols("w", 2);
  instance.decoder_rate = symbol("eta_Y");
  instance.attention_rate = symbol("eta_Z");
  instance.track_growth = true;
  const ReducedFlow<Expression> flow(instance, symbol("M"));
  const Vector<Expression> x = symbols("x", flow.dimension());  // z of 0 to 3, h, B_0, B_1
  Vector<Expression> rate(x.size());
  flow.rhs(x, rate, Expression(0));
  const Expression f = flow.features_at(x)[1];
  const Expression quotient = classes.law[1] / classes.law[2];
  const Expression r = quotient * quotient * GiNaC::exp(2 * (x[1] - x[2])) - 1;
  it.judge(Identity{
      .what = "r' = 2 z_l' r",
      .holds = [&] { return vanishes(Expression(rate_along(r, x, rate) - 2 * rate[1] * r)); },
      .detail = "generic P, w, z, h, M"});
  it.judge(Identity{
      .what = "z_l' = f_nl^2 B_n'",
      .holds = [&] { return vanishes(Expression(rate[1] - f * f * rate[5])); },
      .mistakes = {{"not-squared", [&] { return vanishes(Expression(rate[1] - f * rate[5])); }}},
      .detail = "generic P, w, z, h, M"});
}

}  // namespace popgrad::scan_snap::checks
