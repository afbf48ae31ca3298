#pragma once
/// Every column of every rung, computed again from its definition alone: plain loops over the whole
/// vocabulary, nothing shared with src/. Drawn numbers (a random output layer, a kernel) are data and
/// are read from the instance.

#include <map>
#include <string>
#include <vector>

#include "laws/cases.hpp"

namespace popgrad::laws {

using Columns = std::map<std::string, double>;
using Grid = std::vector<std::vector<double>>;  ///< rows of numbers

inline Grid zeros(Index rows, Index cols) {
  return Grid(static_cast<std::size_t>(rows),
              std::vector<double>(static_cast<std::size_t>(cols), 0.0));
}
inline Grid grid(const Matrix<double>& m) {
  Grid g = zeros(m.rows(), m.cols());
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) {
      g[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = m(i, j);
    }
  }
  return g;
}

/// -sum p ln p of p proportional to the weights.
double entropy_of(const std::vector<double>& weights);

// One a model; each in the file of its name.
Columns joma_columns(const Case& made, const AnyRung<double>& rung, const Point& at);
Columns multilayer_columns(const Case& made, const AnyRung<double>& rung, const Point& at);
Columns scan_snap_columns(const Case& made, const AnyRung<double>& rung, const Point& at);
Columns scb_columns(const Case& made, const AnyRung<double>& rung, const Point& at);
Columns topic_columns(const Case& made, const AnyRung<double>& rung, const Point& at);

}  // namespace popgrad::laws
