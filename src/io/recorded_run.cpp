#include "io/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <utility>

#include "io/row_formula.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// Times that differ by rounding of a clock formula are one.
bool same_time(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

// What follows the last / or . of a name, in small letters.
std::string last_part(std::string_view column) {
  std::string name(column.substr(column.find_last_of("/.") + 1));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return name;
}

bool is_learning_rate(std::string_view column) {
  const std::string name = last_part(column);
  return name == "lr" || name == "learning_rate" || name == "learningrate" || name == "eta" ||
         name == "step_size" || name.starts_with("lr-") || name.starts_with("lr_");
}

// Whether it counts steps, by the same part of its name.
bool counts_steps(std::string_view column) {
  static const std::set<std::string, std::less<>> names{
      "step", "_step", "steps", "global_step", "globalstep", "iteration", "iterations", "iter"};
  return names.contains(last_part(column));
}

// ---- columns --------------------------------------------------------------------------------

// The column that a name or, after a ~, a regular expression stands for.
std::size_t column_of(const Table& table, const std::string& observable, const std::string& given,
                      const std::string& advice) {
  if (!given.starts_with('~')) return table.index(given, advice);
  constexpr std::size_t longest = 1000;  // the library recurses
  std::vector<std::string> found;
  try {
    const std::regex pattern(given.substr(1));
    for (const std::string& name : table.names) {
      if (name.size() <= longest && std::regex_match(name, pattern)) found.push_back(name);
    }
  } catch (const std::regex_error&) {
    reject("popgrad compare", "--map", observable + "=" + given,
           "has no regular expression after the ~, e.g. loss=~'train/.*loss'");
  }
  if (found.size() != 1) {
    reject("popgrad compare", "--map", observable + "=" + given,
           fmt::format("must match one whole name of a column of {}; it matches {}", table.file,
                       found.empty() ? "none of " + list_of(table.names) : list_of(found)));
  }
  return table.index(found.front());
}

// The formula over columns that is given for an observable; nothing if a column is given, or none is read: then
// with the `reason`.
std::optional<RowFormula> formula_of(const Table& table, const std::string& given,
                                     std::string& reason) {
  if (given.starts_with('~') ||
      std::find(table.names.begin(), table.names.end(), given) != table.names.end())
    return std::nullopt;
  try {
    RowFormula formula(given, table.names);
    if (!formula.reads().empty()) return formula;
  } catch (const InputError& error) {
    reason = error.what();
  }
  return std::nullopt;
}

// What is read of a table.
struct Asked {
  std::vector<std::string> observables;
  std::vector<std::size_t>
      columns;  // one an observable: of the table, after those what formulas give
  std::optional<RowFormula> clock;
  std::vector<std::size_t> rates;      // columns of the clock that are learning rates
  std::optional<std::size_t> counter;  // the only other column of the clock
  std::optional<ClockRate> clock_rate;
  std::map<std::size_t, std::vector<double>> numbers;
  std::vector<WrittenDigits> digits;  // one an observable

  [[nodiscard]] double value(std::size_t observable, std::size_t row) const {
    return numbers.at(columns[observable])[row];
  }
  [[nodiscard]] bool is_blank(std::size_t row) const {
    return std::all_of(columns.begin(), columns.end(),
                       [&](std::size_t c) { return std::isnan(numbers.at(c)[row]); });
  }
  [[nodiscard]] double time(std::size_t row) const { return value(*clock, row); }
  // NaN where a column that it reads has nothing.
  [[nodiscard]] double value(const RowFormula& formula, std::size_t row) const {
    for (const std::size_t c : formula.reads()) {
      if (std::isnan(numbers.at(c)[row])) return missing;
    }
    const double computed = formula([&](std::size_t c) { return numbers.at(c)[row]; });
    return std::isnan(computed) ? std::numeric_limits<double>::infinity() : computed;
  }
};

RowFormula formula_of_clock(const Table& table, const std::string& text) {
  try {
    return {text, table.names};
  } catch (const InputError& error) {
    reject(
        "popgrad compare", "--clock", text.substr(0, 60),
        fmt::format("is no formula over the columns of {} ({}): {}; e.g. --clock 'lr*step', names "
                    "with other characters between backticks{}",
                    table.file, error.what(), list_of(table.names), table.doubt_of_names()));
  }
}

RowFormula clock_of(const Table& table, const RecordedLayout& layout) {
  const std::string& text = layout.clock;
  RowFormula formula = formula_of_clock(table, text);
  if (!formula.reads().empty()) return formula;
  // A factor of the column of the time.
  if (!(formula([](std::size_t) { return 0.0; }) > 0)) {
    reject("popgrad compare", "--clock", text, "must be > 0");
  }
  const std::string& time = layout.columns.at("t");
  const std::size_t column =
      column_of(table, "t", time,
                time == "t" ? "say which column is the time, e.g. --map t=step, or how it "
                              "follows from columns, e.g. --clock 'lr*step'"
                            : "");
  return {fmt::format("({})*`{}`", text, table.names[column]), table.names};
}

// Of a clock that is linear in its only column, if that counts steps.
std::optional<ClockRate> rate_of(const RowFormula& clock, const Table& table) {
  if (clock.reads().size() != 1 || !counts_steps(table.names[clock.reads().front()]))
    return std::nullopt;
  const auto at = [&](double steps) { return clock([&](std::size_t) { return steps; }); };
  const double rate = at(1) - at(0);
  if (!same_time(at(2) - at(1), rate)) return std::nullopt;
  return ClockRate{rate, clock.literals()};
}

Asked asked_of(Table& table, const RecordedLayout& layout) {
  Asked asked;
  asked.clock = clock_of(table, layout);
  const bool in_columns = std::any_of(table.names.begin(), table.names.end(), [](const auto& name) {
    return name.find(" - ") != std::string::npos;
  });
  std::vector<RowFormula> formulas;
  for (const auto& [name, column] : layout.columns) {
    if (name == "t") continue;
    asked.observables.push_back(name);
    std::string reason;
    if (std::optional<RowFormula> formula = formula_of(table, column, reason)) {
      table.notes.push_back(
          fmt::format("{}: {} is computed from columns: {}", table.file, name, column));
      asked.columns.push_back(table.names.size() + formulas.size());
      formulas.push_back(std::move(*formula));
      continue;
    }
    // Else it is a slip in the name of a column.
    if (!reason.empty() && column.find_first_of("`(+*") != std::string::npos) {
      reject("popgrad compare", "--map", name + "=" + column.substr(0, 60),
             fmt::format("is neither a column nor a formula over the columns of {} ({}): {}",
                         table.file, reason, list_of(table.names)));
    }
    asked.columns.push_back(column_of(
        table, name, column,
        in_columns ? "columns that are named RUN - METRIC take --runs-in-columns, and METRIC here"
                   : ""));
  }
  for (const std::size_t c : asked.clock->reads()) {
    static_cast<void>(table.index(table.names[c]));  // is there once
    if (is_learning_rate(table.names[c])) {
      asked.rates.push_back(c);
    } else {
      asked.counter = c;
    }
  }
  if (asked.clock->reads().size() != asked.rates.size() + 1) asked.counter.reset();
  asked.clock_rate = rate_of(*asked.clock, table);
  std::set<std::size_t> all(asked.clock->reads().begin(), asked.clock->reads().end());
  for (const std::size_t c : asked.columns) {
    if (c < table.names.size()) all.insert(c);
  }
  for (const RowFormula& formula : formulas) {
    for (const std::size_t c : formula.reads()) all.insert(table.index(table.names[c]));
  }
  const std::vector<std::size_t> columns(all.begin(), all.end());
  std::vector<std::vector<double>> numbers = table.numbers(columns);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    asked.numbers[columns[k]] = std::move(numbers[k]);
  }
  std::map<std::size_t, WrittenDigits> digits;
  for (const auto& [column, values] : asked.numbers) digits[column] = digits_of(values);
  for (std::size_t k = 0; k < formulas.size(); ++k) {
    const RowFormula& formula = formulas[k];
    const std::size_t rows = asked.numbers.at(formula.reads().front()).size();
    std::vector<double> made;
    WrittenDigits of;
    for (std::size_t row = 0; row < rows; ++row) {
      made.push_back(asked.value(formula, row));
      double unit = 0;
      for (const std::size_t moved : formula.reads()) {
        const double there = formula([&](std::size_t c) {
          const double x = asked.numbers.at(c)[row];
          return c == moved ? x + digits.at(c).unit_at(x) : x;
        });
        unit += std::fabs(there - made.back());
      }
      if (std::isfinite(unit)) of.unit = std::max(of.unit, unit);
    }
    asked.numbers[table.names.size() + k] = std::move(made);
    digits[table.names.size() + k] = of;
  }
  for (const std::size_t c : asked.columns) asked.digits.push_back(digits.at(c));
  return asked;
}

