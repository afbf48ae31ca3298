// The chain rule behind joma.attended-target, on the code that is integrated.

#include "theorems/joma/checks/attended_target.hpp"
#include "theorems/joma/checks/prelude.hpp"

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

}  // namespace popgrad::joma::checks
