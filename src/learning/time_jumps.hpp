#pragma once
/// Times at which formulas jump: where a comparison, a sign or a floor of what depends on time, and on no state, changes.

#include <cstddef>
#include <optional>
#include <vector>

#include "learning/loss_arrays.hpp"

namespace popgrad::learning {

/// For double and Real. Keeps scratch space.
template <class T>
class TimeJumps {
 public:
  /// Time is the variable `t`, or with `time` that formula of it.
  TimeJumps(const std::vector<Array>& formulas, const LossArrays& arrays,
            const std::vector<std::vector<T>>& parameters, const std::optional<Array>& time = {});
  /// Those in (start, end], ascending, to the spacing of numbers. Comparisons of what is linear in time are found
  /// exactly where they change, others on a grid of 1024 intervals, within which two changes cancel.
  [[nodiscard]] std::vector<T> between(const T& start, const T& end);

 private:
  using Pieces = std::vector<T>;
  Pieces pieces_at(const T& t);
  std::vector<T> levels_at(const T& t);

  std::optional<formulas::Evaluator<T>> pieces_;  ///< constant between jumps; none: nothing jumps
  std::optional<formulas::Evaluator<T>> levels_;  ///< whose zeros, or whole numbers, are jumps
  std::size_t piece_arrays_ = 0, level_arrays_ = 0;
  std::vector<bool> is_floor_;  ///< of each level
};

}  // namespace popgrad::learning
