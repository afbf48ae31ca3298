#include "io/table.hpp"

#include <csv.h>
#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/json.hpp"
#include "base/number_field.hpp"
#include "io/event_file.hpp"
#include "io/given_files.hpp"
#include "io/input_files.hpp"
#include "io/npz.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"

namespace popgrad {
namespace {

constexpr double not_finite = std::numeric_limits<double>::infinity();

// Beyond it two whole numbers may be one double.
constexpr double largest_whole = 9007199254740992;

// Apart from a field that is empty: nan is no finite number.
std::optional<double> number_of(std::string_view text) {
  const std::optional<double> number = number_field(text);
  return number && !std::isfinite(*number) && !text.empty() ? not_finite : number;
}

// ---- decimal commas -------------------------------------------------------------------------

std::optional<double> number_with_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find('.') != std::string_view::npos) return {};
  std::string decimal(text);
  decimal[comma] = '.';
  return number_of(decimal);
}

// 1,234 is a number with a decimal comma, or one with a comma between its thousands.
bool may_be_thousands(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t comma = text.find(',');
  return comma >= 1 && comma <= 3 && text.front() != '0' && text.size() == comma + 4 &&
         text.find_first_not_of("0123456789", comma + 1) == std::string_view::npos;
}

// ---- CSV ------------------------------------------------------------------------------------

std::string name_of(char separator) {
  return separator == '\t' ? "tabs" : fmt::format("'{}'", separator);
}

// Its fields, but for separators in quotes.
std::size_t fields_of(std::string_view line, char separator) {
  std::size_t count = 1;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted) ++count;
  }
  return count;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find_first_of("\r\n");
  std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
  if (size < text.size() && text.substr(end, 2) == "\r\n") ++size;
  const std::string_view line = text.substr(0, size);
  text.remove_prefix(size);
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Of the separators that the header has, the one that gives every line as many fields as the header.
char separator_of(std::string_view text, std::string_view file) {
  constexpr int most_lines = 1000;
  std::string_view header;
  while (is_blank(header) && !text.empty()) header = next_line(text);
  std::string there, fitting;
  for (const char c : {',', ';', '\t'}) {
    if (fields_of(header, c) > 1) there += c;
  }
  if (there.size() <= 1) return there.empty() ? ',' : there.front();
  for (const char c : there) {
    bool fits = true;
    std::string_view rest = text;
    for (int k = 0; k < most_lines && fits && !rest.empty(); ++k) {
      const std::string_view line = next_line(rest);
      fits = is_blank(line) || fields_of(line, c) == fields_of(header, c);
    }
    if (fits) fitting += c;
  }
  if (fitting.size() > 1) {
    throw InputError(fmt::format(
        "{}: line 1: fields may be separated by {} or by {}: with both every line has as many as "
        "the header; put names and fields that have one of them in quotes",
        file, name_of(fitting[0]), name_of(fitting[1])));
  }
  return fitting.empty() ? ',' : fitting.front();
}

// Each field with the line in which its row begins, and each such line at the end of the row, until `on_row` returns
// false. The line of a row whose last field is in quotes that are not closed.
template <class OnField, class OnRow>
std::optional<std::size_t> scan_csv(std::string_view text, char separator, const OnField& on_field,
                                    const OnRow& on_row) {
  struct Scan {
    const OnField& on_field;
    const OnRow& on_row;
    std::size_t line = 0;
    bool more = true;
  };
  Scan scan{on_field, on_row};
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  csv_set_delim(&parser, static_cast<unsigned char>(separator));
  const auto field = [](void* bytes, std::size_t size, void* self) {
    const auto* const of = static_cast<Scan*>(self);
    if (of->more) of->on_field(std::string_view(static_cast<const char*>(bytes), size), of->line);
  };
  const auto row = [](int /*terminator*/, void* self) {
    auto* const of = static_cast<Scan*>(self);
    of->more = of->more && of->on_row(of->line);
    of->line = 0;
  };
  bool complete = true;
  for (std::size_t line = 1; complete && scan.more && !text.empty(); ++line) {
    const std::string_view part = next_line(text);
    // A quoted field may go on over several lines.
    if (scan.line == 0 && !is_blank(part)) scan.line = line;
    complete = csv_parse(&parser, part.data(), part.size(), field, row, &scan) == part.size();
  }
  complete = complete && csv_fini(&parser, field, row, &scan) == 0;
  csv_free(&parser);
  return complete || !scan.more ? std::nullopt : std::optional(scan.line);
}

