#include "io/locked_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {

namespace fs = std::filesystem;

LockedFile::LockedFile(std::string_view where, fs::path file, const fs::path& output)
    : path_(std::move(file)) {
  check_regular(where, output);
  const auto refuse = [&](const std::string& why) {
    reject(where, "--output", output.string(), why);
  };
  while (true) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) {
      refuse(fmt::format("has {} next to it, which cannot be written ({})", path_.string(),
                         std::strerror(errno)));
    }
    // Folders that have no locks are written without.
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(file_);
      refuse("is being made by another process; wait for it, or name another file");
    }
    // A process that ends removes its file: it may have been this.
    struct stat status {};
    if (::fstat(file_, &status) == 0 && status.st_nlink > 0) return;
    ::close(file_);
  }
}

LockedFile::~LockedFile() {
  if (file_ < 0) return;
  struct stat status {};
  if (::fstat(file_, &status) == 0 && status.st_size == 0) ::unlink(path_.c_str());
  ::close(file_);
}

void LockedFile::truncate(std::size_t length) {
  if (::ftruncate(file_, static_cast<off_t>(length)) == 0) return;
  throw OutputError(path_, errno);
}

void LockedFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw OutputError(path_, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void LockedFile::flush() const { static_cast<void>(::fdatasync(file_)); }

void LockedFile::remove() {
  ::unlink(path_.c_str());
  ::close(file_);
  file_ = -1;
}

}  // namespace popgrad
