#pragma once
/// One error bound for all components of one solution.

#include <vector>

#include "popgrad/scalars/quantity.hpp"

namespace popgrad {

/// The same values, each with the largest part of any of them under each name. Two solves may agree
/// in one component by chance, which says nothing of its error; in the worst one they do not.
/// For components of one unit and of comparable size.
std::vector<Quantity> with_common_error(const std::vector<Quantity>& components);

}  // namespace popgrad
