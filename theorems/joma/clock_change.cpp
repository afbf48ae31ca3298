// Theorem    joma.clock-change                       Status  derived here
// Source     ours; on the reduced flow of Tian et al., JoMA, arXiv 2310.00535, Section 4
// Statement  the softmax reduced flow is the exp orbit with dt_softmax = sum_l a_l dt_exp; along it
//            sum_l ln(|delta_l(0)|/|delta_l|) = t (nonlinear phi, K = 1) and
//            sum_l (v_l - v_l(0))/Delta_l = t (linear phi, K = 1)
// Hypotheses H1 mu_l, Delta_l != 0; H2 v(0) != mu
// Check      both fields on symbols; the sums along integrated trajectories; the two orbits
// Controls   the inverse clock; the sum without the logarithm
// Uses       rung reduced

#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

struct BothClocks {
  Vector<Expression> v, exp_rate, softmax_rate, weights;  // weights a = exp(v^2/tau)
  Matrix<Expression> target;
};

BothClocks both_clocks(bool nonlinear) {
  BothClocks both;
  ReducedInstance<Expression> instance;
  instance.nonlinear = nonlinear;
  both.v = symbols("v", 3);
  both.target = symbols("m", 3, 1);
  instance.target = both.target;
  instance.start = both.v;
  instance.tau = symbol("tau");
  both.exp_rate.resize(3);
  both.softmax_rate.resize(3);
  instance.attention = Attention::exp;
  ReducedFlow<Expression>(instance).rhs(both.v, both.exp_rate, Expression(0));
  instance.attention = Attention::softmax;
  ReducedFlow<Expression>(instance).rhs(both.v, both.softmax_rate, Expression(0));
  both.weights.resize(3);
  for (Index l = 0; l < 3; ++l) {
    both.weights[l] = GiNaC::exp(both.v[l] * both.v[l] / instance.tau);
  }
  return both;
}

ReducedInstance<double> numbers(bool nonlinear, Attention attention) {
  ReducedInstance<double> instance;
  instance.nonlinear = nonlinear;
  instance.attention = attention;
  instance.target.resize(4, 1);
  instance.target << 1.0, 1.5, -2.0, 2.5;
  instance.start = Matrix<double>::Constant(4, 1, 0.05);
  instance.logits = Vector<double>::Zero(4);
  return instance;
}

Trajectory<double> integrate(const ReducedInstance<double>& instance, double end,
                             std::size_t count) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, count);
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-14;
  request.keep_states = true;
  request.find_events = false;
  return solve(forget_type(ReducedFlow<double>(instance)), request);
}

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  Examination result;
  result.parameters = {{"mu or delta", {1.0, 1.5, -2.0, 2.5}}, {"v0", 0.05}, {"tau", 2}};
  const bool inverse = variant == "inverse-clock";
  const bool no_logarithm = variant == "no-logarithm";
  for (const bool nonlinear : {true, false}) {
    const BothClocks both = both_clocks(nonlinear);
    const Expression total = both.weights.sum();
    Matrix<Expression> difference(3, 1);
    for (Index l = 0; l < 3; ++l) {
      difference(l, 0) = inverse ? both.softmax_rate[l] - both.exp_rate[l] * total
                                 : both.softmax_rate[l] * total - both.exp_rate[l];
    }
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       nonlinear
                                           ? "softmax field times sum a = exp field, nonlinear phi"
                                           : "softmax field times sum a = exp field, linear phi",
                                       vanishes(difference)));
    Expression sum = 0;
    for (Index l = 0; l < 3; ++l) {
      const Expression& m = both.target(l, 0);
      if (!nonlinear) {
        sum += both.v[l] / m;
      } else {
        sum -= no_logarithm ? Expression(1 - both.v[l] / m) : GiNaC::log(1 - both.v[l] / m);
      }
    }
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       nonlinear ? "sum ln(delta(0)/delta) grows at rate 1"
                                                 : "sum (v - v(0))/Delta grows at rate 1",
                                       vanishes(rate_along(sum, both.v, both.softmax_rate) - 1)));
  }
  if (inverse || no_logarithm) return result;

  for (const bool nonlinear : {true, false}) {
    const ReducedInstance<double> instance = numbers(nonlinear, Attention::softmax);
    const Trajectory<double> run = integrate(instance, 4.0, 41);
    double largest = run.outcome.usable() ? 0 : std::nan("");
    for (std::size_t k = 0; k < run.states.size(); ++k) {
      double sum = 0;
      for (Index l = 0; l < 4; ++l) {
        const double m = instance.target(l, 0);
        sum += nonlinear ? std::log((m - 0.05) / (m - run.states[k][l]))
                         : (run.states[k][l] - 0.05) / m;
      }
      largest = std::max(largest, std::fabs(sum - run.t[k]));
    }
    result.evidence.push_back(
        bounded(EvidenceKind::numerical,
                nonlinear ? "sum of logs minus t, 41 times" : "sum of growths minus t, 41 times",
                largest, 1e-9, "tolerance 1e-12 a step; a log magnifies by 1/delta <= 60"));
  }
  // Same orbit: find the exp state at which v_3 agrees, compare the rest.
  const Trajectory<double> slow = integrate(numbers(true, Attention::softmax), 4.0, 5);
  AnyRung<double> fast = forget_type(ReducedFlow<double>(numbers(true, Attention::exp)));
  double distance = 0;
  for (std::size_t k = 1; k < slow.states.size(); ++k) {
    const double level = slow.states[k][3];
    EventFinder<double> crossing{
        "level", "v_3", EventKind::crossing,
        [level](const Vector<double>& x, const double&) { return x[3] - level; },
        [](const Vector<double>& x, const double&) { return x[0]; }};
    fast.events = {crossing,
                   {"level", "v_1", EventKind::crossing, crossing.value,
                    [](const Vector<double>& x, const double&) { return x[1]; }},
                   {"level", "v_2", EventKind::crossing, crossing.value,
                    [](const Vector<double>& x, const double&) { return x[2]; }}};
    SolveRequest<double> request;
    request.end = 5.0;
    request.relative_tolerance = 1e-12;
    request.absolute_tolerance = 1e-14;
    const Trajectory<double> run = solve(fast, request);
    if (run.events.size() != 3) {
      distance = std::nan("");
      break;
    }
    for (std::size_t l = 0; l < 3; ++l) {
      distance = std::max(distance,
                          std::fabs(run.events[l].value - slow.states[k][static_cast<Index>(l)]));
    }
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical, "distance between the two orbits",
                                    distance, 1e-9, "tolerance 1e-12 a step on both"));
  return result;
}

}  // namespace

Statement clock_change() {
  return {
      .id = "joma.clock-change",
      .claim =
          "softmax reduced flow = exp orbit on the clock dt = sum a dt_exp, with two exact sums",
      .paper = "arXiv 2310.00535, Section 4",
      .status = "derived here",
      .hypotheses = {"one hidden unit for the sums", "v(0) differs from mu"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"inverse-clock", "dt_exp = sum a dt_softmax"},
                   {"no-logarithm", "sum of 1 - delta in place of sum of ln(1/delta)"}},
      .examine = examine};
}

}  // namespace popgrad::theorems::joma
