// Expectations over finite laws against enumeration written out.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"
#include "learning/laws.hpp"

namespace laws_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using learning::Draw;

// Rows of X are drawn with probabilities p, labels k with probabilities r, on rationals.
struct Example {
  Graph graph;
  Dimension n{3, "n"}, d{2, "d"}, classes{4, "c"};
  Array X = graph.variable("X", {n, d}), p = graph.variable("p", {n}),
        r = graph.variable("r", {classes}), W = graph.variable("W", {classes, d}),
        i = graph.variable("i", {}, Type::whole), k = graph.variable("k", {}, Type::whole);
  Scope scope{{"n", graph.size("n", 3)}, {"d", graph.size("d", 2)},
              {"c", graph.size("c", 4)}, {"W", W},
              {"x", take(X, i)},         {"k", k}};
  std::vector<Draw> draws{{learning::Law::categorical, i, p, 3},
                          {learning::Law::categorical, k, r, 4}};

  Array loss(const std::string& text) { return elaborate(syntax::parse(text), graph, scope); }
};

Rational entry(std::size_t v, std::size_t i) {
  const auto k = static_cast<long>(5 * v + 7 * i + 1);
  return Rational(k % 11 - 5, static_cast<long>(i + 2));
}

template <class T>
void fill(Evaluator<T>& evaluator) {
  std::size_t v = 0;
  for (const char* name : {"X", "W"}) {
    std::size_t i = 0;
    ++v;
    for (T& number : evaluator.variable(name)) number = T(entry(v, i++));
  }
  const std::vector<Rational> p{{1, 2}, {1, 3}, {1, 6}}, r{{1, 10}, {2, 10}, {3, 10}, {4, 10}};
  std::copy(p.begin(), p.begin() + static_cast<Index>(evaluator.variable("p").size()),
            evaluator.variable("p").begin());
  std::copy(r.begin(), r.begin() + static_cast<Index>(evaluator.variable("r").size()),
            evaluator.variable("r").begin());
}

TEST_CASE("expectations over finite laws are sums over their values", "[formulas]") {
  for (const char* text :
       {"(W @ x)[k]**2", "W[k] @ x + k", "sum(x)**3", "x @ W.T @ W @ x * (k + 1)",
        "sum(relu(W @ x)[:3])", "sum(one_hot(k, c) * (W @ x - 1)**2)",
        "max(W @ x) * where(k > 1, 2, sum(x[::-1] * W[k]))",
        "sum(outer(x, W[0])) + trace(W.T[:, :2] + outer(x, x))",
        "sum(solve(W[:2].T + 10 * eye(d), x)) * sum(W)", "sum(concatenate([x, W[k], W[0]])**2)",
        "sum(cumsum(stack([x, 2 * x]), axis=1))", "prod(x) + mean(W * x)"}) {
    INFO(text);
    Example law;
    const Array loss = law.loss(text);
    const Array mean = learning::expected(loss, learning::read_draws(loss, law.draws));
    std::vector<Array> outputs = gradient(mean, {law.W});
    outputs.push_back(mean);
    Evaluator<Rational> population(outputs);
    fill(population);
    population.run();

    std::vector<Array> single = gradient(loss, {law.W});
    single.push_back(loss);
    Evaluator<Rational> sample(single);
    fill(sample);
    Evaluator<Rational> data({law.p, law.r});
    fill(data);
    std::vector<Rational> total(9);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        if (!sample.variable("i").empty()) sample.variable("i")[0] = static_cast<long>(i);
        if (!sample.variable("k").empty()) sample.variable("k")[0] = static_cast<long>(k);
        sample.run();
        const Rational weight = data.output(0)[i] * data.output(1)[k];
        for (std::size_t j = 0; j < 8; ++j) total[j] += weight * sample.output(0)[j];
        total[8] += weight * sample.output(1)[0];
      }
    }
    for (std::size_t j = 0; j < 8; ++j) CHECK(population.output(0)[j] == total[j]);
    CHECK(population.output(1)[0] == total[8]);
  }
}

TEST_CASE("only draws that are read are enumerated", "[formulas]") {
  Example law;
  const Array free = law.loss("sum(W)"), read = law.loss("sum(x)");
  CHECK(learning::read_draws(free, law.draws).empty());
  CHECK(learning::expected(free, law.draws) == free);
  CHECK(learning::read_draws(read, law.draws).size() == 1);
  CHECK(learning::expected(read, law.draws).rank() == 0);
}

}  // namespace
}  // namespace laws_test
