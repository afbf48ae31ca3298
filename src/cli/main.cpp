#include <unistd.h>

#include <cstdlib>

#include "cli/commands.hpp"

namespace {

// Threads that have finished their share of a parallel region should sleep soon: by default GCC's
// OpenMP runtime lets them spin for milliseconds, and where another process uses a core, the thread
// that they wait for does not get it back in time (five times slower than one thread alone, measured
// on two cores). Spins of some microseconds cost nothing on a quiet machine. The runtime reads this
// before main begins, hence the second start of the program; a choice of the user's own stands.
void wait_briefly_at_barriers(char** argv) {
  constexpr const char* spins = "1000";
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", spins, 0) != 0) return;
  // Returns where there is no such link to the program; then it goes on as it is.
  ::execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  wait_briefly_at_barriers(argv);
  return popgrad::cli::run({argv + 1, argv + argc});
}
