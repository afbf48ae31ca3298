#include "io/result_cache.hpp"

#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/fingerprint.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "popgrad result 1\n";
constexpr std::string_view suffix = ".result";
constexpr std::chrono::hours longest_unused{24 * 30};

// Path, size and time of change; of a file that is not there the path alone.
std::string file_identity(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return path + "\n";
  return fmt::format("{} {} {}.{:09}\n", path, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

extern "C" int note_library(struct dl_phdr_info* info, std::size_t, void* data) {
  const std::string name = info->dlpi_name;
  // Only those that are files; the kernel's own has a name without a path.
  if (name.find('/') != std::string::npos) {
    static_cast<std::vector<std::string>*>(data)->push_back(name);
  }
  return 0;
}

// As a shell would find it.
std::string in_path(const std::string& program) {
  const char* const folders = std::getenv("PATH");
  std::string_view rest = folders == nullptr ? "" : folders;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string path = fmt::format("{}/{}", rest.substr(0, colon), program);
    std::error_code none;
    if (fs::exists(path, none)) return path;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return program;
}

// `NAME SIZE\n`, as it stands before the key and before the content.
std::string size_line(std::string_view name, std::size_t size) {
  return fmt::format("{} {}\n", name, size);
}

std::string whole_file(std::string_view key, std::string_view content) {
  std::string text(first_line);
  text += size_line("key", key.size());
  text += key;
  text += size_line("content", content.size());
  text += fingerprint(content);
  text += '\n';
  text += content;
  return text;
}

}  // namespace

std::string program_identity() {
  std::string program;
  try {
    program = read_own_file("/proc/self/exe");
  } catch (const InputError&) {
    return {};
  }
  std::string identity = fmt::format("program {} {}\n", program.size(), fingerprint(program));
  std::vector<std::string> libraries;
  ::dl_iterate_phdr(note_library, &libraries);
  for (const std::string& library : libraries) identity += file_identity(library);
  return identity + file_identity(in_path("gnuplot"));
}

fs::path usual_cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  // A relative path there is to be ignored, by the rules of these variables.
  if (const fs::path base = variable("XDG_CACHE_HOME"); base.is_absolute()) return base / "popgrad";
  if (const fs::path home = variable("HOME"); home.is_absolute()) {
    return home / ".cache" / "popgrad";
  }
  return {};
}

ResultCache::ResultCache(fs::path folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  remove_temporaries_left_in(folder_);
  std::error_code failure;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failure)) {
    if (entry.path().extension() != suffix) continue;
    const auto used = entry.last_write_time(failure);
    if (!failure && now - used > longest_unused) fs::remove(entry.path(), failure);
  }
}

std::optional<std::string> ResultCache::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = file_of(key);
  std::error_code failure;
  if (!fs::exists(path, failure)) return std::nullopt;
  std::string text;
  try {
    text = read_own_file(path);
  } catch (const InputError&) {
    return std::nullopt;
  }
  // Everything before the content is known, so it is compared and not parsed.
  std::string head(first_line);
  head += size_line("key", key.size());
  head += key;
  if (!text.starts_with(head)) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(head.size());
  const std::size_t size_end = rest.find('\n');
  const std::size_t sum_end =
      size_end == std::string_view::npos ? size_end : rest.find('\n', size_end + 1);
  if (sum_end == std::string_view::npos) return std::nullopt;
  const std::string_view content = rest.substr(sum_end + 1);
  if (text != whole_file(key, content)) return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(), failure);
  return std::string(content);
}

bool ResultCache::keep(std::string_view key, std::string_view content) const {
  if (folder_.empty()) return true;
  std::error_code failure;
  fs::create_directories(folder_, failure);
  try {
    write_atomically(file_of(key), whole_file(key, content));
  } catch (const OutputError&) {
    return false;
  }
  return true;
}

fs::path ResultCache::file_of(std::string_view key) const {
  return folder_ / (fingerprint(key) + std::string(suffix));
}

}  // namespace popgrad
