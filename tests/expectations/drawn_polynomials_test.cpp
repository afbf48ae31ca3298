// Exact expectations of polynomials drawn at random against product rules of the normal law.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "expectations/expectation.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "popgrad/scalars/random.hpp"
#include "sanitized.hpp"

namespace drawn_polynomials_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using expectations::Expectation;
using expectations::NormalDraw;

/// A formula in draws x (2), y (2) and e, and its degree.
struct Drawn {
  std::string text;
  int degree = 0;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : stream_(seed, 0, 0) {}

  /// A number: sums, products and powers of contractions, of degree 1 to `most`.
  Drawn number(int most) {
    Drawn sum = product(most);
    for (int more = below(3); more > 0; --more) {
      const Drawn other = product(most);
      sum = {sum.text + (below(2) == 0 ? " + " : " - ") + other.text,
             std::max(sum.degree, other.degree)};
    }
    return sum;
  }

 private:
  int below(int n) { return static_cast<int>(stream_.index(static_cast<std::uint32_t>(n))); }

  Drawn product(int most) {
    Drawn made = contraction(most);
    if (2 * made.degree <= most && below(3) == 0) {
      const int power = 3 * made.degree <= most && below(2) == 0 ? 3 : 2;
      made = {"(" + made.text + ")**" + std::to_string(power), power * made.degree};
    }
    while (made.degree < most && below(2) == 0) {
      const Drawn other = contraction(most - made.degree);
      made = {made.text + " * " + other.text, made.degree + other.degree};
    }
    return made;
  }
  Drawn contraction(int most) {
    const Drawn a = vector(most);
    switch (below(most > a.degree ? 6 : 4)) {
      case 0:
        return {"sum(" + a.text + ")", a.degree};
      case 1:
        return {"(w @ " + a.text + ")", a.degree};
      case 2:
        return {"(" + a.text + ")[1]", a.degree};
      case 3:
        return {"(mean(" + a.text + ") - 1)", a.degree};
      case 4:
        return {"(e * (" + a.text + " @ A @ w))", a.degree + 1};
      default: {
        const Drawn b = vector(most - a.degree);
        return {"(" + a.text + " @ " + b.text + ")", a.degree + b.degree};
      }
    }
  }
  Drawn vector(int most) {
    struct Part {
      const char* text;
      int degree;
    };
    static constexpr std::array<Part, 11> parts{{{"x", 1},
                                                 {"y", 1},
                                                 {"(A @ x)", 1},
                                                 {"(y @ A)", 1},
                                                 {"(x - w)", 1},
                                                 {"(e * w)", 1},
                                                 {"(M @ x + 2 * y)", 2},
                                                 {"(1 - e * x)", 2},
                                                 {"(x * y)", 2},
                                                 {"(outer(x, x) @ y)", 3},
                                                 {"cumsum(x * x)", 2}}};
    const auto few = static_cast<int>(
        std::count_if(parts.begin(), parts.end(), [](const Part& p) { return p.degree == 1; }));
    const Part& part = parts[static_cast<std::size_t>(below(most > 2 ? 11 : few))];
    return {part.text, part.degree};
  }

  Stream stream_;
};

// Four nodes of the normal law are exact to degree 7 in each of the five entries.
double product_rule(Evaluator<double>& sample, double& size) {
  const double inner = std::sqrt(3 - std::sqrt(6.)), outer = std::sqrt(3 + std::sqrt(6.));
  const double heavy = 1 / (4 * (3 - std::sqrt(6.))), light = 1 / (4 * (3 + std::sqrt(6.)));
  const std::array<double, 4> nodes{-outer, -inner, inner, outer};
  const std::array<double, 4> weights{light, heavy, heavy, light};
  const std::array<std::span<double>, 3> draws{sample.variable("x"), sample.variable("y"),
                                               sample.variable("e")};
  double sum = 0;
  size = 0;
  for (std::size_t k = 0; k < 1024; ++k) {
    double weight = 1;
    std::size_t digits = k;
    for (std::size_t draw = 0; draw < 3; ++draw) {
      for (std::size_t i = 0; i < (draw == 2 ? 1U : 2U); ++i, digits /= 4) {
        weight *= weights[digits % 4];
        if (!draws[draw].empty()) draws[draw][i] = nodes[digits % 4];
      }
    }
    sample.run();
    sum += weight * sample.output(0)[0];
    size += weight * std::abs(sample.output(0)[0]);
  }
  return sum;
}

constexpr std::array<double, 4> matrix{0.5, -1, 0.66, 0.2};
constexpr std::array<double, 2> vector{0.75, -0.4};
void set(Evaluator<double>& evaluator) {
  if (const auto to = evaluator.variable("A"); !to.empty())
    std::copy(matrix.begin(), matrix.end(), to.begin());
  if (const auto to = evaluator.variable("w"); !to.empty())
    std::copy(vector.begin(), vector.end(), to.begin());
}

// The largest difference, relative to the mean magnitude.
double largest_difference(int trials, std::uint64_t seed) {
  constexpr int degree = 6;
  Generator generator(seed);
  double largest = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Graph graph;
    const Shape two{{2, {}}};
    Scope scope{{"A", graph.variable("A", {{2, {}}, {2, {}}})}, {"w", graph.variable("w", two)}};
    std::vector<NormalDraw> draws;
    for (const auto& [name, shape] : {std::pair{"x", two}, {"y", two}, {"e", Shape{}}}) {
      draws.push_back({graph.variable(name, shape)});
      scope.emplace(name, draws.back().variable);
    }
    scope.emplace("M", elaborate(syntax::parse("outer(w, y) + A"), graph, scope));
    const Drawn drawn = generator.number(degree);
    INFO(drawn.text);
    const Array formula = elaborate(syntax::parse(drawn.text), graph, scope);
    const Expectation found = expectations::expectation(formula, draws);
    INFO(found.why);
    REQUIRE(found.mean);
    Evaluator<double> exact({*found.mean}), sample({formula});
    set(exact);
    set(sample);
    exact.run();
    double size = 0;
    const double expected = product_rule(sample, size);
    const double difference = std::abs(exact.output(0)[0] - expected) / (size == 0 ? 1 : size);
    CHECK(difference <= 1e-12);
    largest = std::max(largest, difference);
  }
  return largest;
}

TEST_CASE("polynomials drawn at random against product rules", "[expectations][drawn]") {
  // Memory errors show in a quarter of them as well.
  largest_difference(build::sanitized() ? 15 : 60, 1);
}

// Not among the usual tests: "[ten-thousand]" runs it.
TEST_CASE("ten thousand polynomials drawn at random against product rules", "[.][ten-thousand]") {
  WARN("largest relative difference " << largest_difference(10'000, 2));
}

}  // namespace
}  // namespace drawn_polynomials_test
