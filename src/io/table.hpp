#pragma once
/// Runs recorded elsewhere, as tables: fields of a text, of which only the columns that are asked for
/// have to be numbers, or arrays.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

/// The fields of one column of a text, empty where nothing was recorded; those take no memory.
class Fields {
 public:
  /// Of a row after all that have one.
  void add(std::size_t row, std::string_view field) {
    if (field.empty()) return;
    text_ += field;
    rows_.push_back(row);
    ends_.push_back(text_.size());
  }
  [[nodiscard]] std::string_view operator[](std::size_t row) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), row);
    if (at == rows_.end() || *at != row) return {};
    const auto k = static_cast<std::size_t>(at - rows_.begin());
    const std::size_t begin = k == 0 ? 0 : ends_[k - 1];
    return std::string_view(text_).substr(begin, ends_[k] - begin);
  }

 private:
  std::string text_;  // one field after another
  std::vector<std::size_t> rows_, ends_;
};

struct Table {
  std::string file;
  /// A name may be empty or occur twice; such a column cannot be asked for.
  std::vector<std::string> names;
  /// Of arrays, all of one length: NaN where nothing was recorded.
  std::vector<std::vector<double>> columns;
  /// Of a text, in place of `columns`: one a name; of CSV null until `load` reads it.
  std::vector<std::shared_ptr<const Fields>> fields;
  /// Of CSV: parses it again for these columns.
  std::function<std::vector<Fields>(const std::vector<std::size_t>&)> reread;
  /// Of a text: where each row stands; 0 in a JSON document that has all rows.
  std::vector<std::size_t> lines;
  /// Whole numbers of 64 bits in all their digits, of the arrays that have such.
  std::map<std::string, std::vector<std::string>, std::less<>> whole;
  /// Arrays of a file that are no columns of numbers, and why.
  std::map<std::string, std::string, std::less<>> unread;
  /// What the reader took for granted, a line each.
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t rows() const {
    return !fields.empty() ? lines.size() : columns.empty() ? 0 : columns.front().size();
  }
  /// "line 3" of a text, "row 2" of arrays and of a JSON document.
  [[nodiscard]] std::string place(std::size_t row) const;
  /// Empty, or that a name is a number, as where a text has no header; for the end of a message.
  [[nodiscard]] std::string doubt_of_names() const;
  /// Number of the column of that name; InputError with what there is otherwise. `advice` says what to do.
  [[nodiscard]] std::size_t index(std::string_view name, std::string_view advice = {}) const;
  /// Reads these columns of CSV, those that are there already excepted. Cost: the text is parsed once. Throws
  /// InputError if they need more memory than may be taken.
  void load(const std::vector<std::size_t>& asked);
  void load_all();
  /// These columns as numbers: NaN where nothing was recorded, infinite where what was recorded is no finite
  /// number (nan and inf of a text). A decimal comma is taken for one, and noted, where no field of these
  /// columns speaks against it. Throws InputError naming line, column and field.
  [[nodiscard]] std::vector<std::vector<double>> numbers(const std::vector<std::size_t>& asked);
  /// A column as texts, empty where there is none; equal numbers have one text.
  [[nodiscard]] std::vector<std::string> labels(std::size_t column);
};

/// CSV, TSV, JSON lines (an object a line) or an array of objects (in an object: as log_history), by suffix or
/// else by content, packed by gzip or not; .npz; TensorBoard's event files, one or a folder of one run.
/// Of CSV the table holds the text and the columns that were asked for. Throws InputError with line and column for anything that is not a complete table.
Table read_table(const std::filesystem::path& path);

/// Of CSV text already in memory; the separator is the comma, semicolon or tab that the header has.
Table parse_csv(std::string text, std::string_view file);

/// The first of many names, and how many there are.
std::string list_of(const std::vector<std::string>& names);

/// A number as a label: that of its shortest text.
std::string label_text(double x);

}  // namespace popgrad