// ---- runs of a table ------------------------------------------------------------------------

// A group that is written where a run begins, and empty below it, holds down to the next.
std::vector<std::string> group_of(Table& table, const std::string& name) {
  std::vector<std::string> labels = table.labels(table.index(name));
  std::set<std::string> known;
  std::optional<std::size_t> empty, again;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row].empty()) {
      if (!empty) empty = row;
    } else if (!known.insert(labels[row]).second && !again) {
      again = row;
    }
  }
  if (!empty) return labels;
  if (*empty == 0 || again) {
    reject(table.file, "--group", name,
           fmt::format("is empty in {}{}; every row must say which run it is of, or only the first "
                       "row of every run",
                       table.place(*empty),
                       again ? fmt::format(", and '{}' in {} is not the first of its run",
                                           labels[*again].substr(0, 40), table.place(*again))
                             : std::string{}));
  }
  std::size_t filled = 0;
  for (std::size_t row = 1; row < labels.size(); ++row) {
    if (!labels[row].empty()) continue;
    labels[row] = labels[row - 1];
    ++filled;
  }
  table.notes.push_back(
      fmt::format("{}: {} is empty in {} rows, the first in {}: taken from the row above",
                  table.file, name, filled, table.place(*empty)));
  return labels;
}

struct Row {
  std::size_t row = 0;  // of the table
  double t = 0;
};

