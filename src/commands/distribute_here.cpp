#include <omp.h>

#include <algorithm>

#include "commands/distribute.hpp"

namespace popgrad::cli {

int threads_of_process(int jobs) {
  if (process_count() == 1) return jobs;
  const int threads = std::max(1, jobs);
  omp_set_num_threads(threads);
  return threads;
}

bool distribute_here(const std::vector<std::size_t>& cells, const Compute& compute,
                     const Keep& keep, const Report& report) {
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const auto share_done = [&](double fraction) {
      return report((static_cast<double>(k) + fraction) / static_cast<double>(cells.size()));
    };
    const std::optional<std::string> row = compute(cells[k], share_done);
    if (!row) return false;
    keep(cells[k], *row);
    // A cell may end before it looks.
    if (report(static_cast<double>(k + 1) / static_cast<double>(cells.size()))) {
      return k + 1 == cells.size();
    }
  }
  return true;
}

}  // namespace popgrad::cli
