// Array formulas: every operation against differences, dual numbers, 50 digits and rationals.

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"
#include "formulas/operation.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"

namespace gradient_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;

const Dimension n{3, "n"}, m{4, "m"};

// A: n x m, B: n x n, x: n, y: m, c: scalar; entries p/q of either sign, away from what is not defined.
struct Inputs {
  Graph graph;
  Array A = graph.variable("A", {n, m}), B = graph.variable("B", {n, n}),
        x = graph.variable("x", {n}), y = graph.variable("y", {m}), c = graph.variable("c", {});
  [[nodiscard]] std::vector<Array> all() const { return {A, B, x, y, c}; }
};

Rational entry(std::size_t variable, std::size_t i) {
  const auto k = static_cast<long>(7 * variable + 5 * i * i + 3 * i + 1);
  return Rational(k % 19 - 9, 10) + Rational(static_cast<long>(i), 37);
}

template <class T>
T on_scalar(const Rational& value) {
  if constexpr (std::is_same_v<T, Rational>) {
    return value;
  } else if constexpr (std::is_same_v<T, Real>) {
    return Real(numerator(value)) / Real(denominator(value));
  } else {
    return T(to_double(value));
  }
}

template <class T>
void fill(Evaluator<T>& evaluator, const std::vector<Array>& variables) {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::span<T> entries = evaluator.variable(variables[v].node().text);
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = on_scalar<T>(entry(v, i));
  }
}

using Formula = std::function<Array(const Inputs&)>;
Array f(const char* name, const Array& a) { return apply(name, {a}); }

const std::map<std::string, Formula>& formulas() {
  static const std::map<std::string, Formula> all{
      {"sum", [](const Inputs& v) { return reduce("sum", v.A * v.A); }},
      {"broadcast",
       [](const Inputs& v) {
         return reduce("sum", square(v.A - v.y) * keep_axes(v.x, 1, 1) / (v.c * v.c + 1));
       }},
      {"cubes",
       [](const Inputs& v) {
         return reduce("sum",
                       power(v.x, v.c.number(3)) / (2 + v.x) - power(2 + v.x, v.c.number(-2)));
       }},
      {"quadratic",
       [](const Inputs& v) {
         return matmul(v.x, matmul(v.B, v.x)) * v.c - matmul(v.x, matmul(v.A, v.y));
       }},
      {"products",
       [](const Inputs& v) {
         return reduce("sum", square(matmul(matmul(v.B, v.A), transpose(v.A))));
       }},
      {"einsum",
       [](const Inputs& v) {
         return einsum("ij,ik,j,ii->", {v.A, v.B, v.y, v.B});
       }},
      {"stacks",
       [](const Inputs& v) {
         return reduce("sum", square(matmul(keep_axes(v.B, 0, 1) * keep_axes(v.x, 1, 2), v.A)));
       }},
      {"inverse",
       [](const Inputs& v) {
         return reduce("sum", square(solve(v.B + v.c.graph->eye(n, n), v.A)));
       }},
      {"solve", [](const Inputs& v) { return matmul(v.x, solve(v.B, v.x)); }},
      {"slices",
       [](const Inputs& v) {
         return reduce("sum", square(slice(v.A, {{2, -2, {2, ""}}, {1, 1, {3, ""}}})) *
                                  slice(v.y, {{1, 1, {3, ""}}}));
       }},
      {"diagonal",
       [](const Inputs& v) {
         return reduce("sum", square(diagonal(v.B) * v.x +
                                     diagonal(matmul(diagonal_matrix(v.x, n, n), v.B))));
       }},
      {"concatenate",
       [](const Inputs& v) {
         return reduce("sum", power(concatenate({v.x, square(v.y), v.x}, 0), v.c.number(3)));
       }},
      {"take",
       [](const Inputs& v) {
         return reduce("sum", power(take(v.A, v.c.graph->arange({2, ""}) + 1, 1), v.c.number(3)));
       }},
      {"prod",
       [](const Inputs& v) {
         return reduce("prod", v.x) +
                reduce("sum", reduce("prod", v.A, 0) * v.y) * reduce("prod", v.B - v.B);
       }},
      {"mean",
       [](const Inputs& v) {
         return reduce("mean", v.A * v.y) * reduce("sum", square(reduce("mean", v.A, 0)));
       }},
      {"extrema",
       [](const Inputs& v) {
         return reduce("sum", reduce("max", v.A, 0) * v.y) + reduce("min", v.B) * v.c;
       }},
      {"cumsum",
       [](const Inputs& v) {
         return reduce("sum", square(scan("cumsum", v.A, 1)) * keep_axes(v.x, 1, 1));
       }},
      {"kinks",
       [](const Inputs& v) {
         return reduce("sum", f("relu", v.A) * f("abs", v.A - v.y) * f("sign", v.y));
       }},
      {"where",
       [](const Inputs& v) {
         return reduce("sum", where(apply("greater", {v.x, v.c}), square(v.x), v.x * v.c));
       }},
      {"minimum",
       [](const Inputs& v) {
         return reduce("sum",
                       square(apply("minimum", {v.A, v.y})) + v.A * apply("maximum", {v.A, v.y}));
       }},
      {"exponentials",
       [](const Inputs& v) {
         return reduce("sum",
                       f("exp", v.A) + f("log", square(v.A) + 1) * f("sqrt", square(v.y) + 2));
       }},
      {"circle",
       [](const Inputs& v) {
         return reduce("sum", f("sin", v.A) * f("cos", v.y) + f("asin", v.A / 3) +
                                  apply("atan2", {v.A, v.y + 3}));
       }},
      {"activations",
       [](const Inputs& v) {
         return reduce("sum", f("tanh", v.A) + f("sigmoid", v.A) * f("erf", v.y) +
                                  f("gelu", v.A) * f("softplus", v.y));
       }},
      {"softmax",
       [](const Inputs& v) {
         return reduce("sum", scan("softmax", v.A, 1) * v.y + scan("log_softmax", v.A, 0) * v.A) +
                reduce("logsumexp", v.y);
       }},
      {"norm",
       [](const Inputs& v) {
         return reduce("norm", v.A) * v.c + reduce("sum", reduce("norm", v.A, 1) * v.x);
       }},
      {"real power", [](const Inputs& v) { return reduce("sum", power(square(v.x) + 1, v.c)); }},
  };
  return all;
}

