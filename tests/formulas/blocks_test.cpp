// Formulas of concatenated arrays taken apart against the same ones whole, on rationals.

#include "formulas/blocks.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"

namespace blocks_test {
namespace {

using namespace popgrad;
using namespace popgrad::formulas;

struct Names {
  Graph graph;
  Dimension n{4, "n"}, d{3, "d"}, more{4, "d + 1"}, longer{5, "n + 1"};
  Scope scope{{"n", graph.size("n", 4)},
              {"d", graph.size("d", 3)},
              {"X", graph.variable("X", {n, d})},
              {"q", graph.variable("q", {d})},
              {"y", graph.variable("y", {n})},
              {"V", graph.variable("V", {more, more})},
              {"A", graph.variable("A", {longer, longer})}};
};

bool has(const Array& formula, std::string_view operation) {
  const std::vector<bool> needed = needed_for({formula});
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (needed[k] && Array{formula.graph, k}.is(operation)) return true;
  }
  return false;
}

const std::string prompt = "block([[X.T, q[:, None]], [y[None, :], 0]])";

TEST_CASE("formulas of blocks are the same ones taken apart", "[formulas]") {
  for (const std::string& text : {
           "(V @ E @ (E.T @ V @ E))[d, n] / n",
           "sum(E**2) - mean(E * A[:-1] + 2)",
           "sum(E @ A, axis=0)[n] + E[1, 2] - E[d, n]",
           "sum((E @ E.T)**2) + sum(outer(E[0], E[d]))",
           "sum(V @ concatenate([q, ones(1)]))",
           "sum(concatenate([X, X[:2]])[1:-1, None] * concatenate([q, q[:1]])[:d])",
           "einsum('ij,ik,jk->', E, V, A[:, :d + 1])",
           "sum((E - 1)[:, ::2]) + max(E) + sum(where(E > 0, E, 0))",
           "concatenate([q, y]) @ concatenate([y, q])",
           "sum(stack([q[0] * y, y]) @ A[:n])",
       }) {
    INFO(text);
    Names names;
    std::string whole = text;
    for (std::size_t at = 0; (at = whole.find('E', at)) != std::string::npos; at += prompt.size())
      whole.replace(at, 1, prompt);
    const Array formula = elaborate(syntax::parse(whole), names.graph, names.scope);
    const Array apart = by_blocks(formula);
    CHECK(formula.rank() == 0);
    CHECK(has(formula, "concatenate"));
    if (text.find("max") == std::string::npos && text.find("::2") == std::string::npos)
      CHECK_FALSE(has(apart, "concatenate"));
    Evaluator<Rational> both({formula, apart});
    long entry = 0;
    for (const char* name : {"X", "q", "y", "V", "A"}) {
      for (Rational& number : both.variable(name)) {
        ++entry;
        number = Rational(entry * 7 % 11 - 5, entry % 3 + 1);
      }
    }
    both.run();
    CHECK(both.output(0)[0] == both.output(1)[0]);
  }
}

TEST_CASE("blocks of zeros leave nothing behind", "[formulas]") {
  Names names;
  const Array zero = by_blocks(elaborate(
      syntax::parse("sum(block([[zeros(d, n), q[:, None]]]) @ concatenate([y, zeros(1)]))"),
      names.graph, names.scope));
  CHECK_FALSE(has(zero, "einsum"));
}

}  // namespace
}  // namespace blocks_test
