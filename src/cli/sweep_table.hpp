#pragma once
/// The table of a sweep: a row a cell, with what its runs end at, how many succeed, and when.

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/produce.hpp"

namespace popgrad::cli {

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// COLUMN<=VALUE or COLUMN>=VALUE.
struct Condition {
  std::string column;
  bool at_most = true;
  double bound = 0;
};
struct Conditions {
  std::vector<Condition> success;  ///< of the last row of a run
  std::vector<Condition> first;    ///< of any row: when all are first met
};

/// Throws InputError, which names the option.
Condition condition_of(const char* option, const std::string& text);

/// Axes, runs, ended; successes and reached with shares, of an ensemble with intervals; quantiles of the
/// times of `first`; every observable, of an ensemble with deviation and quantiles.
std::string header_of(const std::vector<Axis>& axes, const Conditions& conditions,
                      const std::vector<std::string>& columns, bool ensemble);

/// The fields of one cell behind its axes. `interrupted_here` is set if a run was stopped.
/// Throws InputError for a condition on what is no observable.
std::string row_of(const RungInfo& info, const CommonOptions& cell, const Model& model,
                   const Conditions& conditions, const Report& report, bool& interrupted_here);

}  // namespace popgrad::cli