bool exact(const Array& a) {
  for (std::size_t k = 0; k <= a.place; ++k) {
    const Operation& op = *a.graph->node(k).operation;
    if (!op.exact) return false;
    if (op.name == "power" && constant_value(Array{a.graph, a.graph->node(k).inputs[1]}) == nullptr)
      return false;
  }
  return true;
}

TEST_CASE("gradients of array formulas are those of dual numbers and of 50 digits", "[formulas]") {
  for (const auto& [name, formula] : formulas()) {
    INFO(name);
    const Inputs v;
    const Array loss = formula(v);
    REQUIRE(loss.rank() == 0);
    std::vector<Array> outputs = gradient(loss, v.all());
    outputs.push_back(loss);
    Evaluator<double> values(outputs);
    fill(values, v.all());
    values.run();
    values.require_defined();

    const DigitsScope scope(50);
    Evaluator<Real> digits(outputs);
    fill(digits, v.all());
    digits.run();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      for (std::size_t i = 0; i < values.output(k).size(); ++i) {
        // Some 100 operations on numbers of size 10.
        CHECK(values.output(k)[i] ==
              Approx(to_double(digits.output(k)[i])).epsilon(1e-12).margin(1e-13));
      }
    }

    Evaluator<Dual<double>> duals({loss});
    fill(duals, v.all());
    for (std::size_t k = 0; k < v.all().size(); ++k) {
      const std::span<Dual<double>> entries = duals.variable(v.all()[k].node().text);
      for (std::size_t i = 0; i < values.output(k).size(); ++i) {
        double slope = 0;
        if (!entries.empty()) {
          entries[i].slope = 1;
          duals.run();
          slope = duals.output(0)[0].slope;
          entries[i].slope = 0;
        }
        INFO(v.all()[k].node().text << " " << i);
        CHECK(values.output(k)[i] == Approx(slope).epsilon(1e-12).margin(1e-13));
      }
    }
  }
}

TEST_CASE("array formulas without roots are exact on rationals", "[formulas]") {
  std::size_t seen = 0;
  for (const auto& [name, formula] : formulas()) {
    INFO(name);
    const Inputs v;
    const Array loss = formula(v);
    std::vector<Array> outputs = gradient(loss, v.all());
    outputs.push_back(loss);
    if (!exact(outputs[0]) || !exact(loss)) continue;
    ++seen;
    Evaluator<Rational> rationals(outputs);
    fill(rationals, v.all());
    rationals.run();
    const DigitsScope scope(50);
    Evaluator<Real> digits(outputs);
    fill(digits, v.all());
    digits.run();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      for (std::size_t i = 0; i < rationals.output(k).size(); ++i) {
        const Real difference = on_scalar<Real>(rationals.output(k)[i]) - digits.output(k)[i];
        CHECK(abs(to_double(difference)) < 1e-46);
      }
    }
  }
  CHECK(seen >= 18);
}

