#include "io/table.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/json.hpp"
#include "base/number_field.hpp"
#include "io/given_files.hpp"
#include "io/input_files.hpp"
#include "io/npz.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double not_finite = std::numeric_limits<double>::infinity();

// Beyond it two whole numbers may be one double.
constexpr double largest_whole = 9007199254740992;

// Told from a field that is empty: nan is no finite number.
std::optional<double> number_of(std::string_view text) {
  const std::optional<double> number = number_field(text);
  return number && !std::isfinite(*number) && !text.empty() ? not_finite : number;
}

std::string text_label(std::string_view text) {
  const std::optional<double> number = number_of(text);
  if (!number) return std::string(text);
  if (!std::isfinite(*number)) return {};
  return std::fabs(*number) < largest_whole ? label_text(*number) : std::string(text);
}

struct CsvReader {
  Table table;
  std::string_view file;
  const LabelNames& labels;
  std::unordered_set<std::string> names;
  std::vector<std::vector<std::string>*> texts;  // null where a column is no label
  std::size_t line = 1;
  std::size_t field = 0;
  std::string failure;

  CsvReader(std::string_view name, const LabelNames& texts_of) : file(name), labels(texts_of) {}

  void fail(const std::string& reason) {
    if (failure.empty()) {
      failure = fmt::format("{}: line {}, column {}: {}", file, line, field + 1, reason);
    }
  }

  void on_field(std::string_view text) {
    if (!failure.empty()) return;
    if (line == 1) {
      if (text.empty()) fail("has no name; the first line must name every column");
      if (!names.emplace(text).second) fail(fmt::format("the name '{}' occurs twice", text));
      table.names.emplace_back(text);
      texts.push_back(labels.contains(text) ? &table.labels[std::string(text)] : nullptr);
    } else if (field >= table.names.size()) {
      fail(fmt::format("more fields than the {} of the header", table.names.size()));
    } else if (texts[field] != nullptr) {
      texts[field]->push_back(text_label(text));
      table.columns[field].push_back(missing);
    } else {
      const std::optional<double> number = number_of(text);
      if (!number) {
        fail(
            fmt::format("'{}' is not a number that a double holds; '{}' must have decimals, nan, "
                        "inf or nothing",
                        text.substr(0, 40), table.names[field]));
      }
      table.columns[field].push_back(number.value_or(missing));
    }
    ++field;
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

Table parse_json_lines(std::string_view text, std::string_view file, const LabelNames& labels) {
  Table table;
  std::unordered_map<std::string, std::size_t> places;
  std::size_t line = 0, rows = 0;
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
    for (const auto& [name, value] : object.items()) {
      const auto [at, fresh] = places.try_emplace(name, table.names.size());
      if (fresh) {
        table.names.push_back(name);
        table.columns.emplace_back(rows, missing);
        if (labels.contains(name)) table.labels[name].resize(rows);
      }
      std::vector<double>& column = table.columns[at->second];
      column.push_back(missing);
      const auto texts = table.labels.find(name);
      if (texts != table.labels.end()) texts->second.emplace_back();
      if (value.is_null()) continue;
      // Numbers are texts here.
      const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
      if (texts != table.labels.end()) {
        texts->second.back() = text_label(written);
        continue;
      }
      const std::optional<double> number = value.is_string() ? number_of(written) : std::nullopt;
      if (!number) {
        throw InputError(fmt::format(
            "{}: line {}: {} = {} is not a number that a double holds; give a decimal, \"nan\", "
            "\"inf\" or null",
            file, line, name.substr(0, 40), written.substr(0, 40)));
      }
      column.back() = *number;
    }
    ++rows;
    // What this row does not have.
    for (std::vector<double>& column : table.columns) column.resize(rows, missing);
    for (auto& [name, texts] : table.labels) texts.resize(rows);
  }
  return table;
}

Table table_of(NpzContent content, const std::filesystem::path& path, const LabelNames& labels) {
  Table table;
  table.unread = std::move(content.unread);
  for (auto& [name, values] : content.arrays) {
    if (labels.contains(name)) {
      std::vector<std::string>& texts = table.labels[name];
      const auto whole = content.whole.find(name);
      for (std::size_t k = 0; k < values.size(); ++k) {
        texts.push_back(whole != content.whole.end() ? whole->second[k]
                        : std::isfinite(values[k])   ? label_text(values[k])
                                                     : std::string());
      }
    }
    table.names.push_back(name);
    table.columns.push_back(std::move(values));
  }
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    if (table.columns[c].size() != table.rows()) {
      throw InputError(fmt::format(
          "{}: array '{}' has {} numbers and '{}' {}; give columns of one table", path.string(),
          table.names[c], table.columns[c].size(), table.names.front(), table.rows()));
    }
  }
  return table;
}

}  // namespace

std::string label_text(double x) { return fmt::format("{}", x); }

const std::vector<double>& Table::column(std::string_view name, std::string_view file,
                                         std::string_view advice) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    if (const auto array = unread.find(name); array != unread.end()) {
      reject(file, "array", name, array->second);
    }
    std::string hint = suggestion(name, names);
    if (hint.empty() && !advice.empty()) hint = fmt::format("; {}", advice);
    reject(file, "column", name,
           fmt::format("is not there{}; it has {}", hint, fmt::join(names, ", ")));
  }
  return columns[static_cast<std::size_t>(found - names.begin())];
}

Table parse_csv(std::string_view text, std::string_view file, const LabelNames& labels) {
  text = without_byte_order_mark(text);
  CsvReader reader(file, labels);
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
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

Table read_table(const std::filesystem::path& path, const LabelNames& labels) {
  const auto& given = given_files().tables;
  if (const auto at = given.find(path.string()); at != given.end()) {
    Table table = at->second;
    for (const std::string& name : labels) {
      const auto found = std::find(table.names.begin(), table.names.end(), name);
      if (found == table.names.end()) continue;
      for (const double x : table.columns[static_cast<std::size_t>(found - table.names.begin())]) {
        table.labels[name].push_back(std::isfinite(x) ? label_text(x) : std::string());
      }
    }
    return table;
  }
  const std::string suffix = path.extension().string();
  Table table;
  if (suffix == ".npz") {
    table = table_of(read_npz(path), path, labels);
  } else {
    const std::string text = read_file(path);
    table = suffix == ".jsonl" || suffix == ".ndjson"
                ? parse_json_lines(text, path.string(), labels)
                : parse_csv(text, path.string(), labels);
  }
  if (table.rows() == 0) throw InputError(fmt::format("{}: holds no rows", path.string()));
  return table;
}

}  // namespace popgrad
