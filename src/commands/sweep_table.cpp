#include "commands/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad::cli {
namespace {

constexpr std::size_t times_watched = 1001;  // by --first
constexpr double uncovered = 0.05;           // of the intervals of shares

// Observables of the cells, one a condition. Throws InputError for a name that is none.
std::vector<std::size_t> columns_of(const std::vector<Condition>& conditions, const char* option,
                                    const std::string& rung,
                                    const std::vector<std::string>& columns) {
  std::vector<std::size_t> found;
  for (const Condition& c : conditions) {
    const auto at = std::find(columns.begin(), columns.end(), c.column);
    if (at == columns.end()) {
      reject(popgrad_sweep, option, c.column,
             fmt::format("is not an observable of {}{}", rung, suggestion(c.column, columns)));
    }
    found.push_back(static_cast<std::size_t>(at - columns.begin()));
  }
  return found;
}

bool meets(const std::vector<double>& row, const std::vector<Condition>& conditions,
           const std::vector<std::size_t>& columns) {
  for (std::size_t k = 0; k < conditions.size(); ++k) {
    const double value = row[columns[k]];
    const bool good =
        conditions[k].at_most ? value <= conditions[k].bound : value >= conditions[k].bound;
    if (!good) return false;
  }
  return true;
}

// Of sorted numbers, linear between neighbours; an infinite neighbour makes it infinite.
double quantile_of(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double share = at - static_cast<double>(below);
  if (share == 0) return sorted[below];
  return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

// Nothing for what is not finite.
std::string field(double x) { return std::isfinite(x) ? fmt::format(",{:.17g}", x) : ","; }

// 5 %, 50 % and 95 % of them; nothing of none.
std::string quantile_fields(std::vector<double> numbers) {
  if (numbers.empty()) return ",,,";
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (const double p : {0.05, 0.5, 0.95}) text += field(quantile_of(numbers, p));
  return text;
}

// What is kept of the runs of a cell.
class RunEnds {
 public:
  RunEnds(const Conditions& conditions, const RungInfo& info,
          const std::vector<std::string>& columns)
      : conditions_(conditions),
        success_columns_(columns_of(conditions.success, "--success", info.name, columns)),
        first_columns_(columns_of(conditions.first, "--first", info.name, columns)),
        ends_(columns.size()) {}

  [[nodiscard]] std::size_t runs() const { return first_times_.size(); }
  [[nodiscard]] std::size_t successes() const { return successes_; }

  // False if one of them was interrupted.
  bool add(const std::vector<Trajectory<double>>& runs) {
    const bool watched = !conditions_.first.empty();
    for (const Trajectory<double>& run : runs) {
      if (run.outcome.ending == Ending::interrupted) return false;
      double first = INFINITY;
      for (std::size_t k = 0; watched && k < run.rows.size() && std::isinf(first); ++k) {
        if (meets(run.rows[k], conditions_.first, first_columns_)) first = run.t[k];
      }
      reached_ += std::isinf(first) ? 0 : 1;
      first_times_.push_back(first);
      if (!run.outcome.usable() || run.rows.empty()) continue;
      const std::vector<double>& row = run.rows.back();
      successes_ += meets(row, conditions_.success, success_columns_) ? 1 : 0;
      for (std::size_t c = 0; c < ends_.size(); ++c) ends_[c].push_back(row[c]);
    }
    return true;
  }

  // Those that header_of names.
  [[nodiscard]] std::string fields() const {
    const bool ensemble = runs() > 1;
    std::string text = fmt::format("{},{}", runs(), ends_.empty() ? runs() : ends_.front().size());
    const auto share_of = [&](std::size_t count) {
      const Share share =
          wilson_interval(static_cast<double>(count), static_cast<double>(runs()), uncovered);
      text += fmt::format(",{},{:.17g}", count, share.value);
      if (ensemble) text += fmt::format(",{:.17g},{:.17g}", share.low, share.high);
    };
    if (!conditions_.success.empty()) share_of(successes_);
    if (!conditions_.first.empty()) {
      share_of(reached_);
      text += ensemble ? quantile_fields(first_times_) : field(first_times_.front());
    }
    for (const std::vector<double>& values : ends_) {
      if (!ensemble) {
        text += values.empty() ? "," : field(values.front());
        continue;
      }
      double mean = NAN, deviation = NAN;
      if (!values.empty()) {
        const auto n = static_cast<double>(values.size());
        mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
        double square = 0;
        for (const double x : values) square += (x - mean) * (x - mean);
        deviation = values.size() > 1 ? std::sqrt(square / (n - 1)) : 0.0;
      }
      text += field(mean) + field(deviation) + quantile_fields(values);
    }
    return text;
  }

 private:
  const Conditions& conditions_;
  std::vector<std::size_t> success_columns_, first_columns_;
  std::size_t successes_ = 0, reached_ = 0;
  std::vector<std::vector<double>> ends_;  // one an observable
  std::vector<double> first_times_;        // one a run
};

}  // namespace

Condition condition_of(const char* option, const std::string& text) {
  Condition made;
  std::size_t at = text.find("<=");
  if (at == std::string::npos) {
    at = text.find(">=");
    made.at_most = false;
  }
  if (at == std::string::npos || at == 0) {
    reject(popgrad_sweep, option, text, "must be COLUMN<=VALUE or COLUMN>=VALUE");
  }
  made.column = text.substr(0, at);
  try {
    made.bound = from_text<double>(text.substr(at + 2));
  } catch (const std::invalid_argument&) {
    reject(popgrad_sweep, option, text, "has no number behind it");
  }
  return made;
}

bool narrow_enough(std::size_t successes, std::size_t runs, double width) {
  const Share share =
      wilson_interval(static_cast<double>(successes), static_cast<double>(runs), uncovered);
  return share.high - share.low <= width;
}

std::optional<std::string> row_of(const RungInfo& info, const CommonOptions& cell,
                                  const Model& model, const Conditions& conditions,
                                  const Replication& replication, const Report& report) {
  const Parameters p = gather_parameters(cell, model, info.name);
  std::optional<WalkRequest> steps;
  if (walks(info)) {
    // Rows are chosen below, and a run has one unless it is watched.
    CommonOptions ends = cell;
    ends.save = 2;
    steps = walk_request(ends, info);
  }
  const Walker walker = walker_of(model, info, p, cell.seed, steps.value_or(WalkRequest{}));
  RunEnds found(conditions, info, walker.columns());
  const bool watched = !conditions.first.empty();
  if (steps) {
    WalkRequest& request = *steps;
    request.save_steps = {request.steps};
    if (watched) request.save_steps = evenly_spread_steps(request.steps, times_watched);
    const std::uint32_t at_a_time = request.runs;
    const std::size_t most =
        std::max<std::size_t>(at_a_time, static_cast<std::size_t>(replication.most));
    while (true) {
      const std::size_t before = found.runs();
      request.first_run = static_cast<std::uint32_t>(before);
      request.runs = static_cast<std::uint32_t>(std::min<std::size_t>(at_a_time, most - before));
      const Report share_done = [&](double fraction) {
        const double runs = static_cast<double>(before) + fraction * request.runs;
        return report(runs / static_cast<double>(most));
      };
      if (!found.add(walker.runs(request, share_done))) return std::nullopt;
      const std::size_t runs = found.runs();
      if (runs == most || narrow_enough(found.successes(), runs, replication.width)) break;
    }
  } else {
    SolveRequest<double> request = solve_request<double>(cell, info, p);
    request.save_at = {request.end};
    if (watched) request.save_at = equally_spaced(0.0, request.end, times_watched);
    if (!found.add({trajectory_of_flow(walker.rung, info, request, report)})) {
      return std::nullopt;
    }
  }
  return found.fields();
}

void check_cell(const RungInfo& info, const CommonOptions& cell, const Model& model,
                const Conditions& conditions) {
  const Parameters p = gather_parameters(cell, model, info.name);
  if (walks(info)) {
    static_cast<void>(walk_request(cell, info));
  } else {
    static_cast<void>(solve_request<double>(cell, info, p));
  }
  const RunEnds known(conditions, info, columns_of(model, info, p, cell.seed));
}

std::string refused_row(const std::string& axes, const std::string& header) {
  const auto fields = [](const std::string& line) {
    return static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
  };
  const std::string row = axes + "0,0";
  return row + std::string(fields(header) - fields(row), ',');
}

namespace {

// Axes, runs, ended, ... of the rows of a table, the first `count` fields behind the axes.
template <class Take>
void for_each_row(const std::string& csv, std::size_t axes, std::size_t count, const Take& take) {
  std::size_t begin = csv.find('\n') + 1;
  while (begin < csv.size()) {
    const std::size_t end = csv.find('\n', begin);
    std::vector<std::string> fields;
    for (std::size_t at = begin; fields.size() < axes + count && at <= end;) {
      const std::size_t next = std::min(csv.find(',', at), end);
      fields.push_back(csv.substr(at, next - at));
      at = next + 1;
    }
    begin = end + 1;
    take(fields);
  }
}

std::vector<std::string> names_of_axes(const std::string& csv) {
  std::vector<std::string> names;
  std::size_t at = 0;
  for (std::size_t next = csv.find(','); csv.compare(at, next - at, "runs") != 0;
       next = csv.find(',', at)) {
    names.push_back(csv.substr(at, next - at));
    at = next + 1;
  }
  return names;
}

std::string cell_text(const std::vector<std::string>& axes,
                      const std::vector<std::string>& fields) {
  std::string text;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    text += fmt::format("{}{}={}", k > 0 ? ", " : "", axes[k], fields[k]);
  }
  return text;
}

}  // namespace

