#pragma once
/// What the rungs of a model integrate, from their own code on symbols, and what they show, as HTML.

#include <string>

#include "popgrad/rungs/model.hpp"

namespace popgrad {

/// The equations of every rung that has a form over symbols, at sizes small enough to read, and the
/// observables, with their formulas where the model has a page that defines them. `program` is what
/// the commands are called by.
std::string equations_html(const Model& model, const std::string& program);

}  // namespace popgrad
