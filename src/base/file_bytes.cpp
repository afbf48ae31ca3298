#include "base/file_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/base/stop.hpp"

namespace popgrad {
namespace {

/// Of what is no regular file, such as /dev/zero.
constexpr double most_of_a_stream = 1e9;
constexpr int between_questions = 100;  // milliseconds

[[noreturn]] void refuse(const std::filesystem::path& path, int code) {
  throw InputError(fmt::format("{}: cannot be read ({}); give a file{}", path.string(),
                               std::strerror(code),
                               code == EISDIR ? ", not a folder" : " that exists"));
}

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& path)
    : path_(path),
      // Blocking, to open a FIFO waits for a writer, and nothing but a signal that kills ends that.
      descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (descriptor_ < 0) refuse(path, errno);
  struct stat status {};
  int code = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (code == 0 && S_ISDIR(status.st_mode)) code = EISDIR;
  if (code != 0) {
    ::close(descriptor_);
    refuse(path, code);
  }
  regular_ = S_ISREG(status.st_mode);
  if (regular_) size_ = static_cast<std::size_t>(status.st_size);
}

ByteStream::~ByteStream() { ::close(descriptor_); }

std::size_t ByteStream::read(std::span<char> piece) {
  while (true) {
    throw_if_stopped();
    if (!regular_) {
      // Of a FIFO that nobody writes to yet, read would say that it has ended.
      pollfd ready{descriptor_, POLLIN, 0};
      if (::poll(&ready, 1, between_questions) <= 0) continue;
    }
    const ssize_t count = ::read(descriptor_, piece.data(), piece.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR && errno != EAGAIN) refuse(path_, errno);
  }
}

std::string bytes_of_file(const std::filesystem::path& path) {
  ByteStream file(path);
  require_memory(static_cast<double>(file.size()), fmt::format("the bytes of {}", path.string()),
                 "give a smaller file");
  std::string text;
  text.reserve(file.size());
  std::string piece(std::size_t{1} << 20, '\0');
  while (const std::size_t count = file.read(piece)) {
    text.append(piece, 0, count);
    if (!file.is_regular() && static_cast<double>(text.size()) > most_of_a_stream) {
      throw InputError(fmt::format("{}: is no file and has more than {}; give a file",
                                   path.string(), bytes_text(most_of_a_stream)));
    }
  }
  return text;
}

}  // namespace popgrad
