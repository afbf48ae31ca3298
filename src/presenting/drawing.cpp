#include "presenting/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/error.hpp>
#include <boost/process/io.hpp>
#include <boost/process/start_dir.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "io/atomic_file.hpp"
#include "io/temporary_folder.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "presenting/plot_scripts.hpp"

namespace popgrad {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> picture_kinds{"svg", "png", "pdf"};
constexpr std::size_t caption_width = 80;
constexpr std::size_t longest_value = 40;

// The next blank at or after `from` that may end a line: "name = value" and "seed 1" stay whole.
std::size_t next_break(const std::string& text, std::size_t from) {
  constexpr std::string_view begins_value = "=-0123456789";
  for (std::size_t at = text.find(' ', from); at != std::string::npos;
       at = text.find(' ', at + 1)) {
    const bool ends_name = at > 0 && text[at - 1] == '=';
    const bool before_value =
        at + 1 < text.size() && begins_value.find(text[at + 1]) != std::string_view::npos;
    if (!ends_name && !before_value) return at;
  }
  return text.size();
}

std::string wrapped_caption(const std::string& text) {
  std::string lines;
  std::size_t width = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = next_break(text, begin);
    const std::size_t length = end - begin;
    if (width > 0) lines += width + 1 + length > caption_width ? "\n" : " ";
    width = width > 0 && width + 1 + length <= caption_width ? width + 1 + length : length;
    lines.append(text, begin, length);
    begin = end + 1;
  }
  return lines;
}

// JSON with numbers in six digits and lists in parentheses.
std::string value_text(const Value& value) {
  if (const double* const number = value.as<double>()) return fmt::format("{:.6g}", *number);
  if (const auto* const items = value.as<Value::List>()) {
    std::vector<std::string> texts;
    for (const Value& item : *items) texts.push_back(value_text(item));
    return fmt::format("({})", fmt::join(texts, ", "));
  }
  std::string text = json_text(value);
  std::erase(text, '"');
  return text;
}

// ---- gnuplot -------------------------------------------------------------------------------

[[noreturn]] void gnuplot_missing(const fs::path& folder) {
  throw Failure(
      fmt::format("gnuplot is not installed; data and script are in {}; install it with "
                  "'apt-get install gnuplot-nox' and run this again",
                  folder.string()));
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

// Runs `gnuplot SCRIPT` inside `folder`, in the time zone of the world, so that dates have one form; false if
// there is no gnuplot. What it prints is dropped.
bool run_gnuplot(const fs::path& folder, const std::string& script) {
  namespace process = boost::process;
  std::error_code failed;
  process::child gnuplot(
      fmt::format("gnuplot \"{}\"", script), process::start_dir(folder.string()),
      process::std_in<process::null, (process::std_out & process::std_err)> process::null,
      process::env["TZ"] = "UTC0", failed);
  if (failed == std::errc::no_such_file_or_directory) return false;
  if (failed) throw Failure(fmt::format("gnuplot cannot be started: {}", failed.message()));
  std::error_code
      lost;  // a parent that ignores its children: the pictures are looked for in any case
  gnuplot.wait(lost);
  if (!lost && gnuplot.exit_code() != 0) {
    throw Failure(fmt::format(
        "gnuplot cannot draw {0}; data and script are kept: 'gnuplot {0}' there says why", script));
  }
  return true;
}

// The script that is written next to its data: what made it, the common look, the figure.
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

void Drawing::add_caption(const std::string& text) {
  const std::string lines = wrapped_caption(text);
  variables.emplace_back("caption", lines);
  variables.emplace_back("caption_lines",
                         std::to_string(1 + std::count(lines.begin(), lines.end(), '\n')));
}

std::string caption_of(const Record& parameters, const Record& settings, std::uint64_t seed) {
  std::string text;
  for (const Record* part : {&parameters, &settings}) {
    std::vector<std::string> list;
    for (const auto& [name, value] : part->entries()) {
      const std::string shown = value_text(value);
      list.push_back(shown.size() > longest_value ? fmt::format("{} given", name)
                                                  : fmt::format("{} = {}", name, shown));
    }
    if (!list.empty()) text += fmt::format("{}; ", fmt::join(list, ", "));
  }
  return fmt::format("{}seed {}", text, seed);
}

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
