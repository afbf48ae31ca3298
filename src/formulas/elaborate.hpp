#pragma once
/// From syntax to a graph: names get arrays, shapes are checked. At other sizes the same tree gives another graph.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "formulas/graph.hpp"
#include "formulas/syntax.hpp"

namespace popgrad::formulas {

/// What names stand for: sizes (Graph::size), variables, formulas before.
using Scope = std::map<std::string, Array, std::less<>>;

/// Throws FormulaError with the place and what would do.
Array elaborate(const syntax::Tree& tree, Graph& graph, const Scope& scope);

/// Names of functions that formulas may call.
std::vector<std::string> function_names();

}  // namespace popgrad::formulas
