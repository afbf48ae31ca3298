#pragma once
/// The one list of scalars, as types: laws that hold for all of them are tested over it.

#include <tuple>

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/interval.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {

using AllScalars = std::tuple<double, Real, Rational, Interval, Expression>;

}  // namespace popgrad
