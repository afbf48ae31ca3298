#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace popgrad {

/// A file, a pipe or a FIFO, read piece by piece. Asks while it waits, also for somebody who writes to a
/// FIFO, whether to stop, and throws Stopped then. Throws InputError if it cannot be read.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// How many bytes of `piece` were filled, in one read; 0 at the end.
  std::size_t read(std::span<char> piece);
  /// Of a regular file, in bytes; 0 of others.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_regular() const { return regular_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
  bool regular_ = false;
  std::size_t size_ = 0;
};

/// All bytes of it. Throws InputError also if they need more memory than may be taken, or if it is no
/// regular file and has no end.
std::string bytes_of_file(const std::filesystem::path& path);

}  // namespace popgrad
