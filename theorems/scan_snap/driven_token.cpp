#include "theorems/scan_snap/driven_token.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "popgrad/order.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/solved.hpp"
#include "theorems/scan_snap/measuring.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr double fitted = 6;  // of longest_growth

}  // namespace

AnyRung<double> driven(const LeadingToken& token, std::function<double(double)> speed_at) {
  AnyRung<double> rung;
  rung.initial = token.flow().initial();
  rung.dimension = rung.initial.size();
  rung.state_names = token.flow().state_names();
  rung.rhs = [&token, speed_at = std::move(speed_at)](const Vector<double>& x, Vector<double>& dx,
                                                      const double& t) {
    dx = rates_while_learning(token.flow(), token.training().classes.tokens, x);
    dx *= speed_at(t) / token.growth(dx);
  };
  rung.observe = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

namespace {

AnyRung<double> decaying(const LeadingToken& token, double a, double p) {
  return driven(token, [=](double t) { return a * std::pow(1 + t, -p); });
}

}  // namespace

double late_growth_of(const LeadingToken& token) {
  std::vector<double> growths(static_cast<std::size_t>(longest_growth - fitted) + 1);
  std::iota(growths.begin(), growths.end(), 0.0);
  const Solved run(driven(token, [](double) { return 1.0; }), growths, driven_tolerance);
  std::size_t i = 0;
  while (i + 1 < growths.size() && token.rest(run.state(i)) > 0.001) ++i;
  return growths[i];
}

Quantity order_of_rest(const LeadingToken& token, double a, double p, double late) {
  std::vector<double> growths, times;
  for (const double more : {fitted / 3, 2 * fitted / 3, fitted}) {
    growths.push_back(late + more);
    times.push_back(std::expm1(growths.back() / a));
  }
  const Solved run(decaying(token, a, p), times, driven_tolerance);
  const auto local = [&](std::size_t i) {
    const auto logarithm = [&](std::size_t save) {
      return run.at(save, [&](const Vector<double>& x) { return std::log(token.rest(x)); });
    };
    return (logarithm(i) - logarithm(i + 1)) * Quantity(a / (growths[i + 1] - growths[i]));
  };
  // The next term falls as exp(-2 B_n) by distinct tokens, as exp(-q B_n) by common ones: what is
  // still to come is a geometric series of the change between the pairs.
  Quantity order = local(1);
  const double series = 1 / std::expm1(token.loss_of_commons() * fitted / 3);
  order.add(ErrorPart::next_order((order.value() - local(0).value()) * std::max(1.0, series)));
  return order;
}

Quantity limit_of_rest(const LeadingToken& token, double a, double p) {
  std::vector<double> times, falling;
  for (const int halvings : {8, 9, 10}) {
    falling.push_back(std::ldexp(1.0, -halvings));
    times.push_back(std::pow(falling.back(), 1 / (1 - p)) - 1);
  }
  const Solved run(decaying(token, a, p), times, driven_tolerance);
  return limit_in(falling, run.along([&](const Vector<double>& x) { return token.rest(x); }));
}

}  // namespace popgrad::theorems::scan_snap
