#include "theorems/scan_snap/checks/driven_token.hpp"

#include <numeric>

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
namespace {

constexpr double fitted = 6;  // of B_n, in three pieces

}  // namespace

AnyRung<double> driven(const LeadingToken& token, std::function<double(double)> speed_at) {
  AnyRung<double> rung;
  rung.initial = token.flow().initial();
  rung.dimension = rung.initial.size();
  rung.state_names = token.flow().state_names();
  rung.field.value = [&token, speed_at = std::move(speed_at)](const Vector<double>& x,
                                                              Vector<double>& dx, const double& t) {
    dx = rates_while_learning(token.flow(), token.training().classes.tokens, x);
    dx *= speed_at(t) / token.growth(dx);
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

namespace {

AnyRung<double> decaying(const LeadingToken& token, double a, double p) {
  return driven(token, [=](double t) { return a * std::pow(1 + t, -p); });
}

}  // namespace

LateGrowth late_growth_of(const LeadingToken& token) {
  const double least = -std::log(std::numeric_limits<double>::min());
  const double last = std::max(
      longest_growth, std::floor(least / (2.0 * (static_cast<double>(token.members() + 1)))));
  const AnyRung<double> by_growth = driven(token, [](double) { return 1.0; });
  for (double end = longest_growth;; end = std::min(last, 2 * end)) {
    std::vector<double> growths(static_cast<std::size_t>(end) + 1);
    std::iota(growths.begin(), growths.end(), 0.0);
    const Solved run(by_growth, growths, driven_tolerance);
    const auto rest = [&](double growth) {
      return token.rest(run.state(static_cast<std::size_t>(growth)));
    };
    double begin = 0;
    while (begin + 1 + fitted <= end && rest(begin) > 0.001) ++begin;
    if (rest(begin) > 0.001 && end < last) continue;
    const double left = rest(begin + 2 * fitted / 3);
    return {begin, begin + fitted, left / (1 - left)};
  }
}

Quantity order_of_rest(const LeadingToken& token, double a, double p, const LateGrowth& late) {
  std::vector<double> growths, times;
  for (const double more : {fitted / 3, 2 * fitted / 3, fitted}) {
    growths.push_back(late.begin + more);
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
  order.add(ErrorPart::next_order(late.neglected));
  return order;
}

Quantity limit_of_rest(const LeadingToken& token, double a, double p) {
  const std::vector<double> falling = falling_parameters(std::ldexp(1.0, -8), 2, 3);
  std::vector<double> times;
  for (const double parameter : falling) times.push_back(std::pow(parameter, 1 / (1 - p)) - 1);
  const Solved run(decaying(token, a, p), times, driven_tolerance);
  return limit_in(falling, run.along([&](const Vector<double>& x) { return token.rest(x); }));
}

}  // namespace popgrad::scan_snap::checks
