#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

ssize_t append(void* text, const char* bytes, std::size_t size) {
  static_cast<std::string*>(text)->append(bytes, size);
  return static_cast<ssize_t>(size);
}

/// Into a text, with the buffer that a stream into a pipe has, so that lines come in the same order.
struct Kept {
  std::FILE* file;

  Kept(std::string& text, int mode, std::size_t size) {
    cookie_io_functions_t functions{};
    functions.write = append;
    file = ::fopencookie(&text, "w", functions);
    REQUIRE(file != nullptr);
    std::setvbuf(file, nullptr, mode, size);
  }
  ~Kept() { std::fclose(file); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
};

}  // namespace

Answer run_popgrad(const std::string& words) {
  std::optional<std::vector<std::string>> all = separated(words);
  if (!all) return shell(places::popgrad() + " " + words + " 2>&1");
  constexpr std::size_t buffer = 4096;
  Answer answer{};
  const Kept output(answer.out, _IOFBF, buffer), errors(answer.out, _IONBF, 0);
  cli::Host host;
  host.output = output.file;
  host.errors = errors.file;
  answer.status = cli::run({std::move(*all), theories(), "popgrad", &host});
  std::fflush(output.file);
  return answer;
}

}  // namespace command_line
