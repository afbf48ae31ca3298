/// Without MPI: one process.

#include "commands/distribute.hpp"

namespace popgrad::cli {

Processes::Processes() = default;
Processes::~Processes() = default;
int process_count() { return 1; }
int process_rank() { return 0; }
void serve(const Compute& /*compute*/) {}

bool distribute(const std::vector<std::size_t>& cells, const Compute& compute, const Keep& keep,
                const Report& report) {
  return distribute_here(cells, compute, keep, report);
}

}  // namespace popgrad::cli
