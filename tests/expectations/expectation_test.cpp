// Exact expectations over normal draws against closed forms and product rules written out.

#include "expectations/expectation.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"
#include "formulas/print.hpp"
#include "formulas/simplify.hpp"
#include "formulas/written.hpp"
#include "popgrad/scalars/rational.hpp"

namespace expectation_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using expectations::expectation;
using expectations::Expectation;
using expectations::NormalDraw;

// Formulas of variables with numbers and of standard normal draws.
struct Example {
  Graph graph;
  Scope scope{};
  std::vector<NormalDraw> draws{};
  std::map<std::string, std::vector<Rational>> numbers{};

  void size(const std::string& name, Index value) { scope.emplace(name, graph.size(name, value)); }
  static Shape shape_of(const std::vector<Index>& extents) {
    Shape shape;
    for (const Index extent : extents) shape.push_back({extent, {}});
    return shape;
  }
  Array variable(const std::string& name, const std::vector<Index>& extents,
                 const std::vector<Rational>& values) {
    numbers[name] = values;
    return scope.emplace(name, graph.variable(name, shape_of(extents))).first->second;
  }
  void draw(const std::string& name, const std::vector<Index>& extents,
            const std::string& covariance = "") {
    NormalDraw made{graph.variable(name, shape_of(extents))};
    if (!covariance.empty()) made.covariance = array(covariance);
    scope.emplace(name, made.variable);
    draws.push_back(made);
  }
  void step(const std::string& name, const std::string& formula) {
    scope.emplace(name, array(formula));
  }
  Array array(const std::string& formula) {
    return elaborate(syntax::parse(formula), graph, scope);
  }

  Array mean(const std::string& formula) {
    const Expectation found = expectation(array(formula), draws);
    INFO(formula << ": " << found.why);
    REQUIRE(found.mean);
    for (const NormalDraw& draw : draws) {
      const std::size_t place = draw.variable.place;
      CHECK((place > found.mean->place || !needed_for({*found.mean})[place]));
    }
    return *found.mean;
  }
  template <class T>
  std::vector<T> values(const std::vector<Array>& outputs) const {
    Evaluator<T> evaluator(outputs);
    for (const auto& [name, given] : numbers) {
      const auto to = evaluator.variable(name);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = from_rational<T>(given[i]);
    }
    evaluator.run();
    std::vector<T> all;
    for (std::size_t k = 0; k < outputs.size(); ++k)
      all.insert(all.end(), evaluator.output(k).begin(), evaluator.output(k).end());
    return all;
  }
  Rational value(const std::string& formula) { return values<Rational>({mean(formula)})[0]; }

  template <class T>
  static T from_rational(const Rational& x) {
    if constexpr (std::is_same_v<T, Rational>) {
      return x;
    } else {
      return nearest_double(x);
    }
  }
};

TEST_CASE("phase retrieval with noise is the quartic of its covariances", "[expectations]") {
  Example test;
  // S = A A', A lower triangular.
  test.variable("A", {2, 2}, {1, 0, {2, 5}, {7, 10}});
  test.variable("w", {2}, {{3, 10}, {-1, 2}});
  test.variable("v", {2}, {1, {1, 4}});
  test.variable("tau", {}, {{1, 2}});
  test.draw("z", {2});
  test.draw("e", {});
  test.step("x", "A @ z");
  const Array mean = test.mean("((w @ x)**2 - (v @ x)**2 - tau * e)**2 / 4");
  std::vector<Array> outputs{mean};
  outputs.push_back(gradient(mean, {test.scope.at("w")})[0]);
  const std::vector<Rational> found = test.values<Rational>(outputs);
  CHECK(found[0] == Rational(114546201171875, 100000000000000));
  CHECK(found[1] == Rational(-1915625, 10000000));
  CHECK(found[2] == Rational(117996875, 1000000000));
}

TEST_CASE("pairs of samples of one variance", "[expectations]") {
  Example test;
  test.size("n", 3);
  test.variable("L", {2}, {1, {1, 4}});
  test.variable("W", {2, 2}, {{1, 2}, -1, {3, 4}, {1, 5}});
  test.draw("z", {3, 2});
  test.step("X", "sqrt(L) * z");
  CHECK(test.value("sum(where(eye(n) == 1, 0, (X @ W @ X.T)**2)) / (n * (n - 1))") ==
        Rational(643125, 1000000));
  CHECK(test.value("sum((X @ W @ X.T)**2) / n**2") == Rational(703125, 1000000));
  // At n = 1 the sum over pairs is divided by 0, which is reported where it is evaluated.
  Example one;
  one.size("n", 1);
  one.draw("x", {1});
  const Expectation divided = expectation(
      one.array("sum(where(eye(n) == 1, 0, outer(x, x)**2)) / (n * (n - 1))"), one.draws);
  if (divided.mean) {
    CHECK_THROWS(one.values<Rational>({*divided.mean}));
  } else {
    CHECK(divided.why.find("0") != std::string::npos);
  }
}

