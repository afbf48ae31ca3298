#include "io/input_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file_bytes.hpp"
#include "io/fingerprint.hpp"
#include "io/given_files.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

Fingerprints& noted() {
  static Fingerprints files;
  return files;
}

void note(const std::string& name, const std::string& content) {
  const auto [at, added] = noted().emplace(name, fingerprint(content));
  if (added || at->second == fingerprint(content)) return;
  throw InputError(
      fmt::format("{}: has other contents than when it was first read for this result; restore it, "
                  "or begin anew under another name",
                  name));
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const auto& given = given_files().texts;
  const auto at = given.find(path.string());
  std::string content = at != given.end() ? at->second : bytes_of_file(path);
  note(path.string(), content);
  return content;
}

void note_file(const std::filesystem::path& path) {
  std::error_code failure;
  if (std::filesystem::is_regular_file(path, failure)) note(path.string(), bytes_of_file(path));
}

const Fingerprints& files_read() { return noted(); }

void begin_reading(Fingerprints expected) { noted() = std::move(expected); }

std::string first_difference(const Fingerprints& a, const Fingerprints& b) {
  for (const auto& [name, content] : a) {
    const auto at = b.find(name);
    if (at == b.end() || at->second != content) return name;
  }
  const auto other =
      std::find_if(b.begin(), b.end(), [&](const auto& file) { return !a.contains(file.first); });
  return other == b.end() ? std::string{} : other->first;
}

}  // namespace popgrad
