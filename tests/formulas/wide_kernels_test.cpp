// Kernels of double on vectors, at sizes with and without a rest, against many digits and the plain functions.

#include <omp.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace wide_kernels_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;

/// A formula of x (n), A (n, m), B (m, p) and C (n, p, m).
struct Case {
  Case(const std::string& text, Index rows, Index inner, Index columns) {
    const Dimension n{rows, "n"}, m{inner, "m"}, p{columns, "p"};
    const Scope scope{{"x", graph.variable("x", {n})},
                      {"A", graph.variable("A", {n, m})},
                      {"B", graph.variable("B", {m, p})},
                      {"C", graph.variable("C", {n, p, m})}};
    formula = elaborate(syntax::parse(text), graph, scope);
  }

  template <class T>
  [[nodiscard]] std::vector<T> values() const {
    Evaluator<T> evaluator({formula});
    for (const char* name : {"x", "A", "B", "C"}) {
      long i = 0;
      // Eighths between -3 and 3: the same on every scalar.
      for (T& entry : evaluator.variable(name)) entry = T(double(i++ * 37 % 49 - 24)) / T(8);
    }
    evaluator.run();
    return {evaluator.output(0).begin(), evaluator.output(0).end()};
  }

  Graph graph;
  Array formula;
};

const std::vector<std::string> texts{
    "exp(x)",
    "tanh(x[::-1])",
    "sigmoid(A.T)",
    "tanh(x / 10**9)",
    "A**3",
    "sum(A, axis=0)",
    "sum(A, axis=1)",
    "mean(C, axis=1)",
    "softmax(A, axis=1)",
    "softmax(A, axis=0)",
    "log_softmax(A, axis=1)",
    "logsumexp(C, axis=2)",
    "A @ B",
    "B.T @ A.T",
    "A.T @ A",
    "A @ A.T",
    "x @ A",
    "A.T @ x",
    "x @ x",
    "sum(A * A)",
    "outer(x, x)",
    "einsum('ijk,kj->ij', C, B)",
    "einsum('ijk,ik->ij', C, A)",
    "einsum('ijk,ik->jk', C, A)",
    "einsum('ijk,ilk->jl', C, C)",
    "einsum('ijk,i->jk', C, x)",
    "C @ A.T",
    "(x[:, None] * A) / (1 + A**2) - relu(A)",
};

TEST_CASE("kernels on vectors give what many digits do, at any size", "[formulas]") {
  for (const auto& [rows, inner, columns] : std::vector<std::array<Index, 3>>{
           {1, 1, 1}, {3, 2, 5}, {8, 8, 8}, {13, 7, 9}, {17, 33, 20}, {40, 20, 31}}) {
    for (const std::string& text : texts) {
      INFO(text << " at " << rows << ", " << inner << ", " << columns);
      const Case it(text, rows, inner, columns);
      const std::vector<double> found = it.values<double>();
      const std::vector<Real> expected = it.values<Real>();
      REQUIRE(found.size() == expected.size());
      // A sum of n numbers up to 9, each rounded.
      const double allowed = 1e-15 * static_cast<double>(8 + 9 * rows * inner);
      double apart = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double value = to_double(expected[i]);
        apart = std::max(apart, std::abs(found[i] - value) / (1 + std::abs(value)));
      }
      CHECK(apart <= allowed);
    }
  }
}

TEST_CASE("products are longer than the parts that they are computed in", "[formulas]") {
  const Case it("A @ B", 21, 700, 37);
  const std::vector<double> found = it.values<double>();
  const std::vector<Real> expected = it.values<Real>();
  // Sums of multiples of 1/64 are exact.
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == to_double(expected[i]));
}

TEST_CASE("functions on vectors are those of the library where they are special", "[formulas]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> given{0,    -0.0, 1e-300, -1e-9, 0.3,  -0.7,      20,       -41,
                                  708,  709,  709.7,  710,   -708, -710,      -744,     -746,
                                  -800, 1e9,  -1e9,   0.625, -2.5, -infinity, infinity, 1e-5};
  const std::vector<std::pair<std::string, double (*)(double)>> functions{
      {"exp(x)", [](double x) { return std::exp(x); }},
      {"tanh(x)", [](double x) { return std::tanh(x); }},
      {"sigmoid(x)", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"x**-3", [](double x) { return 1 / (x * x * x); }},
      {"x**0.5", [](double x) { return std::pow(x, 0.5); }},
  };
  for (const auto& [text, value] : functions) {
    const Case it(text, static_cast<Index>(given.size()), 1, 1);
    Evaluator<double> evaluator({it.formula});
    std::copy(given.begin(), given.end(), evaluator.variable("x").begin());
    evaluator.run();
    for (std::size_t i = 0; i < given.size(); ++i) {
      INFO(text << " at " << given[i]);
      const double expected = value(given[i]), found = evaluator.output(0)[i];
      if (std::isnan(expected)) {
        CHECK(std::isnan(found));
      } else if (std::isinf(expected)) {
        CHECK(found == expected);
      } else {
        // A few units in the last place, or of the smallest number.
        constexpr double units = 4 * std::numeric_limits<double>::epsilon();
        CHECK(std::abs(found - expected) <=
              units * std::abs(expected) + std::numeric_limits<double>::denorm_min());
      }
    }
    evaluator.variable("x")[3] = std::numeric_limits<double>::quiet_NaN();
    evaluator.run();
    CHECK(std::isnan(evaluator.output(0)[3]));
  }
}

TEST_CASE("threads do not change the bits of an array formula", "[formulas]") {
  const Case it("sum(tanh(C @ A.T), axis=0) + sum(exp(C)) / 10**9", 90, 40, 50);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<double> one = it.values<double>();
  omp_set_num_threads(3);
  const std::vector<double> three = it.values<double>();
  omp_set_num_threads(before);
  CHECK(one == three);
}

}  // namespace
}  // namespace wide_kernels_test