TEST_CASE("a whole layer of linear attention with the query in its sums", "[expectations]") {
  const std::string y =
      "((p @ (X.T @ X + outer(q, q)) + u * (y @ X)) @ U @ q + "
      "(p @ (X.T @ y) + u * (y @ y)) * (r @ q)) / n";
  const auto loss_at = [&](Index n, Index d, const std::vector<Rational>& p,
                           const std::vector<Rational>& r, const Rational& u,
                           const std::vector<Rational>& U) {
    Example test;
    test.size("n", n);
    test.variable("p", {d}, p);
    test.variable("r", {d}, r);
    test.variable("u", {}, {u});
    test.variable("U", {d, d}, U);
    test.draw("w", {d});
    test.draw("q", {d});
    test.draw("X", {n, d});
    test.step("y", "X @ w");
    return test.value("(" + y + " - w @ q)**2 / 2");
  };
  CHECK(loss_at(3, 1, {{1, 2}}, {{3, 10}}, {4, 5}, {{7, 10}}) == Rational(90475, 100000));
  // Twice the loss in closed form, U not symmetric.
  const auto closed = [](Index n, Index d, const std::vector<Rational>& p,
                         const std::vector<Rational>& r, const Rational& u,
                         const std::vector<Rational>& U) {
    Example form;
    form.size("n", n);
    form.size("d", d);
    form.variable("p", {d}, p);
    form.variable("r", {d}, r);
    form.variable("u", {}, {u});
    form.variable("U", {d, d}, U);
    form.step("S", "(U + U.T) / 2");
    form.step("tr", "trace(S)");
    form.step("k", "1 + (d + 1) / n");
    return form.values<Rational>({form.array(
        "((1 + 1/n) * sum((p @ U)**2) + sum(U**2) * (p @ p) / n + ((p @ p) * (tr**2 + 2 * "
        "sum(S**2)) "
        "+ 4 * tr * (p @ S @ p) + 8 * sum((S @ p)**2)) / n**2 + u**2 * (r @ r) * d * (d + 2) * (n "
        "+ "
        "2) / n + 2 * (tr * (p @ U @ p) + 2 * (p @ U @ S @ p)) / n + 2 * u * (d + 2/n) * (p @ U "
        "@ "
        "r) + 2 * u * d * (tr * (p @ r) + 2 * (p @ S @ r)) / n + k * (u**2 * sum(U**2) + (r @ r) * "
        "(p @ p) + 2 * u * (p @ U @ r)) - 2 * u * tr - 2 * (p @ r) + d) / 2")})[0];
  };
  for (const Index n : {1, 3, 5}) {
    const std::vector<Rational> p{{1, 2}, {-1, 4}}, r{{3, 10}, {2, 5}},
        U{{1, 2}, {1, 3}, {-1, 5}, {3, 4}};
    const Rational u(2, 3);
    CHECK(loss_at(n, 2, p, r, u, U) == closed(n, 2, p, r, u, U));
  }
}

TEST_CASE("draws with a covariance are those of its root", "[expectations]") {
  Example test;
  test.variable("A", {2, 2}, {1, 0, {2, 5}, {7, 10}});
  test.variable("w", {2}, {{3, 10}, {-1, 2}});
  test.variable("v", {2}, {1, {1, 4}});
  test.variable("U", {2, 2}, {{1, 2}, -1, {1, 3}, 2});
  test.step("S", "A @ A.T");
  test.draw("x", {2}, "S");
  test.draw("X", {3, 2}, "S");
  test.draw("z", {2});
  test.draw("Z", {3, 2});
  const auto check_equal = [&](const std::string& own, const std::string& rooted) {
    INFO(own);
    CHECK(test.value(own) == test.value(rooted));
  };
  check_equal("((w @ x)**2 - (v @ x)**2 - z[0])**2", "((w @ A @ z)**2 - (v @ A @ z)**2 - z[1])**2");
  check_equal("sum((X @ U @ X.T)**2)", "sum((Z @ A.T @ U @ A @ Z.T)**2)");
  check_equal("sum((X @ x)**2 * (X @ w)**2)", "sum((Z @ A.T @ A @ z)**2 * (Z @ A.T @ w)**2)");
  // w S v and v S w are one term.
  CHECK(expectation(test.array("(w @ x) * (v @ x) + 2 * (v @ x) * (w @ x)"), test.draws).terms ==
        1);
  test.draw("y", {2}, "outer(x, x)");
  CHECK(expectation(test.array("w @ y"), test.draws).why.find("covariance") != std::string::npos);
}

