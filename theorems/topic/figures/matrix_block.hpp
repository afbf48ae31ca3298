#pragma once
/// A matrix as rows `column, row, value` of a heat map.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::topic::figures {

inline void add_matrix(CsvText& csv, const Matrix<double>& matrix) {
  for (Index j = 0; j < matrix.cols(); ++j) {
    for (Index i = 0; i < matrix.rows(); ++i) {
      csv.number(static_cast<double>(j)).number(static_cast<double>(i)).number(matrix(i, j));
      csv.end_row();
    }
  }
  csv.end_block();
}

}  // namespace popgrad::topic::figures
