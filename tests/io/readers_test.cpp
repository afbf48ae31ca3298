/// Readers of tables, instances and formulas under drawn mutations of valid files: what is missing is said,
/// what is wrong is refused in one line of ours, and nothing else changes in silence.

#include <fmt/format.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "base/json.hpp"
#include "base/number_field.hpp"
#include "commands/shell.hpp"
#include "event_record.hpp"
#include "io/input_files.hpp"
#include "io/npz.hpp"
#include "io/recorded_run.hpp"
#include "io/row_formula.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/rational.hpp"
#include "sanitized.hpp"

namespace readers_test {

using namespace popgrad;
using command_line::Folder;

namespace {

using Draw = std::mt19937;

std::size_t below(Draw& draw, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(draw);
}

template <class List>
const auto& one_of(Draw& draw, const List& list) {
  return list[below(draw, list.size())];
}

// No library's words, and one line.
void check_message(const std::string& text) {
  CAPTURE(text);
  CHECK(!text.empty());
  CHECK(text.find('\n') == std::string::npos);
  for (const char* foreign :
       {"exception", "error while", "last read", "parse_error", "stoull", "stol", "stod", "GiNaC",
        "boost", "Boost", "std::", "basic_string", "[json"}) {
    CHECK(text.find(foreign) == std::string::npos);
  }
}

// A table of texts: two runs with a step, a learning rate and two observables.
struct Texts {
  std::vector<std::string> names{"seed", "step", "lr", "loss", "entropy"};
  std::vector<std::vector<std::string>> rows;
};
constexpr std::size_t seed_at = 0, step_at = 1, loss_at = 3, entropy_at = 4;
constexpr std::size_t rows_of_a_run = 8;

Texts whole_table() {
  Texts table;
  for (int run = 1; run <= 2; ++run) {
    for (std::size_t k = 0; k < rows_of_a_run; ++k) {
      const auto x = static_cast<double>(k);
      table.rows.push_back({std::to_string(run), std::to_string(10 * k), "0.5",
                            fmt::format("{:.9g}", std::exp(-x / run)), fmt::format("{}", 1 + x)});
    }
  }
  return table;
}

std::string csv_of(const Texts& table) {
  std::string text = fmt::format("{}\n", fmt::join(table.names, ","));
  for (const auto& row : table.rows) text += fmt::format("{}\n", fmt::join(row, ","));
  return text;
}

// What is a number of JSON is written as one, an empty field as null or left out.
std::string json_lines_of(const Texts& table, Draw& draw) {
  std::string text;
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (std::size_t c = 0; c < table.names.size(); ++c) {
      std::string value = row[c];
      if (value.empty()) {
        if (below(draw, 2) == 0) continue;
        value = "null";
      } else if (value.find_first_not_of("0123456789.e-") != std::string::npos ||
                 value.find_first_of("0123456789") == std::string::npos) {
        value = Json(value).dump();
      }
      fields.push_back(Json(table.names[c]).dump() + ": " + value);
    }
    text += fmt::format("{{{}}}\n", fmt::join(fields, ", "));
  }
  return text;
}

struct Reading {
  std::vector<RecordedRun> runs;
  std::vector<std::string> notes;
  std::string refused;

  // Rows that are said to lack something, and what else is said.
  [[nodiscard]] std::size_t said() const {
    std::size_t count = notes.size();
    for (const RecordedRun& run : runs) {
      count += run.without_time;
      for (const Gaps& gaps : run.gaps) count += gaps.missing;
    }
    return count;
  }
};

Reading read(const std::string& file,
             const RecordedLayout& layout = {.group = {"seed"}, .clock = "lr*step"}) {
  begin_reading();  // each is a command of its own
  Reading made;
  try {
    RecordedFiles files = read_recorded_runs({file}, layout, {"loss", "entropy"});
    made.runs = std::move(files.runs);
    made.notes = std::move(files.notes);
  } catch (const InputError& error) {
    made.refused = error.what();
    check_message(made.refused);
  }
  return made;
}

bool same(const Reading& a, const Reading& b) {
  if (a.runs.size() != b.runs.size()) return false;
  for (std::size_t r = 0; r < a.runs.size(); ++r) {
    if (a.runs[r].label.substr(a.runs[r].label.find(' ')) !=
            b.runs[r].label.substr(b.runs[r].label.find(' ')) ||
        a.runs[r].t != b.runs[r].t || a.runs[r].columns != b.runs[r].columns ||
        a.runs[r].values != b.runs[r].values) {
      return false;
    }
  }
  return true;
}

enum class Expected { refused, said, other_or_refused };

struct Mutation {
  const char* name;
  Expected expected;
  std::function<void(Draw&, Texts&)> change;
};

const std::vector<std::string> no_numbers{"nan", "-nan", "NaN", "inf", "-inf", "Infinity"};
const std::vector<std::string> wrong{"1/3", "1e+-5", "1e400", "0x1p", "--1", "1.2.3",
                                     "one", "+-1",   "1e",    "1 2",  "1_0", "(1)"};

std::vector<Mutation> mutations() {
  const auto cell = [](std::vector<std::size_t> columns, std::vector<std::string> values) {
    return [columns, values](Draw& draw, Texts& table) {
      table.rows[below(draw, table.rows.size())][one_of(draw, columns)] = one_of(draw, values);
    };
  };
  return {
      {"no finite number in an observable", Expected::said,
       cell({loss_at, entropy_at}, no_numbers)},
      {"an empty field in an observable", Expected::said, cell({loss_at, entropy_at}, {""})},
      {"an empty field in the clock", Expected::said, cell({step_at, 2}, {""})},
      {"no finite number in the clock", Expected::refused, cell({step_at, 2}, no_numbers)},
      {"an empty label", Expected::refused, cell({seed_at}, {"", "nan"})},
      {"what is no number", Expected::refused, cell({step_at, 2, loss_at, entropy_at}, wrong)},
      {"a row twice", Expected::said,
       [](Draw& draw, Texts& table) {
         const std::size_t k = below(draw, table.rows.size());
         const std::vector<std::string> row = table.rows[k];
         table.rows.insert(table.rows.begin() + static_cast<std::ptrdiff_t>(k), row);
       }},
      {"two rows exchanged", Expected::said,
       [](Draw& draw, Texts& table) {
         const std::size_t k = below(draw, rows_of_a_run - 1);
         std::swap(table.rows[k], table.rows[k + 1]);
       }},
      {"a column under another name", Expected::other_or_refused,
       [](Draw& draw, Texts& table) { table.names[below(draw, table.names.size())] += "x"; }},
      {"two columns of one name", Expected::refused,
       [](Draw& draw, Texts& table) {
         const std::size_t k = below(draw, table.names.size() - 1);
         table.names[k + 1] = table.names[k];
       }},
      {"a row less", Expected::other_or_refused,
       [](Draw& draw, Texts& table) {
         table.rows.erase(table.rows.begin() +
                          static_cast<std::ptrdiff_t>(below(draw, table.rows.size())));
       }},
      {"a run in two", Expected::other_or_refused, cell({seed_at}, {"first", "3", "1x"})},
  };
}

void check_outcome(const Mutation& mutation, const Reading& whole, const Reading& made) {
  const bool refused = !made.refused.empty();
  if (mutation.expected == Expected::refused) CHECK(refused);
  if (mutation.expected == Expected::said) {
    CHECK_FALSE(refused);
    CHECK(made.said() == 1);
  }
  if (mutation.expected == Expected::other_or_refused) CHECK((refused || !same(whole, made)));
}

}  // namespace

