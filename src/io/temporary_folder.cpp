#include "io/temporary_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "popgrad/base/error.hpp"

namespace popgrad {

namespace fs = std::filesystem;

namespace {

int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void remove_left(const fs::path& inside, const std::string& begin, std::size_t length) {
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(inside, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || name.size() != length) continue;
    const int lock = open_folder(entry.path());
    if (lock < 0) continue;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), failure);
    ::close(lock);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const fs::path& inside, std::string_view name) {
  const std::string begin = fmt::format("{}-", name);
  while (true) {
    std::string made = (inside / (begin + "XXXXXX")).string();
    if (mkdtemp(made.data()) == nullptr) {
      reject("popgrad", "folder", inside.string(),
             fmt::format("cannot be written: {}; name a folder that can", std::strerror(errno)));
    }
    path_ = made;
    lock_ = open_folder(path_);
    // Folders that have no locks are used without.
    static_cast<void>(::flock(lock_, LOCK_EX));
    // Another process may have taken it for one left behind, before it was locked.
    std::error_code failure;
    if (lock_ < 0 || fs::exists(path_, failure)) break;
    ::close(lock_);
  }
  remove_left(inside, begin, path_.filename().string().size());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace popgrad
