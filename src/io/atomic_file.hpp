#pragma once
/// The files that results are written to.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace popgrad {

/// A result that cannot be written although that was tried before it was computed: a full disk, a
/// folder that is gone.
class OutputError : public std::runtime_error {
 public:
  OutputError(const std::filesystem::path& path, int code);
};

/// Writes a whole file or none of it: into a temporary in the same folder, flushed to disk, then
/// renamed. Links are followed; what is no file (a FIFO, a device) is written to as it is.
/// Throws OutputError.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// Throws InputError now if write_atomically(path) could not work later: makes a temporary there.
/// Removes temporaries that processes left in the folder when they were killed.
/// `option` is the one that named the path.
void check_writable(const std::filesystem::path& path, std::string_view option = "-o");

/// The same for a folder to write into, which need not be there yet.
void check_folder(const std::filesystem::path& folder, std::string_view option = "-o");

/// Throws InputError, as of the command `where`, for what is there and is no regular file: what a command
/// reads again, or writes more than once, cannot be a FIFO.
void check_regular(std::string_view where, const std::filesystem::path& output);

/// Removes temporaries that processes left there when they were killed.
void remove_temporaries_left_in(const std::filesystem::path& folder);

/// A whole file that popgrad wrote itself. Throws InputError if it cannot be read.
std::string read_own_file(const std::filesystem::path& path);

}  // namespace popgrad
