// Formulas as text: values, shapes, and what is refused.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "popgrad/base/error.hpp"

namespace elaborate_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;

struct Sizes {
  Index n = 3, m = 4;
};

Array array_of(Graph& graph, const std::string& text, Sizes sizes = {}) {
  const Dimension n{sizes.n, "n"}, m{sizes.m, "m"};
  const Scope scope{{"n", graph.size("n", n.extent)},   {"m", graph.size("m", m.extent)},
                    {"A", graph.variable("A", {n, m})}, {"B", graph.variable("B", {n, n})},
                    {"x", graph.variable("x", {n})},    {"y", graph.variable("y", {m})},
                    {"c", graph.variable("c", {})}};
  return elaborate(syntax::parse(text), graph, scope);
}

// Entries of variables are 1, 2, 3, ...
std::vector<Rational> values(const std::string& text, Sizes sizes = {}) {
  Graph graph;
  Evaluator<Rational> evaluator({array_of(graph, text, sizes)});
  for (const char* name : {"A", "B", "x", "y", "c"}) {
    int k = 0;
    for (Rational& entry : evaluator.variable(name)) entry = ++k;
  }
  evaluator.run();
  return {evaluator.output(0).begin(), evaluator.output(0).end()};
}

std::string shape(const std::string& text, Sizes sizes = {}) {
  Graph graph;
  return to_text(array_of(graph, text, sizes).shape());
}

std::string refusal(const std::string& text, Sizes sizes = {}) {
  Graph graph;
  try {
    static_cast<void>(array_of(graph, text, sizes));
  } catch (const FormulaError& error) {
    return error.what();
  }
  return "";
}

using Values = std::vector<Rational>;

TEST_CASE("formulas have NumPy's values", "[formulas]") {
  CHECK(values("-2**2 + 7 // 2 - -7 // 2 + -7 % 3") == Values{5});
  CHECK(values("0.1 + 1/3") == Values{Rational(13, 30)});
  CHECK(values("A @ y - sum(A * y, axis=1)") == Values{0, 0, 0});
  CHECK(values("x @ B @ x") == Values{228});
  CHECK(values("A[1, ::2]") == Values{5, 7});
  CHECK(values("A[-1, ::-1]") == Values{12, 11, 10, 9});
  CHECK(values("y[1:-1] * 2") == Values{4, 6});
  CHECK(values("x[:, None] + x[None, :2]") == Values{2, 3, 3, 4, 4, 5});
  CHECK(values("einsum('ij,j->i', A, y) - A @ y") == Values{0, 0, 0});
  CHECK(values("diag(x, n, m)[2]") == Values{0, 0, 3, 0});
  CHECK(values("trace(inv(diag(x)))") == Values{Rational(11, 6)});
  CHECK(values("concatenate([x, y[:1]])") == Values{1, 2, 3, 1});
  CHECK(values("block([[eye(2), zeros(2, 1)], [ones(1, 2), c]])") ==
        Values{1, 0, 0, 0, 1, 0, 1, 1, 1});
  CHECK(values("stack([x, 2 * x], axis=1)") == Values{1, 2, 2, 4, 3, 6});
  CHECK(values("tril(B)") == Values{1, 0, 0, 4, 5, 0, 7, 8, 9});
  CHECK(values("one_hot(arange(2), n)") == Values{1, 0, 0, 0, 1, 0});
  CHECK(values("outer(x, x)[1] + max(x) + min(n, m)") == Values{8, 10, 12});
  CHECK(values("x[1 + arange(2)] + argmax(y)") == Values{5, 6});
  CHECK(values("where(x > 2, x, -x) + cumsum(x)") == Values{0, 1, 9});
  CHECK(values("prod(A, axis=(0, 1)) / prod(A)") == Values{1});
  CHECK(values("solve(diag(x), B)[2] * 3") == Values{7, 8, 9});
  CHECK(values("diag(x[:1], 2, n)") == Values{values("x[0]")[0], 0, 0, 0, 0, 0});
  CHECK(values("sum(A, axis=0, keepdims=1) - sum(A, axis=0)") == Values{0, 0, 0, 0});
  CHECK(values("sum(A, keepdims=1)[0, 0] - sum(A)") == Values{0});
}

