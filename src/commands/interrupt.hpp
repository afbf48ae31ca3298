#pragma once

namespace popgrad::cli {

/// From now on the first Ctrl-C or SIGTERM, by which batch systems announce the end of a job, asks long
/// work to stop and save (popgrad/base/stop.hpp); the second ends the process.
void watch_for_signals();
/// Was the command asked to stop, by a signal or by the program around it?
bool interrupted();

}  // namespace popgrad::cli
