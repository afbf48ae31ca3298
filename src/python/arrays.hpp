#pragma once
/// Results as arrays that own the numbers which were computed.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/run_record.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad::python {

namespace py = pybind11;

/// An array over the numbers themselves, which live as long as it does.
inline py::array array_of(std::vector<double> numbers, const std::vector<py::ssize_t>& shape) {
  auto owned = std::make_unique<std::vector<double>>(std::move(numbers));
  double* const first = owned->data();
  const py::capsule owner(owned.release(),
                          [](void* p) { delete static_cast<std::vector<double>*>(p); });
  return py::array_t<double>(shape, first, owner);
}

inline std::size_t longest_of(const auto& runs) {
  std::size_t longest = 0;
  for (const auto& run : runs) longest = std::max(longest, run.t.size());
  return longest;
}

template <class T>
py::list events_of(const std::vector<Trajectory<T>>& runs) {
  py::list events;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    for (const Event<T>& event : runs[k].events) {
      py::dict item;
      item["run"] = k;
      item["name"] = event.name;
      item["t"] = to_double(event.t);
      item["column"] = event.column;
      item["value"] = to_double(event.value);
      item["uncertainty"] = event.uncertainty;
      events.append(std::move(item));
    }
  }
  return events;
}

template <class T>
py::list outcomes_of(const std::vector<Trajectory<T>>& runs) {
  py::list outcomes;
  for (const Trajectory<T>& run : runs) {
    py::dict item;
    item["ending"] = describe(run.outcome.ending);
    item["usable"] = run.outcome.usable();
    item["t_reached"] = run.outcome.t_reached;
    item["steps_taken"] = run.outcome.steps_taken;
    item["steps_rejected"] = run.outcome.steps_rejected;
    item["evaluations"] = run.outcome.evaluations;
    item["notes"] = run.outcome.notes;
    outcomes.append(std::move(item));
  }
  return outcomes;
}

/// What does not depend on how the numbers are kept.
template <class T>
py::dict described(const RunRecord<T>& record) {
  py::dict made;
  made["model"] = record.model;
  made["rung"] = record.rung;
  made["command"] = record.command;
  made["seed"] = record.seed;
  made["parameters"] = json_text(record.parameters);
  made["settings"] = json_text(record.settings);
  made["judgement"] = record.judgement.empty() ? std::string() : json_text(record.judgement);
  made["ensemble"] = record.ensemble;
  made["events"] = events_of(record.runs);
  made["outcomes"] = outcomes_of(record.runs);
  made["columns"] = record.runs.empty() ? std::vector<std::string>{} : record.runs.front().columns;
  made["state_names"] = record.state_names;
  return made;
}

/// `values` (columns, runs, times), `t` (times), `states` (runs, times, n) or None; NaN behind the end
/// of a run that stopped before others. Rows are freed as they are moved, so the peak is one block and
/// one run.
inline py::dict as_dict(RunRecord<double> record) {
  py::dict made = described(record);
  const std::size_t columns = record.runs.empty() ? 0 : record.runs.front().columns.size();
  const std::size_t runs = record.runs.size();
  const std::size_t times = longest_of(record.runs);
  const bool with_states = runs > 0 && !record.runs.front().states.empty();
  const std::size_t n =
      with_states ? static_cast<std::size_t>(record.runs.front().states.front().size()) : 0;
  std::vector<double> t;
  std::vector<double> values(columns * runs * times, std::numeric_limits<double>::quiet_NaN());
  std::vector<double> states(n * runs * times, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < runs; ++k) {
    const Trajectory<double> run = std::move(record.runs[k]);
    if (t.size() < run.t.size()) t = run.t;
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      for (std::size_t c = 0; c < columns; ++c) {
        values[(c * runs + k) * times + i] = run.rows[i][c];
      }
    }
    for (std::size_t i = 0; i < run.states.size(); ++i) {
      std::copy(run.states[i].begin(), run.states[i].end(),
                states.begin() + static_cast<std::ptrdiff_t>((k * times + i) * n));
    }
  }
  const auto size = [](std::size_t x) { return static_cast<py::ssize_t>(x); };
  made["t"] = array_of(std::move(t), {size(times)});
  made["values"] = array_of(std::move(values), {size(columns), size(runs), size(times)});
  made["states"] = py::none();
  if (with_states) made["states"] = array_of(std::move(states), {size(runs), size(times), size(n)});
  return made;
}

/// The same with numbers as texts of all their digits, in nested lists: times, columns of times, times
/// of states. Runs in many digits are single.
inline py::dict as_dict(const RunRecord<Real>& record) {
  py::dict made = described(record);
  const Trajectory<Real>& run = record.runs.front();
  std::vector<std::string> t;
  for (const Real& x : run.t) t.push_back(to_text(x));
  std::vector<std::vector<std::string>> values(run.columns.size());
  for (const std::vector<Real>& row : run.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) values[c].push_back(to_text(row[c]));
  }
  std::vector<std::vector<std::string>> states;
  for (const Vector<Real>& state : run.states) {
    states.emplace_back();
    for (const Real& x : state) states.back().push_back(to_text(x));
  }
  made["t"] = t;
  made["values"] = values;
  made["states"] = py::none();
  if (!states.empty()) made["states"] = states;
  return made;
}

}  // namespace popgrad::python