// The rows of one run, in the order of the table, as runs in order of time.
class RowOrder {
 public:
  RowOrder(Table& table, const Asked& asked, const RecordedLayout& layout, std::string label)
      : table_(table), asked_(asked), layout_(layout), label_(std::move(label)) {}

  [[nodiscard]] std::vector<std::vector<Row>> sorted(std::vector<Row> rows) {
    const std::vector<std::size_t> begins = begins_of(rows);
    if (begins.size() == 1) return {std::move(rows)};
    if (layout_.restarts != Restarts::refuse) return after_restarts(rows, begins);
    // Rows in any order go back at every second row.
    const bool any_order = 3 * begins.size() > rows.size();
    if (!any_order && is_interleaved(rows, begins)) refuse_restart(rows, begins[1]);
    std::vector<Row> made = rows;
    std::stable_sort(made.begin(), made.end(),
                     [](const Row& a, const Row& b) { return a.t < b.t; });
    for (std::size_t k = 1; k < made.size() && !any_order; ++k) {
      if (same_time(made[k - 1].t, made[k].t) && both(made[k - 1], made[k])) {
        refuse_restart(rows, begins[1]);
      }
    }
    note(fmt::format("rows are not in order of time, first in {} ({}), and were sorted",
                     table_.place(rows[begins[1]].row), step_back(rows, begins[1])));
    return {std::move(made)};
  }

  // Numbers of rows of one time as one row; of what is there twice, the same.
  [[nodiscard]] std::vector<double> joined(const std::vector<Row>& rows, std::size_t begin,
                                           std::size_t end) {
    std::vector<double> values;
    for (std::size_t o = 0; o < asked_.columns.size(); ++o) {
      double value = missing;
      std::size_t from = begin;
      for (std::size_t k = begin; k < end; ++k) {
        const double next = asked_.value(o, rows[k].row);
        if (std::isnan(next)) continue;
        if (!std::isnan(value) && value != next) refuse_twice(rows[from], rows[k], o);
        if (std::isnan(value)) from = k;
        value = next;
      }
      values.push_back(value);
    }
    if (end - begin > 1) {
      joined_ += end - begin - 1;
      if (!first_joined_) first_joined_ = rows[begin + 1].row;
    }
    return values;
  }
  void note_joined() {
    if (!first_joined_) return;
    note(
        fmt::format("rows at the time of another one that do not contradict it are joined to it: "
                    "{}, the first is {}",
                    joined_, table_.place(*first_joined_)));
  }

