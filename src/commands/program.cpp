#include "popgrad/commands/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

// Threads that have finished their share of a parallel region should sleep soon: by default OpenMP
// runtimes let them spin for milliseconds (GCC's; Clang's up to 200), and where another process uses
// a core, the thread that they wait for does not get it back in time (five times slower than one
// thread alone, measured on two cores). Spins of some microseconds, or none, cost little on a quiet
// machine. Clang's runtime reads this at the first parallel region; GCC's before main begins, hence the
// second start of the program. A choice of the user's own stands.
void wait_briefly_at_barriers([[maybe_unused]] char** argv) {
  for (const char* choice : {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_WAIT_POLICY"}) {
    if (std::getenv(choice) != nullptr) return;
  }
  if (::setenv("GOMP_SPINCOUNT", "1000", 0) != 0 || ::setenv("KMP_BLOCKTIME", "0", 0) != 0) return;
#ifndef __clang__
  // Returns where there is no such link to the program; then it goes on as it is.
  ::execv("/proc/self/exe", argv);
#endif
}

}  // namespace

int main(int argc, char** argv, Theories theories) {
  wait_briefly_at_barriers(argv);
  const cli::Host host = cli::host_of_program();
  try {
    check_theories(theories);
  } catch (const InputError& error) {
    fmt::print(host.errors, "{}\n", error.what());
    return cli::bad_input;
  }
  return cli::run(
      {{argv + 1, argv + argc}, theories, std::filesystem::path(argv[0]).filename(), &host});
}

}  // namespace popgrad