TEST_CASE("the product of the Hessian and a vector is the slope of the gradient", "[formulas]") {
  for (const auto& [name, formula] : formulas()) {
    INFO(name);
    const Inputs v;
    const Array loss = formula(v);
    const std::vector<Array> gradients = gradient(loss, v.all());
    std::vector<Array> directions;
    for (const Array& variable : v.all())
      directions.push_back(broadcast(variable.number(1), variable.shape()));
    const std::vector<Array> products = derivative_along(gradients, v.all(), directions);
    Evaluator<double> values(products);
    fill(values, v.all());
    values.run();
    Evaluator<Dual<double>> duals(gradients);
    fill(duals, v.all());
    for (const Array& variable : v.all()) {
      for (Dual<double>& number : duals.variable(variable.node().text)) number.slope = 1;
    }
    duals.run();
    for (std::size_t k = 0; k < products.size(); ++k) {
      CHECK(values.variable("adjoint").empty());
      for (std::size_t i = 0; i < values.output(k).size(); ++i) {
        CHECK(values.output(k)[i] == Approx(duals.output(k)[i].slope).epsilon(1e-11).margin(1e-12));
      }
    }
  }
}

// Value and slope of a formula of one number.
std::pair<double, double> at(const std::function<Array(const Array&)>& formula, double x) {
  Graph graph;
  const Array variable = graph.variable("x", {});
  const Array value = formula(variable);
  Evaluator<double> evaluator({value, gradient(value, {variable})[0]});
  if (!evaluator.variable("x").empty()) evaluator.variable("x")[0] = x;
  evaluator.run();
  return {evaluator.output(0)[0], evaluator.output(1)[0]};
}

TEST_CASE("slopes where there are two: relu, abs, norm and sign have 0 at 0", "[formulas]") {
  for (const char* name : {"relu", "abs", "sign"})
    CHECK(at([&](const Array& x) { return f(name, x); }, 0).second == 0);
  CHECK(at([](const Array& x) { return reduce("norm", x); }, 0).second == 0);
  CHECK(at([](const Array& x) { return f("stop_gradient", x) * x; }, 3) ==
        std::pair<double, double>(9, 3));
}

TEST_CASE("operations without a slope jump, but for those of whole numbers and stop_gradient",
          "[formulas]") {
  std::size_t jumping = 0;
  for (const Operation& op : operations()) {
    if (op.kind == OperationKind::leaf) continue;
    CAPTURE(std::string(op.name));
    const bool steady = op.name == "floor_divide" || op.name == "mod" || op.name == "stop_gradient";
    CHECK((op.jumps != Jumps::none) == (op.pull == nullptr && !steady));
    if (op.jumps == Jumps::none || op.jumps == Jumps::elsewhere) continue;
    ++jumping;
    const auto value = [&](double x) {
      return at(
                 [&](const Array& a) {
                   return op.arity == 2 ? apply(op.name, {a, a.number(0)}) : apply(op.name, {a});
                 },
                 x)
          .first;
    };
    CHECK(value(0.25) == value(0.75));
    CHECK(value(-0.25) == value(-0.75));
    CHECK((value(-0.25) != value(0) || value(0) != value(0.25)));
    if (op.jumps == Jumps::at_whole_numbers) CHECK(value(0.75) != value(1));
  }
  CHECK(jumping == 8);
}

TEST_CASE("where gives nothing to the branch that is not taken", "[formulas]") {
  const auto positive = [](const Array& x) { return apply("greater", {x, x.number(0)}); };
  const auto guarded = [&](const Array& x) {
    return where(positive(x), x * f("log", x) + f("sqrt", x) + 1 / x, x);
  };
  CHECK(at(guarded, 0) == std::pair<double, double>(0, 1));
  CHECK(at(guarded, -1).second == 1);
  // The selection is summed over before it reaches the logarithm.
  const auto summed = [&](const Array& x) {
    const Array pair = concatenate({reshape(x, {{1, ""}}), reshape(x, {{1, ""}})}, 0);
    return reduce("sum", where(positive(pair), broadcast(f("log", x), pair.shape()), pair));
  };
  CHECK(at(summed, 0) == std::pair<double, double>(0, 2));
}

}  // namespace
}  // namespace gradient_test