 private:
  Table& table_;
  const Asked& asked_;
  const RecordedLayout& layout_;
  std::string label_;
  std::size_t joined_ = 0;
  std::optional<std::size_t> first_joined_;

  void note(const std::string& text) { table_.notes.push_back(label_ + ": " + text); }

  // Whether one column has a number in both, and whether they differ.
  [[nodiscard]] bool both(const Row& a, const Row& b, bool differ = false) const {
    for (std::size_t o = 0; o < asked_.columns.size(); ++o) {
      const double x = asked_.value(o, a.row), y = asked_.value(o, b.row);
      if (!std::isnan(x) && !std::isnan(y) && (!differ || x != y)) return true;
    }
    return false;
  }
  // Where rows that go on in time begin.
  [[nodiscard]] std::vector<std::size_t> begins_of(const std::vector<Row>& rows) const {
    std::vector<std::size_t> begins{0};
    for (std::size_t k = 1; k < rows.size(); ++k) {
      const bool same = same_time(rows[k].t, rows[k - 1].t);
      if (same ? layout_.restarts != Restarts::refuse && both(rows[k - 1], rows[k], true)
               : rows[k].t < rows[k - 1].t) {
        begins.push_back(k);
      }
    }
    return begins;
  }
  // A run that goes on from before its last rows at other steps lies between them; a row or two in the wrong
  // place do not.
  [[nodiscard]] static bool is_interleaved(const std::vector<Row>& rows,
                                           std::vector<std::size_t> begins) {
    begins.push_back(rows.size());
    double latest = 0;
    for (std::size_t s = 1; s + 1 < begins.size(); ++s) {
      const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(begins[s]);
      const auto end = rows.begin() + static_cast<std::ptrdiff_t>(begins[s + 1]);
      latest = std::max(latest, std::prev(middle)->t);
      const double low = middle->t, high = std::prev(end)->t;
      const auto before = std::count_if(
          rows.begin(), middle, [&](const Row& row) { return row.t > low && row.t < high; });
      const auto after = std::count_if(middle, end, [&](const Row& row) { return row.t < latest; });
      if (before > 1 && after > 1) return true;
    }
    return false;
  }
  // As the file counts, where one column does.
  [[nodiscard]] std::string time_of(const Row& row) const {
    return label_text(asked_.counter ? asked_.numbers.at(*asked_.counter)[row.row] : row.t);
  }
  [[nodiscard]] std::string clock_name() const {
    return asked_.counter ? table_.names[*asked_.counter] : std::string("t");
  }
  [[nodiscard]] std::string step_back(const std::vector<Row>& rows, std::size_t k) const {
    return fmt::format("{} {} after {}", clock_name(), time_of(rows[k]), time_of(rows[k - 1]));
  }

  [[noreturn]] void refuse_restart(const std::vector<Row>& rows, std::size_t k) const {
    const bool from_start = rows[k].t <= rows.front().t;
    throw InputError(fmt::format(
        "{}: {}: {}: {}", label_, table_.place(rows[k].row), step_back(rows, k),
        from_start
            ? "another run begins; name with --group the column that distinguishes runs, or give "
              "--restarts new-run (or keep-last, keep-first, if the same run began again)"
            : "the run was resumed from before its last rows; say which rows count: --restarts "
              "keep-last or keep-first, or new-run for a run of its own"));
  }
  [[noreturn]] void refuse_twice(const Row& a, const Row& b, std::size_t observable) const {
    if (time_of(a) != time_of(b)) {
      throw InputError(fmt::format(
          "{}: {} ({} {}) and {} ({} {}) have the same time, {:g}; give a --clock that grows with "
          "every step",
          label_, table_.place(a.row), clock_name(), time_of(a), table_.place(b.row), clock_name(),
          time_of(b), b.t));
    }
    throw InputError(fmt::format(
        "{}: {} and {} have the same {}, {}, and {} is {} and {}; remove one of them, say with "
        "--restarts keep-last or keep-first which counts, or name with --group the column that "
        "distinguishes runs",
        label_, table_.place(a.row), table_.place(b.row), clock_name(), time_of(b),
        asked_.observables[observable], label_text(asked_.value(observable, a.row)),
        label_text(asked_.value(observable, b.row))));
  }

