#pragma once
/// |V|_F^2 / |V|_2^2: how many directions a matrix uses.

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::joma {

/// Stable rank of V (M_C x K); 0 at V = 0, where it is undefined. For ordered scalars, through the
/// largest eigenvalue of the smaller Gram matrix. Cost O(M_C K min(M_C, K)).
template <class T>
T stable_rank(const Matrix<T>& v);

}  // namespace popgrad::joma
