// A run of an evaluator of array formulas allocates nothing.

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "bench/allocations.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"

namespace popgrad::formulas {
namespace {

TEST_CASE("a gradient of array formulas is computed without allocations") {
  Graph graph;
  const Dimension n{40, "n"}, d{20, "d"};
  Scope scope{{"n", graph.size("n", n.extent)}, {"d", graph.size("d", d.extent)}};
  std::vector<Array> states;
  for (const auto& [name, shape] :
       std::map<std::string, Shape>{{"U", {d, d}}, {"X", {n, d}}, {"v", {n}}}) {
    scope.emplace(name, graph.variable(name, shape));
    states.push_back(scope.at(name));
  }
  const Array loss = elaborate(
      syntax::parse(
          "sum(softmax(X @ U @ X.T / n) * relu(outer(v, v))) + norm(solve(U + d * eye(d), X.T)) + "
          "logsumexp(v)"
          " + sum(tanh(concatenate([v, X[0, :]]))**2) + sum(cumsum(v[::-1]) * diag(X @ X.T))"),
      graph, scope);
  Evaluator<double> evaluator(gradient(loss, states));
  for (const char* name : {"U", "X", "v"}) {
    double k = 0;
    for (double& entry : evaluator.variable(name)) entry = ++k / 1000;
  }
  evaluator.run();
  const std::size_t before = bench::allocations();
  for (int k = 0; k < 10; ++k) evaluator.run();
  CHECK(bench::allocations() - before == 0);
  evaluator.require_defined();
}

}  // namespace
}  // namespace popgrad::formulas
