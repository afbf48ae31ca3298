#pragma once
/// Syntax trees as text in three notations, with as few brackets as each needs.

#include <span>
#include <string>

#include "formulas/syntax.hpp"

namespace popgrad::formulas::syntax {

/// Parses back to the same tree.
std::string to_numpy(const Tree& tree);
/// `ranks`: numbers of axes of the nodes, where known. A product with a scalar is written without a sign, one
/// by entries as \odot.
std::string to_latex(const Tree& tree, std::span<const int> ranks = {});
/// C++ for arrays of xtensor and xtensor-blas; sizes are doubles. Functions that these have not (relu, softmax,
/// einsum, ...) keep their names.
std::string to_cpp(const Tree& tree, std::span<const int> ranks = {});

}  // namespace popgrad::formulas::syntax
