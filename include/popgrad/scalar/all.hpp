#pragma once
/// The one list of scalars, as types: laws that hold for all of them are tested over it.

#include <tuple>

#include "popgrad/scalar/expression.hpp"
#include "popgrad/scalar/interval.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scalar/real.hpp"

namespace popgrad {

using AllScalars = std::tuple<double, Real, Rational, Interval, Expression>;

}  // namespace popgrad
