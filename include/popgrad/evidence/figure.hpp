#pragma once
/// A figure of a theory: its data as tables, and the gnuplot script that draws them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "popgrad/evidence/picture.hpp"
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
  std::function<void(double)> progress =
      {};  ///< is given the share that is done; empty: nothing is

  /// To be called after each part of data that take long, with the share that is done. Throws Stopped if
  /// the process was asked to end.
  void done(double share) const;
  /// Calls `part` with each of 0 to `count` - 1, in no order, on `jobs` threads (0: one a processor).
  /// Throws the last exception of a part after all parts have ended; throws Stopped, and begins no
  /// further part, if the process was asked to end.
  void each(std::size_t count, const std::function<void(std::size_t)>& part) const;
};

/// One file of data, read by the script of the figure.
struct FigureFile {
  std::string name;  ///< NAME.csv, or NAME-PART.csv where a figure has several tables
  std::string content;
};

/// A number or a word under the name of its column. NaN is written as an empty field, which gnuplot takes
/// as missing.
struct Cell {
  Cell(std::string_view column, double number);
  Cell(std::string_view column, std::string_view word) : name(column), text(word) {}

  std::string name, text;
};

/// Rows under named columns, in blocks that each are one curve or panel.
class FigureTable {
 public:
  /// Without columns the first row names them.
  explicit FigureTable(std::vector<std::string> columns = {}) : columns_(std::move(columns)) {}
  /// A row, as names and values in turn: add("step", 10, "loss", 0.3). Throws Failure where the
  /// columns are others than those of the rows before, Stopped if the process was asked to end.
  template <class Value, class... Rest>
  FigureTable& add(std::string_view name, const Value& value, const Rest&... rest) {
    std::vector<Cell> cells;
    cells.reserve(1 + sizeof...(rest) / 2);
    return add_to(cells, name, value, rest...);
  }
  FigureTable& add(const std::vector<Cell>& row);
  /// The next rows are a data set of their own, gnuplot's `index "label"`.
  FigureTable& block(std::string_view label);

  [[nodiscard]] std::string text() const;
  /// NAME.csv, or NAME-part.csv.
  [[nodiscard]] FigureFile file(const FigureRequest& figure, std::string_view part = {}) const;

 private:
  template <class Value, class... Rest>
  FigureTable& add_to(std::vector<Cell>& cells, std::string_view name, const Value& value,
                      const Rest&... rest) {
    if constexpr (std::is_arithmetic_v<Value>) {
      cells.emplace_back(name, static_cast<double>(value));
    } else {
      cells.emplace_back(name, std::string_view(value));
    }
    if constexpr (sizeof...(rest) > 0) {
      return add_to(cells, rest...);
    } else {
      return add(cells);
    }
  }

  std::vector<std::string> columns_;
  std::string rows_;
};

/// How one figure is made: its info, a function that computes its data as CSV files, and its picture.
struct FigureMaker {
  FigureInfo info;
  std::function<std::vector<FigureFile>(const FigureRequest&)> data;
  /// What is drawn, called only where it is. Formulas have each number of the parameters in a variable of
  /// its name.
  std::function<Picture()> picture = {};
  /// In place of `picture`, where a picture is not made of panels: the text of a gnuplot script that
  /// writes NAME.svg, NAME.png and NAME.pdf. It runs after plots/style.gp, with NAME in the variable
  /// `name`, and `own` = '1' where a parameter is given.
  std::string script = {};
};

/// Throws Failure naming the figure if a solve did not reach its end, or Stopped if that is because the
/// process was asked to end.
void require_usable(const Outcome& outcome, std::string_view figure);

}  // namespace popgrad