  [[nodiscard]] std::vector<std::vector<Row>> after_restarts(
      const std::vector<Row>& rows, const std::vector<std::size_t>& begins) {
    std::vector<std::vector<Row>> runs;
    std::size_t dropped = 0;
    for (std::size_t s = 0; s < begins.size(); ++s) {
      const std::size_t end = s + 1 < begins.size() ? begins[s + 1] : rows.size();
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begins[s]);
      if (s == 0 || layout_.restarts == Restarts::new_run) runs.emplace_back();
      std::vector<Row>& run = runs.back();
      const auto comes_again = [&](const Row& old) {
        return old.t > first->t || same_time(old.t, first->t);
      };
      while (layout_.restarts == Restarts::keep_last && !run.empty() && comes_again(run.back())) {
        run.pop_back();
        ++dropped;
      }
      const double last = run.empty() ? -1 : run.back().t;
      for (std::size_t k = begins[s]; k < end; ++k) {
        const bool old = s > 0 && layout_.restarts == Restarts::keep_first &&
                         (rows[k].t < last || same_time(rows[k].t, last));
        if (old) {
          ++dropped;
        } else {
          run.push_back(rows[k]);
        }
      }
      if (s == 0) continue;
      note(
          fmt::format("restarts in {} ({})", table_.place(first->row), step_back(rows, begins[s])));
    }
    if (dropped > 0) {
      note(fmt::format("{} rows are left out, as {} count", dropped,
                       layout_.restarts == Restarts::keep_last ? "those after a restart"
                                                               : "those before a restart"));
    }
    return runs;
  }
};

std::string run_label(const std::string& file, const RecordedLayout& layout,
                      const std::vector<std::string>& key) {
  // Of a folder, too, that is given with a / behind its name.
  std::string text = (std::filesystem::path(file) / "").parent_path().filename().string();
  // Of columns that hold runs, the name of the run.
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (i < layout.group.size()) text += " " + layout.group[i];
    text += " " + key[i];
  }
  return text;
}

// Of the numbers of a run in one column; times as they were read.
Gaps gaps_of(const std::vector<double>& values, const std::vector<double>& t) {
  Gaps gaps;
  gaps.rows = values.size();
  std::size_t longest = 0, length = 0;  // of the gaps that a number follows
  bool said = false;                    // in words, since the last number
  for (const double x : values) {
    if (std::isfinite(x)) {
      longest = std::max(longest, length);
      length = 0;
      said = false;
      continue;
    }
    ++gaps.missing;
    ++length;
    said = said || std::isinf(x);
  }
  // What is logged at every tenth row may end with nine that have none.
  if (said || (length > longest && length < values.size())) {
    gaps.diverged = t[t.size() - length];
  }
  return gaps;
}

void take_rates(RecordedRun& run, const Table& table, const Asked& asked, const Row& row) {
  for (const std::size_t c : asked.rates) {
    const double rate = asked.numbers.at(c)[row.row];
    // Of two that differ one is not the rate that the run is said to have.
    const auto known = [&](const RecordedRate& other) {
      return other.column == table.names[c] && (other.rate == rate || other.t > run.t.front());
    };
    if (std::none_of(run.rates.begin(), run.rates.end(), known)) {
      run.rates.push_back({table.names[c], rate, row.t});
    }
  }
}

RecordedRun run_of(const Table& table, const Asked& asked, RowOrder& order,
                   const std::vector<Row>& rows) {
  RecordedRun run;
  run.columns = asked.observables;
  run.clock_rate = asked.clock_rate;
  run.digits = asked.digits;
  run.values.resize(run.columns.size());
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && same_time(rows[end].t, rows[begin].t)) ++end;
    run.t.push_back(rows[begin].t);
    const std::vector<double> values = order.joined(rows, begin, end);
    for (std::size_t c = 0; c < values.size(); ++c) run.values[c].push_back(values[c]);
    for (std::size_t k = begin; k < end; ++k) take_rates(run, table, asked, rows[k]);
  }
  if (!run.t.empty()) run.last = run.t.back();
  for (std::vector<double>& values : run.values) {
    run.gaps.push_back(gaps_of(values, run.t));
    // To all that follows a number that is not finite is none.
    for (double& x : values) x = std::isfinite(x) ? x : missing;
  }
  return run;
}

