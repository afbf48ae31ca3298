#pragma once
/// What checks of all theories use: statements and their evidence, solved rungs, limits and orders,
/// refinement.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/evidence/refined_digits.hpp"
#include "popgrad/evidence/solved.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/identity.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "popgrad/scalars/vector.hpp"
#include "popgrad/statistics/order.hpp"

namespace popgrad {

/// By columns, as a record holds them.
inline std::vector<double> numbers_of(const Matrix<double>& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

}  // namespace popgrad
