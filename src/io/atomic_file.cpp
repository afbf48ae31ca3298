#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "io/given_files.hpp"
#include "popgrad/error.hpp"

namespace popgrad {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, int code) {
  throw InputError(
      fmt::format("{}: cannot be written ({}); choose a folder that exists and may be "
                  "written to",
                  path.string(), std::strerror(code)));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

void check_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) refuse(path, EISDIR);
  if (::access(folder_of(path).c_str(), W_OK) != 0) refuse(path, errno);
}

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  std::string name = path.string() + ".XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) refuse(path, errno);
  const auto give_up = [&](int code) {
    ::close(file);
    ::unlink(name.c_str());
    refuse(path, code);
  };
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t n = ::write(file, content.data() + written, content.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) give_up(errno);
    written += static_cast<std::size_t>(n);
  }
  // mkstemp makes files private; results follow the umask like any other file.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file, 0666 & ~mask) != 0 || ::fsync(file) != 0) give_up(errno);
  ::close(file);
  if (::rename(name.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(name.c_str());
    refuse(path, code);
  }
}

std::string read_file(const std::filesystem::path& path) {
  const auto& given = given_files().texts;
  if (const auto at = given.find(path.string()); at != given.end()) return at->second;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) {
    throw InputError(fmt::format("{}: cannot be read ({}); give a file that exists", path.string(),
                                 std::strerror(errno != 0 ? errno : EISDIR)));
  }
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

}  // namespace popgrad
