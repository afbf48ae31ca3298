// Formulas in a short form: what prints, and the same values on rationals.

#include "formulas/simplify.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/print.hpp"
#include "formulas/written.hpp"

namespace simplify_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;

struct Names {
  Graph graph;
  Dimension n{3, "n"}, d{2, "d"}, more{3, "d + 1"};
  Array S = graph.variable("S", {n, n});
  Scope scope{{"n", graph.size("n", 3)},
              {"d", graph.size("d", 2)},
              {"A", graph.variable("A", {n, d})},
              {"B", graph.variable("B", {d, n})},
              {"C", graph.variable("C", {n, n})},
              {"S", S},
              {"K", graph.variable("K", {more, more})},
              {"u", graph.variable("u", {n})},
              {"v", graph.variable("v", {n})},
              {"x", graph.variable("x", {})},
              {"y", graph.variable("y", {})}};
};

// Entries p/q of either sign, those of S symmetric.
std::vector<Rational> values_of(const Array& formula, const Names& names) {
  Evaluator<Rational> evaluator({formula});
  for (const auto& [name, variable] : names.scope) {
    if (!variable.is("variable")) continue;
    const auto to = evaluator.variable(name);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const long row = static_cast<long>(i) / 3, column = static_cast<long>(i) % 3;
      const long k =
          name == "S" ? 5 * (row + column) + row * column : static_cast<long>(3 * i) + name.front();
      to[i] = Rational(k % 13 - 6, 1 + k % 5) + Rational(1, 7);
    }
  }
  evaluator.run();
  const auto found = evaluator.output(0);
  return {found.begin(), found.end()};
}

TEST_CASE("derived formulas print in a short form of the same values", "[formulas]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      // Numbers are collected, equal terms added, also in another order.
      {"2 * (0.5 * x) + y - y", "x"},
      {"0.5 * (x * y) + y * x / 2", "x * y"},
      {"-((x * y - 1) * y)", "y * (1 - x * y)"},
      {"x + 1 - (1 - x)", "2 * x"},
      {"-(3 * x - 2 * y - x * y)", "2 * y + x * y - 3 * x"},
      {"0.25 * x + 0.25 * y", "0.25 * (x + y)"},
      {"x / 3 + x / 6", "0.5 * x"},
      {"x / 3", "x / 3"},
      // Of two minus signs neither is left.
      {"-(-(C / 3)).T", "C.T / 3"},
      {"-(x * (-(A @ B) / 3)).T", "x * (A @ B).T / 3"},
      {"-(A - B.T).T", "(B.T - A).T"},
      {"-sum(C - S, axis=0)", "sum(S - C, axis=0)"},
      {"-u[:, None] * -(v / 2)[None, :]", "0.5 * u[:, None] * v[None, :]"},
      {"(x * y)**2 / y", "x**2 * y**2 / y"},
      {"2 / (x * 4)", "0.5 / x"},
      {"x * ones(n) / 2 * u", "0.5 * x * u"},
      {"sum(ones(n) * x) + prod(0.5 * ones(d))", "n * x + 0.5**d"},
      // Contractions are products.
      {"einsum('ij,kj->ki', C, B) @ eye(n)", "B @ C.T"},
      {"einsum('ij,ij->', C, C)", "sum(C**2)"},
      {"einsum('ij,j->ij', C, u)", "C * u"},
      {"einsum('i,ij->ij', u, C)", "C * u[:, None]"},
      {"diag(C @ C.T)", "sum(C**2, axis=1)"},
      {"sum(diag(C))", "trace(C)"},
      {"diag(0.5 * ones(n)) @ C", "0.5 * C"},
      {"diag(u) @ A", "A * u[:, None]"},
      {"(x * A) @ (2 * B)", "2 * x * (A @ B)"},
      // Symmetric matrices are their transposes.
      {"(A @ A.T).T @ u + A @ A.T @ u", "2 * (A @ A.T @ u)"},
      {"S.T @ A + S @ A", "2 * (S @ A)"},
      {"u[:, None] * u + (C + C.T).T - C.T", "C + u * u[:, None]"},
      {"u[:, None] * v - (u[:, None] * v).T", "v * u[:, None] - (v * u[:, None]).T"},
      // Slices of slices.
      {"K[1:, :][:, :d][1:]", "K[2:, :d]"},
      {"(u[:, None] + 2 * v[:, None])[:, 0]", "u + 2 * v"},
      // What is stretched by ones is so by itself.
      {"outer(ones(n), u) + C + outer(v, ones(n))", "C + u + v[:, None]"},
      {"1 / (outer(ones(n), ones(n)) + outer(u, ones(n))) - C", "1 / (1 + u[:, None]) - C"},
      {"(outer(ones(n), u) + ones(n, n))[0, 1:]", "(1 + u)[1:]"},
      // What has to stay.
      {"maximum(2 * x, y) - where(x < y, x, -y)", "maximum(2 * x, y) - where(x < y, x, -y)"},
      {"concatenate([2 * u, v])", "concatenate([2 * u, v])"},
      {"max(-u) + argmax(-u)", "max(-u) + argmax(-u)"},
  };
  for (const auto& [given, expected] : cases) {
    INFO(given);
    Names names;
    const Array formula = elaborate(syntax::parse(given), names.graph, names.scope);
    const Array made = simplified({formula}, {names.S}).front();
    CHECK(syntax::to_numpy(written(in_numpy({made}).front()).tree) == expected);
    CHECK(to_text(made.shape()) == to_text(formula.shape()));
    CHECK(values_of(made, names) == values_of(formula, names));
  }
  Names names;
  const Array root = elaborate(syntax::parse("sqrt(1 + x)**2 - x"), names.graph, names.scope);
  CHECK(simplified({root}).front() == root.number(1));
}

}  // namespace
}  // namespace simplify_test
