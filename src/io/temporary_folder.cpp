#include "io/temporary_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "popgrad/error.hpp"

namespace popgrad {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const fs::path& inside, std::string_view name) {
  std::string made = (inside / fmt::format("{}-XXXXXX", name)).string();
  if (mkdtemp(made.data()) == nullptr) {
    reject("popgrad", "folder", inside.string(),
           fmt::format("cannot be written: {}; name a folder that can", std::strerror(errno)));
  }
  path_ = made;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace popgrad