std::vector<std::string> failed_cells(const std::string& csv) {
  const std::vector<std::string> axes = names_of_axes(csv);
  std::vector<std::string> failed;
  for_each_row(csv, axes.size(), 2, [&](const std::vector<std::string>& fields) {
    if (fields.at(axes.size() + 1) == "0") failed.push_back(cell_text(axes, fields));
  });
  return failed;
}

WideCells wide_cells(const std::string& csv, const Replication& replication) {
  WideCells found;
  const std::vector<std::string> axes = names_of_axes(csv);
  // runs, ended, successes.
  for_each_row(csv, axes.size(), 3, [&](const std::vector<std::string>& fields) {
    const auto runs = static_cast<std::size_t>(std::stoull(fields.at(axes.size())));
    if (runs == 0) return;
    const auto successes = static_cast<std::size_t>(std::stoull(fields.at(axes.size() + 2)));
    if (narrow_enough(successes, runs, replication.width)) return;
    if (found.count++ == 0) found.first = cell_text(axes, fields);
  });
  return found;
}

std::string header_of(const std::vector<Axis>& axes, const Conditions& conditions,
                      const std::vector<std::string>& columns, bool ensemble) {
  std::string text;
  for (const Axis& axis : axes) text += axis.name + ",";
  text += "runs,ended";
  const auto share = [&](const std::string& counted, const std::string& name) {
    text += fmt::format(",{},{}", counted, name);
    if (ensemble) text += fmt::format(",{0}_low,{0}_high", name);
  };
  const auto quantiles = [&](const std::string& name) {
    text += fmt::format(",{0}_q05,{0}_median,{0}_q95", name);
  };
  if (!conditions.success.empty()) share("successes", "success");
  if (!conditions.first.empty()) {
    share("reached", "reached_share");
    if (ensemble) {
      quantiles("first_time");
    } else {
      text += ",first_time";
    }
  }
  for (const std::string& column : columns) {
    text += "," + column;
    if (!ensemble) continue;
    text += fmt::format(",{}_deviation", column);
    quantiles(column);
  }
  return text + "\n";
}

}  // namespace popgrad::cli
