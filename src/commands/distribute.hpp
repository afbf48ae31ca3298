#pragma once
/// Cells of a sweep, or blocks of runs, given out to those who compute them: this process, or the
/// processes of an mpirun.
///
/// Of several processes the first one gives out cells, one at a time to whoever is free, and
/// collects what they give; the others compute. Results do not depend on how many there are.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runs/run.hpp"

namespace popgrad::cli {

/// The processes that work on one command. The program has one such object from its beginning to
/// its end; without MPI, and where nothing was started by mpirun, there is one process.
class Processes {
 public:
  Processes();
  /// The first dismisses the others; these wait for that.
  ~Processes();  // NOLINT(performance-trivially-destructible): with MPI it is not
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
};
int process_count();
/// 0 is the first.
int process_rank();
/// Threads for what is computed here, where --jobs asks for `jobs` (0: all cores): one of several
/// processes has a single one by default, as every core has a process of its own. Sets OpenMP's own
/// default to it then.
int threads_of_process(int jobs);

/// The row of a cell (or any bytes), or nothing if it was interrupted. May throw.
using Compute = std::function<std::optional<std::string>(std::size_t cell, const Report& report)>;
using Keep = std::function<void(std::size_t cell, const std::string& row)>;

/// In the first process: `compute` for every cell, here or elsewhere, begun in the order of
/// `cells`; `keep` for each, here, as they come. `report` is called with the share done and says
/// whether to stop. Returns false if it was stopped: cells that were begun are given up then.
/// Throws what the first cell in order that fails throws, an InputError as such, once all cells
/// before it are kept.
bool distribute(const std::vector<std::size_t>& cells, const Compute& compute, const Keep& keep,
                const Report& report);

/// In any other process: computes what the first gives out, until that dismisses it. What `compute`
/// throws is thrown by the first.
void serve(const Compute& compute);

/// `distribute` within this process.
bool distribute_here(const std::vector<std::size_t>& cells, const Compute& compute,
                     const Keep& keep, const Report& report);

}  // namespace popgrad::cli
