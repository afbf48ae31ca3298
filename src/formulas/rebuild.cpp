#include "formulas/rebuild.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "formulas/operation.hpp"

namespace popgrad::formulas {

Array same_operation(const Array& old, const std::vector<Array>& inputs) {
  const GraphNode& node = old.node();
  if (node.operation->kind == OperationKind::entrywise)
    return broadcast(apply(node.operation->name, inputs), node.shape);
  GraphNode made = node;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    made.inputs[i] = inputs[i].place;
    if (node.operation->result == Result::same && inputs[i].node().type == Type::real)
      made.type = Type::real;
  }
  return old.graph->add(std::move(made));
}

std::vector<Array> rebuilt(const std::vector<Array>& formulas, const Replacing& replacing) {
  if (formulas.empty()) return {};
  Graph& graph = *formulas.front().graph;
  const std::vector<bool> needed = needed_for(formulas);
  std::map<std::size_t, Array> made;
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const Array old{&graph, k};
    const std::vector<std::size_t> places = old.node().inputs;
    std::vector<Array> inputs;
    bool changed = false;
    for (const std::size_t place : places) {
      inputs.push_back(made.at(place));
      changed = changed || inputs.back().place != place;
    }
    const std::optional<Array> other = replacing(old, inputs);
    made.emplace(k, other ? *other : changed ? same_operation(old, inputs) : old);
  }
  std::vector<Array> results;
  for (const Array& formula : formulas) results.push_back(made.at(formula.place));
  return results;
}

std::vector<Array> variables_of(const std::vector<Array>& formulas) {
  std::vector<Array> found;
  const std::vector<bool> needed = needed_for(formulas);
  for (std::size_t k = 0; k < needed.size(); ++k) {
    const Array array{formulas.front().graph, k};
    if (needed[k] && array.is("variable")) found.push_back(array);
  }
  return found;
}

std::vector<Array> substituted(const std::vector<Array>& formulas,
                               const std::vector<Array>& variables,
                               const std::vector<Array>& replacements) {
  return rebuilt(formulas, [&](const Array& old, const std::vector<Array>& /*inputs*/) {
    const auto found = std::find(variables.begin(), variables.end(), old);
    return found == variables.end()
               ? std::optional<Array>()
               : std::optional(replacements[static_cast<std::size_t>(found - variables.begin())]);
  });
}

}  // namespace popgrad::formulas
