#pragma once
/// The theories of popgrad itself: a folder NAME each in theorems, whose theory.cpp defines
/// `Theory popgrad::NAME::theory()`.

#include <string_view>

#include "popgrad/evidence/theory.hpp"

namespace popgrad {

/// All of them, in the order of `popgrad list`.
Theories theories();

/// The model of one of them. Throws InputError with the nearest name.
const Model& find_model(std::string_view name);

}  // namespace popgrad