TEST_CASE("labels of the factors of a power are their own", "[expectations]") {
  Example test;
  test.draw("x", {3});
  test.draw("M", {2, 3});
  test.variable("p", {3}, {{1, 2}, -1, {2, 3}});
  const Rational square = Rational(1, 4) + 1 + Rational(4, 9);
  CHECK(test.value("sum(x)**2") == 3);
  CHECK(test.value("sum(x**2)") == 3);
  CHECK(test.value("sum(x**2)**2") == 15);
  CHECK(test.value("norm(x)**4") == 15);
  CHECK(test.value("sum(x)**4") == 27);
  CHECK(test.value("(p @ x)**12") == 10395 * square * square * square * square * square * square);
  CHECK(test.value("trace(M @ M.T)") == 6);
  CHECK(test.value("sum((M @ M.T)**2)") == 36);
  CHECK(test.value("sum(x)") == 0);
  CHECK(test.value("x[1]**2 + sum(x[::2])**2 + mean(x)**2") == 3 + Rational(1, 3));
  CHECK(test.value("sum(concatenate([x, M[0]])**2) + sum(cumsum(x)**2) + sum(diag(x)**2)") == 15);
  CHECK(test.value("(2 + x[0])**2 * (x[1] - 1)") == -5);
  CHECK(test.values<Rational>({test.mean("outer(x, x) + 1")}) ==
        std::vector<Rational>{2, 1, 1, 1, 2, 1, 1, 1, 2});
}

TEST_CASE("what has no exact expectation says why", "[expectations]") {
  Example test;
  test.draw("x", {2});
  test.variable("w", {2}, {1, 2});
  for (const auto& [formula, why] : {std::pair{"1 / (1 + sum(x**2))", "a division by draws"},
                                     {"tanh(sum(x**2))", "tanh of products of draws"},
                                     {"sum(x)**16", "pairings"},
                                     {"where(x[0] == 0, 1, 0)", "equal of draws"},
                                     {"where(w[0] > 0, x[0] / w[0], 0)", "may not be defined"}}) {
    const Expectation found = expectation(test.array(formula), test.draws);
    INFO(formula << ": " << found.why);
    CHECK_FALSE(found.mean);
    CHECK(found.why.find(why) != std::string::npos);
  }
}

TEST_CASE("in-context regression has the closed form of arXiv 2306.09927", "[expectations]") {
  // Prompt of n pairs, d dimensions, covariance diag(L), Gamma = (1 + 1/n) L + tr(L)/n:
  //   2 E loss = u^2 tr(Gamma L U L U') - 2 u tr(U L L) + tr L
  Example test;
  constexpr Index n = 40, d = 20;
  test.size("n", n);
  test.size("d", d);
  std::vector<Rational> variances, entries;
  for (long i = 0; i < d; ++i) variances.emplace_back(1, 1 + i);
  for (long i = 0; i < d * d; ++i) entries.emplace_back(i * i % 17 - 8, 10);
  test.variable("L", {d}, variances);
  test.variable("U", {d, d}, entries);
  test.variable("u", {}, {{3, 5}});
  test.draw("w", {d});
  test.draw("zx", {n, d});
  test.draw("zq", {d});
  test.step("x", "sqrt(L) * zx");
  test.step("q", "sqrt(L) * zq");
  const std::string loss = "(u * (x @ w) @ x @ U @ q / n - w @ q)**2 / 2";
  const Expectation found = expectation(test.array(loss), test.draws);
  REQUIRE(found.mean);
  CHECK(found.pairings <= 5);
  const Array closed = test.array(
      "(u**2 * sum(((1 + 1/n) * L + sum(L) / n) * L * ((U**2) @ L)) - 2 * u * sum(diag(U) * L**2) "
      "+ "
      "sum(L)) / 2");
  std::vector<Array> outputs{*found.mean - closed};
  const std::vector<Array> variables{test.scope.at("U"), test.scope.at("u")};
  const std::vector<Array> ours = gradient(*found.mean, variables),
                           theirs = gradient(closed, variables);
  for (std::size_t k = 0; k < 2; ++k) outputs.push_back(ours[k] - theirs[k]);
  for (const Rational& difference : test.values<Rational>(outputs)) CHECK(difference == 0);
}

