#include "io/run_record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/json.hpp"
#include "io/atomic_file.hpp"
#include "io/examination_json.hpp"
#include "io/json_document.hpp"
#include "io/json_number.hpp"
#include "io/npz.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {
namespace {

Json number(double x) { return json_number(x); }
Json number(const Real& x) { return isfinite(x) ? Json(to_text(x)) : Json(nullptr); }

// Calls f(run, k) for every row of every trajectory.
template <class T, class F>
void for_each_row(const RunRecord<T>& record, const F& f) {
  for (std::size_t run = 0; run < record.runs.size(); ++run) {
    for (std::size_t k = 0; k < record.runs[run].t.size(); ++k) f(run, k);
  }
}

template <class T>
bool has_states(const RunRecord<T>& record) {
  return !record.runs.empty() && !record.runs.front().states.empty();
}

std::string ending_name(Ending ending) {
  switch (ending) {
    case Ending::reached_end:
      return "reached-end";
    case Ending::blew_up:
      return "blew-up";
    case Ending::step_underflow:
      return "step-underflow";
    case Ending::not_a_number:
      return "not-a-number";
    case Ending::diverged:
      return "diverged";
    case Ending::budget_exhausted:
      return "budget-exhausted";
    case Ending::interrupted:
      break;
  }
  return "interrupted";
}

Json outcome_json(const Outcome& outcome) {
  return {{"ending", ending_name(outcome.ending)}, {"t_reached", number(outcome.t_reached)},
          {"steps_taken", outcome.steps_taken},    {"steps_rejected", outcome.steps_rejected},
          {"evaluations", outcome.evaluations},    {"notes", outcome.notes}};
}

Json sides_json(const std::vector<RunSide>& sides) {
  Json list = Json::array();
  for (const RunSide& side : sides) {
    Json outcomes = Json::array();
    for (const Outcome& outcome : side.outcomes) outcomes.push_back(outcome_json(outcome));
    list.push_back(
        {{"rung", side.rung}, {"settings", to_json(side.settings)}, {"outcomes", outcomes}});
  }
  return list;
}

Json correlations_json(const PredictedCorrelations& predicted) {
  Json matrix = Json::array();
  for (Index i = 0; i < predicted.correlation.rows(); ++i) {
    Json row = Json::array();
    for (Index j = 0; j < predicted.correlation.cols(); ++j) {
      row.push_back(number(predicted.correlation(i, j)));
    }
    matrix.push_back(std::move(row));
  }
  return {{"observables", predicted.observables}, {"t", predicted.t}, {"matrix", matrix}};
}

// Parameters with their numbers as JSON numbers, for outputs in double.
Json with_plain_numbers(const Json& value) {
  if (value.is_array() || value.is_object()) {
    Json copy = value;
    for (auto& [key, item] : copy.items()) item = with_plain_numbers(item);
    return copy;
  }
  if (!value.is_string()) return value;
  try {
    return from_text<double>(value.get<std::string>());
  } catch (const std::invalid_argument&) {
    return value;
  }
}

}  // namespace

template <class T>
std::vector<std::string> column_names(const RunRecord<T>& record) {
  std::vector<std::string> names;
  if (record.ensemble) names.emplace_back("run");
  names.emplace_back("t");
  if (record.runs.empty()) return names;
  const auto& columns = record.runs.front().columns;
  names.insert(names.end(), columns.begin(), columns.end());
  if (has_states(record)) {
    names.insert(names.end(), record.state_names.begin(), record.state_names.end());
  }
  return names;
}

template <class T>
std::string to_csv(const RunRecord<T>& record) {
  std::string text = fmt::format("{}\n", fmt::join(column_names(record), ","));
  for_each_row(record, [&](std::size_t run, std::size_t k) {
    const Trajectory<T>& trajectory = record.runs[run];
    if (record.ensemble) text += fmt::format("{},", run);
    text += to_text(trajectory.t[k]);
    for (const T& value : trajectory.rows[k]) text += "," + to_text(value);
    if (k < trajectory.states.size()) {
      for (const T& value : trajectory.states[k]) text += "," + to_text(value);
    }
    text += "\n";
  });
  return text;
}

