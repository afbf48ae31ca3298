#include "io/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>

#include "io/row_formula.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double not_finite = std::numeric_limits<double>::infinity();

// By what follows the last / or . of its name.
bool is_learning_rate(std::string_view column) {
  std::string name(column.substr(column.find_last_of("/.") + 1));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return name == "lr" || name == "learning_rate" || name == "learningrate" || name == "eta" ||
         name == "step_size" || name.starts_with("lr-") || name.starts_with("lr_");
}

// How the time of a row follows from its columns.
struct Clock {
  RowFormula formula;
  std::vector<std::size_t> rates;  // columns of it that are learning rates

  // NaN where a column that it reads has nothing.
  double operator()(const Table& table, std::size_t row) const {
    for (const std::size_t c : formula.reads()) {
      if (std::isnan(table.columns[c][row])) return missing;
    }
    const double t = formula([&](std::size_t c) { return table.columns[c][row]; });
    if (std::isnan(t)) return not_finite;
    return t;
  }
};

Clock clock_of(const Table& table, const RecordedLayout& layout, const std::string& file) {
  std::string text = layout.clock;
  std::vector<std::string> names = table.names;
  try {
    Clock clock{RowFormula(text, names), {}};
    if (clock.formula.reads().empty()) {
      // A factor of the column of the time.
      if (!(clock.formula([](std::size_t) { return 0.0; }) > 0)) {
        reject("popgrad compare", "--clock", text, "must be > 0");
      }
      const std::string& time = layout.columns.at("t");
      static_cast<void>(table.column(
          time, file,
          time == "t" ? "say which column is the time, e.g. --map t=step, or how it follows from "
                        "columns, e.g. --clock 'lr*step'"
                      : ""));
      // Under a name that every formula can have.
      std::replace(names.begin(), names.end(), time, std::string("t"));
      clock.formula = RowFormula("(" + text + ")*t", names);
    }
    for (const std::size_t c : clock.formula.reads()) {
      if (is_learning_rate(table.names[c])) clock.rates.push_back(c);
    }
    return clock;
  } catch (const InputError&) {
    throw;
  } catch (const std::invalid_argument& error) {
    reject("popgrad compare", "--clock", text.substr(0, 60),
           fmt::format("is no formula over the columns of {} ({}): {}; e.g. --clock 'lr*step'",
                       file, error.what(), fmt::join(table.names, ", ")));
  }
}