TEST_CASE("tables with drawn mutations of structure: refused, or what is missing is said",
          "[io][readers]") {
  const Folder folder;
  Draw draw(1);
  const std::string csv = folder.file("runs.csv", csv_of(whole_table()));
  const Reading whole = read(csv);
  REQUIRE(whole.refused.empty());
  REQUIRE(whole.runs.size() == 2);
  CHECK(whole.said() == 0);
  const std::string lines = folder.file("runs.jsonl", json_lines_of(whole_table(), draw));
  CHECK(same(read(lines), whole));
  for (const Mutation& mutation : mutations()) {
    for (int repeat = 0; repeat < 30; ++repeat) {
      Texts table = whole_table();
      mutation.change(draw, table);
      const std::string as_csv = csv_of(table);
      CAPTURE(mutation.name, as_csv);
      check_outcome(mutation, whole, read(folder.file("runs.csv", as_csv)));
      const std::string as_lines = json_lines_of(table, draw);
      CAPTURE(as_lines);
      check_outcome(mutation, whole, read(folder.file("runs.jsonl", as_lines)));
    }
  }
}

TEST_CASE("tables with drawn mutations of bytes: refused in one line, or another table",
          "[io][readers]") {
  const Folder folder;
  Draw draw(2);
  const std::string csv = csv_of(whole_table());
  const std::string lines = json_lines_of(whole_table(), draw);
  const auto changed = [&](std::string text) {
    const std::size_t at = below(draw, text.size());
    const char byte = static_cast<char>(below(draw, 256));
    switch (below(draw, 4)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + below(draw, 5));
        break;
      default:
        text.resize(at + 1);
    }
    return text;
  };
  // Under the sanitizers the fuzzers read more of such.
  const int repeats = build::sanitized() ? 250 : 1000;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    static_cast<void>(read(folder.file("runs.csv", changed(csv))));
    static_cast<void>(read(folder.file("runs.jsonl", changed(lines))));
  }
  // What is behind a NUL byte is read.
  for (const std::string& hidden : {std::string("\0{", 2), std::string("\0", 1)}) {
    std::string text = lines;
    text.insert(text.find('\n'), hidden);
    CHECK_THAT(read(folder.file("runs.jsonl", text)).refused, Catch::Contains("NUL"));
  }
  // The mark of a spreadsheet is no part of a name.
  CHECK(same(read(folder.file("runs.csv", "\xEF\xBB\xBF" + csv)), read(folder.file("a.csv", csv))));
}

TEST_CASE("arrays: NaN and inf are said, and what is no column is refused by its name",
          "[io][readers]") {
  const Folder folder;
  Draw draw(3);
  const std::string file = folder.file("runs.npz");
  NpzArrays arrays;
  const Texts table = whole_table();
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    std::vector<double> column;
    for (const auto& row : table.rows) column.push_back(std::stod(row[c]));
    arrays.emplace_back(table.names[c], column);
  }
  write_npz(file, arrays, "command");
  const Reading whole = read(file);
  REQUIRE(whole.refused.empty());
  for (const double other : {NAN, -NAN, INFINITY, -INFINITY}) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      NpzArrays changed = arrays;
      const std::size_t row = below(draw, table.rows.size());
      changed[loss_at].second[row] = other;
      write_npz(file, changed, "command");
      const Reading made = read(file);
      CHECK(made.said() == 1);
      const RecordedRun& run = made.runs[row / rows_of_a_run];
      const auto loss = std::find(run.columns.begin(), run.columns.end(), "loss");
      const Gaps& gaps = run.gaps[static_cast<std::size_t>(loss - run.columns.begin())];
      CHECK(gaps.diverged.has_value() == (row % rows_of_a_run == rows_of_a_run - 1));
    }
  }
  NpzArrays twice = arrays;
  twice.push_back(twice[loss_at]);
  const auto refusal = [&](const NpzArrays& of) {
    try {
      write_npz(file, of, "command");
      return read(file).refused;
    } catch (const std::exception& error) {
      return std::string(error.what());  // libzip takes no two of one name
    }
  };
  CHECK_THAT(refusal(twice), Catch::Contains("loss"));
  NpzArrays shorter = arrays;
  shorter[entropy_at].second.pop_back();
  CHECK_THAT(refusal(shorter), Catch::Contains("'entropy' has 15 numbers"));
}

// ---- logs as people have them ---------------------------------------------------------------

namespace {

using Numbers = std::vector<double>;

RecordedLayout of_step() { return {.clock = "step"}; }

// Refused in one line that says each of these.
void check_refused(const Reading& made, const std::vector<std::string>& says) {
  CAPTURE(made.notes);
  for (const std::string& text : says) CHECK_THAT(made.refused, Catch::Contains(text));
}

// Taken, with one note that says this; none if it is empty.
const RecordedRun& check_taken(const Reading& made, const std::string& note) {
  CAPTURE(made.refused, made.notes);
  REQUIRE(made.refused.empty());
  CHECK(made.notes.size() == (note.empty() ? 0 : 1));
  if (!note.empty()) CHECK_THAT(made.notes.at(0), Catch::Contains(note));
  return made.runs.at(0);
}

// Rows step,loss.
std::string rows_of(const std::vector<std::pair<int, double>>& rows) {
  std::string text = "step,loss\n";
  for (const auto& [step, loss] : rows) text += fmt::format("{},{}\n", step, loss);
  return text;
}

}  // namespace

