#include "cli/interrupt.hpp"

#include <atomic>
#include <csignal>

#include "cli/host.hpp"

namespace popgrad::cli {
namespace {

std::atomic<bool> asked{false};

extern "C" void on_interrupt(int signal) {
  asked = true;
  // A second one finds the default action, which ends the process.
  std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_for_interrupts() { std::signal(SIGINT, on_interrupt); }

void watch_for_termination() {
  if (!host().interrupted) std::signal(SIGTERM, on_interrupt);
}

bool interrupted() { return asked || (host().interrupted && host().interrupted()); }

}  // namespace popgrad::cli
