#pragma once
/// What counts rows and entries, for headers that need no vectors.

#include <cstddef>

namespace popgrad {

using Index = std::ptrdiff_t;  // Eigen::Index; vector.hpp checks it

}  // namespace popgrad