TEST_CASE(
    "logs: where the time of a run goes back, the row is named and the rows that count are asked "
    "for",
    "[io][readers][logs]") {
  const Folder folder;
  const auto with = [&](const std::string& text, Restarts restarts = Restarts::refuse) {
    RecordedLayout layout = of_step();
    layout.restarts = restarts;
    return read(folder.file("run.csv", text), layout);
  };
  const std::string resumed =
      rows_of({{0, 9}, {10, 8}, {20, 7}, {30, 6}, {40, 5}, {20, 4}, {30, 3}, {40, 2}, {50, 1}});
  check_refused(with(resumed), {"run.csv: line 7: step 20 after 40", "--restarts keep-last or"});
  CHECK_THAT(with(resumed).refused, !Catch::Contains("--group"));
  const Reading last = with(resumed, Restarts::keep_last);
  REQUIRE(last.notes.size() == 2);
  CHECK_THAT(last.notes[0], Catch::Contains("restarts in line 7 (step 20 after 40)"));
  CHECK_THAT(last.notes[1], Catch::Contains("3 rows are left out"));
  CHECK(last.runs.at(0).t == Numbers{0, 10, 20, 30, 40, 50});
  CHECK(last.runs.at(0).values.at(0) == Numbers{9, 8, 4, 3, 2, 1});
  CHECK(with(resumed, Restarts::keep_first).runs.at(0).values.at(0) == Numbers{9, 8, 7, 6, 5, 1});
  const Reading both = with(resumed, Restarts::new_run);
  REQUIRE(both.runs.size() == 2);
  CHECK(both.runs[1].label == "run.csv from line 7");
  CHECK(both.runs[0].last == 40);
  CHECK(both.runs[1].values[0][2] == 4);
  // The same rows again are a restart too.
  check_refused(with(rows_of({{0, 9}, {10, 8}, {20, 7}, {10, 8}, {20, 7}, {30, 6}})),
                {"line 5: step 10 after 20"});
  // Resumed at other steps: rows of both lie between each other.
  const std::string between =
      rows_of({{0, 9}, {10, 8}, {20, 7}, {30, 6}, {40, 5}, {15, 4}, {25, 3}, {35, 2}, {45, 1}});
  check_refused(with(between), {"line 7: step 15 after 40", "--restarts"});
  CHECK(with(between, Restarts::keep_last).runs.at(0).t == Numbers{0, 10, 15, 25, 35, 45});
  // Another run, of which only a column says so.
  const std::string two = rows_of({{0, 9}, {10, 8}, {20, 7}, {0, 6}, {10, 5}, {20, 4}});
  check_refused(with(two), {"line 5: step 0 after 20", "another run begins", "--group"});
  CHECK(with(two, Restarts::new_run).runs.size() == 2);
  // A row that was written twice is one, unless the two differ.
  CHECK(check_taken(with(rows_of({{0, 9}, {10, 8}, {20, 7}, {20, 7}})), "joined to it: 1")
            .values[0] == Numbers{9, 8, 7});
  const std::string differ = rows_of({{0, 9}, {10, 8}, {20, 7}, {20, 6}});
  check_refused(with(differ), {"line 4 and line 5 have the same step, 20, and loss is 7 and 6"});
  CHECK(with(differ, Restarts::keep_last).runs.at(0).values[0] == Numbers{9, 8, 6});
  CHECK(with(differ, Restarts::keep_first).runs.at(0).values[0] == Numbers{9, 8, 7});
}

TEST_CASE("logs: rows in any order are sorted, and said to be", "[io][readers][logs]") {
  const Folder folder;
  const auto with = [&](const std::string& text) {
    return read(folder.file("run.csv", text), of_step());
  };
  const Numbers sorted{0, 10, 20, 30, 40, 50};
  for (const std::vector<int>& steps : std::vector<std::vector<int>>{{50, 40, 30, 20, 10, 0},
                                                                     {0, 10, 30, 20, 40, 50},
                                                                     {30, 40, 50, 0, 10, 20},
                                                                     {20, 50, 0, 40, 10, 30}}) {
    std::vector<std::pair<int, double>> rows;
    for (const int step : steps) rows.emplace_back(step, 100 - step);
    const RecordedRun run =
        check_taken(with(rows_of(rows)), "rows are not in order of time, first in line");
    CHECK(run.t == sorted);
    CHECK(run.values[0] == Numbers{100, 90, 80, 70, 60, 50});
  }
  check_refused(with(rows_of({{50, 1}, {40, 2}, {30, 3}, {40, 5}, {10, 4}, {0, 5}})),
                {"line 3 and line 5 have the same step, 40, and loss is 2 and 5"});
  // Observables that are logged in rows of their own.
  const Reading apart = with("step,loss,entropy\n0,3,\n0,,1\n10,2,\n10,,0.5\n");
  CHECK(check_taken(apart, "joined to it: 2, the first is line 3").t == Numbers{0, 10});
  CHECK(apart.runs[0].gaps[0].missing + apart.runs[0].gaps[1].missing == 0);
}

TEST_CASE("logs: clocks that do not grow with every step, at one rate", "[io][readers][logs]") {
  const Folder folder;
  const std::string log = rows_of({{0, 9}, {10, 8}, {20, 7}, {30, 6}, {40, 5}});
  const auto with = [&](const std::string& clock, const std::string& text) {
    return read(folder.file("run.csv", text), {.clock = clock});
  };
  const std::string one_rate = "; the time is one learning rate * steps";
  check_refused(with("40 - step", log),
                {"--clock", "goes back from 40 to 30 between the steps 0 and 10" + one_rate});
  check_refused(with("0.1*step**2", log),
                {"adds 3 a step in some rows and 7 in others" + one_rate});
  check_refused(with("where(step < 15, step, 15)", log),
                {"line 4 (step 20) and line 5 (step 30) have the same time, 15",
                 "a --clock that grows with every step"});
  CHECK(check_taken(with("0.1*maximum(step - 1, 0)", log), "").t.back() == Approx(3.9));
  // A rate that changes is a column of the log; whether it is that of the runs is seen later.
  CHECK(check_taken(with("lr*step", "step,lr,loss\n0,1,9\n10,1,8\n20,4,7\n"), "").t.back() == 80);
}

