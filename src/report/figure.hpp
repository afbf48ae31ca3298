#pragma once
/// Figures: data, script and picture from one command.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace popgrad {

struct FigureInfo {
  std::string name;
  std::string title;
  bool needs_data = false;  ///< drawn from a file that the user names
};

struct FigureRequest {
  std::string name;
  std::filesystem::path folder;
  std::uint64_t seed = 1;
  int jobs = 0;
  std::string data_file;  ///< recorded runs or a text; empty: none
  std::string command;    ///< the line that makes it again
};

/// In the order of `popgrad list`.
std::vector<FigureInfo> figures();

/// Writes NAME.csv, NAME.gp, NAME.svg, NAME.png and NAME.pdf into the folder and returns their
/// paths. Throws InputError for an unknown name or missing data, std::runtime_error
/// if gnuplot fails.
std::vector<std::filesystem::path> make_figure(const FigureRequest& request);

}  // namespace popgrad