TEST_CASE("heads of linear attention are one with the sum of their matrices", "[expectations]") {
  Example test;
  test.size("n", 3);
  test.variable("u", {2}, {{1, 2}, {-2, 3}});
  test.variable("U", {2, 2, 2}, {1, {1, 3}, {-1, 2}, 2, {3, 4}, 0, {1, 5}, -1});
  for (const auto& [name, extents] :
       {std::pair<std::string, std::vector<Index>>{"w", {2}}, {"X", {3, 2}}, {"q", {2}}})
    test.draw(name, extents);
  test.step("V", "einsum('a,aij->ij', u, U)");
  const Array mean = test.mean("(einsum('a,i,aij,j->', u, (X @ w) @ X / n, U, q) - w @ q)**2 / 2");
  const Array closed = test.array("((1 + 3 / n) * sum(V**2) - 2 * trace(V) + 2) / 2");
  CHECK(test.values<Rational>({mean - closed})[0] == 0);
}

TEST_CASE("three layers of a linear network are one term", "[expectations]") {
  Example test;
  test.variable("A", {2, 2}, {1, 2, 3, 4});
  test.variable("W1", {3, 2}, {1, 0, {1, 2}, 1, -1, 2});
  test.variable("W2", {2, 3}, {{1, 3}, 1, 0, 2, -1, {1, 4}});
  test.variable("W3", {2, 2}, {2, {1, 2}, -1, 1});
  test.draw("x", {2});
  const Expectation found =
      expectation(test.array("sum((A @ x - W3 @ W2 @ W1 @ x)**2) / 2"), test.draws);
  REQUIRE(found.mean);
  CHECK(found.terms == 1);
  CHECK(test.values<Rational>({*found.mean - test.array("sum((A - W3 @ W2 @ W1)**2) / 2")})[0] ==
        0);
}

// Draws X (n, d), w (d), with the names of these sizes.
struct Sized : Example {
  Sized(Index n, Index d) {
    size("n", n);
    size("d", d);
    for (const auto& [name, shape] :
         {std::pair{"X", Shape{{n, "n"}, {d, "d"}}}, {"w", Shape{{d, "d"}}}}) {
      draws.push_back({graph.variable(name, shape)});
      scope.emplace(name, draws.back().variable);
    }
  }
  std::string text(const std::string& formula) {
    return syntax::to_numpy(written(in_numpy(simplified({mean(formula)}))[0]).tree);
  }
};

TEST_CASE("sizes keep their names in expectations", "[expectations][sizes]") {
  Sized test(4, 3);
  CHECK(test.text("mean((X @ w)**2)") == "d");
  CHECK(test.text("sum((X @ w)**2) / n") == "d");
  CHECK(test.text("sum((X @ w)**2) / 4") == "0.25 * n * d");
  CHECK(test.text("sum(X[1:]**2)") == "d * (n - 1)");
  for (const std::string formula :
       {"mean((X @ X.T)**2)", "(sum(X**2) / (n * (n + 1)) - 1)**2", "sum(mean(X, 0)**2) / (d + 1)",
        "sum((X.T @ X / n - eye(d))**2) / ((n - 1) * (d + 2))", "sum(X @ w)**4 / (n**2 - 1)",
        "(sum(w**2) - d)**2 / (n + d)**2", "sum(w**2) / (1 + 1/n)",
        "sum(where(eye(n) == 1, 0, (X @ X.T)**2)) / (n * (n - 1))",
        "sum(concatenate([w, w])**2) / (d // 2)"}) {
    const std::string text = test.text(formula);
    INFO(formula << ": " << text);
    // What is printed at these sizes is right at others.
    for (const auto& [n, d] : {std::pair{4, 3}, {2, 5}, {5, 2}}) {
      Sized other(n, d);
      Example numbers;
      numbers.size("n", n);
      numbers.size("d", d);
      CHECK(other.value(formula) == numbers.values<Rational>({numbers.array(text)})[0]);
    }
  }
}

TEST_CASE("a difference of products of matrices is kept where it is squared", "[expectations]") {
  Example test;
  test.variable("S", {2, 2}, {1, 2, 3, 4});
  test.variable("V", {2, 2}, {1, 0, {1, 2}, 1});
  test.variable("W", {2, 2}, {{1, 3}, 1, 0, 2});
  test.draw("x", {2});
  const Expectation found = expectation(test.array("sum((S @ x - V @ W @ x)**2)"), test.draws);
  REQUIRE(found.mean);
  CHECK(found.terms == 1);
  CHECK(test.values<Rational>({*found.mean - test.array("sum((S - V @ W)**2)")})[0] == 0);
}

}  // namespace
}  // namespace expectation_test
