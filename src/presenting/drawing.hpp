#pragma once
/// A picture from tables and a gnuplot script: what figures and the pictures of commands share.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/evidence/figure.hpp"

namespace popgrad {

struct Drawing {
  std::string name;    ///< of the files made: NAME.gp, NAME.svg, ...; `name` in the script
  std::string script;  ///< of a command: plots/SCRIPT.gp
  std::string script_text = {};  ///< of a figure: the script itself, in place of `script`
  std::string title;
  /// Further variables of the script, texts.
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<FigureFile> files;
  std::string command;  ///< the line that makes it again
  std::uint64_t seed = 1;
  std::filesystem::path folder;  ///< made if missing
  /// The only file to write, of suffix .svg, .png or .pdf; empty: all of them, with data and script.
  std::filesystem::path picture = {};

  /// The text in lines that fit, as the variables `caption` and `caption_lines`.
  void add_caption(const std::string& text);
};

/// "N = 3, T = 40; eta = 0.1, batch = 16; seed 1": long lists only by name.
std::string caption_of(const Record& parameters, const Record& settings, std::uint64_t seed);

/// Writes the data, NAME.gp, NAME.svg, NAME.png and NAME.pdf, or the one picture, and returns their
/// paths. InputError if the folder cannot be written, std::runtime_error if gnuplot is missing or fails: then with the
/// data there to look at.
std::vector<std::filesystem::path> draw(const Drawing& drawing);

}  // namespace popgrad
