#include "commands/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace popgrad::cli {

namespace {

// Drops what cannot be written: no other stream is left to report that on.
ssize_t write_or_drop(void* /*cookie*/, const char* text, std::size_t size) {
  std::size_t written = 0;
  while (written < size) {
    const ssize_t count = ::write(STDERR_FILENO, text + written, size - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

Host host_of_program() {
  Host host;
  host.own_process = true;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one. Writing to it still fails.
    if (::fcntl(stream, F_GETFD) == -1 && ::open("/dev/null", O_RDONLY) != stream) return host;
  }
  cookie_io_functions_t functions{};
  functions.write = write_or_drop;
  std::FILE* const errors = ::fopencookie(nullptr, "w", functions);
  if (errors == nullptr) return host;
  std::setvbuf(errors, nullptr, _IONBF, 0);
  host.errors = errors;
  return host;
}

void report_failure(const std::string& line, Results* results) {
  fmt::print(standard_error(), "{}\n", line);
  if (results != nullptr && results->failure.empty()) results->failure = line;
}

}  // namespace popgrad::cli
