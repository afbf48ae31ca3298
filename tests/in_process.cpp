#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/commands.hpp"
#include "commands/host.hpp"
#include "commands/shell.hpp"
#include "popgrad/evidence/theories.hpp"

namespace command_line {

namespace {

using namespace popgrad;

/// Words as a shell separates them; none where it would do more than that.
std::optional<std::vector<std::string>> separated(std::string_view line) {
  constexpr std::string_view blanks = " \t\n", of_a_shell = "|&;<>()$`\\*?[{#~!";
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (blanks.find(c) != std::string_view::npos) {
      inside = false;
      continue;
    }
    if (of_a_shell.find(c) != std::string_view::npos) return {};
    if (!inside) words.emplace_back();
    inside = true;
    if (c != '\'' && c != '"') {
      words.back() += c;
      continue;
    }
    const std::size_t end = line.find(c, i + 1);
    if (end == std::string_view::npos) return {};
    const std::string_view quoted = line.substr(i + 1, end - i - 1);
    if (c == '"' && quoted.find_first_of("$`\\!") != std::string_view::npos) return {};
    words.back() += quoted;
    i = end;
  }
  return words;
}

/// A stream into memory.
struct Kept {
  char* bytes = nullptr;
  std::size_t size = 0;
  std::FILE* file = ::open_memstream(&bytes, &size);

  Kept() = default;
  ~Kept() {
    std::fclose(file);
    std::free(bytes);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  [[nodiscard]] std::string text() const {
    std::fflush(file);
    return {bytes, size};
  }
};

}  // namespace

Answer run_popgrad(const std::string& words) {
  std::optional<std::vector<std::string>> all = separated(words);
  if (!all) return shell(places::popgrad() + " " + words + " 2>&1");
  const Kept output, errors;
  cli::Host host;
  host.output = output.file;
  host.errors = errors.file;
  const int status = cli::run({std::move(*all), theories(), "popgrad", &host});
  // As a pipe gets them: standard output is written when the program ends.
  return {status, errors.text() + output.text()};
}

}  // namespace command_line