std::vector<Fields> columns_of_csv(std::string_view text, char separator,
                                   const std::vector<std::size_t>& lines, std::size_t names,
                                   const std::vector<std::size_t>& asked) {
  std::vector<Fields> made(asked.size());
  std::vector<Fields*> wanted(names, nullptr);
  for (std::size_t k = 0; k < asked.size(); ++k) wanted[asked[k]] = &made[k];
  std::size_t row = 0, column = 0;
  const auto is_row = [&](std::size_t line) { return row < lines.size() && lines[row] == line; };
  scan_csv(
      text, separator,
      [&](std::string_view field, std::size_t line) {
        if (is_row(line) && wanted[column] != nullptr) wanted[column]->add(row, field);
        ++column;
      },
      [&](std::size_t line) {
        if (is_row(line)) ++row;
        column = 0;
        return true;
      });
  return made;
}

// ---- JSON -----------------------------------------------------------------------------------

// Python writes NaN, Infinity and -Infinity, which are no JSON: as texts.
std::string with_constants_quoted(std::string_view row) {
  if (row.find("NaN") == std::string_view::npos && row.find("Infinity") == std::string_view::npos) {
    return std::string(row);
  }
  std::string made;
  bool in_text = false;
  while (!row.empty()) {
    std::size_t size = 1;
    if (in_text) {
      if (row.front() == '\\') size = std::min<std::size_t>(2, row.size());
      if (row.front() == '"') in_text = false;
    } else if (row.front() == '"') {
      in_text = true;
    } else {
      for (const std::string_view constant : {"NaN", "Infinity", "-Infinity"}) {
        if (!row.starts_with(constant)) continue;
        made += fmt::format("\"{}\"", constant);
        row.remove_prefix(constant.size());
        size = 0;
        break;
      }
    }
    made += row.substr(0, size);
    row.remove_prefix(size);
  }
  return made;
}

bool is_document(std::string_view text) {
  std::string_view first = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return first.starts_with('[') || (first.starts_with('{') && is_blank(next_line(first).substr(1)));
}

// An object a line, as long as the first line holds one; otherwise one document with an array of objects,
// which Hugging Face's trainer_state.json has as log_history.
template <class OnRow>
void for_each_json_row(std::string_view text, const std::string& file, const OnRow& on_row) {
  if (is_document(text)) {
    constexpr double bytes_of_tree = 16;  // a byte of text
    require_memory(bytes_of_tree * static_cast<double>(text.size()),
                   fmt::format("the JSON document of {}", file),
                   "write an object a line, or give a smaller file");
    Json rows = parse_json_keeping_digits(with_constants_quoted(text), file);
    if (rows.is_object() && rows.contains("log_history")) rows = Json(rows["log_history"]);
    const auto is_row = [](const Json& row) { return row.is_object(); };
    if (!rows.is_array() || !std::all_of(rows.begin(), rows.end(), is_row)) {
      throw InputError(fmt::format(
          "{}: must be an array of objects, an object with one as log_history, or JSON lines",
          file));
    }
    for (const Json& row : rows) on_row(row, 0);
    return;
  }
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view row = next_line(text);
    if (is_blank(row)) continue;
    const Json object = parse_json_keeping_digits(with_constants_quoted(row), file, nullptr, line);
    if (!object.is_object()) {
      throw InputError(fmt::format("{}: line {}: must be one JSON object", file, line));
    }
    on_row(object, line);
  }
}

Table parse_json(std::string_view text, const std::string& file) {
  Table table;
  table.file = file;
  std::vector<std::shared_ptr<Fields>> fields;
  std::unordered_map<std::string, std::size_t> places;
  for_each_json_row(text, file, [&](const Json& object, std::size_t line) {
    for (const auto& [name, value] : object.items()) {
      const auto [at, fresh] = places.try_emplace(name, table.names.size());
      if (fresh) {
        table.names.push_back(name);
        fields.push_back(std::make_shared<Fields>());
      }
      if (value.is_null()) continue;
      // Numbers are texts here.
      fields[at->second]->add(table.lines.size(), value.is_string()
                                                      ? value.get_ref<const std::string&>()
                                                      : value.dump());
    }
    table.lines.push_back(line);
  });
  table.fields.assign(fields.begin(), fields.end());
  return table;
}

