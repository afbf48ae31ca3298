#pragma once
/// The cells of a sweep: every combination of the values of its axes, the last axis fastest.

#include <cstddef>
#include <string>
#include <vector>

#include "commands/options.hpp"

namespace popgrad::cli {

/// Where errors say that they come from.
inline constexpr const char* popgrad_sweep = "popgrad sweep";

struct Axis {
  std::string name;
  std::vector<std::string> values;  ///< as typed
};

class SweepGrid {
 public:
  /// From NAME=v,v,... or NAME=LOW:HIGH:COUNT, one each. Throws InputError, also for names that
  /// neither a walk, a solve nor the model has, and beyond a million cells.
  SweepGrid(const std::vector<std::string>& axes, const Command& command, const Model& model);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] std::size_t cells() const { return cells_; }
  /// One a axis. `cell` < cells().
  [[nodiscard]] std::vector<std::string> values_of(std::size_t cell) const;
  /// The options of one cell. Throws InputError for a value that its option does not take.
  [[nodiscard]] CommonOptions options_of(std::size_t cell, const CommonOptions& common) const;

 private:
  std::vector<Axis> axes_;
  std::size_t cells_ = 1;
};

}  // namespace popgrad::cli