TEST_CASE("logs: what is no text, and columns without numbers", "[io][readers][logs]") {
  using namespace std::string_literals;
  const Folder folder;
  const auto with = [&](const std::string& text) {
    return read(folder.file("run.csv", text), of_step());
  };
  check_refused(with("\xFF\xFEs\0t\0e\0p\0"s), {"run.csv: is text in UTF-16; save it as UTF-8"});
  check_refused(with("\x93NUMPY\x01\x00v\x00"s), {"is one array of NumPy", "numpy.savez"});
  check_refused(with(std::string(100'000, '\0')), {"run.csv: byte 1 is NUL, which no text has"});
  check_refused(with(rows_of({{0, 9}}) + "10,8\0"s), {"byte 19 is NUL"});
  check_refused(with("step,loss\n0,\n10,\n"), {"run.csv: loss has no finite number in any row"});
  check_refused(with("step,loss\n0,nan\n10,nan\n"), {"loss has no finite number in any row"});
}

TEST_CASE("logs: columns that nobody named are not read, those named only once",
          "[io][readers][logs]") {
  const Folder folder;
  const std::string table =
      "\"Name\",,step,note,note,loss,entropy,\"Created\"\n"
      "calm-sea-1,0,0,a,,3,1,2024-04-06T03:17:05.000Z\n"
      "calm-sea-1,1,10,\"b, c\",,2,x,2024-04-06T03:17:05.000Z\n";
  const std::string file = folder.file("table.csv", table);
  RecordedLayout layout = of_step();
  check_refused(read(file, layout), {"table.csv: line 3, column 'entropy': 'x' is not a number"});
  layout.columns["loss"] = "loss";
  CHECK(check_taken(read(file, layout), "").columns == std::vector<std::string>{"loss"});
  layout.group = {"Name"};
  CHECK(read(file, layout).runs.at(0).label == "table.csv Name calm-sea-1");
  layout.columns["loss"] = "note";
  check_refused(read(file, layout), {"column note is there twice"});
  // By a regular expression that one name matches as a whole.
  for (const auto& [pattern, says] : std::vector<std::pair<std::string, std::string>>{
           {"~los.", ""},
           {"~los", "matches none of"},
           {"~note|loss", "it matches note, note, loss"},
           {"~(", "no regular expression"}}) {
    layout.columns["loss"] = pattern;
    if (says.empty())
      check_taken(read(file, layout), "");
    else
      check_refused(read(file, layout), {"--map loss=" + pattern, says});
  }
  // Names that no formula could have.
  layout = {.columns = {{"loss", "train/my loss"}}, .clock = "`optim/lr` * `Step 1`"};
  CHECK(check_taken(
            read(folder.file("names.csv", "optim/lr,Step 1,train/my loss\n0.5,0,3\n0.5,4,2\n"),
                 layout),
            "")
            .t == Numbers{0, 2});
  layout.clock = "`optim/lr";
  check_refused(read(folder.file("names.csv"), layout), {"a ` is missing"});
  // Thousands of columns, of which a message has the first ones.
  std::string names = "step", row = "0";
  for (int k = 0; k < 5000; ++k) {
    names += fmt::format(",weight/{}", k);
    row += ",text";
  }
  layout = of_step();
  layout.columns["loss"] = "weight/4999x";
  const std::string wide = folder.file("wide.csv", names + ",loss\n" + row + ",1\n");
  check_refused(read(wide, layout), {"weight/4999"});
  CHECK(read(wide, layout).refused.size() < 1000);
  layout.columns["loss"] = "loss";
  check_taken(read(wide, layout), "");
}

TEST_CASE("logs: columns RUN - METRIC, as a chart of W&B is exported", "[io][readers][logs]") {
  const Folder folder;
  const std::string file =
      folder.file("chart.csv",
                  "\"Step\",\"sea - 1 - train/loss\",\"sea - 1 - train/loss__MIN\",\"sea - 1 - "
                  "train/loss__MAX\",\"hill-2 - train/loss\",\"lake-3 - val/loss\"\n"
                  "\"0\",\"3\",\"3\",\"3\",\"4\",\"\"\n\"1\",\"2\",\"2\",\"2\",\"\",\"1\"\n\"2\","
                  "\"1\",\"1\",\"1\",\"NaN\",\"\"\n");
  RecordedLayout layout{.columns = {{"loss", "train/loss"}}, .clock = "Step"};
  check_refused(read(file, layout), {"column train/loss is not there", "--runs-in-columns"});
  layout.runs_in_columns = true;
  const Reading made = read(file, layout);
  CHECK(check_taken(made, "").label == "chart.csv sea - 1");
  REQUIRE(made.runs.size() == 2);
  CHECK(made.runs[0].values[0] == Numbers{3, 2, 1});
  CHECK(made.runs[1].label == "chart.csv hill-2");
  CHECK(made.runs[1].gaps[0].rows == 2);  // a row of other runs is none of it
  CHECK(made.runs[1].gaps[0].diverged == 2.0);
  layout.columns["loss"] = "test/loss";
  check_refused(read(file, layout), {"no column RUN - METRIC"});
  layout.columns["loss"] = "loss";
  check_refused(read(folder.file("plain.csv", "Step,loss\n0,1\n1,1\n"), layout),
                {"it has Step, loss"});
}

TEST_CASE("logs: JSON lines as Python writes them", "[io][readers][logs]") {
  const Folder folder;
  const std::string lines =
      "{\"step\": 0, \"tag\": \"NaN \\\" Infinity\"}\n{\"step\": 1, \"loss\": 3, \"ok\": "
      "true}\n{\"step\": 2, \"loss\": NaN}\n"
      "{\"step\": 3, \"loss\": null}\n{\"loss\": 1, \"step\": 4, \"weights\": [1, NaN]}\n";
  // By content where the suffix says nothing.
  for (const char* name : {"run.jsonl", "run.log"}) {
    const Reading made = read(folder.file(name, lines), of_step());
    const Gaps& gaps = check_taken(made, "").gaps.at(0);
    CHECK(gaps.rows == 5);
    CHECK(gaps.missing == 3);
    CHECK_FALSE(gaps.diverged);
  }
  const Reading ends =
      read(folder.file("run.jsonl", lines + "{\"step\": 5, \"loss\": -Infinity}\n"), of_step());
  CHECK(check_taken(ends, "").gaps.at(0).diverged == 5.0);
  RecordedLayout layout = of_step();
  layout.columns["loss"] = "ok";
  check_refused(read(folder.file("run.jsonl"), layout),
                {"line 2, column 'ok': 'true' is not a number"});
  check_refused(
      read(folder.file("cut.jsonl", "{\"step\": 0, \"loss\": 3}\n{\"step\": 1, \"lo"), of_step()),
      {"cut.jsonl: line 2, column 15: "});
  check_refused(read(folder.file("run.jsonl", "{\"step\": 0, \"loss\": NaNs}\n"), of_step()),
                {"run.jsonl: line 1, column "});
}

TEST_CASE("logs: rows in one JSON document", "[io][readers][logs]") {
  const Folder folder;
  const std::string rows =
      "[\n  {\"step\": 0, \"loss\": 3},\n  {\"loss\": NaN, \"step\": 1},\n  {\"step\": 2}]";
  for (const std::string& text :
       {rows, "{\n  \"epoch\": 1.0,\n  \"log_history\": " + rows + "\n}\n"}) {
    const Reading made = read(folder.file("trainer_state.json", text), of_step());
    const Gaps& gaps = check_taken(made, "").gaps.at(0);
    CHECK(gaps.rows == 3);
    CHECK(gaps.missing == 2);
  }
  RecordedLayout layout = of_step();
  layout.columns["loss"] = "text";
  check_refused(read(folder.file("t.json", "[{\"step\": 0, \"text\": \"a\"}]"), layout),
                {"row 1, column 'text': 'a' is not a number"});
  for (const char* text : {"[1]", "{\n\"step\": 0}", "{\n\"log_history\": 1}"}) {
    check_refused(
        read(folder.file("t.json", text), of_step()),
        {"must be an array of objects, an object with one as log_history, or JSON lines"});
  }
  check_refused(read(folder.file("t.json", "[{\"step\": 0},\n"), of_step()), {"line 2"});
}

TEST_CASE("logs: a group that is written once a run holds for the rows below",
          "[io][readers][logs]") {
  const Folder folder;
  const RecordedLayout layout{.group = {"seed"}, .clock = "step"};
  const auto with = [&](const std::string& rows) {
    return read(folder.file("run.csv", "seed,step,loss\n" + rows), layout);
  };
  const Reading made = with("a,0,3\n,1,2\nb,0,4\n,1,1\n");
  check_taken(made, "seed is empty in 2 rows, the first in line 3: taken from the row above");
  REQUIRE(made.runs.size() == 2);
  CHECK(made.runs[1].label == "run.csv seed b");
  CHECK(made.runs[1].values[0] == Numbers{4, 1});
  // Rows of two runs by turns: what is filled in contradicts itself.
  check_refused(with("a,0,3\nb,0,4\n,1,2\n,1,1\n"), {"line 4 and line 5 have the same step"});
  // A column that has every label but one, and one that begins without.
  check_refused(with("a,0,3\na,1,2\n,2,2\n"),
                {"is empty in line 4", "'a' in line 3 is not the first"});
  check_refused(with(",0,3\na,1,2\n"), {"--group seed is empty in line 2"});
  // The same numbers under two seeds.
  const Reading copies = with("1,0,3\n1,1,2\n2,0,3\n2,1,2\n3,0,4\n3,1,2\n");
  check_taken(copies, "run.csv seed 2: has the same numbers as run.csv seed 1 and is left out");
  CHECK(copies.runs.size() == 2);
}

TEST_CASE("logs: a run that has the numbers of another one counts as rows of it",
          "[io][readers][logs]") {
  const Folder folder;
  RecordedLayout layout{.group = {"seed"}, .clock = "step"};
  const auto with = [&](const std::string& rows) {
    return read(folder.file("run.csv", "seed,step,loss\n" + rows), layout);
  };
  const std::string whole = "1,0,9\n1,10,8\n1,20,7\n1,30,6\n1,40,5\n";
  // Stopped and begun anew with the same draws, from the start or from a state that was kept.
  const Reading longer = with("2,0,9\n2,10,8\n2,15,7.5\n2,20,7\n2,30,6\n" + whole);
  CHECK(check_taken(longer, "run.csv seed 1: has").t == Numbers{0, 10, 15, 20, 30, 40});
  const Reading later = with(whole + "2,10,8\n2,20,7\n2,30,6\n2,50,4\n");
  const RecordedRun& joined = check_taken(
      later,
      "run.csv seed 2: has the same numbers as run.csv seed 1 at all times that both have, and "
      "counts as rows of it");
  CHECK(later.runs.size() == 1);
  CHECK(joined.t == Numbers{0, 10, 20, 30, 40, 50});
  CHECK(joined.values[0] == Numbers{9, 8, 7, 6, 5, 4});
  CHECK(joined.last == 50);
  CHECK(joined.gaps[0].rows == 6);
  // One other number, a start that all runs share, and numbers that do not distinguish runs.
  for (const char* const other :
       {"2,0,9\n2,10,8\n2,20,7\n2,30,6.5\n", "2,0,9\n2,5,8\n2,15,7\n", "2,0,9\n2,10,8\n2,20,7\n"}) {
    CAPTURE(other);
    CHECK(with(whole + other).runs.size() == 2);
  }
  CHECK(with("1,0,9\n1,10,0\n1,20,0\n1,30,0\n2,0,9\n2,10,0\n2,20,0\n2,40,0\n").runs.size() == 2);
  layout.restarts = Restarts::new_run;
  layout.group = {};
  const Reading resumed = read(
      folder.file("resumed.csv",
                  rows_of({{0, 9}, {10, 8}, {20, 7}, {30, 6}, {10, 8}, {20, 7}, {30, 6}, {40, 5}})),
      layout);
  REQUIRE(resumed.runs.size() == 1);
  CHECK(resumed.runs[0].values[0] == Numbers{9, 8, 7, 6, 5});
}

TEST_CASE("logs: separators, decimal commas and headers are taken as they are, or refused",
          "[io][readers][logs]") {
  const Folder folder;
  const auto with = [&](const std::string& text) {
    return read(folder.file("run.csv", text), of_step());
  };
  const Reading german = with("\xEF\xBB\xBFstep;lr;loss\r\n0;1;3,5\r\n2;1;2,5e-05\r\n");
  REQUIRE(german.refused.empty());
  REQUIRE(german.notes.size() == 2);
  CHECK_THAT(german.notes[0], Catch::EndsWith("fields are separated by ';'"));
  CHECK_THAT(german.notes[1], Catch::EndsWith("the comma in loss is taken for a decimal one"));
  CHECK(german.runs[0].values[0] == Numbers{3.5, 2.5e-5});
  CHECK(check_taken(with("step\tloss, mean\tloss\n0\tx\t3\n2\ty\t1\n"), "separated by tabs").t ==
        Numbers{0, 2});
  CHECK(check_taken(with("step,\"a;b\",loss\n0,1,3\n2,1,1\n"), "").t == Numbers{0, 2});
  // With both separators every line has as many fields as the header.
  check_refused(with("step;loss, mean\n0;3,5\n2;2,5\n"),
                {"line 1: fields may be separated by ',' or by ';'"});
  check_refused(with("step;loss\n0,3\n2,2\n"), {"line 2: has 1 fields, and the header 2"});
  // Commas that may be between thousands, and some that are.
  check_refused(with("step;loss\n0;1,234\n2;3\n"),
                {"'1,234' (line 2, column 'loss') may have a decimal comma"});
  check_refused(
      with("step;loss\n0;1,5\n1.000;3\n"),
      {"'1,5' (line 2, column 'loss') has a comma and '1.000' (line 3, column 'step') a point"});
  check_refused(with("step;loss\n0;1,234,567\n2;3\n"),
                {"line 2, column 'loss': '1,234,567' is not a number"});
  check_refused(with("step;loss\n0;1.234,5\n2;3\n"),
                {"line 2, column 'loss': '1.234,5' is not a number"});
  CHECK(with("step;loss\n0;3,125\n2;0,125\n").runs.at(0).values[0] == Numbers{3.125, 0.125});
  // Headers: none, and one that is written again where a run goes on.
  check_refused(with("0,3\n1,2\n"),
                {"line 1: has numbers (0, ...) where the names of the columns should be"});
  check_refused(with("run-1,0,3.5\nrun-1,1,2.5\n"),
                {"no column of", "'0' is no name: does the file begin without a line of names?"});
  CHECK(check_taken(with("step,loss\n0,3\n\nstep,loss\n1,2\n"), "left out: 1, the first is line 4")
            .t == Numbers{0, 1});
  // Lines are those of the file.
  check_refused(with("step,note,loss\n0,\"a\nb\",3\n\n1,c,x\n"), {"line 5, column 'loss': 'x'"});
  check_refused(with("step,loss\n0,\"3\n"), {"a quoted field is not closed"});
}

TEST_CASE("logs: packed files, and files of programs that are no tables", "[io][readers][logs]") {
  const Folder folder;
  const std::string text = rows_of({{0, 3}, {1, 2}});
  const std::string packed = folder.file("run.csv.gz");
  gzFile file = gzopen(packed.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
          static_cast<int>(text.size()));
  gzclose(file);
  CHECK(check_taken(read(packed, of_step()), "").values[0] == Numbers{3, 2});
  const std::string bytes = command_line::content(packed);
  check_refused(read(folder.file("cut.csv.gz", bytes.substr(0, bytes.size() - 9)), of_step()),
                {"no complete gzip file"});
  set_memory_limit(1e9);  // the last bytes of a file that was cut off say that it needs more
  check_refused(
      read(folder.file("cut.csv.gz", "\x1F\x8B\x08" + std::string(15, '\xFF')), of_step()),
      {"no complete gzip file"});
  set_memory_limit({});
  check_refused(read(folder.file("run-1.wandb", "x"), of_step()), {"scan_history()", ".to_csv("});
}

TEST_CASE("event files of TensorBoard are read", "[io][readers]") {
  const Folder folder;
  std::string bytes;
  for (int step = 0; step < 3; ++step) {
    bytes += event_record::scalar(step, "loss", 3.0F - static_cast<float>(step), step > 1);
    if (step != 1) bytes += event_record::scalar(step, "lr", 0.5F);
  }
  // The first bytes of every event file: the length of "brain.Event:2" with its time.
  const std::string version =
      event_record::of("\x09" + std::string(8, '\0') + "\x1A\x0D" + "brain.Event:2");
  CHECK(version.substr(8, 4) == "\xA3\x7F\x4B\x22");
  const std::string image =
      event_record::of(std::string("\x2A\x07\x0A\x05\x0A\x01i\x22", 8) + '\0');
  const std::string run = folder.file("events.out.tfevents.1", version + image + bytes);
  const Table table = read_table(run);
  CHECK(table.names == std::vector<std::string>{"step", "wall_time", "loss", "lr"});
  CHECK(table.columns[0] == Numbers{0, 1, 2});
  CHECK(table.columns[1] == Numbers{1700000000.5, 1700000001.5, 1700000002.5});
  CHECK(table.columns[2] == Numbers{3, 2, 1});
  CHECK(std::isnan(table.columns[3][1]));
  CHECK(table.unread.at("i") == "holds no scalars");
  CHECK(check_taken(read(run, of_step()), "").values[0] == Numbers{3, 2, 1});

  // A run that still writes; a file that is damaged; something else under such a name.
  check_taken(
      read(folder.file("tfevents.2", version + bytes.substr(0, bytes.size() - 3)), of_step()),
      "is not complete and is left out");
  std::string damaged = bytes;
  damaged[damaged.size() - 20] ^= 1;
  check_refused(read(folder.file("tfevents.3", damaged), of_step()),
                {"does not have its checksum"});
  check_refused(read(folder.file("tfevents.4", "step,loss\n0,1\n1,2\n"), of_step()),
                {"at byte 0", "does not have its checksum"});
  check_refused(read(folder.file("tfevents.5", version), of_step()), {"holds no rows"});
  check_refused(read(folder.file("tfevents.6", event_record::of("\x2A\x7F")), of_step()),
                {"no event of TensorBoard"});

  // A folder is a run, whose files follow one another.
  const std::string logs = (folder.path / "logs").string(), first = logs + "/first";
  std::filesystem::create_directories(first);
  check_refused(read(logs, of_step()), {"is a directory without event files"});
  std::filesystem::rename(run, first + "/tfevents.1");
  std::ofstream(first + "/tfevents.2") << event_record::scalar(3, "loss", 0.5F);
  for (const std::string& name : {first, first + "/"}) {
    const RecordedRun run_of_folder = check_taken(read(name, of_step()), "");
    CHECK(run_of_folder.values[0] == Numbers{3, 2, 1, 0.5});
    CHECK(run_of_folder.label == "first");
  }
  check_refused(read(logs, of_step()), {"each folder of those is a run: give --with " + first});
}

TEST_CASE("a run has diverged where its numbers end", "[io][readers]") {
  const Folder folder;
  const auto diverged = [&](const std::vector<std::string>& loss) {
    std::string text = "seed,step,lr,loss\n";
    for (std::size_t k = 0; k < loss.size(); ++k) text += fmt::format("a,{},1,{}\n", k, loss[k]);
    return read(folder.file("run.csv", text)).runs.at(0).gaps.at(0).diverged;
  };
  CHECK_FALSE(diverged({"3", "2", "1"}));
  CHECK(diverged({"3", "2", "nan"}) == 2.0);
  CHECK(diverged({"3", "inf", "nan", "-nan"}) == 1.0);
  CHECK(diverged({"3", "", ""}) == 1.0);
  CHECK_FALSE(diverged({"3", "nan", "1"}));
  // Logged at every third row.
  CHECK_FALSE(diverged({"3", "", "", "2", "", ""}));
  CHECK_FALSE(diverged({"3", "", "", "2", ""}));
  CHECK(diverged({"3", "", "2", "", "", ""}) == 3.0);
  CHECK(diverged({"3", "", "", "2", "nan"}) == 4.0);
}

TEST_CASE("JSON: depth, names twice, NaN and the end of a file are refused where they are",
          "[io][readers]") {
  const auto refusal = [](const std::string& text) {
    try {
      static_cast<void>(Parameters::parse("joma", text, "i.json"));
      return std::string();
    } catch (const InputError& error) {
      check_message(error.what());
      return std::string(error.what());
    }
  };
  const auto nested = [](std::size_t lists) {
    return R"({"mu": )" + std::string(lists, '[') + "1" + std::string(lists, ']') + "}";
  };
  CHECK(refusal(nested(99)).empty());
  for (const std::size_t lists : {100UL, 20'000UL, 200'000UL}) {
    CHECK_THAT(refusal(nested(lists)), Catch::Contains("nested deeper than 100"));
  }
  CHECK_THAT(refusal("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"),
             Catch::StartsWith("i.json: line 3, column 4: key 'a' occurs twice"));
  CHECK_THAT(refusal(R"({"mu": [1, NaN]})"), Catch::Contains("'NaN' is no JSON"));
  CHECK_THAT(refusal(R"({"mu": [1, Infinity]})"), Catch::Contains("'Infinity' is no JSON"));
  CHECK_THAT(refusal(R"({"mu": [1, 2)"), Catch::Contains("the end comes too early"));
  CHECK_THAT(refusal(R"({"mu": [1, 2]} {"tau": 1})"),
             Catch::Contains("'{\"tau\"' is not expected here"));
  CHECK_THAT(refusal(R"({"mu": 1e400})"), Catch::Contains("too large for a double"));
  CHECK_THAT(refusal("{\"mu\": \"a\nb\"}"), Catch::Contains("a text is not closed"));
  std::string many = "{";
  for (int k = 0; k < 200'000; ++k) many += fmt::format("\"k{}\": 1,", k);
  CHECK_THAT(refusal(many + "\"k\": 1}"), Catch::Contains("more than 10000 keys"));
}

TEST_CASE("instances with drawn mutations: refused in one line, or another run", "[io][readers]") {
  const Folder folder;
  Draw draw(4);
  const Json whole = Json::parse(R"({"mu": [1, 2.5, 3], "v0": 0.1, "tau": 3, "attention": "exp"})");
  const auto run = [&](const std::string& text) {
    return command_line::run_popgrad(
        "run joma reduced --t1 0.1 --save 2 --no-events -q -o - --instance " +
        folder.file("i.json", text));
  };
  const command_line::Answer before = run(whole.dump());
  REQUIRE(before.status == 0);
  const std::vector<Json> values{
      nullptr, true,           "text",        "nan",
      "1e400", Json::object(), Json::array(), Json::array({Json::array({1, 2}), 3}),
      -1,      1e300};
  for (int repeat = 0; repeat < 80; ++repeat) {
    Json made = whole;
    const std::vector<std::string> keys{"mu", "v0", "tau", "attention"};
    const std::string key = one_of(draw, keys);
    std::string text;
    switch (below(draw, 5)) {
      case 0:
        made[key + "x"] = made[key];
        made.erase(key);
        text = made.dump();
        break;
      case 1:
        made[key] = one_of(draw, values);
        text = made.dump();
        break;
      case 2:
        made["mu"][below(draw, 3)] = one_of(draw, values);
        text = made.dump();
        break;
      case 3:
        text = whole.dump();
        text.insert(1, Json(key).dump() + ": 1, ");
        break;
      default:
        text = whole.dump();
        text.resize(below(draw, text.size()));
    }
    CAPTURE(text);
    const command_line::Answer answer = run(text);
    CAPTURE(answer.out);
    CHECK((answer.status == 2 || answer.status == 0 || answer.status == 4));
    if (answer.status == 4) continue;  // numbers of which nothing can be computed
    if (answer.status == 0) {
      // A number may be given as a text or be what it was.
      CHECK((answer.out != before.out || made == whole || made[key] == whole[key]));
    } else {
      CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
      check_message(answer.out.substr(0, answer.out.size() - 1));
    }
  }
}

TEST_CASE("a folder in place of a file is said to be one", "[io][readers]") {
  const Folder folder;
  for (const char* suffix : {"json", "csv", "npz", "jsonl", "txt"}) {
    std::filesystem::create_directory(folder.file(std::string("a.") + suffix));
  }
  const std::string in = " " + folder.file("a.");
  for (const std::string& words :
       {"run joma reduced --instance" + in + "json", "run joma reduced --config" + in + "csv",
        "run topic sgd --steps 1 --corpus" + in + "txt", "compare scb sgd --with" + in + "csv",
        "compare scb sgd --with" + in + "npz", "compare scb sgd --with" + in + "jsonl"}) {
    CAPTURE(words);
    const command_line::Answer answer = command_line::run_popgrad(words);
    CHECK(answer.status == 2);
    CHECK_THAT(answer.out, Catch::Contains("s a directory"));
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
  }
  // Words of documents are whole numbers.
  const std::string documents = "run topic sgd --steps 1 -q -o - --corpus ";
  CHECK(command_line::run_popgrad(documents + folder.file("d.txt",
                                                          "\xEF\xBB\xBF"
                                                          "3 4 END\n"))
            .status == 0);
  for (const char* text : {"+3 4\n", "3.0\n", "3 99999999999999999999\n", "3 -1\n", "0x3\n"}) {
    CHECK(command_line::run_popgrad(documents + folder.file("d.txt", text)).status == 2);
  }
}

TEST_CASE("formulas over the columns of a row", "[io][readers]") {
  const std::vector<std::string> columns{"lr", "step", "optim/lr", "x y", "optim"};
  const std::vector<double> row{0.5, 4, 0.25, 3, 8};
  const auto value = [&](const std::string& text) {
    return RowFormula(text, columns)([&](std::size_t c) { return row[c]; });
  };
  CHECK(value("lr*step") == 2);
  CHECK(value("optim/lr*step") == 1);
  CHECK(value("optim / lr*step") == 64);
  CHECK(value("x y + 1") == 4);
  CHECK(value("-2**2") == -4);
  CHECK(value("2**3**2") == 512);
  CHECK(value("2**-1") == 0.5);
  CHECK(value("7-4-2") == 1);
  CHECK(value("sqrt(step)/(1+lr)") == Approx(4.0 / 3));
  CHECK(value("1e-320*0+step") == 4);
  CHECK(value("floor(2.7)+abs(-1)+exp(0)+log(1)") == 4);
  for (const char* text :
       {"", "lr*", "lr steps", "lr^step", "(lr", "lr)", "2lr", "steps", "factorial(step)",
        "lr,step", "1e999", "log", "log()", "*lr", "lr;step"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(RowFormula(text, columns), std::invalid_argument);
  }
  CHECK(value("where(step > 3, lr, 0)*max(step, 1)") == 2);
  CHECK_THROWS_WITH(RowFormula("lr^2", columns),
                    Catch::Contains("column 3: '^' is no operation here: write **"));
  CHECK_THROWS_WITH(RowFormula("stepp*2", columns), Catch::Contains("did you mean 'step'?"));
  CHECK_THROWS_WITH(RowFormula("lr*ones(2)", columns), Catch::Contains("an array of shape (2,)"));
  for (const char* deep : {"(", "-", "log(", "2**"}) {
    std::string text;
    for (int k = 0; k < 10'000; ++k) text += deep;
    CHECK_THROWS_WITH(RowFormula(text + "step", columns),
                      Catch::Contains("nested deeper than 100"));
  }
  // Drawn sums and products, as the compiler computes them.
  Draw draw(5);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t a = below(draw, 9) + 1, b = below(draw, 9) + 1, c = below(draw, 9) + 1;
    const auto x = static_cast<double>(a), y = static_cast<double>(b), z = static_cast<double>(c);
    CHECK(value(fmt::format("{}-{}*step/{}", a, b, c)) == x - y * 4 / z);
    CHECK(value(fmt::format("({}-{})*-step**{}", a, b, c)) == (x - y) * -std::pow(4, z));
    std::string letters;
    for (std::size_t k = 0; k < 12; ++k) letters += one_of(draw, std::string("lrstep()+-*/^12. e"));
    try {
      static_cast<void>(value(letters));
    } catch (const std::invalid_argument& error) {
      check_message(error.what());
    }
  }
}

TEST_CASE("fields of tables are decimals, nan, inf or nothing", "[io][readers]") {
  for (const char* text : {"1", "+1", "-1.5e-3", ".5", "5.", "1e-320", "1e-400", "1E+5", "-0"}) {
    CAPTURE(text);
    REQUIRE(number_field(text).has_value());
    CHECK(*number_field(text) == std::strtod(text, nullptr));
  }
  for (const char* text : {"", "nan", "-nan", "NaN", "+nan"})
    CHECK(std::isnan(*number_field(text)));
  for (const char* text : {"inf", "-inf", "Infinity"}) CHECK(std::isinf(*number_field(text)));
  for (const std::string& text : wrong) CHECK_FALSE(number_field(text).has_value());
  for (const char* text : {"+", "-", "+-1", "++1", "1+", " 1", "1e400", "true", "0x10"}) {
    CHECK_FALSE(number_field(text).has_value());
  }
}

TEST_CASE("exact numbers stay within what formulas can hold", "[io][readers]") {
  CHECK(from_text<Rational>("1e50") > 0);
  CHECK(from_text<Rational>("0e9") == 0);
  for (const char* text : {"1e51", "-1e400", "1e-51", "1e-5000", "1e+-5"}) {
    CHECK_THROWS_AS(from_text<Rational>(text), std::invalid_argument);
  }
  for (const char* words : {"--alpha 0,1e400", "--value mixture:1e1000", "--value mixture:1e-400",
                            "--at 1e400,1", "--tolerance 1e-400"}) {
    CAPTURE(words);
    const command_line::Answer answer =
        command_line::run_popgrad(std::string("landscape topic --T 3 --tau 2 --v 2 ") + words);
    CHECK(answer.status == 2);
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
  }
  CHECK(to_text(-std::nan("")) == "nan");
}

TEST_CASE("suggestions are names that are alike", "[io][readers]") {
  const std::vector<std::string> names{"seed", "lr", "T", "step", "loss"};
  CHECK(suggestion("t", names) == "; did you mean 'T'?");
  CHECK(suggestion("x", names).empty());
  const std::vector<std::string> rate{"lr"}, others{"step", "lr"}, mean{"tau", "mu"};
  CHECK(suggestion("mew", mean) == "; did you mean 'mu'?");
  CHECK(suggestion("t", rate).empty());
  CHECK(suggestion("l", rate).empty());
  CHECK(suggestion("seed", others).empty());
  CHECK(suggestion("stpe", names) == "; did you mean 'step'?");
  CHECK(suggestion("LOSS", names) == "; did you mean 'loss'?");
}

}  // namespace readers_test
