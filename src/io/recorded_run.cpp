#include "io/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "io/table.hpp"
#include "popgrad/error.hpp"
#include "popgrad/scalar/expression.hpp"

namespace popgrad {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// A formula of a user over the columns of a table, by GiNaC's parser.
class RowFormula {
 public:
  RowFormula(const std::string& text, const Table& table, const std::string& file) : table_(table) {
    GiNaC::symtab names;
    for (const std::string& name : table.names) {
      symbols_.emplace_back(name);
      names[name] = symbols_.back();
    }
    try {
      GiNaC::parser reader(names, true);  // strict: no other names
      formula_ = reader(text);
    } catch (const std::exception&) {
      reject("popgrad compare", "--clock", text,
             fmt::format("is no formula over the columns of {}: {}; e.g. --clock 'lr*step'", file,
                         fmt::join(table.names, ", ")));
    }
  }

  double operator()(std::size_t row) const {
    GiNaC::exmap values;
    for (std::size_t c = 0; c < symbols_.size(); ++c) {
      if (!formula_.has(symbols_[c])) continue;
      if (std::isnan(table_.columns[c][row])) return missing;
      values[symbols_[c]] = table_.columns[c][row];
    }
    const Expression value = GiNaC::evalf(formula_.subs(values));
    return GiNaC::is_a<GiNaC::numeric>(value) && value.info(GiNaC::info_flags::real)
               ? GiNaC::ex_to<GiNaC::numeric>(value).to_double()
               : missing;
  }

 private:
  const Table& table_;
  std::vector<GiNaC::symbol> symbols_;
  Expression formula_;
};

bool is_number(const std::string& text) {
  try {
    static_cast<void>(from_text<double>(text));
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::vector<double> times_of(const Table& table, const RecordedLayout& layout,
                             const std::string& file) {
  if (is_number(layout.clock)) {
    const double factor = from_text<double>(layout.clock);
    if (!(factor > 0)) reject("popgrad compare", "--clock", layout.clock, "must be > 0");
    const std::string& name = layout.columns.at("t");
    if (std::find(table.names.begin(), table.names.end(), name) == table.names.end()) {
      reject(file, "column", name,
             fmt::format("is not there; it has {}; say how times follow, as in --clock 'lr*step'",
                         fmt::join(table.names, ", ")));
    }
    std::vector<double> times = table.column(name, file);
    for (double& t : times) t *= factor;
    return times;
  }
  const RowFormula formula(layout.clock, table, file);
  std::vector<double> times;
  for (std::size_t row = 0; row < table.rows(); ++row) times.push_back(formula(row));
  return times;
}

std::string label_of(const std::string& file, const RecordedLayout& layout,
                     const std::vector<double>& key) {
  std::string text = std::filesystem::path(file).filename().string();
  for (std::size_t i = 0; i < key.size(); ++i) {
    text += fmt::format(" {} {:g}", layout.group[i], key[i]);
  }
  return text;
}

// The runs of one table, each on its own times.
std::vector<RecordedRun> runs_of(const Table& table, const RecordedLayout& layout,
                                 const std::string& file) {
  const std::vector<double> times = times_of(table, layout, file);
  std::vector<RecordedRun> runs;
  std::map<std::vector<double>, std::size_t> places;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::vector<double> key;
    for (const std::string& name : layout.group) key.push_back(table.column(name, file)[row]);
    const auto [at, fresh] = places.try_emplace(key, runs.size());
    if (fresh) {
      RecordedRun run;
      run.label = label_of(file, layout, key);
      for (const auto& [name, column] : layout.columns) {
        if (name != "t") run.columns.push_back(name);
      }
      run.values.resize(run.columns.size());
      runs.push_back(std::move(run));
    }
    RecordedRun& run = runs[at->second];
    const double t = times[row];
    if (std::isnan(t)) continue;
    if (!(t >= 0) || std::isinf(t)) {
      reject(file, "time", fmt::format("{:g}", t),
             fmt::format("in row {}: must be finite and >= 0; see --clock", row + 1));
    }
    if (!run.t.empty() && t <= run.t.back()) {
      reject(file, "time", fmt::format("{:g}", t),
             fmt::format("in row {} does not come after the {:g} before it; name the columns that "
                         "tell runs apart with --group",
                         row + 1, run.t.back()));
    }
    run.t.push_back(t);
    for (std::size_t c = 0; c < run.columns.size(); ++c) {
      run.values[c].push_back(table.column(layout.columns.at(run.columns[c]), file)[row]);
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
    for (std::size_t k = 0; k < times.size() && next < run.t.size(); ++k) {
      if (run.t[next] - times[k] > 1e-9 * std::fabs(times[k])) continue;
      for (std::size_t c = 0; c < values.size(); ++c) values[c][k] = run.values[c][next];
      ++next;
    }
    run.t = times;
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
    const Table table = read_table(file);
    for (const std::string& name : observables) {
      const bool there =
          std::find(table.names.begin(), table.names.end(), name) != table.names.end();
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

RecordedRun mean_of(const std::vector<RecordedRun>& runs) {
  RecordedRun mean = runs.front();
  mean.label = fmt::format("mean of {}", runs.size());
  mean.averaged = static_cast<double>(runs.size());
  for (std::size_t c = 0; c < mean.values.size(); ++c) {
    for (std::size_t k = 0; k < mean.t.size(); ++k) {
      double sum = 0;
      for (const RecordedRun& run : runs) sum += run.values[c][k];
      mean.values[c][k] = sum / mean.averaged;  // NaN where one of them has none
    }
  }
  return mean;
}

}  // namespace popgrad
