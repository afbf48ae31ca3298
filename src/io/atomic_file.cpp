#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".popgrad-";
constexpr std::string_view temporary_end = "XXXXXX";
constexpr int most_links = 40;  // as the kernel follows

const char* remedy(int code) {
  switch (code) {
    case EISDIR:
      return "name a file in it";
    case ENAMETOOLONG:
      return "give a shorter name";
    case ELOOP:
      return "its links lead in a circle; remove them, or name another file";
    default:
      return "choose a folder that exists and may be written to";
  }
}

[[noreturn]] void refuse(std::string_view option, const fs::path& path, int code) {
  throw InputError(fmt::format("{} {}: cannot be written ({}); {}", option, path.string(),
                               std::strerror(code), remedy(code)));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The file behind links, which stay; 0 or what prevents that.
int follow_links(fs::path& path) {
  std::error_code failure;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, failure)); ++links) {
    if (links == most_links) return ELOOP;
    const fs::path behind = fs::read_symlink(path, failure);
    if (failure) return failure.value();
    path = path.parent_path() / behind;
  }
  return 0;
}

// Locked as long as it is written: one without a lock belongs to a process that was killed.
struct Temporary {
  int file = -1;
  std::string name;
};

// Of a folder; without a file, errno says why there is none.
Temporary open_temporary(const fs::path& folder) {
  while (true) {
    Temporary made;
    made.name = (folder / fmt::format("{}{}", temporary_mark, temporary_end)).string();
    made.file = ::mkostemp(made.name.data(), O_CLOEXEC);
    if (made.file < 0) return made;
    // Folders that have no locks are written without.
    static_cast<void>(::flock(made.file, LOCK_EX));
    struct stat status {};
    // Another process may have taken it for one left behind, before it was locked.
    if (::fstat(made.file, &status) != 0 || status.st_nlink > 0) return made;
    ::close(made.file);
  }
}

void discard(const Temporary& made) {
  ::unlink(made.name.c_str());
  ::close(made.file);
}

// 0 or the code of what failed.
int write_whole(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(file, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// Whether something is there that is no file, such as a FIFO: then it is opened and kept.
bool is_special(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

void check_temporary(const fs::path& folder, std::string_view option, const fs::path& named) {
  const Temporary trial = open_temporary(folder);
  if (trial.file < 0) refuse(option, named, errno);
  discard(trial);
  remove_temporaries_left_in(folder);
}

}  // namespace

OutputError::OutputError(const fs::path& path, int code)
    : std::runtime_error(fmt::format("{} cannot be written ({}); make room, or name another file",
                                     path.string(), std::strerror(code))) {}

void check_writable(const fs::path& path, std::string_view option) {
  fs::path target = path;
  if (const int code = follow_links(target); code != 0) refuse(option, path, code);
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse(option, path, errno);
  } else if (S_ISDIR(status.st_mode)) {
    refuse(option, path, EISDIR);
  } else if (!S_ISREG(status.st_mode)) {
    if (S_ISSOCK(status.st_mode)) refuse(option, path, ENXIO);
    if (::access(target.c_str(), W_OK) != 0) refuse(option, path, errno);
    return;
  }
  check_temporary(folder_of(target), option, path);
}

void check_regular(std::string_view where, const fs::path& output) {
  std::error_code failure;
  if (!fs::exists(output, failure) || fs::is_regular_file(output, failure)) return;
  reject(where, "--output", output.string(),
         "is no regular file, which this command needs to go on from or to write again; name one");
}

void remove_temporaries_left_in(const fs::path& folder) {
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(temporary_mark) ||
        name.size() != temporary_mark.size() + temporary_end.size() ||
        !fs::is_regular_file(entry.symlink_status(failure))) {
      continue;
    }
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) continue;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    ::close(file);
  }
}

void check_folder(const fs::path& folder, std::string_view option) {
  std::error_code failure;
  std::vector<fs::path> missing;
  for (fs::path part = folder; !part.empty() && !fs::exists(part, failure);
       part = part.parent_path()) {
    missing.push_back(part);
  }
  fs::create_directories(folder, failure);
  const int code = failure.value();
  if (code == 0) check_temporary(folder, option, folder);
  for (const fs::path& part : missing) fs::remove(part, failure);
  if (code != 0) {
    throw InputError(fmt::format("{} {}: cannot be made ({}); name a folder that can", option,
                                 folder.string(), std::strerror(code)));
  }
}

void write_atomically(const fs::path& path, std::string_view content) {
  fs::path target = path;
  if (const int code = follow_links(target); code != 0) throw OutputError(path, code);
  if (is_special(target)) {
    const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) throw OutputError(path, errno);
    const int code = write_whole(file, content);
    ::close(file);
    if (code != 0) throw OutputError(path, code);
    return;
  }
  const Temporary made = open_temporary(folder_of(target));
  if (made.file < 0) throw OutputError(path, errno);
  int code = write_whole(made.file, content);
  // mkostemp makes files private; results follow the umask like any other file.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (code == 0 && (::fchmod(made.file, 0666 & ~mask) != 0 || ::fsync(made.file) != 0 ||
                    ::rename(made.name.c_str(), target.c_str()) != 0)) {
    code = errno;
  }
  if (code != 0) {
    discard(made);
    throw OutputError(path, code);
  }
  ::close(made.file);
}

std::string read_own_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const int failure = errno;
  std::error_code unknown;
  const bool folder = std::filesystem::is_directory(path, unknown);
  if (!in || folder) {
    throw InputError(fmt::format("{}: cannot be read ({}); give a file that exists", path.string(),
                                 std::strerror(folder         ? EISDIR
                                               : failure != 0 ? failure
                                                              : EIO)));
  }
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

}  // namespace popgrad
