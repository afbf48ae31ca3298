#pragma once
/// Symmetries of a loss: changes of the state that leave it the same everywhere, such as W1 -> G W1, W2 -> W2 G^-1.

#include <functional>
#include <string>
#include <vector>

#include "learning/loss_arrays.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::theory_files {

/// Those whose generators are matrices on axes of states, numbers on states that are numbers, and shifts of entries
/// that the loss does not read, in any combination; of their directions, how many are independent at a point of general
/// position. Cost: a gradient at twice as many points as there are generators, and the cube of their number; beyond
/// 400 generators only shifts.
struct LossSymmetries {
  using Gradient = std::function<void(const Vector<double>& x, Vector<double>& slope)>;
  LossSymmetries(const learning::LossArrays& arrays, const Gradient& gradient);

  int unread = 0, others = 0;  ///< directions
  std::vector<std::string> unread_of,
      others_of{};  ///< states that have such, in the order of the text
};

}  // namespace popgrad::theory_files