template <class T>
std::string to_json_text(const RunRecord<T>& record) {
  Json document = json_document("run/2", record.earlier_versions);
  document["command"] = record.command;
  document["model"] = record.model;
  document["rung"] = record.rung;
  const Json parameters = to_json(record.parameters);
  document["parameters"] = std::is_same_v<T, double> ? with_plain_numbers(parameters) : parameters;
  if (record.sides.empty()) document["settings"] = to_json(record.settings);
  document["seed"] = record.seed;
  document["columns"] = column_names(record);
  Json rows = Json::array();
  for_each_row(record, [&](std::size_t run, std::size_t k) {
    const Trajectory<T>& trajectory = record.runs[run];
    Json row = Json::array();
    if (record.ensemble) row.push_back(run);
    row.push_back(number(trajectory.t[k]));
    for (const T& value : trajectory.rows[k]) row.push_back(number(value));
    if (k < trajectory.states.size()) {
      for (const T& value : trajectory.states[k]) row.push_back(number(value));
    }
    rows.push_back(std::move(row));
  });
  document["rows"] = std::move(rows);
  Json events = Json::array();
  Json outcomes = Json::array();
  for (std::size_t run = 0; run < record.runs.size(); ++run) {
    for (const Event<T>& event : record.runs[run].events) {
      Json item{{"name", event.name},
                {"t", number(event.t)},
                {"column", event.column},
                {"value", number(event.value)},
                {"uncertainty", number(event.uncertainty)}};
      if (record.ensemble) item["run"] = run;
      events.push_back(std::move(item));
    }
    outcomes.push_back(outcome_json(record.runs[run].outcome));
  }
  document["events"] = std::move(events);
  if (!record.judgement.empty()) document["judgement"] = to_json(record.judgement);
  if (record.correlations) document["correlations"] = correlations_json(*record.correlations);
  if (record.audit) document["audit"] = examination_json(*record.audit);
  if (record.sides.empty()) {
    document["outcomes"] = std::move(outcomes);
  } else {
    document["sides"] = sides_json(record.sides);
  }
  return document.dump(1) + "\n";
}

void check_output(const std::filesystem::path& path) {
  if (path.empty() || path == "-") return;
  const std::string suffix = path.extension().string();
  if (suffix != ".csv" && suffix != ".json" && suffix != ".npz") {
    throw InputError(
        fmt::format("-o {}: the suffix '{}' must be .csv, .json or .npz (or - for CSV on "
                    "standard output)",
                    path.string(), suffix));
  }
  check_writable(path);
}

template <class T>
void write_record(const RunRecord<T>& record, const std::filesystem::path& path,
                  std::FILE* standard_output) {
  if (path.empty() || path == "-") {
    const std::string text = to_csv(record);
    std::fwrite(text.data(), 1, text.size(), standard_output);
    std::fflush(standard_output);
    return;
  }
  const std::string suffix = path.extension().string();
  if (suffix == ".csv") {
    write_atomically(path, to_csv(record));
  } else if (suffix == ".json") {
    write_atomically(path, to_json_text(record));
  } else {
    NpzArrays arrays;
    const std::vector<std::string> names = column_names(record);
    std::vector<std::vector<double>> columns(names.size());
    for_each_row(record, [&](std::size_t run, std::size_t k) {
      const Trajectory<T>& trajectory = record.runs[run];
      std::size_t at = 0;
      if (record.ensemble) columns[at++].push_back(static_cast<double>(run));
      columns[at++].push_back(to_double(trajectory.t[k]));
      for (const T& value : trajectory.rows[k]) columns[at++].push_back(to_double(value));
      if (k < trajectory.states.size()) {
        for (const T& value : trajectory.states[k]) columns[at++].push_back(to_double(value));
      }
    });
    const std::size_t states = has_states(record) ? record.state_names.size() : 0;
    for (std::size_t c = 0; c < names.size(); ++c) {
      const bool is_state = c >= names.size() - states;
      arrays.emplace_back(is_state ? "state_" + names[c] : names[c], std::move(columns[c]));
    }
    write_npz(path, arrays, record.command);
  }
}

template std::vector<std::string> column_names(const RunRecord<double>&);
template std::vector<std::string> column_names(const RunRecord<Real>&);
template std::string to_csv(const RunRecord<double>&);
template std::string to_csv(const RunRecord<Real>&);
template std::string to_json_text(const RunRecord<double>&);
template std::string to_json_text(const RunRecord<Real>&);
template void write_record(const RunRecord<double>&, const std::filesystem::path&, std::FILE*);
template void write_record(const RunRecord<Real>&, const std::filesystem::path&, std::FILE*);

}  // namespace popgrad
