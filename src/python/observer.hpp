#pragma once
/// Observables of states that are given by the names of their matrices.

#include <fmt/format.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/bound.hpp"
#include "commands/options.hpp"
#include "formulas/graph.hpp"
#include "io/given_files.hpp"
#include "io/input_files.hpp"
#include "learning/loss_arrays.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "python/calling.hpp"
#include "theory_files/theory_file.hpp"

namespace popgrad::python {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

inline Value value_of(const std::string& name, const Array& numbers) {
  const auto row = [](const double* first, py::ssize_t n) {
    return Value(std::vector<double>(first, first + n));
  };
  const double* const data = numbers.data();
  if (numbers.ndim() == 0) return Value(*data);
  if (numbers.ndim() == 1) return row(data, numbers.shape(0));
  if (numbers.ndim() != 2) {
    reject("popgrad observe", name, fmt::format("of {} dimensions", numbers.ndim()),
           "must be a number, a vector or a matrix");
  }
  Value::List rows;
  for (py::ssize_t i = 0; i < numbers.shape(0); ++i) {
    rows.push_back(row(data + i * numbers.shape(1), numbers.shape(1)));
  }
  return Value(std::move(rows));  // braces would make a list of one list
}

/// The observables of one rung, at states given by the names of their matrices.
class Observer {
 public:
  /// `model` may be a theory file, on disk or one of `texts`.
  Observer(const std::string& model, std::string rung, const std::string& instance,
           std::uint64_t seed, const std::map<std::string, std::string>& texts)
      : rung_(std::move(rung)), seed_(seed) {
    const auto turn = take_turn();
    GivenFiles files;
    files.texts = {texts.begin(), texts.end()};
    files.texts["instance"] = instance;
    const Bound<GivenFiles> bound(files);
    begin_reading();
    cli::CommonOptions options;
    options.theories = theories();
    if (model.ends_with(".toml")) {
      theory_files::TheoryFile file = theory_files::parse_theory_file(read_file(model), model);
      file_.push_back(theory_files::theory_of(file));
      options.theories = file_;
    }
    model_ = &find_model(options.theories, model);
    static_cast<void>(find_rung(*model_, rung_));
    options.model = model;
    options.instance = "instance";
    parameters_ = cli::gather_parameters(options, *model_, rung_);
    made_ = model_->rung(rung_, parameters_, seed_);
    if (made_.varying_length) {
      reject("popgrad observe", "rung", rung_,
             "has a state whose length changes; take one with matrices, such as sgd");
    }
  }
  [[nodiscard]] const std::vector<std::string>& columns() const {
    return made_.observables.columns;
  }

  /// The matrices are read as the start of an instance is; observables that refer to the start
  /// (such as invariants) refer to that of this object.
  std::map<std::string, double> observe(const std::map<std::string, Array>& state, double t) const {
    const auto turn = take_turn();
    if (state.empty()) {
      throw InputError("popgrad observe: no matrix is given; give those of the state by name");
    }
    if (!file_.empty()) return row_of(made_, state_of(state), t);
    Parameters p = parameters_;
    for (const auto& [name, numbers] : state) p.set(name, value_of(name, numbers));
    p.check_names(model_->parameters(), rung_);
    for (const ParameterInfo& info : model_->parameters()) {
      const std::vector<std::string>& rungs = info.off_midway;
      if (std::find(rungs.begin(), rungs.end(), rung_) != rungs.end()) {
        p.set_default(info.name, false);
      }
    }
    const AnyRung<double> there = model_->rung(rung_, p, seed_);
    if (there.observables.columns != made_.observables.columns) {
      reject("popgrad observe", "state",
             fmt::format("{}", fmt::join(there.observables.columns, ", ")),
             fmt::format(
                 "are its observables, and those of the instance {}; give the instance a start "
                 "of the same kind",
                 fmt::join(made_.observables.columns, ", ")));
    }
    // A rung may keep a special start in fewer numbers; such a state is read by a rung that begins there.
    const bool same = there.state_names == made_.state_names;
    return row_of(same ? made_ : there, there.initial, t);
  }

 private:
  static std::map<std::string, double> row_of(const AnyRung<double>& reader,
                                              const Vector<double>& x, double t) {
    std::vector<double> row(reader.observables.columns.size());
    reader.observables.read(x, t, row);
    std::map<std::string, double> made;
    for (std::size_t c = 0; c < row.size(); ++c) made[reader.observables.columns[c]] = row[c];
    return made;
  }

  // States of a file are components of its start, entry by entry.
  [[nodiscard]] Vector<double> state_of(const std::map<std::string, Array>& state) const {
    Vector<double> x = made_.initial;
    for (const auto& [name, numbers] : state) {
      formulas::Shape shape;
      for (py::ssize_t axis = 0; axis < numbers.ndim(); ++axis)
        shape.push_back({numbers.shape(axis), {}});
      const std::vector<std::string> names = learning::entry_names(name, shape);
      const auto all = std::count_if(
          made_.state_names.begin(), made_.state_names.end(),
          [&, name = name](const std::string& own) {
            return own == name ||
                   (own.starts_with(name + "_") &&
                    own.find_first_not_of("0123456789_", name.size()) == std::string::npos);
          });
      const auto found = std::search(made_.state_names.begin(), made_.state_names.end(),
                                     names.begin(), names.end());
      if (found == made_.state_names.end() || names.empty() || all != std::ssize(names)) {
        reject("popgrad observe", name, formulas::to_text(shape),
               fmt::format("is the shape of no state; entries of the state are {}",
                           fmt::join(made_.state_names, ", ")));
      }
      std::copy_n(numbers.data(), numbers.size(), x.data() + (found - made_.state_names.begin()));
    }
    return x;
  }

  std::vector<Theory> file_;  ///< one, or none for a theory of the program
  const Model* model_ = nullptr;
  std::string rung_;
  std::uint64_t seed_;
  Parameters parameters_;
  AnyRung<double> made_;
};

}  // namespace popgrad::python
