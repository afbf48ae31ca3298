#pragma once
/// What an interrupted run leaves behind: enough to go on as if nothing had happened.

#include <filesystem>
#include <string>
#include <vector>

#include "io/input_files.hpp"
#include "io/versions.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// What an interrupted run was made of.
struct CheckpointOrigin {
  std::vector<std::string> words;  ///< its command line
  Fingerprints files;              ///< that it read
  Versions versions;               ///< that made it
};

template <class T>
struct Checkpoint {
  CheckpointOrigin origin;
  std::vector<Trajectory<T>> runs;
};

/// JSON with every number in all its digits; atomic.
template <class T>
void write_checkpoint(const Checkpoint<T>& checkpoint, const std::filesystem::path& path);

/// Where to write one: NAME.checkpoint.json in the folder, else NAME-2.checkpoint.json, ...: an empty file
/// that was not there before. Empty if the folder cannot be written.
std::filesystem::path new_checkpoint(const std::filesystem::path& folder, const std::string& name);

/// To know what to build before the rest is read. Throws InputError, also for a file that is not as
/// popgrad wrote it.
CheckpointOrigin checkpoint_origin(const std::filesystem::path& path);

/// Throws InputError if the file is not as popgrad wrote it.
template <class T>
Checkpoint<T> read_checkpoint(const std::filesystem::path& path);

}  // namespace popgrad
