#pragma once

namespace popgrad::cli {

/// From now on the first Ctrl-C asks long work to stop and save; the second ends the process.
void watch_for_interrupts();
/// The same for SIGTERM, by which batch systems announce the end of a job; not in a program that
/// has its own way to interrupt commands.
void watch_for_termination();
/// Was it asked to stop?
bool interrupted();

}  // namespace popgrad::cli
