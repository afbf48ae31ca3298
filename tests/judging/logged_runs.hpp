#pragma once
/// Trajectories as a log of them.

#include <algorithm>
#include <string>
#include <vector>

#include "popgrad/judging/judge.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// These columns of the runs, which have them.
inline std::vector<RecordedRun> logged(const std::vector<Trajectory<double>>& runs,
                                       const std::vector<std::string>& columns) {
  std::vector<RecordedRun> made;
  for (const Trajectory<double>& run : runs) {
    RecordedRun& log = made.emplace_back();
    log.label = "log";
    log.columns = columns;
    log.t = run.t;
    log.gaps.resize(columns.size());
    log.last = log.t.back();
    for (const std::string& name : columns) {
      std::vector<double>& values = log.values.emplace_back();
      const auto at = std::find(run.columns.begin(), run.columns.end(), name) - run.columns.begin();
      for (const std::vector<double>& row : run.rows)
        values.push_back(row[static_cast<std::size_t>(at)]);
    }
  }
  return made;
}

}  // namespace popgrad
