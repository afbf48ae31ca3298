#pragma once
/// The theories of popgrad itself: a folder each in theorems, with the function
/// `Theory popgrad::NAME::theory()` in a source of it, and a word of `popgrad_models` in CMakeLists.txt.

#include <string_view>

#include "popgrad/theory.hpp"

namespace popgrad {

/// All of them, in the order of `popgrad list`.
Theories theories();

/// The model of one of them. Throws InputError with the nearest name.
const Model& find_model(std::string_view name);

}  // namespace popgrad
