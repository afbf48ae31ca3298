#pragma once
/// The order at which something vanishes with a parameter, with what the next order may add.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "popgrad/scalars/quantity.hpp"

namespace popgrad {

/// Limit of q(h) = q(0) + c h + ... as h goes to 0, from at least two values at parameters that fall
/// by one factor each: extrapolated linearly in h, with the whole of that last correction and, from
/// three values on, what the limit from the values before differs by, as the part "next order", and
/// the errors of the values.
/// Throws std::invalid_argument for fewer values, or parameters that do not fall by one factor.
Quantity limit_in(std::span<const double> parameter, std::span<const Quantity> value);

/// Order p of e ~ h^p as h goes to 0, from at least three positive values: the limit of the local
/// orders between neighbours. Throws as limit_in.
Quantity order_in(std::span<const double> parameter, std::span<const Quantity> value);

/// limit_in and order_in of `measure` at `count` parameters largest, largest/factor, ..., and at two
/// more under a refinement (popgrad/scalars/refinement.hpp).
Quantity limit_of(const std::function<Quantity(double)>& measure, double largest, double factor,
                  std::size_t count);
Quantity order_of(const std::function<Quantity(double)>& measure, double largest, double factor,
                  std::size_t count);

/// The same limits of each of many numbers; `values` has a list of them for each parameter.
std::vector<Quantity> limits_in(std::span<const double> parameter,
                                const std::vector<std::vector<Quantity>>& values);
std::vector<Quantity> limits_of(const std::function<std::vector<Quantity>(double)>& measure,
                                double largest, double factor, std::size_t count);

}  // namespace popgrad