// A clock of nothing but steps is their number times one learning rate.
void require_steady_clock(const Table& table, const Asked& asked, const std::string& clock,
                          std::vector<Row> rows) {
  if (!asked.counter || !asked.rates.empty() || !counts_steps(table.names[*asked.counter])) return;
  const std::vector<double>& steps = asked.numbers.at(*asked.counter);
  const auto step_of = [&](const Row& row) { return steps[row.row]; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return step_of(a) < step_of(b); });
  constexpr double largest_ratio = 2;  // a clock may begin some steps late
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    const double further = step_of(rows[k]) - step_of(rows[k - 1]);
    if (!(further > 0)) continue;
    const double rate = (rows[k].t - rows[k - 1].t) / further;
    const auto refuse = [&](const std::string& reason) {
      reject("popgrad compare", "--clock", clock,
             fmt::format("{}; the time is one learning rate * steps", reason));
    };
    if (rate < 0) {
      refuse(fmt::format("goes back from {:g} to {:g} between the steps {:g} and {:g}",
                         rows[k - 1].t, rows[k].t, step_of(rows[k - 1]), step_of(rows[k])));
    }
    if (rows[k - 1].t > 0) {
      slowest = std::min(slowest, rate);
      fastest = std::max(fastest, rate);
    }
    if (fastest > largest_ratio * slowest && slowest > 0) {
      refuse(fmt::format("adds {:.6g} a step in some rows and {:.6g} in others", slowest, fastest));
    }
  }
}

// The runs of one table, each on its own times; `name` is that of the run if the table is of one.
std::vector<RecordedRun> runs_of(Table& table, const RecordedLayout& layout,
                                 const std::optional<std::string>& name) {
  const Asked asked = asked_of(table, layout);
  std::vector<std::vector<std::string>> groups;
  for (const std::string& group : layout.group) groups.push_back(group_of(table, group));
  struct Rows {
    std::string label;
    std::vector<Row> rows;
    std::size_t without_time = 0;
  };
  std::vector<Rows> found;
  std::map<std::vector<std::string>, std::size_t> places;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    // Of a row with numbers of other runs.
    if (name && asked.is_blank(row)) continue;
    std::vector<std::string> key;
    for (const auto& group : groups) key.push_back(group[row]);
    if (name) key.push_back(*name);
    const auto [at, fresh] = places.try_emplace(key, found.size());
    if (fresh) found.push_back({run_label(table.file, layout, key), {}, 0});
    const double t = asked.time(row);
    if (std::isnan(t)) {
      ++found[at->second].without_time;
      continue;
    }
    if (!(t >= 0) || std::isinf(t)) {
      reject(table.file, "time", std::isinf(t) ? "that is no number" : fmt::format("{:g}", t),
             fmt::format("in {}: must be finite and >= 0; see --clock", table.place(row)));
    }
    found[at->second].rows.push_back({row, t});
  }
  std::vector<RecordedRun> runs;
  for (const Rows& of : found) {
    require_steady_clock(table, asked, layout.clock, of.rows);
    RowOrder order(table, asked, layout, of.label);
    bool restarted = false;
    for (const std::vector<Row>& rows : order.sorted(of.rows)) {
      RecordedRun& run = runs.emplace_back(run_of(table, asked, order, rows));
      run.label = of.label;
      if (restarted) run.label += " from " + table.place(rows.front().row);
      if (!restarted) run.without_time = of.without_time;
      restarted = true;
    }
    order.note_joined();
  }
  return runs;
}

// A table with columns RUN - METRIC as one table a run, with columns METRIC and those of no run.
std::vector<std::pair<std::string, Table>> tables_of_runs(Table table) {
  constexpr std::string_view between = " - ";
  std::vector<std::pair<std::string, Table>> tables;
  std::map<std::string, std::size_t> places;
  table.load_all();
  std::vector<std::size_t> shared;
  const auto add = [&](Table& to, const std::string& name, std::size_t column) {
    to.names.push_back(name);
    if (!table.fields.empty()) {
      to.fields.push_back(table.fields[column]);
    } else {
      to.columns.push_back(table.columns[column]);
    }
  };
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    const std::size_t at = name.rfind(between);
    if (at == std::string::npos) {
      shared.push_back(c);
      continue;
    }
    const auto [place, fresh] = places.try_emplace(name.substr(0, at), tables.size());
    if (fresh) {
      Table& made = tables.emplace_back(place->first, Table{}).second;
      made.file = table.file;
      made.lines = table.lines;
    }
    add(tables[place->second].second, name.substr(at + between.size()), c);
  }
  if (tables.empty()) {
    throw InputError(fmt::format(
        "{}: --runs-in-columns is for columns that are named RUN - METRIC, and it has {}",
        table.file, list_of(table.names)));
  }
  for (auto& [run, of_run] : tables) {
    for (const std::size_t c : shared) add(of_run, table.names[c], c);
  }
  tables.front().second.notes = std::move(table.notes);
  return tables;
}

