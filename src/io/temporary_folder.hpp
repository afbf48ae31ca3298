#pragma once
#include <filesystem>
#include <string_view>

namespace popgrad {

/// A folder of its own inside another, removed with all that is in it at the end. It is locked until
/// then; those of the same name without a lock, left by processes that were killed, are removed.
class TemporaryFolder {
 public:
  /// Throws InputError, naming `inside`, if none can be made there.
  TemporaryFolder(const std::filesystem::path& inside, std::string_view name);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace popgrad
