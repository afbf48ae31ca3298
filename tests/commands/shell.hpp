#pragma once
/// Commands as a shell runs them.

#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "places.hpp"
#include "sanitized.hpp"

namespace command_line {

struct Answer {
  int status;
  std::string out;  // standard output and standard error together
};

// A folder of its own for every test, removed afterwards.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "popgrad-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name, const std::string& text = {}) const {
    if (!text.empty()) std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

// What the tool leaves allocated when it ends harms nobody, and to search for it would take as long as
// most of these commands do: each would start a symbolizer for what a library keeps.
inline std::string setup() {
  return build::sanitized() ? "export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; " : "";
}

inline Answer shell(const std::string& line) {
  FILE* pipe = ::popen((setup() + line).c_str(), "r");
  REQUIRE(pipe != nullptr);
  Answer answer{};
  std::array<char, 4096> buffer{};
  std::size_t n = 0;
  while ((n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    answer.out.append(buffer.data(), n);
  }
  answer.status = WEXITSTATUS(::pclose(pipe));
  return answer;
}

/// The program, sent the signal once a shell finds the condition true, however fast the machine is; the answer is whole
/// where the program ends before that.
inline Answer signalled(const std::string& signal, const std::string& words,
                        const std::string& condition, const std::string& environment = {}) {
  return shell(environment + places::popgrad() + " " + words +
               " 2>&1 & begun=$!; while kill -0 $begun 2>/dev/null && ! " + condition +
               "; do sleep 0.005; done; kill -s " + signal +
               " $begun 2>/dev/null; wait $begun 2>/dev/null");
}

/// The command in this process, which saves the start of the program, half of the time of most; what a shell
/// would not only separate into words is left to one. Streams, signals and memory of the program itself: shell().
Answer run_popgrad(const std::string& words);

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace command_line