// ---- files ----------------------------------------------------------------------------------

constexpr std::string_view gzip_begins = "\x1F\x8B";

std::string unpacked(std::string packed, const std::string& file) {
  constexpr std::size_t most = std::size_t{1} << 30;
  // The size of what was packed, modulo 2^32, is at the end.
  std::uint32_t size = 0;
  for (std::size_t k = 1; k <= sizeof(size) && k <= packed.size(); ++k) {
    size = size << 8U | static_cast<unsigned char>(packed[packed.size() - k]);
  }
  // Deflate makes at most 1032 bytes of one: where a file was cut off, no size is at its end.
  constexpr double most_of_a_byte = 1032;
  if (static_cast<double>(size) <= most_of_a_byte * static_cast<double>(packed.size())) {
    require_memory(static_cast<double>(size), fmt::format("the unpacked bytes of {}", file),
                   "give a smaller file");
  }
  std::string text;
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();  // 16: of gzip
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(packed.size(), most));
  int status = Z_OK;
  std::string part(std::size_t{1} << 16, '\0');
  while (status == Z_OK && text.size() <= most) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(part, 0, part.size() - stream.avail_out);
    // A file may have several members.
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  }
  inflateEnd(&stream);
  if (text.size() > most) {
    throw InputError(fmt::format("{}: holds more than 1 GiB; unpack it with gunzip", file));
  }
  if (status != Z_STREAM_END) {
    throw InputError(fmt::format("{}: is no complete gzip file; pack it again", file));
  }
  return text;
}

Table table_of(NpzContent content, const std::string& file) {
  Table table;
  table.file = file;
  table.unread = std::move(content.unread);
  table.whole = std::move(content.whole);
  for (auto& [name, values] : content.arrays) {
    table.names.push_back(name);
    table.columns.push_back(std::move(values));
  }
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    if (table.columns[c].size() != table.rows()) {
      throw InputError(
          fmt::format("{}: array '{}' has {} numbers and '{}' {}; give columns of one table", file,
                      table.names[c], table.columns[c].size(), table.names.front(), table.rows()));
    }
  }
  return table;
}

// Of a large file they show whether it is worth reading.
std::string first_bytes(const std::filesystem::path& path) {
  constexpr std::size_t most = 4096;
  std::string bytes(most, ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes.starts_with(gzip_begins) ? std::string() : bytes;
}

void refuse_bytes_that_are_no_text(std::string_view text, const std::string& file) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw InputError(fmt::format("{}: is text in UTF-16; save it as UTF-8", file));
  }
  if (text.starts_with("\x93NUMPY")) {
    throw InputError(
        fmt::format("{}: is one array of NumPy; save the columns with numpy.savez", file));
  }
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    throw InputError(
        fmt::format("{}: byte {} is NUL, which no text has; give a whole table", file, zero + 1));
  }
}

void refuse_log_that_is_no_table(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".wandb")) {
    throw InputError(
        fmt::format("{}: is the log of W&B itself, no table; export it in Python: rows = "
                    "wandb.Api().run(\"ENTITY/PROJECT/RUN\").scan_history(); "
                    "pandas.DataFrame(rows).to_csv(\"run.csv\", index=False)",
                    path.string()));
  }
}

}  // namespace

std::string label_text(double x) { return fmt::format("{}", x); }

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, ... ({} columns)", fmt::join(names.begin(), names.begin() + most, ", "),
                     names.size());
}

std::string Table::place(std::size_t row) const {
  return fields.empty() || lines[row] == 0 ? fmt::format("row {}", row + 1)
                                           : fmt::format("line {}", lines[row]);
}

std::string Table::doubt_of_names() const {
  const auto number = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return !name.empty() && number_of(name).has_value();
  });
  if (fields.empty() || number == names.end()) return {};
  return fmt::format("; '{}' is no name: does the file begin without a line of names?",
                     number->substr(0, 20));
}