// Puts all runs on the union of their times.
void spread_over(std::vector<RecordedRun>& runs) {
  std::set<double> united;
  for (const RecordedRun& run : runs) united.insert(run.t.begin(), run.t.end());
  std::vector<double> times;
  for (const double t : united) {
    if (times.empty() || !same_time(times.back(), t)) times.push_back(t);
  }
  for (RecordedRun& run : runs) {
    std::vector<std::vector<double>> values(run.columns.size(),
                                            std::vector<double>(times.size(), missing));
    std::size_t next = 0;
    std::vector<Gaps> gaps = run.gaps;
    for (std::size_t k = 0; k < times.size() && next < run.t.size(); ++k) {
      if (!same_time(run.t[next], times[k])) continue;
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c][k] = run.values[c][next];
        if (run.gaps[c].diverged == run.t[next]) gaps[c].diverged = times[k];
      }
      ++next;
    }
    run.t = times;
    run.gaps = std::move(gaps);
    run.values = std::move(values);
  }
}

// Whether a table has one of the columns that are named, or else of the observables.
bool has_any(const Table& table, const RecordedLayout& layout,
             const std::vector<std::string>& observables) {
  const auto has = [&](const std::string& name) {
    return std::find(table.names.begin(), table.names.end(), name) != table.names.end();
  };
  if (layout.columns.size() < 2) return std::any_of(observables.begin(), observables.end(), has);
  return std::any_of(layout.columns.begin(), layout.columns.end(), [&](const auto& pair) {
    const auto& [name, given] = pair;
    std::string reason;
    return name != "t" &&
           (has(given) || given.starts_with('~') || formula_of(table, given, reason).has_value());
  });
}

// Of a table whose columns are there and hold nothing, no run can be judged.
void require_numbers(const std::vector<RecordedRun>& runs) {
  for (const RecordedRun& run : runs) {
    for (const std::vector<double>& values : run.values) {
      if (std::any_of(values.begin(), values.end(), [](double x) { return !std::isnan(x); }))
        return;
    }
  }
  const RecordedRun& run = runs.front();
  throw InputError(fmt::format("{}: {} no finite number in any row; give other columns", run.label,
                               run.columns.size() > 1
                                   ? fmt::format("{} have", fmt::join(run.columns, ", "))
                                   : run.columns.front() + " has"));
}

// Whether two runs have the same numbers wherever both have some, at times that distinguish runs.
bool is_copy(const RecordedRun& a, const RecordedRun& b) {
  constexpr std::size_t enough = 3;  // different numbers after the start, which runs share
  const auto equal = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double p, double q) {
      return p == q || (std::isnan(p) && std::isnan(q));
    });
  };
  if (a.t == b.t &&
      std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), equal)) {
    return true;
  }
  std::set<double> shared;
  for (std::size_t i = 0, k = 0; i < a.t.size() && k < b.t.size();) {
    if (!same_time(a.t[i], b.t[k])) {
      ++(a.t[i] < b.t[k] ? i : k);
      continue;
    }
    for (std::size_t c = 0; c < a.values.size(); ++c) {
      const double x = a.values[c][i], y = b.values[c][k];
      if (std::isnan(x) || std::isnan(y)) continue;
      if (x != y) return false;
      if (a.t[i] > 0) shared.insert(x);
    }
    ++i;
    ++k;
  }
  return shared.size() >= enough;
}

