#include "theorems/joma/checks/growth_parts.hpp"

#include <boost/math/special_functions/erf.hpp>

#include "popgrad/solving/solve.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

Trajectory<double> solve_to_blow_up(const ReducedInstance<double>& instance, double latest,
                                    double tolerance) {
  SolveRequest<double> request;
  request.end = latest;
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / 100;
  request.find_events = false;
  Trajectory<double> run = solve(forget_type(ReducedFlow<double>(instance)), request);
  throw_if_stopped();
  if (run.outcome.ending != Ending::blew_up) throw Failure("no token blows up");
  return run;
}

// Of the logits z = v^2/tau with their rates under the attention weights. At v = 0, where
// z' = 2 z/t, the limit.
double correlation(const ReducedFlow<double>& flow, const Vector<double>& v) {
  Vector<double> slope(v.size());
  flow.rhs(v, slope, 0.0);
  const Index d = flow.instance().tokens();
  const Vector<double> z = flow.attention_logits(v);
  const Vector<double> rate =
      v.cwiseProduct(slope).reshaped(d, flow.instance().units()).rowwise().sum();
  const Vector<double> p = softmax<double>(z);
  const Vector<double> around = z.array() - p.dot(z);
  const Vector<double> rate_around = rate.array() - p.dot(rate);
  const double square = p.dot(around.cwiseAbs2()) * p.dot(rate_around.cwiseAbs2());
  if (v.cwiseAbs().maxCoeff() == 0) return 1;
  return p.dot(around.cwiseProduct(rate_around)) / std::sqrt(square);
}

double variance(const Vector<double>& x) { return (x.array() - x.mean()).square().mean(); }

// The entropy's distance from `from` at a time, in units of `unit`, an entropy of its own.
Quantity share_of(const ReducedFlow<double>& flow, double time, double from, double unit) {
  const Solved run(forget_type(flow), {time}, growth_tolerance);
  const auto distance = [&](const Vector<double>& v) {
    return (flow.attention_entropy(v) - from) / unit;
  };
  Quantity share = run.at(0, distance);
  share.add(ErrorPart::rounding(static_cast<double>(flow.instance().tokens()),
                                std::log(static_cast<double>(flow.dimension())) / unit));
  return share;
}

}  // namespace

double largest_gradient(const ReducedInstance<double>& instance) {
  return instance.target.col(0).cwiseAbs().maxCoeff();
}

double limit_of(const ReducedInstance<double>& instance, Index token, double share) {
  return boost::math::erf_inv(share * instance.target(token, 0) / largest_gradient(instance));
}

BlowUp blow_up_of(const ReducedInstance<double>& instance, double latest) {
  const double tolerance = refined_tolerance(growth_tolerance);
  const auto sharp = solve_to_blow_up(instance, latest, tolerance);
  const auto loose = solve_to_blow_up(instance, latest, 100 * tolerance);
  const double time = sharp.events.back().t;
  // Each step rounds the time, and v, which moves what is left by a spacing of the time at most.
  const auto roundings = static_cast<double>(2 * sharp.outcome.steps_taken);
  const auto read = [&](double value, double other) -> Quantity {
    return {value, {ErrorPart::solver(value, other), ErrorPart::rounding(roundings, value)}};
  };
  BlowUp found{read(time, loose.events.back().t), {}};
  for (Index i = 0; i < sharp.last_state.size(); ++i) {
    found.state.push_back(read(sharp.last_state[i], loose.last_state[i]));
  }
  return found;
}

Quantity least_correlation(const ReducedInstance<double>& instance, const BlowUp& blow_up) {
  const ReducedFlow<double> flow(instance);
  const Vector<double> squares = instance.target.col(0).cwiseAbs2();
  const double spread = squares.maxCoeff() - squares.minCoeff();
  Quantity least = smallest_along(forget_type(flow), 0.95 * blow_up.time.value(), growth_tolerance,
                                  [&](const Vector<double>& v) { return correlation(flow, v); });
  least.add(
      ErrorPart::rounding(static_cast<double>(instance.tokens()), squares.maxCoeff() / spread));
  return least;
}

Quantity first_fall(const ReducedInstance<double>& instance) {
  const ReducedFlow<double> flow(instance);
  const double time = 0.1 * std::sqrt(instance.tau) / largest_gradient(instance);
  const double even = std::log(static_cast<double>(instance.tokens()));
  const double coefficient =
      variance(instance.target.col(0).cwiseAbs2()) / 2 / (instance.tau * instance.tau);
  std::vector<double> squares;  // what is left out is of order t^2
  std::vector<Quantity> shares;
  for (const double t : falling_parameters(time, 2, 2)) {
    squares.push_back(t * t);
    shares.push_back(share_of(flow, t, even, -coefficient * std::pow(t, 4)));
  }
  return limit_in(squares, shares);
}

Quantity last_fall(const ReducedInstance<double>& instance, const BlowUp& blow_up, double ties) {
  const ReducedFlow<double> flow(instance);
  const std::vector<double> left = falling_parameters(1e-5, 10, 2);
  const double end = blow_up.time.value();
  const double top = largest_gradient(instance);
  std::vector<Quantity> shares;
  for (const double part : left) {
    const double x = boost::math::erfc_inv(part);
    double leading = 0;
    for (Index l = 0; l < instance.tokens(); ++l) {
      if (std::fabs(instance.target(l, 0)) == top) continue;
      const double deficit = x * x - std::pow(limit_of(instance, l, 1), 2);
      leading += (1 + deficit) * std::exp(-deficit) / ties;
    }
    Quantity share = share_of(flow, (1 - part) * end, std::log(ties), leading);
    // The leading term is nearly in proportion to 1 - t/t*.
    share.add(ErrorPart::solver(0, blow_up.time.error() / end / part));
    shares.push_back(share);
  }
  return limit_in(left, shares);
}

}  // namespace popgrad::joma::checks
