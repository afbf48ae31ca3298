#include "io/file_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "popgrad/error.hpp"
#include "popgrad/memory.hpp"
#include "popgrad/stop.hpp"

namespace popgrad {
namespace {

/// Of what is no regular file, such as /dev/zero.
constexpr double most_of_a_stream = 1e9;
constexpr int between_questions = 100;  // milliseconds

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void refuse(const std::filesystem::path& path, int code) {
  throw InputError(fmt::format("{}: cannot be read ({}); give a file that exists", path.string(),
                               std::strerror(code)));
}

}  // namespace

std::string bytes_of_file(const std::filesystem::path& path) {
  // Without it, to open a FIFO waits for a writer, and nothing but a signal that kills ends that.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0) refuse(path, errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) refuse(path, errno);
  if (S_ISDIR(status.st_mode)) refuse(path, EISDIR);
  const bool regular = S_ISREG(status.st_mode);
  const auto size = static_cast<double>(status.st_size);
  if (regular) {
    require_memory(size, fmt::format("the bytes of {}", path.string()), "give a smaller file");
  }
  std::string text;
  text.reserve(regular ? static_cast<std::size_t>(status.st_size) : 0);
  std::string part(std::size_t{1} << 20, '\0');
  while (true) {
    throw_if_stopped();
    if (!regular) {
      // Of a FIFO that nobody writes to yet, read would say that it has ended.
      pollfd ready{file.number(), POLLIN, 0};
      if (::poll(&ready, 1, between_questions) <= 0) continue;
    }
    const ssize_t count = ::read(file.number(), part.data(), part.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) refuse(path, errno);
    if (count == 0) return text;
    text.append(part, 0, static_cast<std::size_t>(count));
    if (!regular && static_cast<double>(text.size()) > most_of_a_stream) {
      throw InputError(fmt::format("{}: is no file and has more than {}; give a file",
                                   path.string(), bytes_text(most_of_a_stream)));
    }
  }
}

}  // namespace popgrad
