// Exact covariances of formulas over normal draws against closed forms, product rules and quadrature.

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "expectations/expectation.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"
#include "popgrad/scalars/rational.hpp"

namespace covariance_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using expectations::covariance;
using expectations::Expectation;
using expectations::expectation;
using expectations::NormalDraw;

struct Example {
  Graph graph;
  Scope scope{};
  std::vector<NormalDraw> draws{};
  std::map<std::string, std::vector<Rational>> numbers{};

  static Shape shape_of(const std::vector<Index>& extents) {
    Shape shape;
    for (const Index extent : extents) shape.push_back({extent, {}});
    return shape;
  }
  Array array(const std::string& formula) {
    return elaborate(syntax::parse(formula), graph, scope);
  }
  Array variable(const std::string& name, const std::vector<Index>& extents,
                 const std::vector<Rational>& values) {
    numbers[name] = values;
    return scope.emplace(name, graph.variable(name, shape_of(extents))).first->second;
  }
  void draw(const std::string& name, const std::vector<Index>& extents,
            const std::string& covariance_matrix = "") {
    NormalDraw made{graph.variable(name, shape_of(extents))};
    if (!covariance_matrix.empty()) made.covariance = array(covariance_matrix);
    scope.emplace(name, made.variable);
    draws.push_back(made);
  }
  Array found(const Array& f, const Array& g) {
    const Expectation made = covariance(f, g, draws);
    INFO(made.why);
    REQUIRE(made.mean);
    return *made.mean;
  }
  // Of the gradient of a loss with respect to a variable.
  Array of_gradient(const std::string& loss, const std::string& name) {
    const Array slope = gradient(array(loss), {scope.at(name)}).front();
    return found(slope, slope);
  }
  template <class T>
  void set(Evaluator<T>& evaluator) const {
    for (const auto& [name, given] : numbers) {
      const auto to = evaluator.variable(name);
      for (std::size_t i = 0; i < to.size(); ++i) {
        if constexpr (std::is_same_v<T, Rational>) {
          to[i] = given[i];
        } else {
          to[i] = nearest_double(given[i]);
        }
      }
    }
  }
  template <class T>
  std::vector<T> values(const Array& output) const {
    Evaluator<T> evaluator({output});
    set(evaluator);
    evaluator.run();
    return {evaluator.output(0).begin(), evaluator.output(0).end()};
  }
};

TEST_CASE("the gradient of phase retrieval in one dimension has the variance of its eighth power",
          "[expectations][covariance]") {
  // g = (w^2 - v^2) w x^4, Var x^4 = 105 - 9.
  Example test;
  test.variable("w", {}, {{3, 2}});
  test.variable("v", {}, {{1, 3}});
  test.draw("x", {});
  const Rational gap = Rational(9, 4) - Rational(1, 9);
  const Rational exact = 96 * gap * gap * Rational(9, 4);
  const Rational found =
      test.values<Rational>(test.of_gradient("((w * x)**2 - (v * x)**2)**2 / 4", "w"))[0];
  CHECK(found == exact);
  CHECK(found != exact * Rational(105, 96));  // the mean square
}

TEST_CASE("the gradient of linear regression has the covariance of its fourth moments",
          "[expectations][covariance]") {
  Example test;
  test.variable("S", {2, 2}, {2, {1, 2}, {1, 2}, 1});
  test.variable("w", {2}, {{3, 10}, {-1, 2}});
  test.variable("v", {2}, {1, {1, 4}});
  test.variable("tau", {}, {{1, 3}});
  test.draw("x", {2}, "S");
  test.draw("e", {});
  const Array found = test.of_gradient("(w @ x - v @ x - tau * e)**2 / 2", "w");
  const Array closed =
      test.array("((w - v) @ S @ (w - v) + tau**2) * S + outer(S @ (w - v), S @ (w - v))");
  CHECK(test.values<Rational>(found) == test.values<Rational>(closed));
}

TEST_CASE("a large mean leaves all digits of a covariance", "[expectations][covariance]") {
  Example test;
  test.variable("c", {}, {100'000'000});
  test.draw("x", {});
  const Array f = test.array("c**2 + c + x + x**2 / 7");
  CHECK(test.values<double>(test.found(f, f))[0] == Approx(1 + 2. / 49).epsilon(1e-15));
}

TEST_CASE("the covariance of in-context regression is that of second moments",
          "[expectations][covariance]") {
  Example test;
  const Index n = 4, d = 2;
  test.variable("U", {d, d}, {{1, 2}, {-1, 3}, {1, 5}, {2, 3}});
  test.variable("u", {}, {{3, 5}});
  test.draw("w", {d});
  test.draw("X", {n, d});
  test.draw("q", {d});
  const std::vector<Array> slopes =
      gradient(test.array("(u * (X @ w) @ X @ U @ q / 4 - w @ q)**2 / 2"),
               {test.scope.at("U"), test.scope.at("u")});
  const auto mean = [&](const Array& f) {
    const Expectation made = expectation(f, test.draws);
    INFO(made.why);
    REQUIRE(made.mean);
    return *made.mean;
  };
  const Array product = einsum("ab,cd->abcd", {slopes[0], slopes[0]});
  const Array means = einsum("ab,cd->abcd", {mean(slopes[0]), mean(slopes[0])});
  CHECK(test.values<Rational>(test.found(slopes[0], slopes[0])) ==
        test.values<Rational>(mean(product) - means));
  CHECK(test.values<Rational>(test.found(slopes[0], slopes[1])) ==
        test.values<Rational>(mean(slopes[0] * slopes[1]) - mean(slopes[0]) * mean(slopes[1])));
}

