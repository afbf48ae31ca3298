#pragma once
/// A matrix as rows `column, row, value` of a heat map.

#include <string_view>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::topic::figures {

inline void add_matrix(FigureTable& table, std::string_view label, const Matrix<double>& matrix,
                       std::string_view column = "column", std::string_view row = "row") {
  table.block(label);
  for (Index j = 0; j < matrix.cols(); ++j) {
    for (Index i = 0; i < matrix.rows(); ++i) table.add(column, j, row, i, "value", matrix(i, j));
  }
}

}  // namespace popgrad::topic::figures
