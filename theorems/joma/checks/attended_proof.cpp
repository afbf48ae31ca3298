// The chain rule behind joma.attended-target, on the code that is integrated, and the entropy of the
// reduced rungs.

#include "theorems/joma/checks/attended_target.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

namespace popgrad::joma::checks {

Truth attention_scales_argument(bool scaled) {
  constexpr Index tokens = 2;
  constexpr Index classes = 2;
  ClassInstance<Expression> instance;
  instance.attention = Attention::exp;
  instance.phi = Activation::tanh;
  instance.token_law = symbols("X", tokens, classes);
  instance.class_law = symbols("P", classes);
  instance.weights = symbols("v", tokens + 1, 1);  // the last is the query's
  instance.logits = symbols("z", tokens);
  instance.decoder = symbols("O", classes, 1);
  instance.temperature = symbol("T");
  const PopulationFlow<Expression> flow(instance);
  const Vector<Expression> x = flow.initial();
  Vector<Expression> rate(x.size());
  flow.rhs(x, rate, Expression(0));
  Vector<Expression> gain(tokens);
  Vector<Expression> uniform = x;
  for (Index l = 0; l < tokens; ++l) {
    gain[l] = GiNaC::exp(instance.logits[l] / instance.temperature);
    if (scaled) uniform[l] = gain[l] * x[l];
    uniform[tokens + 1 + l] = 0;
  }
  Vector<Expression> field(x.size());
  flow.rhs(uniform, field, Expression(0));
  Matrix<Expression> defect(2 * tokens + 1, 1);
  for (Index l = 0; l < tokens; ++l) {
    defect(l, 0) = rate[l] - gain[l] * field[l];
    defect(tokens + l, 0) = instance.temperature * rate[tokens + 1 + l] - x[l] * rate[l];
  }
  defect(2 * tokens, 0) = rate[tokens] - field[tokens];
  return vanishes(defect);
}

Truth attended_linearisation(const std::function<Expression(const Expression& w)>& rate) {
  ReducedInstance<Expression> instance;
  const Expression v = symbol("v");
  const Expression mu = symbol("mu");
  instance.target = Matrix<Expression>::Constant(1, 1, mu);
  instance.start = Matrix<Expression>::Constant(1, 1, v);
  instance.logits = Vector<Expression>::Constant(1, Expression(0));
  instance.nonlinear = true;
  instance.attended = true;
  instance.tau = symbol("tau");
  const auto field = [&] {
    Vector<Expression> slope(1);
    ReducedFlow<Expression>(instance).rhs(Vector<Expression>::Constant(1, v), slope, Expression(0));
    return slope[0];
  };
  const Expression at_rest = v * GiNaC::exp(v * v / instance.tau);
  const Expression attended = field();
  Matrix<Expression> defect(3, 1);
  defect(0, 0) = attended.subs(mu == at_rest);
  defect(1, 0) = attended.diff(GiNaC::ex_to<GiNaC::symbol>(v)).subs(mu == at_rest) +
                 rate(2 * v * v / instance.tau);
  instance.nonlinear = false;
  const Expression linear = field();
  instance.attended = false;
  defect(2, 0) = linear - field();
  return vanishes(defect);
}

EntropyBounce entropy_bounce_of(const ReducedInstance<double>& instance) {
  const ReducedFlow<double> flow(instance);
  const AnyRung<double> rung = forget_type(flow);
  Vector<double> last(rung.dimension);
  double slowest = HUGE_VAL;
  for (Index l = 0; l < last.size(); ++l) {
    const double mu = instance.target(l, 0);
    last[l] = instance.attended ? attended_fixed_point(mu, instance.tau) : mu;
    const double rate =
        instance.attended ? attended_rate(mu, instance.tau) : std::exp(mu * mu / instance.tau);
    slowest = std::min(slowest, rate);
  }
  constexpr double folds = 20;  // e^-20 of the way is left
  const Quantity least = smallest_along(rung, folds / slowest, 1e-10, [&](const Vector<double>& v) {
    return flow.attention_entropy(v);
  });
  return {least, flow.attention_entropy(last)};
}

}  // namespace popgrad::joma::checks
