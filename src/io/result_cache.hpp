#pragma once
/// Results of earlier runs of this same program, by what they were computed from.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace popgrad {

/// What computes: the bytes of the running program, and the libraries and tools beside it by path,
/// size and time of change, a line each. A build with uncommitted changes is thus a program of its
/// own. Empty where the system does not tell; then nothing may be kept.
std::string program_identity();

/// $XDG_CACHE_HOME/popgrad, else ~/.cache/popgrad; empty if neither variable is set.
std::filesystem::path usual_cache_folder();

/// A folder with a file for each result. A file that is damaged, or of another key, is as if it were
/// not there; one that was not asked for in thirty days is removed.
class ResultCache {
 public:
  /// Without a folder nothing is found or kept.
  explicit ResultCache(std::filesystem::path folder = {});

  /// What was kept under this key, which names all that the result depends on.
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
  /// False if it cannot be written.
  bool keep(std::string_view key, std::string_view content) const;

 private:
  std::filesystem::path folder_;
  [[nodiscard]] std::filesystem::path file_of(std::string_view key) const;
};

}  // namespace popgrad