TEST_CASE("shapes follow the sizes, and axes of a named size do not stretch", "[formulas]") {
  CHECK(shape("A[1:, :2] + 1") == "(n - 1 = 2, 2)");
  CHECK(shape("x[-2:]") == "(2,)");
  CHECK(shape("zeros(n + 1, 2 * m)") == "(n + 1 = 4, 2 * m = 8)");
  CHECK(shape("A.T @ B", {2, 5}) == "(m = 5, n = 2)");
  CHECK(refusal("A + B", {4, 4}).empty());
  CHECK(refusal("A + B") ==
        "line 1, column 3: add: shapes (n = 3, m = 4) and (n = 3, n = 3) do not match");
  CHECK(refusal("x + y", {3, 1}) ==
        "line 1, column 3: add: shapes (n = 3,) and (m = 1,) do not match; an axis of a named size "
        "does not stretch");
  CHECK(refusal("A @ x").find("(n = 3, m = 4) and (n = 3,)") != std::string::npos);
}

TEST_CASE("what is wrong in a formula is said with its place", "[formulas]") {
  CHECK(refusal("1 + sqr(x)") == "line 1, column 5: unknown function sqr; did you mean 'sqrt'?");
  CHECK(refusal("cc") == "line 1, column 1: unknown name cc; did you mean 'c'?");
  CHECK(refusal("x[3]").find("index 3 is outside an axis (n = 3,)") != std::string::npos);
  CHECK(refusal("y[:5]").find("5 is outside an axis (m = 4,)") != std::string::npos);
  CHECK(refusal("x // 2").find("whole numbers") != std::string::npos);
  CHECK(refusal("9**9**9**9").find("digits") != std::string::npos);
  CHECK(refusal("zeros(10**9, 10**9)").find("an array of shape (1000000000, 1000000000)") !=
        std::string::npos);
  CHECK(refusal("zeros(x)").find("whole number") != std::string::npos);
  CHECK(refusal("sum(A, axis=2)").find("axis 2 is not there") != std::string::npos);
  CHECK(refusal("einsum('ij,jk->ik', A, B)").find("label j") != std::string::npos);
  CHECK(refusal("1/0").find("0") != std::string::npos);
}

TEST_CASE("on rationals `where` takes one branch, and what has no value in the other is left",
          "[formulas]") {
  CHECK(values("where(c == 1, x, x / (c - 1))") == Values{1, 2, 3});
  CHECK(values("where(x == 2, 0, 2 / (x - 2))") == Values{-2, 0, 2});
  CHECK(values("where(x == 2, 0, (2 / (x - 2))[::-1] + 1)") == Values{3, 0, -1});
  // Through sums, products and whole arrays.
  CHECK(values("where(c == 1, 5, sum(x / (c - 1)) * (x @ (x / (x - 2))))") == Values{5});
  CHECK(values("where(x == 2, 7, sum(B / (x[:, None] - 2) * 0, axis=1))") == Values{0, 7, 0});
  CHECK(values("where(c == 1, 5, sum(solve(B * 0, x)) + concatenate([x, x / 0 ** c])[0])") ==
        Values{5});
  CHECK_THROWS_WITH(values("where(x == 2, 2 / (x - 2), 0)"),
                    "2 / 0 is not defined; formulas must not divide by 0");
  CHECK_THROWS_WITH(values("cumsum(where(x == 1, 1 / (x - 1), 0))[2]"), Catch::Contains("1 / 0"));
  CHECK_THROWS_WITH(values("sum(B @ (x / (x - 2)))"), Catch::Contains("2 / 0"));
}

TEST_CASE("what has no value is named when it is computed", "[formulas]") {
  Graph graph;
  CHECK_THROWS_WITH(Evaluator<Rational>({array_of(graph, "exp(c)")}),
                    "exp has no rational values; evaluate the formula in decimals");
  Evaluator<double> root({array_of(graph, "sum(sqrt(x - 2))")});
  root.variable("x")[0] = 1.5;
  root.variable("x")[1] = root.variable("x")[2] = 3;
  root.run();
  CHECK_THROWS_WITH(root.require_defined(), "sqrt(-0.5) is no finite number");
}

}  // namespace
}  // namespace elaborate_test