std::string run_label(const std::string& file, const RecordedLayout& layout,
                      const std::vector<std::string>& key) {
  std::string text = std::filesystem::path(file).filename().string();
  for (std::size_t i = 0; i < key.size(); ++i) {
    text += fmt::format(" {} {}", layout.group[i], key[i]);
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

// The runs of one table, each on its own times.
std::vector<RecordedRun> runs_of(const Table& table, const RecordedLayout& layout,
                                 const std::string& file) {
  const Clock clock = clock_of(table, layout, file);
  std::vector<RecordedRun> runs;
  std::map<std::vector<std::string>, std::size_t> places;
  std::vector<std::size_t> last_rows;
  std::vector<const std::vector<std::string>*> groups;
  for (const std::string& name : layout.group) {
    static_cast<void>(table.column(name, file));
    groups.push_back(&table.labels.at(name));
  }
  std::vector<const std::vector<double>*> columns;
  for (const auto& [name, column] : layout.columns) {
    if (name != "t") columns.push_back(&table.column(column, file));
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::vector<std::string> key;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      key.push_back((*groups[i])[row]);
      if (key.back().empty()) {
        reject(file, "--group", layout.group[i],
               fmt::format("is empty in row {}; every row must say which run it is of", row + 1));
      }
    }
    const auto [at, fresh] = places.try_emplace(key, runs.size());
    if (fresh) {
      RecordedRun run;
      run.label = run_label(file, layout, key);
      for (const auto& [name, column] : layout.columns) {
        if (name != "t") run.columns.push_back(name);
      }
      run.values.resize(run.columns.size());
      runs.push_back(std::move(run));
      last_rows.push_back(0);
    }
    RecordedRun& run = runs[at->second];
    const double t = clock(table, row);
    if (std::isnan(t)) {
      ++run.without_time;
      continue;
    }
    if (!(t >= 0) || std::isinf(t)) {
      reject(file, "time", std::isinf(t) ? "that is no number" : fmt::format("{:g}", t),
             fmt::format("in row {}: must be finite and >= 0; see --clock", row + 1));
    }
    if (!run.t.empty() && t <= run.t.back()) {
      const std::string advice =
          layout.group.empty() ? "name with --group the columns that distinguish runs"
          : t == run.t.back()
              ? "remove one of the two, or name with --group another column that distinguishes runs"
              : "put the rows of each run in order of time, or name with --group another column "
                "that distinguishes runs";
      reject(file, "time", fmt::format("{:g}", t),
             fmt::format("in row {} does not come after the {:g} in row {} of the same run; {}",
                         row + 1, run.t.back(), last_rows[at->second] + 1, advice));
    }
    last_rows[at->second] = row;
    run.t.push_back(t);
    for (std::size_t c = 0; c < columns.size(); ++c) run.values[c].push_back((*columns[c])[row]);
    for (const std::size_t c : clock.rates) {
      const double rate = table.columns[c][row];
      // Of two that differ --eta denies one.
      const auto known = [&](const RecordedRate& other) {
        return other.column == table.names[c] && (other.rate == rate || other.t > run.t.front());
      };
      if (std::none_of(run.rates.begin(), run.rates.end(), known)) {
        run.rates.push_back({table.names[c], rate, t});
      }
    }
  }
  for (RecordedRun& run : runs) {
    if (!run.t.empty()) run.last = run.t.back();
    for (std::vector<double>& values : run.values) {
      run.gaps.push_back(gaps_of(values, run.t));
      // To all that follows a number that is not finite is none.
      for (double& x : values) x = std::isfinite(x) ? x : missing;
    }
  }
  return runs;
}

// Puts all runs on the union of their times.
void spread_over(std::vector<RecordedRun>& runs) {
  std::set<double> united;
  for (const RecordedRun& run : runs) united.insert(run.t.begin(), run.t.end());
  // Times that differ by rounding of a clock formula are one.
  std::vector<double> times;
  for (const double t : united) {
    if (times.empty() || t - times.back() > 1e-9 * std::fabs(t)) times.push_back(t);
  }
  for (RecordedRun& run : runs) {
    std::vector<std::vector<double>> values(run.columns.size(),
                                            std::vector<double>(times.size(), missing));
    std::size_t next = 0;
    std::vector<Gaps> gaps = run.gaps;
    for (std::size_t k = 0; k < times.size() && next < run.t.size(); ++k) {
      if (run.t[next] - times[k] > 1e-9 * std::fabs(times[k])) continue;
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

}  // namespace

std::vector<RecordedRun> read_recorded_runs(const std::vector<std::string>& files,
                                            RecordedLayout layout,
                                            const std::vector<std::string>& observables) {
  for (const auto& [name, column] : layout.columns) {
    if (name == "t" || std::find(observables.begin(), observables.end(), name) != observables.end())
      continue;
    reject("popgrad compare", "--map", name,
           "is not an observable of this rung" + suggestion(name, observables));
  }
  std::vector<RecordedRun> runs;
  for (const std::string& file : files) {
    const Table table = read_table(file, {layout.group.begin(), layout.group.end()});
    for (const std::string& name : observables) {
      const bool there =
          std::find(table.names.begin(), table.names.end(), name) != table.names.end() ||
          table.unread.contains(name);  // which is refused when it is read
      // What the first file has is asked of the others.
      if (there && runs.empty()) layout.columns.try_emplace(name, name);
    }
    layout.columns.try_emplace("t", "t");
    if (layout.columns.size() < 2) {
      throw InputError(
          fmt::format("popgrad compare: no column of {} has the name of an observable ({}); say "
                      "which is which, e.g. --map {}=COLUMN",
                      file, fmt::join(observables, ", "), observables.front()));
    }
    for (RecordedRun& run : runs_of(table, layout, file)) runs.push_back(std::move(run));
  }
  spread_over(runs);
  return runs;
}

}  // namespace popgrad
