#pragma once
/// The table of a sweep: a row a cell, with what its runs end at, how many succeed, and when.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/sweep_grid.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {

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

/// How many runs an ensemble has: as many as asked for, or further ones, as many at a time, until
/// the interval of the share of successes is no wider than `width`.
struct Replication {
  double width = 0;       ///< 0: as many as asked for
  std::int64_t most = 0;  ///< runs of a cell, with a width
};

/// Whether the 95 % interval (Wilson) of a share is as narrow as this.
bool narrow_enough(std::size_t successes, std::size_t runs, double width);

/// Axes, runs, ended; successes and reached with shares, of an ensemble with intervals; quantiles of the
/// times of `first`; every observable, of an ensemble with deviation and quantiles.
std::string header_of(const std::vector<Axis>& axes, const Conditions& conditions,
                      const std::vector<std::string>& columns, bool ensemble);

/// The fields of one cell behind its axes; none if a run was interrupted. They depend on how many
/// runs there are, not on how many were made at a time.
/// Throws InputError for a condition on what is no observable.
std::optional<std::string> row_of(const RungInfo& info, const CommonOptions& cell,
                                  const Model& model, const Conditions& conditions,
                                  const Replication& replication, const Report& report);

/// Throws InputError where `row_of` would before it computes.
void check_cell(const RungInfo& info, const CommonOptions& cell, const Model& model,
                const Conditions& conditions);

/// The row of a cell that is refused: no runs, and nothing else. `axes`: its values with a comma behind each.
std::string refused_row(const std::string& axes, const std::string& header);

/// Cells of a table of which no run ended, each as `AXIS=VALUE, ...`.
std::vector<std::string> failed_cells(const std::string& csv);

/// How many rows of a table stopped at `replication.most` runs with a wider interval, and the first
/// of them as `AXIS=VALUE, ...`.
struct WideCells {
  std::size_t count = 0;
  std::string first;
};
WideCells wide_cells(const std::string& csv, const Replication& replication);

}  // namespace popgrad::cli