// Rows and numbers that `from` has and `to` has not; whether there are any.
bool add_rows(RecordedRun& to, const RecordedRun& from) {
  RecordedRun both = to;
  bool added = false;
  both.t.clear();
  for (auto& values : both.values) values.clear();
  for (std::size_t i = 0, k = 0; i < to.t.size() || k < from.t.size();) {
    const bool same = i < to.t.size() && k < from.t.size() && same_time(to.t[i], from.t[k]);
    const bool old = k == from.t.size() || (i < to.t.size() && (same || to.t[i] < from.t[k]));
    both.t.push_back(old ? to.t[i] : from.t[k]);
    for (std::size_t c = 0; c < both.values.size(); ++c) {
      double x = old ? to.values[c][i] : missing;
      if (std::isnan(x) && (same || !old) && !std::isnan(from.values[c][k])) {
        x = from.values[c][k];
        added = true;
      }
      both.values[c].push_back(x);
    }
    if (same || !old) ++k;
    if (old) ++i;
  }
  if (!added) return false;
  for (std::size_t c = 0; c < both.gaps.size(); ++c) {
    const std::optional<double> ends = from.gaps[c].diverged;
    const std::optional<double> ended = to.gaps[c].diverged;
    both.gaps[c] = gaps_of(both.values[c], both.t);
    if (ends || ended) both.gaps[c].diverged = ends ? ends : ended;
  }
  both.last = std::max(to.last, from.last);
  both.rates.insert(both.rates.end(), from.rates.begin(), from.rates.end());
  to = std::move(both);
  return true;
}

// Runs that have the numbers of another one are no evidence of their own.
void join_copies(RecordedFiles& files) {
  std::vector<RecordedRun> kept;
  for (RecordedRun& run : files.runs) {
    const auto same = std::find_if(kept.begin(), kept.end(),
                                   [&](const RecordedRun& other) { return is_copy(run, other); });
    if (same == kept.end()) {
      kept.push_back(std::move(run));
      continue;
    }
    files.notes.push_back(
        add_rows(*same, run)
            ? fmt::format("{}: has the same numbers as {} at all times that both have, and counts "
                          "as rows of it",
                          run.label, same->label)
            : fmt::format("{}: has the same numbers as {} and is left out", run.label,
                          same->label));
  }
  files.runs = std::move(kept);
}

}  // namespace

RecordedFiles read_recorded_runs(const std::vector<std::string>& files, RecordedLayout layout,
                                 const std::vector<std::string>& observables) {
  for (const auto& [name, column] : layout.columns) {
    if (name == "t" || std::find(observables.begin(), observables.end(), name) != observables.end())
      continue;
    reject("popgrad compare", "--map", name,
           "is not an observable of this rung" + suggestion(name, observables));
  }
  layout.columns.try_emplace("t", "t");
  RecordedFiles made;
  const auto read = [&](Table table, const std::optional<std::string>& run) {
    if (layout.columns.size() < 2) {
      for (const std::string& name : observables) {
        // One that cannot be read is refused when it is.
        if (std::find(table.names.begin(), table.names.end(), name) != table.names.end() ||
            table.unread.contains(name)) {
          layout.columns.emplace(name, name);
        }
      }
    }
    if (layout.columns.size() < 2) {
      throw InputError(
          fmt::format("popgrad compare: no column of {} has the name of an observable ({}); say "
                      "which is which, e.g. --map {}=COLUMN; it has {}{}",
                      table.file, fmt::join(observables, ", "), observables.front(),
                      list_of(table.names), table.doubt_of_names()));
    }
    for (RecordedRun& one : runs_of(table, layout, run)) made.runs.push_back(std::move(one));
    made.notes.insert(made.notes.end(), table.notes.begin(), table.notes.end());
  };
  for (const std::string& file : files) {
    Table table = read_table(file);
    if (!layout.runs_in_columns) {
      read(std::move(table), {});
      continue;
    }
    for (auto& [run, of_run] : tables_of_runs(std::move(table))) {
      if (has_any(of_run, layout, observables)) read(std::move(of_run), run);
    }
  }
  if (made.runs.empty()) {
    throw InputError(fmt::format(
        "{}: --runs-in-columns: no column RUN - METRIC has a METRIC that --map names, or numbers",
        fmt::join(files, ", ")));
  }
  require_numbers(made.runs);
  join_copies(made);
  spread_over(made.runs);
  return made;
}

}  // namespace popgrad
