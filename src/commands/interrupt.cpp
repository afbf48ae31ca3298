#include "commands/interrupt.hpp"

#include <csignal>

#include "commands/host.hpp"
#include "popgrad/base/interruption.hpp"

namespace popgrad::cli {
namespace {

extern "C" void on_signal(int /*signal*/) {
  interrupt_process();
  // A second one of either finds the default action, which ends the process.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void watch_for_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() {
  if (host().interrupted && host().interrupted()) interrupt_process();
  return process_interrupted();
}

}  // namespace popgrad::cli
