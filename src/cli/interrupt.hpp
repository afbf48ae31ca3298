#pragma once

namespace popgrad::cli {

/// From now on the first Ctrl-C asks long work to stop and save; the second ends the process.
void watch_for_interrupts();
/// Was it asked to stop?
bool interrupted();

}  // namespace popgrad::cli
