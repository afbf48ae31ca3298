#pragma once
/// Runs recorded elsewhere, as columns of numbers.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;  ///< all of one length; NaN where a field is empty

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  /// The column of that name; InputError with the nearest name otherwise.
  [[nodiscard]] const std::vector<double>& column(std::string_view name,
                                                  std::string_view file) const;
};

/// By suffix: .npz, .jsonl or .ndjson (an object a line), else CSV with a header line.
/// Throws InputError with line and column for anything that is not a complete table of numbers.
Table read_table(const std::filesystem::path& path);

/// The same for CSV text already in memory.
Table parse_csv(std::string_view text, std::string_view file);

}  // namespace popgrad
