#include "judging/other_readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

#include "base/listed.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {
namespace {

// ---- units ----------------------------------------------------------------------------------

struct Unit {
  double factor = 1;  // of what was logged, in units of the observable
  std::string words, formula;
};

std::vector<Unit> usual_units(const ReadingRequest& request) {
  std::vector<Unit> units{
      {1 / std::numbers::ln2, "in bits", "*log(2)"},
      {std::numbers::ln2, "converted from bits though it was in nats", "/log(2)"},
      {100, "in percent", "/100"},
      {0.01, "divided by 100", "*100"},
      {2, "doubled", "/2"},
      {0.5, "halved", "*2"}};
  std::vector<std::pair<double, std::string>> counts;
  if (request.batch > 1) counts.emplace_back(request.batch, "the batch");
  for (const ParameterInfo& info : request.model.parameters()) {
    if (info.kind != "count" || !info.is_read_by(request.sampled.name)) continue;
    try {
      const double count = request.parameters.number<double>(info.name, info.default_value);
      if (count > 1) counts.emplace_back(count, info.name);
    } catch (const InputError&) {
      // No number here, such as a default that depends on others.
    }
  }
  const auto add = [&](double count, const std::string& of) {
    units.push_back({count, "summed over " + of, fmt::format("/{:g}", count)});
    units.push_back({1 / count, "divided by " + of, fmt::format("*{:g}", count)});
  };
  for (const auto& [count, of] : counts) {
    add(count, of);
    if (of != counts.front().second) {
      add(count * counts.front().first, counts.front().second + " and " + of);
    }
  }
  return units;
}

// Median over rows of the mean over runs over what is expected; nothing where neither has a size.
std::optional<double> ratio_to_expected(const ReadingRequest& request, std::size_t column) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < request.expected[column].size(); ++k) {
    double sum = 0;
    for (const RecordedRun& run : request.recorded) sum += run.values[column][k];
    const double ratio =
        sum / static_cast<double>(request.recorded.size()) / request.expected[column][k];
    if (std::isfinite(ratio)) ratios.push_back(ratio);
  }
  if (ratios.empty()) return std::nullopt;
  return median(std::move(ratios));
}

bool departs(const CrossCheck& rows, std::size_t column) {
  return std::any_of(rows.runs.begin(), rows.runs.end(), [&](const RunCheck& run) {
    return run.columns[column].first_outside.has_value();
  });
}

std::optional<OtherReading> with_units(const ReadingRequest& request) {
  constexpr double most_off = 0.1;  // of the logarithm of the ratio
  OtherReading made{{}, request.recorded};
  const std::vector<Unit> units = usual_units(request);
  std::vector<std::string> words;
  const std::vector<std::string>& columns = request.recorded.front().columns;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!departs(request.rows, c)) continue;
    const std::optional<double> ratio = ratio_to_expected(request, c);
    if (!ratio || !(*ratio > 0)) return std::nullopt;
    const auto off = [&](const Unit& unit) { return std::fabs(std::log(*ratio / unit.factor)); };
    const Unit& nearest = *std::min_element(
        units.begin(), units.end(), [&](const Unit& a, const Unit& b) { return off(a) < off(b); });
    // A column in its own unit may depart with the others.
    if (std::fabs(std::log(*ratio)) < off(nearest)) continue;
    if (off(nearest) > most_off) return std::nullopt;
    for (RecordedRun& run : made.runs) {
      for (double& x : run.values[c]) x /= nearest.factor;
      if (c < run.digits.size()) run.digits[c] = {run.digits[c].unit / nearest.factor};
    }
    words.push_back(fmt::format("`{}` being {} (--map {}=COLUMN{})", columns[c], nearest.words,
                                columns[c], nearest.formula));
  }
  if (words.empty()) return std::nullopt;
  made.words = listed(words, " and ");
  return made;
}

// ---- times ----------------------------------------------------------------------------------

// At other times; rows before the start are left out.
std::vector<RecordedRun> moved(std::vector<RecordedRun> runs, double factor, double by) {
  for (RecordedRun& run : runs) {
    for (double& t : run.t) t = factor * t + by;
    const double begin = -1e-9 * run.t.back();
    const auto first =
        std::find_if(run.t.begin(), run.t.end(), [&](double t) { return t >= begin; });
    const auto count = first - run.t.begin();
    run.t.erase(run.t.begin(), first);
    if (!run.t.empty()) run.t.front() = std::max(0.0, run.t.front());
    for (auto& values : run.values) values.erase(values.begin(), values.begin() + count);
  }
  return runs;
}

std::optional<OtherReading> counted_in_steps(const ReadingRequest& request) {
  const std::vector<double>& times = request.recorded.front().t;
  if (request.learning_rate == 1 ||
      !std::all_of(times.begin(), times.end(), [](double t) { return t == std::round(t); })) {
    return std::nullopt;
  }
  return OtherReading{fmt::format("`--clock` counting steps, where the time is learning rate * "
                                  "steps (--clock '{:g}*(CLOCK)')",
                                  request.learning_rate),
                      moved(request.recorded, request.learning_rate, 0)};
}