std::size_t Table::index(std::string_view name, std::string_view advice) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    if (const auto array = unread.find(name); array != unread.end()) {
      reject(file, "array", name, array->second);
    }
    std::string hint = suggestion(name, names);
    if (hint.empty() && !advice.empty()) hint = fmt::format("; {}", advice);
    reject(file, "column", name,
           fmt::format("is not there{}; it has {}{}", hint, list_of(names), doubt_of_names()));
  }
  if (std::find(found + 1, names.end(), name) != names.end()) {
    reject(file, "column", name, "is there twice; give the two columns names of their own");
  }
  return static_cast<std::size_t>(found - names.begin());
}

void Table::load(const std::vector<std::size_t>& asked) {
  if (!reread) return;
  std::vector<std::size_t> further = asked;
  std::sort(further.begin(), further.end());
  further.erase(std::unique(further.begin(), further.end()), further.end());
  std::erase_if(further, [&](std::size_t c) { return fields[c] != nullptr; });
  if (further.empty()) return;
  constexpr double bytes_of_field =
      2 * sizeof(std::size_t) + sizeof(double);  // some digits, an end, the number
  require_memory(bytes_of_field * static_cast<double>(further.size()) * static_cast<double>(rows()),
                 fmt::format("{} columns of {}", further.size(), file), "name fewer columns");
  std::vector<Fields> read = reread(further);
  for (std::size_t k = 0; k < further.size(); ++k) {
    fields[further[k]] = std::make_shared<const Fields>(std::move(read[k]));
  }
}

void Table::load_all() {
  std::vector<std::size_t> all(names.size());
  std::iota(all.begin(), all.end(), 0);
  load(all);
}

std::vector<std::vector<double>> Table::numbers(const std::vector<std::size_t>& asked) {
  load(asked);
  std::vector<std::vector<double>> made;
  std::string with_point, with_comma, with_either;  // the first of each
  std::string columns_with_comma;
  const auto where = [&](std::size_t row, std::size_t c) {
    return fmt::format("'{}' ({}, column '{}')", (*fields[c])[row].substr(0, 40), place(row),
                       names[c].substr(0, 40));
  };
  for (const std::size_t c : asked) {
    if (fields.empty()) {
      made.push_back(columns[c]);
      continue;
    }
    std::vector<double>& column = made.emplace_back();
    bool commas = false;
    for (std::size_t row = 0; row < rows(); ++row) {
      const std::string_view field = (*fields[c])[row];
      std::optional<double> number = number_of(field);
      if (number && with_point.empty() && field.find('.') != std::string_view::npos) {
        with_point = where(row, c);
      }
      if (!number) {
        number = number_with_comma(field);
        std::string& first = may_be_thousands(field) ? with_either : with_comma;
        if (number && first.empty()) first = where(row, c);
        commas = commas || number.has_value();
      }
      if (!number) {
        throw InputError(fmt::format(
            "{}: {}, column '{}': '{}' is not a number that a double holds; give a decimal, nan, "
            "inf or nothing",
            file, place(row), names[c].substr(0, 40), field.substr(0, 40)));
      }
      column.push_back(*number);
    }
    if (commas)
      columns_with_comma += fmt::format("{}{}", columns_with_comma.empty() ? "" : ", ", names[c]);
  }
  const std::string& comma = with_comma.empty() ? with_either : with_comma;
  if (!comma.empty() && !with_point.empty()) {
    throw InputError(fmt::format(
        "{}: {} has a comma and {} a point; write every number with a decimal point, and nothing "
        "between thousands",
        file, comma, with_point));
  }
  if (with_comma.empty() && !with_either.empty()) {
    throw InputError(
        fmt::format("{}: {} may have a decimal comma or a comma between thousands; write numbers "
                    "with a decimal point, and nothing between thousands",
                    file, with_either));
  }
  if (!comma.empty()) {
    notes.push_back(
        fmt::format("{}: the comma in {} is taken for a decimal one", file, columns_with_comma));
  }
  return made;
}

std::vector<std::string> Table::labels(std::size_t column) {
  load({column});
  std::vector<std::string> texts;
  if (fields.empty()) {
    if (const auto digits = whole.find(names[column]); digits != whole.end()) return digits->second;
    for (const double x : columns[column]) {
      texts.push_back(std::isfinite(x) ? label_text(x) : std::string());
    }
    return texts;
  }
  for (std::size_t row = 0; row < rows(); ++row) {
    const std::string_view text = (*fields[column])[row];
    const std::optional<double> number = number_of(text);
    texts.emplace_back(number && !std::isfinite(*number) ? std::string_view() : text);
    if (number && std::fabs(*number) < largest_whole) texts.back() = label_text(*number);
  }
  return texts;
}

