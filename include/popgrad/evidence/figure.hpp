#pragma once
/// A figure of a theory: its data as tables, and the gnuplot script that draws them.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "popgrad/rungs/declared_parameter.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// A parameter of the model that a figure reads, as the model declares it.
struct FigureParameter {
  template <class Declared>
  FigureParameter(const Declared& declared, std::string default_of_figure = {})
      : info(info_of(declared)), standard(std::move(default_of_figure)) {}

  ParameterInfo info;
  std::string standard;  ///< default of the figure, as text; empty: that of the model
};

struct FigureInfo {
  std::string name;  ///< `MODEL-SUBJECT`, unique in a program
  std::string title;
  bool needs_data = false;                       ///< drawn from a file that the user names
  bool in_report = false;                        ///< part of `report` when no figures are named
  std::vector<std::string> shows = {};           ///< ids of the statements whose evidence it shows
  std::vector<FigureParameter> parameters = {};  ///< of the model, that its data function reads
};

struct FigureRequest {
  std::string name;
  std::filesystem::path folder;
  std::uint64_t seed = 1;
  int jobs = 0;
  std::string data_file;  ///< recorded runs or a text; empty: none
  /// Of the model, for figures that read some; `make_figure` checks names and adds the defaults.
  Parameters parameters;
  std::string command;  ///< the line that makes it again
};

/// One file of data, read by the script of the figure.
struct FigureFile {
  std::string name;  ///< NAME.csv, or NAME-PART.csv where a figure has several tables
  std::string content;
};

/// How one figure is made: its info, a function that computes its data as CSV files, and its script.
struct FigureMaker {
  FigureInfo info;
  std::function<std::vector<FigureFile>(const FigureRequest&)> data;
  /// The text of a gnuplot script that writes NAME.svg, NAME.png and NAME.pdf. It runs after
  /// plots/style.gp, with NAME in the variable `name`, each number of the parameters in a variable of
  /// its name, and `own` = '1' where a parameter is given. Required.
  std::string script;
};

/// Rows of numbers and words under a header line. NaN is written as an empty field, which gnuplot
/// takes as missing.
class CsvText {
 public:
  explicit CsvText(std::initializer_list<std::string_view> names);
  explicit CsvText(const std::vector<std::string>& names);
  CsvText& number(double value);
  CsvText& word(std::string_view text);
  void end_row();
  /// Two empty lines: the next rows are the next data set (gnuplot's `index`).
  void end_block() { text_ += "\n\n"; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool at_start_ = true;
};

/// Throws std::runtime_error naming the figure if a solve did not reach its end.
void require_usable(const Outcome& outcome, std::string_view figure);

}  // namespace popgrad
