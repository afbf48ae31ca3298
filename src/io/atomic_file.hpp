#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace popgrad {

/// Writes a whole file or none of it: into a temporary beside it, flushed to disk, then renamed.
/// Throws InputError if the folder cannot be written.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// Throws InputError now if write_atomically(path) could not work later.
void check_writable(const std::filesystem::path& path);

/// A whole file. Throws InputError if it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace popgrad