std::optional<OtherReading> a_step_off(const ReadingRequest& request, bool later) {
  const bool start = request.recorded.front().t.front() == 0;
  const bool start_departs =
      std::any_of(request.rows.runs.begin(), request.rows.runs.end(), [&](const RunCheck& run) {
        return std::any_of(run.columns.begin(), run.columns.end(), [&](const ColumnCheck& column) {
          return std::fabs(column.deviation.front()) > request.rows.bound;
        });
      });
  // The first row is the start, or it is not.
  if (start && start_departs != later) return std::nullopt;
  const double by = later ? request.learning_rate : -request.learning_rate;
  std::vector<RecordedRun> runs = moved(request.recorded, 1, by);
  if (runs.front().t.empty() || !(runs.front().t.back() > 0)) return std::nullopt;
  return OtherReading{
      fmt::format("each row holding the values of the step {} its own (--clock 'CLOCK {} {:g}'{})",
                  later ? "after" : "before", later ? "+" : "-", request.learning_rate,
                  start && !later ? ", without the row of step 0" : ""),
      std::move(runs)};
}

// ---- columns of samples ---------------------------------------------------------------------

constexpr double usual_smoothing = 0.6;  // that TensorBoard begins with

// An observable of the law, and its mean over a minibatch.
struct Pair {
  const char* law;
  const char* minibatch;
};
constexpr std::array<Pair, 2> pairs{
    {{loss_column, batch_loss_column}, {"accuracy", batch_accuracy_column}}};

bool is_logged(const ReadingRequest& request, std::string_view name) {
  const std::vector<std::string>& columns = request.recorded.front().columns;
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

// The column `from` taken for `to`, where there is only the first.
std::optional<OtherReading> renamed(const ReadingRequest& request, const char* from, const char* to,
                                    const std::string& words) {
  if (!is_logged(request, from) || is_logged(request, to)) return std::nullopt;
  OtherReading made{fmt::format("`{}` being {} (--map {}=COLUMN", from, words, to),
                    request.recorded};
  for (RecordedRun& run : made.runs) {
    std::replace(run.columns.begin(), run.columns.end(), std::string(from), std::string(to));
  }
  return made;
}

std::optional<OtherReading> as_minibatch(const ReadingRequest& request, const Pair& of,
                                         bool averaged) {
  std::optional<OtherReading> made =
      renamed(request, of.law, of.minibatch,
              averaged ? "that of minibatches averaged over the steps since the row before"
                       : "that of the minibatch before its step");
  if (!made) return made;
  made->words += averaged ? " --averaged)" : ")";
  made->independent = of.minibatch;
  made->columns = request.columns;
  made->columns.averaged = averaged;
  made->columns.held_out = 0;
  return made;
}

std::optional<OtherReading> as_law(const ReadingRequest& request, const Pair& of) {
  std::optional<OtherReading> made =
      renamed(request, of.minibatch, of.law, "that of the law, not of a minibatch");
  if (!made) return made;
  made->words += ")";
  made->columns = request.columns;
  made->columns.averaged = false;
  return made;
}

std::optional<OtherReading> averaged_otherwise(const ReadingRequest& request) {
  const auto logged = std::find_if(
      pairs.begin(), pairs.end(), [&](const Pair& of) { return is_logged(request, of.minibatch); });
  if (logged == pairs.end()) return std::nullopt;
  const char* const words = request.columns.averaged
                                ? "of one minibatch, not averaged over the steps since the row "
                                  "before (without --averaged)"
                                : "averaged over the steps since the row before, not of one "
                                  "minibatch (--averaged)";
  OtherReading made{fmt::format("`{}` being {}", logged->minibatch, words), request.recorded,
                    logged->minibatch, request.columns};
  made.columns.averaged = !request.columns.averaged;
  return made;
}

std::optional<OtherReading> smoothed_otherwise(const ReadingRequest& request) {
  for (const char* const column : {batch_loss_column, loss_column, batch_accuracy_column}) {
    if (!is_logged(request, column)) continue;
    const bool smoothed = request.columns.smoothing > 0;
    OtherReading made{
        fmt::format("`{}` being {}", column,
                    smoothed ? std::string("no moving average over rows (without --smoothed)")
                             : fmt::format("a moving average over rows (--smoothed {:g})",
                                           usual_smoothing)),
        request.recorded,
        {},
        request.columns};
    made.columns.smoothing = smoothed ? 0 : usual_smoothing;
    return made;
  }
  return std::nullopt;
}

std::optional<OtherReading> not_held_out(const ReadingRequest& request) {
  if (request.columns.held_out == 0) return std::nullopt;
  OtherReading made{"`loss` being that of the law, not of held-out draws (without --held-out)",
                    request.recorded,
                    {},
                    request.columns};
  made.columns.held_out = 0;
  return made;
}

}  // namespace

std::vector<OtherReading> other_readings(const ReadingRequest& request) {
  for (const RecordedRun& run : request.recorded) {
    if (std::any_of(run.gaps.begin(), run.gaps.end(),
                    [](const Gaps& gaps) { return gaps.diverged.has_value(); })) {
      return {};
    }
  }
  std::vector<OtherReading> made;
  const auto add = [&](std::optional<OtherReading> reading) {
    if (reading) made.push_back(std::move(*reading));
  };
  const auto add_with_same_columns = [&](std::optional<OtherReading> reading) {
    if (reading) reading->columns = request.columns;
    add(std::move(reading));
  };
  add_with_same_columns(with_units(request));
  add_with_same_columns(counted_in_steps(request));
  add_with_same_columns(a_step_off(request, true));
  for (const bool averaged : {false, true}) {
    for (const Pair& of : pairs) add(as_minibatch(request, of, averaged));
  }
  add(averaged_otherwise(request));
  for (const Pair& of : pairs) add(as_law(request, of));
  add(not_held_out(request));
  add(smoothed_otherwise(request));
  add_with_same_columns(a_step_off(request, false));
  return made;
}

}  // namespace popgrad
