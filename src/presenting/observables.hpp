#pragma once
/// The observables of a model with their formulas, from the tables of its rungs.

#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/model.hpp"

namespace popgrad {

/// An observable as some rungs of a model have it.
struct SharedObservable {
  ObservableInfo info;
  std::vector<std::string> rungs;  ///< none: all of the model
};

/// Each once for every formula that it has, in the order of the rungs. A rung without a table of its own has
/// the names of its columns.
std::vector<SharedObservable> observables_of(const Model& model);

/// Notation and table as HTML.
std::string observables_html(const Model& model);

/// Paragraphs, and blocks of indented lines, a formula each, as HTML. In running text `code`, *stress* and
/// formulas are set as such.
std::string paragraphs_html(std::string_view text);

}  // namespace popgrad
