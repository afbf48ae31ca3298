#include "io/table.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_set>

#include "io/atomic_file.hpp"
#include "io/given_files.hpp"
#include "io/npz.hpp"
#include "popgrad/error.hpp"
#include "popgrad/json.hpp"
#include "popgrad/scalar.hpp"

namespace popgrad {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

struct CsvReader {
  Table table;
  std::unordered_set<std::string> names;
  std::string_view file;
  std::size_t line = 1;
  std::size_t field = 0;
  std::string failure;

  void fail(const std::string& reason) {
    if (failure.empty()) {
      failure = fmt::format("{}: line {}, column {}: {}", file, line, field + 1, reason);
    }
  }

  void on_field(std::string_view text) {
    if (!failure.empty()) return;
    if (line == 1) {
      if (text.empty()) fail("has no name; the first line must name every column");
      if (!names.emplace(text).second) {
        fail(fmt::format("the name '{}' occurs twice", text));
      }
      table.names.emplace_back(text);
    } else if (field >= table.names.size()) {
      fail(fmt::format("more fields than the {} of the header", table.names.size()));
    } else {
      table.columns[field].push_back(number(text));
    }
    ++field;
  }

  double number(std::string_view text) {
    if (text.empty() || text == "nan" || text == "NaN") return missing;
    try {
      return from_text<double>(text);
    } catch (const std::invalid_argument&) {
      fail(fmt::format("'{}' is not a number", text.substr(0, 40)));
      return missing;
    }
  }

  void on_row() {
    if (!failure.empty()) return;
    if (line == 1) {
      table.columns.resize(table.names.size());
    } else if (field != table.names.size()) {
      fail(fmt::format("{} fields where the header has {}", field, table.names.size()));
    }
    ++line;
    field = 0;
  }
};

Table parse_json_lines(std::string_view text, std::string_view file) {
  Table table;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json object = parse_json_keeping_digits(row, fmt::format("{}: row {}", file, line));
    if (!object.is_object()) {
      throw InputError(fmt::format("{}: line {}: must be one JSON object", file, line));
    }
    if (table.names.empty()) {
      for (const auto& [name, value] : object.items()) table.names.push_back(name);
      table.columns.resize(table.names.size());
    }
    // Most rows have the names of the first in its order: a search begins where the last ended.
    auto next = object.begin();
    for (std::size_t c = 0; c < table.names.size(); ++c) {
      auto found = next;
      if (found == object.end() || found.key() != table.names[c]) {
        found = object.find(table.names[c]);
      }
      if (found != object.end()) next = std::next(found);
      double value = missing;
      if (found != object.end() && !found->is_null()) {
        try {
          value = from_text<double>(found->is_string() ? found->get<std::string>() : found->dump());
        } catch (const std::invalid_argument&) {
          throw InputError(
              fmt::format("{}: line {}: '{}' is not a number", file, line, table.names[c]));
        }
      }
      table.columns[c].push_back(value);
    }
  }
  return table;
}

}  // namespace

const std::vector<double>& Table::column(std::string_view name, std::string_view file) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    reject(
        file, "column", name,
        fmt::format("is not there{}; it has {}", suggestion(name, names), fmt::join(names, ", ")));
  }
  return columns[static_cast<std::size_t>(found - names.begin())];
}

Table parse_csv(std::string_view text, std::string_view file) {
  CsvReader reader;
  reader.file = file;
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw InputError("csv: out of memory");
  const auto field = [](void* bytes, std::size_t size, void* self) {
    static_cast<CsvReader*>(self)->on_field({static_cast<const char*>(bytes), size});
  };
  const auto row = [](int /*terminator*/, void* self) { static_cast<CsvReader*>(self)->on_row(); };
  const std::size_t read = csv_parse(&parser, text.data(), text.size(), field, row, &reader);
  const bool complete = read == text.size() && csv_fini(&parser, field, row, &reader) == 0;
  csv_free(&parser);
  if (reader.failure.empty() && !complete) reader.fail("a quoted field is not closed");
  if (reader.failure.empty() && reader.table.rows() == 0) reader.fail("holds no rows of numbers");
  if (!reader.failure.empty()) throw InputError(reader.failure);
  return std::move(reader.table);
}

Table read_table(const std::filesystem::path& path) {
  const auto& given = given_files().tables;
  if (const auto at = given.find(path.string()); at != given.end()) return at->second;
  const std::string suffix = path.extension().string();
  Table table;
  if (suffix == ".npz") {
    for (auto& [name, values] : read_npz(path)) {
      table.names.push_back(name);
      table.columns.push_back(std::move(values));
    }
    for (const std::vector<double>& column : table.columns) {
      if (column.size() != table.rows()) {
        throw InputError(
            fmt::format("{}: arrays differ in length; give columns of one table", path.string()));
      }
    }
  } else {
    const std::string text = read_file(path);
    table = suffix == ".jsonl" || suffix == ".ndjson" ? parse_json_lines(text, path.string())
                                                      : parse_csv(text, path.string());
  }
  if (table.rows() == 0) throw InputError(fmt::format("{}: holds no rows", path.string()));
  return table;
}

}  // namespace popgrad