Table parse_csv(std::string given, std::string_view file) {
  const auto kept = std::make_shared<const std::string>(std::move(given));
  const std::string_view text = without_byte_order_mark(*kept);
  Table table;
  table.file = file;
  std::vector<std::string>& names = table.names;
  const char separator = separator_of(text, file);
  std::size_t count = 0;  // of the fields of a row
  bool is_header = true;  // whether they are those of the header so far
  bool has_header = false;
  std::size_t repeated = 0, repeats = 0;  // line of the first header that stands among the rows
  std::string failure;
  const auto fail = [&](std::size_t line, const std::string& reason) {
    failure = fmt::format("{}: line {}: {}", table.file, line, reason);
  };
  const auto is_number = [](const std::string& name) {
    return !name.empty() && number_of(name).has_value();
  };
  const auto on_row = [&](std::size_t line) {
    if (!has_header) {
      has_header = true;
      if (std::all_of(names.begin(), names.end(), is_number)) {
        fail(line, fmt::format("has numbers ({}{}) where the names of the columns should be; begin "
                               "the file with a line of names, such as step,loss",
                               names.front().substr(0, 20), names.size() > 1 ? ", ..." : ""));
      }
    } else if (count != names.size()) {
      fail(line, fmt::format("has {} fields, and the header {}", count, names.size()));
    } else if (is_header) {
      if (repeats++ == 0) repeated = line;
    } else {
      table.lines.push_back(line);
    }
    count = 0;
    is_header = true;
    return failure.empty();
  };
  const auto on_field = [&](std::string_view field, std::size_t /*line*/) {
    if (!has_header) names.emplace_back(field);
    is_header = is_header && count < names.size() && field == names[count];
    ++count;
  };
  if (const auto line = scan_csv(text, separator, on_field, on_row)) {
    fail(*line, "a quoted field is not closed");
  }
  if (!failure.empty()) throw InputError(failure);
  table.fields.resize(names.size());
  table.reread = [kept, text, separator, lines = table.lines,
                  size = names.size()](const std::vector<std::size_t>& asked) {
    return columns_of_csv(text, separator, lines, size, asked);
  };
  if (table.rows() == 0) throw InputError(fmt::format("{}: holds no rows of numbers", file));
  if (separator != ',') {
    table.notes.push_back(fmt::format("{}: fields are separated by {}", file, name_of(separator)));
  }
  if (repeats > 0) {
    table.notes.push_back(
        fmt::format("{}: lines that repeat the header are left out: {}, the first is line {}", file,
                    repeats, repeated));
  }
  return table;
}

Table read_table(const std::filesystem::path& path) {
  const auto& given = given_files().tables;
  if (const auto at = given.find(path.string()); at != given.end()) {
    Table table = at->second;
    table.file = path.string();
    return table;
  }
  refuse_log_that_is_no_table(path);
  const std::string file = path.string();
  Table table;
  if (path.extension() == ".npz") {
    table = table_of(read_npz(path), file);
  } else if (is_event_file(path) || std::filesystem::is_directory(path)) {
    table = read_event_files(path);
  } else {
    refuse_bytes_that_are_no_text(first_bytes(path), file);
    std::string text = read_file(path);
    std::string suffix = path.extension().string();
    if (text.starts_with(gzip_begins)) {
      text = unpacked(std::move(text), file);
      if (suffix == ".gz") suffix = path.stem().extension().string();
    }
    refuse_bytes_that_are_no_text(text, file);
    const std::string_view content = without_byte_order_mark(text);
    const std::size_t begin = content.find_first_not_of(" \t\r\n");
    const bool json =
        suffix == ".jsonl" || suffix == ".ndjson" ||
        (begin != std::string_view::npos && (content[begin] == '{' || content[begin] == '['));
    table = json ? parse_json(content, file) : parse_csv(std::move(text), file);
  }
  if (table.rows() == 0) throw InputError(fmt::format("{}: holds no rows", file));
  return table;
}

}  // namespace popgrad
