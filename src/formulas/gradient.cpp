#include "formulas/gradient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "formulas/operation.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::formulas {
namespace {

/// What reaches a node backwards.
struct Adjoint {
  std::optional<Array> sum;
  bool selected = false;  // some of it passed a `where`
};

// A product with the slope of the branch not taken may be 0 times infinity. So a selection moves outward: of
// where(c, g, 0) the contribution is that of g, selected by c after it.
Array selected_contribution(const Operation& op, Pullback p, bool selected) {
  if (op.kind != OperationKind::entrywise || op.linear || !selected) return op.pull(p);
  const Array zero = p.adjoint.number(0), g = p.adjoint;
  if (g.is("where") && g.node().inputs.size() == 3) {
    const bool first = is_zero(g.input(2));
    if (first || is_zero(g.input(1))) {
      p.adjoint = broadcast(g.input(first ? 1 : 2), g.shape());
      const Array inner = op.pull(p);
      return first ? where(g.input(0), inner, zero) : where(g.input(0), zero, inner);
    }
  }
  return where(apply("equal", {g, zero}), zero, op.pull(p));
}

}  // namespace

std::vector<Array> pull_back(const std::vector<Array>& outputs, const std::vector<Array>& adjoints,
                             const std::vector<Array>& variables) {
  Graph& graph = *outputs.front().graph;
  std::size_t end = 0;
  for (const Array& output : outputs) end = std::max(end, output.place + 1);
  std::vector<bool> is_variable(end), needed(end);
  for (const Array& variable : variables) {
    if (variable.place < end) is_variable[variable.place] = needed[variable.place] = true;
  }
  for (std::size_t k = 0; k < end; ++k) {
    const GraphNode& node = graph.node(k);
    if (node.operation->pull == nullptr) continue;
    needed[k] = needed[k] || std::any_of(node.inputs.begin(), node.inputs.end(),
                                         [&](std::size_t input) { return needed[input]; });
  }
  std::vector<Adjoint> all(end);
  const auto add = [&](std::size_t place, const Array& contribution, bool selected) {
    Adjoint& adjoint = all[place];
    const Array fitting = fit(contribution, graph.node(place).shape);
    adjoint.sum = adjoint.sum ? *adjoint.sum + fitting : fitting;
    adjoint.selected = adjoint.selected || selected;
  };
  for (std::size_t k = 0; k < outputs.size(); ++k) add(outputs[k].place, adjoints[k], false);
  for (std::size_t k = end; k-- > 0;) {
    if (!needed[k] || is_variable[k] || !all[k].sum || is_zero(*all[k].sum)) continue;
    const GraphNode& node = graph.node(k);
    const Operation& op = *node.operation;
    Pullback p{.adjoint = *all[k].sum, .result = {&graph, k}, .inputs = {}};
    for (const std::size_t input : node.inputs) p.inputs.push_back({&graph, input});
    for (p.i = 0; p.i < node.inputs.size(); ++p.i) {
      const std::size_t input = node.inputs[p.i];
      if (!needed[input]) continue;
      add(input, selected_contribution(op, p, all[k].selected),
          all[k].selected || op.name == "where");
    }
  }
  std::vector<Array> gradients;
  for (const Array& variable : variables) {
    const bool reached = variable.place < end && all[variable.place].sum;
    gradients.push_back(reached ? *all[variable.place].sum
                                : broadcast(graph.constant(0), variable.shape()));
  }
  return gradients;
}

std::vector<Array> gradient(const Array& loss, const std::vector<Array>& variables) {
  if (loss.rank() != 0) {
    throw InputError(
        fmt::format("the loss has shape {}; it has to be a scalar", to_text(loss.shape())));
  }
  return pull_back({loss}, {loss.number(1)}, variables);
}

// The pull-back of one operation is linear in the adjoint, and its own pull-back, to that, is the derivative.
std::vector<Array> derivative_along(const std::vector<Array>& outputs,
                                    const std::vector<Array>& variables,
                                    const std::vector<Array>& directions) {
  Graph& graph = *outputs.front().graph;
  std::map<std::size_t, Array> along;
  for (std::size_t k = 0; k < variables.size(); ++k)
    along.emplace(variables[k].place, directions[k]);
  std::size_t end = 0;
  for (const Array& output : outputs) end = std::max(end, output.place + 1);
  const std::vector<bool> needed = needed_for(outputs);
  for (std::size_t k = 0; k < end; ++k) {
    const GraphNode& node = graph.node(k);
    if (!needed[k] || along.contains(k) || node.operation->pull == nullptr) continue;
    const Array result{&graph, k};
    const Array adjoint = graph.variable("adjoint", node.shape);
    Pullback p{.adjoint = adjoint, .result = result, .inputs = {}};
    for (const std::size_t input : node.inputs) p.inputs.push_back({&graph, input});
    for (p.i = 0; p.i < node.inputs.size(); ++p.i) {
      const auto direction = along.find(node.inputs[p.i]);
      if (direction == along.end()) continue;
      const Array local = fit(node.operation->pull(p), p.input().shape());
      const Array part = pull_back({local}, {direction->second}, {adjoint})[0];
      const auto [so_far, first] = along.try_emplace(k, part);
      if (!first) so_far->second = so_far->second + part;
    }
  }
  std::vector<Array> derivatives;
  for (const Array& output : outputs) {
    const auto known = along.find(output.place);
    derivatives.push_back(known == along.end() ? broadcast(graph.constant(0), output.shape())
                                               : known->second);
  }
  return derivatives;
}

}  // namespace popgrad::formulas
