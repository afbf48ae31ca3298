#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluctuations/moment_steps.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"

namespace popgrad {
namespace {

// Implicit Euler steps that lengthen as the field vanishes: along the flow at first, then Newton's.
Vector<double> point_at_rest(StepLaw& steps, Vector<double> x, const std::string& where) {
  const Index n = steps.size();
  Vector<double> field(n);
  steps.field(x, field);
  double length = 0;
  double before = field.norm();
  // Where the field vanishes exponentially some tens are taken; where it only grows weaker, as of
  // logits that grow for ever, no number suffices.
  constexpr int most = 200;
  for (int i = 0; i < most; ++i) {
    const Matrix<double> jacobian = steps.jacobian(x);
    const double scale = jacobian.norm();
    constexpr double rounding = 1e-12;
    if (before <= rounding * (1 + scale) * (1 + x.norm())) return x;
    if (length == 0) length = 0.1 / std::max(scale, 1e-3);
    const Matrix<double> implicit = Matrix<double>::Identity(n, n) / length - jacobian;
    x += solve_square<double>(implicit, field);
    steps.field(x, field);
    const double now = field.norm();
    length *= std::clamp(before / now, 0.5, 2.0);
    before = now;
    if (!std::isfinite(now)) break;
  }
  throw InputError(
      fmt::format("{} moments: --t1 inf: the mean direction does not come to rest from this start "
                  "(its norm is {:.3g}); give a time",
                  where, before));
}

struct Stationary {
  Matrix<double> covariance;
  Vector<double> shift;
};

// C = sum_k M^k S (M^k)' and s = eta sum_k M^k drift with M = I + eta J, which solve
//   C = M C M' + S,  s = M s + eta drift,
// by doubling: 2^k terms after k rounds.
Stationary at_point(StepLaw& steps, const Vector<double>& x, double eta, Index batch,
                    const std::string& where) {
  const Index n = steps.size();
  const Matrix<double> step = Matrix<double>::Identity(n, n) + eta * steps.jacobian(x);
  const auto doubled = [&](auto sum, const auto& term_of) {
    Matrix<double> power = step;
    constexpr int most = 60;
    for (int k = 0; k < most; ++k) {
      const auto term = term_of(power, sum);
      const double size = term.norm();
      if (!std::isfinite(size)) break;
      sum += term;
      // The last term is the square of the one before. Rounding in directions that neither move nor
      // shake (the sum of attention) doubles with every round, and stays below this.
      constexpr double settled = 1e-8;
      if (size <= settled * sum.norm()) return sum;
      power = (power * power).eval();
    }
    throw InputError(
        fmt::format("{} moments: --t1 inf: the point where the mean direction vanishes is not "
                    "stable under steps of --eta {:g}; give a time, or a smaller step",
                    where, eta));
  };
  const Matrix<double> noise = eta * eta / static_cast<double>(batch) * steps.draw_covariance(x);
  Stationary found;
  found.covariance =
      doubled(noise, [](const Matrix<double>& power, const Matrix<double>& sum) -> Matrix<double> {
        return power * sum * power.transpose();
      });
  Vector<double> center(n);
  steps.field(x, center);
  const Vector<double> drift =
      eta * steps.drift(x, center, square_root(found.covariance), Nodes::tangent, 0);
  found.shift =
      doubled(drift, [](const Matrix<double>& power, const Vector<double>& sum) -> Vector<double> {
        return power * sum;
      });
  return found;
}

}  // namespace

Trajectory<double> predict_at_rest(const AnyRung<double>& sgd, const std::string& where,
                                   const WalkRequest& request) {
  if (sgd.dimension > largest_full_covariance) {
    throw InputError(fmt::format(
        "{} moments: --t1 inf: the state has {} numbers, and the law at rest is solved for {} at "
        "most; give a time, or a smaller instance",
        where, sgd.dimension, largest_full_covariance));
  }
  const double eta = request.step_size;
  StepLaw law(sgd);
  const Vector<double> x = point_at_rest(law, sgd.initial, where);
  const Stationary first = at_point(law, x, eta, request.batch, where);
  const Stationary second = at_point(law, x + first.shift, eta, request.batch, where);
  const MomentSteps steps({sgd}, 1, request);
  const MomentSteps::State state{
      rounded({x, first.shift, second.shift, first.covariance, second.covariance})};
  constexpr double forever = std::numeric_limits<double>::infinity();
  Trajectory<double> run;
  run.columns = steps.columns();
  run.outcome.t_reached = forever;
  run.last_state = steps.in_double(state);
  if (const std::string why = steps.divergence(state); !why.empty()) {
    run.outcome.ending = Ending::diverged;
    run.outcome.notes = {why};
    return run;
  }
  run.t = {forever};
  steps.observe(state, forever, run.rows.emplace_back(run.columns.size()));
  if (request.keep_states) run.states = {run.last_state};
  return run;
}

}  // namespace popgrad
