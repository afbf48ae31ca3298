#include "theorems/joma/checks/growth_parts.hpp"

#include <boost/math/special_functions/erf.hpp>

#include "popgrad/solving/solve.hpp"
#include "solving/common_error.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

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

// Tokens that move, with |Delta_l| below a bound.
std::vector<Index> moving_below(const ReducedInstance<double>& instance, double bound) {
  std::vector<Index> tokens;
  for (Index l = 0; l < instance.tokens(); ++l) {
    const double size = std::fabs(instance.target(l, 0));
    if (size > 0 && size < bound) tokens.push_back(l);
  }
  return tokens;
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

void judge_blow_up(const ReducedInstance<double>& instance, const BlowUp& blow_up,
                   Examination& it) {
  it.judge(Comparison{.what = "time of the blow-up",
                      .measured = {blow_up.time},
                      .predicted = {blow_up_time(largest_gradient(instance), 0.0, instance.tau)},
                      .mistakes = {predicts_times("blow-up-late", 1.1)}});
  const std::vector<Index> others = moving_below(instance, largest_gradient(instance));
  if (others.empty()) return;
  const double width = std::sqrt(instance.tau);
  std::vector<Quantity> stopped;
  std::vector<Quantity> limits;
  std::vector<Quantity> smaller;
  for (const Index l : others) {
    const double y = limit_of(instance, l, 1);
    // A token still moves at its slope when the others blow up.
    const double slope = instance.target(l, 0) * std::exp(y * y);
    Quantity v = blow_up.state.at(static_cast<std::size_t>(l));
    v.add(ErrorPart::solver(0, slope * blow_up.time.error()));
    stopped.push_back(v);
    limits.emplace_back(width * y);
    smaller.emplace_back(width * limit_of(instance, l, 0.9));
  }
  it.judge(Comparison{.what = "where the other tokens stop",
                      .measured = with_common_error(stopped),
                      .predicted = limits,
                      .mistakes = {predicts("limits", smaller)}});
}

void judge_law(const ReducedInstance<double>& instance, const BlowUp& blow_up, Examination& it) {
  const double end = blow_up.time.value();
  // One solve a time: between the ends of its steps a solver has errors of another kind.
  const std::vector<double> times{end / 4, end / 2, 0.95 * end};
  const AnyRung<double> rung = forget_type(ReducedFlow<double>(instance));
  std::vector<Solved> runs;
  for (const double t : times) runs.emplace_back(rung, std::vector{t}, growth_tolerance);
  const std::vector<Index> moving = moving_below(instance, INFINITY);
  const auto grown = [&](double width) {
    std::vector<Quantity> all;
    for (const Index l : moving) {
      const auto of_token = [=](const Vector<double>& v) {
        return std::erf(v[l] / width) * width * std::sqrt(M_PI) / 2;
      };
      for (const Solved& run : runs) all.push_back(run.at(0, of_token));
    }
    return with_common_error(all);
  };
  std::vector<Quantity> predicted;
  std::vector<std::string> places;
  for (const Index l : moving) {
    for (const double t : times) {
      predicted.emplace_back(instance.target(l, 0) * t);
      places.push_back(fmt::format("t = {:.4g}, token {}", t, l));
    }
  }
  it.judge(Comparison{
      .what = "erf(v/sqrt tau) sqrt(pi tau)/2 against Delta t",
      .measured = grown(std::sqrt(instance.tau)),
      .predicted = predicted,
      .mistakes = {measures("wide-law", [&] { return grown(std::sqrt(1.1 * instance.tau)); })},
      .places = places});
}

void prove_growth(Examination& it) {
  ReducedInstance<Expression> instance;
  const Vector<Expression> v = symbols("v", 2);
  instance.target = symbols("Delta", 2, 1);
  instance.start = v;
  const Expression root = GiNaC::possymbol("s");
  instance.tau = root * root;
  Vector<Expression> rate(2);
  ReducedFlow<Expression>(instance).rhs(v, rate, Expression(0));
  Matrix<Expression> miss(2, 1);
  for (Index l = 0; l < 2; ++l) {
    const Expression grown =
        error_function(Expression(v[l] / root)) * GiNaC::sqrt(GiNaC::Pi) * root / 2;
    miss(l, 0) = rate_along(grown, v, rate) - instance.target(l, 0);
  }
  it.judge(Identity{.what = "d/dt of erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t is 0",
                    .holds = [&] { return vanishes(miss); }});
}

}  // namespace popgrad::joma::checks
