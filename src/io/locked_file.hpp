#pragma once
#include <filesystem>
#include <string_view>

namespace popgrad {

/// A file that one process at a time has, made if missing: what keeps others from the output that it
/// stands for. The lock goes with the open file, so that a process that is killed leaves none. An empty
/// file is removed at the end.
class LockedFile {
 public:
  /// Throws InputError, as of the command `where`, if another process has the file, if it cannot be
  /// made, or if `output` is there and no file: what a command goes on from is read again.
  LockedFile(std::string_view where, std::filesystem::path file,
             const std::filesystem::path& output);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  /// Of the text that is kept in it. Throws OutputError.
  void truncate(std::size_t length);
  /// Throws OutputError.
  void append(std::string_view text);
  /// To the disk, where that is possible.
  void flush() const;
  void remove();

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace popgrad
