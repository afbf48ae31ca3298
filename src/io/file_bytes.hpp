#pragma once
#include <filesystem>
#include <string>

namespace popgrad {

/// All bytes of a file, a pipe or a FIFO. Asks while it waits, also for somebody who writes to a FIFO,
/// whether to stop, and throws Stopped then. Throws InputError if it cannot be read, needs more memory than
/// may be taken, or is no regular file and has no end.
std::string bytes_of_file(const std::filesystem::path& path);

}  // namespace popgrad
