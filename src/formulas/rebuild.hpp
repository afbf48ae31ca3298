#pragma once
/// Formulas made again from other parts.

#include <functional>
#include <optional>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

/// What stands in the place of a node whose arguments have become `inputs`; none: the same operation on these.
using Replacing =
    std::function<std::optional<Array>(const Array& old, const std::vector<Array>& inputs)>;

/// The same operation on other arguments of the same shapes.
Array same_operation(const Array& old, const std::vector<Array>& inputs);

/// The formulas with what `replacing` gives in the place of their nodes, from the leaves on. Replacements have the
/// shapes of what they replace.
std::vector<Array> rebuilt(const std::vector<Array>& formulas, const Replacing& replacing);

/// Variables that formulas read.
std::vector<Array> variables_of(const std::vector<Array>& formulas);

/// The formulas with all of these nodes, such as variables, replaced at once by arrays of their shapes.
std::vector<Array> substituted(const std::vector<Array>& formulas, const std::vector<Array>& nodes,
                               const std::vector<Array>& replacements);

}  // namespace popgrad::formulas
