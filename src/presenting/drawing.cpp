#include "presenting/drawing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "io/atomic_file.hpp"
#include "io/temporary_folder.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "presenting/plot_scripts.hpp"

namespace popgrad {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> picture_kinds{"svg", "png", "pdf"};

// ---- gnuplot -------------------------------------------------------------------------------

[[noreturn]] void gnuplot_missing(const fs::path& folder) {
  throw Failure(
      fmt::format("gnuplot is not installed; data and script are in {}; install it with "
                  "'apt-get install gnuplot-nox' and run this again",
                  folder.string()));
}

// Closes what it holds, whichever way the function is left.
struct Descriptor {
  int value = -1;
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { release(); }
  void release() {
    if (value >= 0) close(value);
    value = -1;
  }
};

struct SpawnActions {
  posix_spawn_file_actions_t value{};
  SpawnActions() { posix_spawn_file_actions_init(&value); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
};

// That of this process with the time zone of the world, so that dates have one form.
std::vector<std::string> environment_of_gnuplot() {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!std::string_view(*at).starts_with("TZ=")) variables.emplace_back(*at);
  }
  variables.emplace_back("TZ=UTC0");
  return variables;
}

// A date of the same length in place of that on which cairo made the picture, which it does not leave
// out: equal results are equal byte for byte.
void fix_date(const fs::path& pdf) {
  constexpr std::string_view mark = "/CreationDate (D:";
  constexpr std::string_view date = "19800101000000";
  std::string bytes = read_own_file(pdf);
  const std::size_t at = bytes.find(mark);
  if (at == std::string::npos || at + mark.size() + date.size() > bytes.size()) return;
  write_atomically(pdf, bytes.replace(at + mark.size(), date.size(), date));
}

// Runs `gnuplot SCRIPT` inside `folder`; false if there is no gnuplot. Throws std::runtime_error
// with what it printed if it fails.
bool run_gnuplot(const fs::path& folder, const std::string& script) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Failure(fmt::format("gnuplot: no pipe: {}", std::strerror(errno)));
  }
  Descriptor read_end;
  Descriptor write_end;
  read_end.value = ends[0];
  write_end.value = ends[1];
  SpawnActions actions;
  posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str());
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, write_end.value, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.value, write_end.value, STDERR_FILENO);
  std::string program = "gnuplot";
  std::string argument = script;
  std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  std::vector<std::string> variables = environment_of_gnuplot();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "gnuplot", &actions.value, nullptr, arguments.data(),
                                  environment.data());
  write_end.release();
  if (failed == ENOENT) return false;
  if (failed != 0) {
    throw Failure(fmt::format("gnuplot cannot be started: {}", std::strerror(failed)));
  }
  // What it prints is dropped, and read as it would wait else.
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(read_end.value, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Failure(fmt::format(
        "gnuplot cannot draw {0}; data and script are kept: 'gnuplot {0}' there says why", script));
  }
  return true;
}

// The script that is laid beside its data: how it came about, the common look, the figure.
std::string whole_script(const Drawing& drawing) {
  const std::string_view style = plot_script("style");
  const std::string_view body =
      drawing.script_text.empty() ? plot_script(drawing.script) : drawing.script_text;
  if (style.empty() || body.empty()) {
    throw std::logic_error(fmt::format("plots/{}.gp is not compiled in", drawing.script));
  }
  // A line break in an argument must not end the comment, nor a quote the text.
  std::string command = drawing.command;
  std::replace(command.begin(), command.end(), '\n', ' ');
  std::string variables = fmt::format("name = '{}'\n", drawing.name);
  for (const auto& [name, text] : drawing.variables) {
    std::string quoted;
    // Quotes and line breaks in double quotes of their own: gnuplot takes no quoted quote in front.
    for (const char c : text) {
      quoted += c == '\'' ? "'.\"'\".'" : c == '\n' ? "'.\"\\n\".'" : std::string(1, c);
    }
    variables += fmt::format("{} = '{}'\n", name, quoted);
  }
  return fmt::format(
      "# {}\n# Made by:  {}\n# popgrad {}, seed {}. Draw again:  gnuplot {}.gp\n\n{}{}\n{}",
      drawing.title, command, POPGRAD_VERSION, drawing.seed, drawing.name, variables, style, body);
}

}  // namespace

std::vector<fs::path> draw(const Drawing& drawing) {
  std::error_code failure;
  const fs::path folder = drawing.folder.empty() ? fs::path(".") : drawing.folder;
  fs::create_directories(folder, failure);
  if (failure) {
    reject("popgrad", "--output", folder.string(),
           fmt::format("cannot be made: {}; name a folder that can", failure.message()));
  }
  // Drawn apart and handed over when all are there, so an old figure is never half overwritten.
  const TemporaryFolder room(folder, ".popgrad-figure");
  std::vector<FigureFile> files = drawing.files;
  const std::string script = drawing.name + ".gp";
  files.push_back({script, whole_script(drawing)});
  for (const FigureFile& file : files) write_atomically(room.path() / file.name, file.content);
  std::vector<fs::path> made;
  const auto write = [&](const std::string& name, const fs::path& to) {
    write_atomically(to, read_own_file(room.path() / name));
    made.push_back(to);
  };
  const auto hand_over = [&](const std::string& name) { write(name, folder / name); };
  const auto hand_over_data = [&] {
    for (const FigureFile& file : files) hand_over(file.name);
  };

  bool drawn = false;
  try {
    drawn = run_gnuplot(room.path(), script);
  } catch (const Failure&) {
    hand_over_data();  // to look for the fault
    throw;
  }
  if (!drawn) {
    hand_over_data();
    gnuplot_missing(folder);
  }
  for (const char* kind : picture_kinds) {
    const fs::path picture = room.path() / (drawing.name + "." + kind);
    if (!fs::exists(picture) || fs::file_size(picture) == 0) {
      hand_over_data();
      throw Failure(fmt::format(
          "gnuplot made no {}.{}: see whether {} has free space, and gnuplot the terminals "
          "svg, pngcairo and pdfcairo (apt-get install gnuplot-nox)",
          drawing.name, kind, folder.string()));
    }
  }
  fix_date(room.path() / (drawing.name + ".pdf"));
  if (!drawing.picture.empty()) {
    write(drawing.name + drawing.picture.extension().string(), drawing.picture);
    return made;
  }
  hand_over_data();
  for (const char* kind : picture_kinds) hand_over(drawing.name + "." + kind);
  return made;
}

}  // namespace popgrad
