#pragma once
/// Runs recorded elsewhere, as columns of numbers.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

struct Table {
  std::vector<std::string> names;
  /// All of one length: NaN where nothing was recorded (an empty field, null, NaN of an array), infinite
  /// where what was recorded is no finite number (nan and inf of a text).
  std::vector<std::vector<double>> columns;
  /// Of the columns that were asked for as labels their texts, empty where there is none; equal numbers
  /// have one text. Their numbers in `columns` are NaN.
  std::map<std::string, std::vector<std::string>, std::less<>> labels;
  /// Arrays of a file that are no columns of numbers, and why.
  std::map<std::string, std::string, std::less<>> unread;

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  /// The column of that name; InputError with what there is otherwise. `advice` says what to do.
  [[nodiscard]] const std::vector<double>& column(std::string_view name, std::string_view file,
                                                  std::string_view advice = {}) const;
};

/// Names of columns that are labels, of any text.
using LabelNames = std::set<std::string, std::less<>>;

/// By suffix: .npz, .jsonl or .ndjson (an object a line), else CSV with a header line.
/// Throws InputError with line and column for anything that is not a complete table of numbers.
Table read_table(const std::filesystem::path& path, const LabelNames& labels = {});

/// The same for CSV text already in memory.
Table parse_csv(std::string_view text, std::string_view file, const LabelNames& labels = {});

/// A number as a label: that of its shortest text.
std::string label_text(double x);

}  // namespace popgrad
