#pragma once
/// What an interrupted run leaves behind: enough to go on as if nothing had happened.

#include <filesystem>
#include <string>
#include <vector>

#include "popgrad/trajectory.hpp"

namespace popgrad {

template <class T>
struct Checkpoint {
  std::vector<std::string> words;  ///< the command line of the interrupted run
  std::vector<Trajectory<T>> runs;
};

/// JSON with every number in all its digits; atomic.
template <class T>
void write_checkpoint(const Checkpoint<T>& checkpoint, const std::filesystem::path& path);

/// The command line alone, to know what to build before the rest is read. Throws InputError.
std::vector<std::string> checkpoint_words(const std::filesystem::path& path);

/// Throws InputError if the file is damaged or belongs to something else.
template <class T>
Checkpoint<T> read_checkpoint(const std::filesystem::path& path);

}  // namespace popgrad
