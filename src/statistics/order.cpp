#include "popgrad/statistics/order.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "popgrad/scalars/refinement.hpp"

namespace popgrad {

namespace {

// The factor by which each parameter exceeds the next.
double common_factor(std::span<const double> parameter, std::size_t values, std::size_t least) {
  if (parameter.size() != values || values < least) {
    throw std::invalid_argument("too few values to extrapolate from");
  }
  const double factor = parameter[0] / parameter[1];
  for (std::size_t i = 0; i + 1 < values; ++i) {
    const bool steady = std::fabs(parameter[i] / parameter[i + 1] / factor - 1) < 1e-9;
    if (!(factor > 1) || !steady) {
      throw std::invalid_argument("parameters must fall by one factor");
    }
  }
  return factor;
}

}  // namespace

Quantity order_in(std::span<const double> parameter, std::span<const Quantity> value) {
  const double factor = common_factor(parameter, value.size(), 3);
  std::vector<Quantity> local;
  for (std::size_t i = 0; i + 1 < value.size(); ++i) {
    local.push_back((log(value[i]) - log(value[i + 1])) * Quantity(1 / std::log(factor)));
  }
  return limit_in(parameter.first(local.size()), local);
}

Quantity limit_in(std::span<const double> parameter, std::span<const Quantity> value) {
  const double factor = common_factor(parameter, value.size(), 2);
  const std::size_t last = value.size() - 1;
  const auto extrapolated = [&](std::size_t i) {
    return (Quantity(factor) * value[i] - value[i - 1]) * Quantity(1 / (factor - 1));
  };
  Quantity limit = extrapolated(last);
  limit.add(ErrorPart::next_order(limit.value() - value[last].value()));
  // Where c happens to be near 0 the correction is less than what the quadratic term leaves.
  if (last >= 2) {
    limit.add(ErrorPart::next_order(limit.value() - extrapolated(last - 1).value()));
  }
  return limit;
}

namespace {

template <class Measured>
std::vector<Measured> measured_at(const std::vector<double>& parameters,
                                  const std::function<Measured(double)>& measure) {
  std::vector<Measured> values;
  for (const double parameter : parameters) values.push_back(measure(parameter));
  return values;
}

}  // namespace

Quantity limit_of(const std::function<Quantity(double)>& measure, double largest, double factor,
                  std::size_t count) {
  const std::vector<double> parameters = falling_parameters(largest, factor, count);
  return limit_in(parameters, measured_at(parameters, measure));
}

Quantity order_of(const std::function<Quantity(double)>& measure, double largest, double factor,
                  std::size_t count) {
  const std::vector<double> parameters = falling_parameters(largest, factor, count);
  return order_in(parameters, measured_at(parameters, measure));
}

std::vector<Quantity> limits_in(std::span<const double> parameter,
                                const std::vector<std::vector<Quantity>>& values) {
  std::vector<Quantity> limits;
  for (std::size_t i = 0; i < values.front().size(); ++i) {
    std::vector<Quantity> own;
    for (const std::vector<Quantity>& at_parameter : values) own.push_back(at_parameter[i]);
    limits.push_back(limit_in(parameter, own));
  }
  return limits;
}

std::vector<Quantity> limits_of(const std::function<std::vector<Quantity>(double)>& measure,
                                double largest, double factor, std::size_t count) {
  const std::vector<double> parameters = falling_parameters(largest, factor, count);
  return limits_in(parameters, measured_at(parameters, measure));
}

}  // namespace popgrad