// Five nodes of the normal law are exact to degree 9 in each entry of the draws.
TEST_CASE("covariances of polynomials drawn at random against product rules",
          "[expectations][covariance]") {
  const double a = std::sqrt(5 - std::sqrt(10.)), b = std::sqrt(5 + std::sqrt(10.));
  const double wa = (7 + 2 * std::sqrt(10.)) / 60, wb = (7 - 2 * std::sqrt(10.)) / 60;
  const std::array<double, 5> nodes{-b, -a, 0, a, b}, weights{wb, wa, 8. / 15, wa, wb};
  unsigned state = 4321;
  const auto below = [&](unsigned n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % n;
  };
  const std::vector<std::string> formulas{
      "sum((A @ x) * y)",  "(w @ x)**2 * e",   "norm(x - w)**2",           "(1 + e * x[0])**2",
      "(w @ y - x[1])**2", "x @ A @ x + e**3", "(y[0] + w @ x) * (e + 2)", "mean(x)**3 + y @ y"};
  for (int trial = 0; trial < 24; ++trial) {
    Example test;
    test.variable("A", {2, 2}, {{1, 2}, -1, {2, 3}, {1, 5}});
    test.variable("w", {2}, {{3, 4}, {-2, 5}});
    test.draw("x", {2});
    test.draw("y", {2});
    test.draw("e", {});
    const std::string left = formulas[below(8)] + " - " + formulas[below(8)];
    const std::string right = formulas[below(8)];
    INFO(left << " and " << right);
    const Array f = test.array(left), g = test.array(right);
    const double found = test.values<double>(test.found(f, g))[0];
    Evaluator<double> sample({f, g});
    test.set(sample);
    double product = 0, of_f = 0, of_g = 0, size = 0;
    for (int k = 0; k < 3125; ++k) {
      double weight = 1;
      int digits = k;
      for (const char* name : {"x", "y", "e"}) {
        const auto to = sample.variable(name);
        const std::size_t count = name[0] == 'e' ? 1 : 2;
        for (std::size_t i = 0; i < count; ++i, digits /= 5) {
          const auto node = static_cast<std::size_t>(digits % 5);
          weight *= weights[node];
          if (!to.empty()) to[i] = nodes[node];
        }
      }
      sample.run();
      const double x = sample.output(0)[0], y = sample.output(1)[0];
      product += weight * x * y;
      of_f += weight * x;
      of_g += weight * y;
      size += weight * std::abs(x * y);
    }
    CHECK(std::abs(found - (product - of_f * of_g)) <= 1e-12 * (size + 1));
  }
}

// Over a square of which the normal law has all but 1e-23, by 8 panels of 20 nodes an axis.
TEST_CASE("covariances of gradients of units against quadrature",
          "[expectations][covariance][unsanitized]") {
  using Rule = boost::math::quadrature::gauss<double, 20>;
  constexpr double far = 10;
  constexpr int panels = 8;
  std::vector<std::pair<double, double>> line;
  for (int k = 0; k < panels; ++k) {
    const double half = far / panels, middle = -far + (2 * k + 1) * half;
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      for (const double sign : {1., -1.}) {
        const double z = middle + sign * half * Rule::abscissa()[i];
        line.emplace_back(
            z, half * Rule::weights()[i] * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi));
      }
    }
  }
  for (const std::string loss :
       {"(erf(w @ z) - erf(v @ z))**2 / 2", "(tanh(w @ z) - v @ z)**2 / 2",
        "(erf(w @ z) - (v @ z)**3 / 3)**2 / 2", "exp(w @ z) - (v @ z) * (w @ z)",
        "(w @ z)**2 * (v @ z) + cos(w @ z)"}) {
    INFO(loss);
    Example test;
    test.variable("w", {2}, {{2, 5}, {-3, 10}});
    test.variable("v", {2}, {{1, 2}, {1, 5}});
    test.draw("z", {2});
    const Array slope = gradient(test.array(loss), {test.scope.at("w")}).front();
    const std::vector<double> found = test.values<double>(test.found(slope, slope));
    Evaluator<double> sample({slope});
    test.set(sample);
    std::array<double, 2> mean{};
    std::array<double, 4> square{};
    for (const auto& [x, weight_x] : line) {
      for (const auto& [y, weight_y] : line) {
        const auto to = sample.variable("z");
        to[0] = x;
        to[1] = y;
        sample.run();
        const auto g = sample.output(0);
        for (std::size_t i = 0; i < 2; ++i) {
          mean[i] += weight_x * weight_y * g[i];
          for (std::size_t k = 0; k < 2; ++k)
            square[2 * i + k] += weight_x * weight_y * g[i] * g[k];
        }
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      INFO(i);
      CHECK(std::abs(found[i] - (square[i] - mean[i / 2] * mean[i % 2])) <=
            1e-12 * (std::abs(square[i]) + 1));
    }
  }
}

TEST_CASE("a covariance of too many pairings is refused", "[expectations][covariance]") {
  Example test;
  test.variable("w", {2}, {1, 2});
  test.draw("x", {2});
  const Array f = test.array("(w @ x)**10");
  CHECK(covariance(f, f, test.draws).why.find("pairings") != std::string::npos);
  const Array g = test.array("1 / (1 + sum(x**2))");
  CHECK(covariance(g, g, test.draws).why.find("division") != std::string::npos);
}

}  // namespace
}  // namespace covariance_test
