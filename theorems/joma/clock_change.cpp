// Theorem    joma.clock-change
// Status     derived here
// Source     ours; on the reduced flow of Tian et al., JoMA, arXiv 2310.00535, Section 4
// Statement  the softmax reduced flow is the exp orbit on another clock,
//              dt_softmax = sum_l a_l dt_exp,
//            and along it, for every one of any number of units, since they share a,
//              sum_l ln(|delta_l(0)|/|delta_l|) = t   (nonlinear phi)
//              sum_l (v_l - v_l(0))/Delta_l     = t   (linear phi)
// Hypotheses H1 mu_l and Delta_l are not 0; H2 v(0) differs from mu
// Check      both fields on symbols; the sums along integrated trajectories; the two orbits
// Controls   the inverse clock, dt_exp = sum_l a_l dt_softmax; the sum without the logarithm
// Uses       rung reduced

#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/random.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob size{.name = "size",
                    .meaning = "size of mu and Delta, in units of the usual one",
                    .low = 0.3,
                    .high = 1.2,
                    .usual = 1,
                    .spacing = Spacing::logarithmic};
constexpr Knob start{.name = "start",
                     .meaning = "v(0) of all tokens, in units of the smallest |mu|",
                     .low = 0,
                     .high = 0.9,
                     .usual = 0.05};
constexpr Knob units{.name = "units",
                     .meaning = "hidden units K",
                     .low = 1,
                     .high = 2,
                     .usual = 1,
                     .spacing = Spacing::whole};

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

// mu or Delta: the four numbers that verify looks at, or sizes in [1, 2.5] of either sign.
ReducedInstance<double> numbers(const Setting& setting, bool nonlinear, Attention attention) {
  ReducedInstance<double> instance;
  instance.nonlinear = nonlinear;
  instance.attention = attention;
  instance.tau = setting.value(tau);
  const Index d = setting.count(token_count);
  const Index k = setting.count(units);
  instance.target.resize(d, k);
  if (!setting.only_what_varies && d == 4 && k == 1) {
    instance.target << 1.0, 1.5, -2.0, 2.5;
  } else {
    Stream stream(setting.seed, stream_of_drawn_instances, 14);
    for (double& m : instance.target.reshaped()) {
      m = (stream.uniform() < 0.5 ? -1 : 1) * (1 + 1.5 * stream.uniform());
    }
  }
  instance.target *= setting.value(size);
  instance.start = Matrix<double>::Constant(d, k, setting.value(start) * setting.value(size));
  instance.logits = Vector<double>::Zero(d);
  return instance;
}

Trajectory<double> integrate(const ReducedInstance<double>& instance, double end,
                             std::size_t count) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, count);
  request.step_budget = 100'000;  // a thousand times what it takes
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-14;
  request.keep_states = true;
  request.find_events = false;
  return solve(forget_type(ReducedFlow<double>(instance)), request);
}

// Fields and rates on symbols, three tokens.
void examine_symbols(bool inverse, bool no_logarithm, Examination& result) {
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
}

// Largest |sum of logs or growths - t| over 41 times and all units.
Evidence sums_along_the_flow(const Setting& setting, bool nonlinear) {
  const ReducedInstance<double> instance = numbers(setting, nonlinear, Attention::softmax);
  const Trajectory<double> run = integrate(instance, 4.0, 41);
  double largest = run.outcome.usable() ? 0 : std::nan("");
  const double v0 = instance.start(0, 0);
  for (std::size_t k = 0; k < run.states.size(); ++k) {
    for (Index unit = 0; unit < instance.units(); ++unit) {
      double sum = 0;
      for (Index l = 0; l < instance.tokens(); ++l) {
        const double m = instance.target(l, unit);
        const double v = run.states[k][l + unit * instance.tokens()];
        sum += nonlinear ? std::log((m - v0) / (m - v)) : (v - v0) / m;
      }
      largest = std::max(largest, std::fabs(sum - run.t[k]));
    }
  }
  // The logs sum to t <= 4 and none is negative, so 1/delta <= e^4 whatever the instance.
  return bounded(EvidenceKind::numerical,
                 nonlinear ? "sum of logs minus t, 41 times" : "sum of growths minus t, 41 times",
                 largest, 1e-9, "tolerance 1e-12 a step; a log magnifies by 1/delta <= 60");
}

// Same orbit: find the exp state at which the token that moves fastest agrees, compare the rest.
Evidence distance_of_orbits(const Setting& setting) {
  const ReducedInstance<double> instance = numbers(setting, true, Attention::softmax);
  const ReducedFlow<double> flow(instance);
  const Trajectory<double> slow = integrate(instance, 4.0, 5);
  AnyRung<double> fast = forget_type(ReducedFlow<double>(numbers(setting, true, Attention::exp)));
  double distance = slow.outcome.usable() ? 0 : std::nan("");
  Vector<double> rate(flow.dimension());
  for (std::size_t k = 1; k < slow.states.size(); ++k) {
    flow.rhs(slow.states[k], rate, 0.0);
    Index chosen = 0;
    rate.cwiseAbs().maxCoeff(&chosen);
    const double level = slow.states[k][chosen];
    fast.events.clear();
    for (Index i = 0; i < flow.dimension(); ++i) {
      fast.events.push_back(
          {"level", "v", EventKind::crossing,
           [level, chosen](const Vector<double>& x, const double&) { return x[chosen] - level; },
           [i](const Vector<double>& x, const double&) { return x[i]; }});
    }
    SolveRequest<double> request;
    request.end = 5.0;
    request.step_budget = 100'000;  // a thousand times what it takes
    request.relative_tolerance = 1e-12;
    request.absolute_tolerance = 1e-14;
    const Trajectory<double> run = solve(fast, request);
    if (run.events.size() != static_cast<std::size_t>(flow.dimension())) {
      distance = std::nan("");
      break;
    }
    for (std::size_t i = 0; i < run.events.size(); ++i) {
      distance = std::max(distance,
                          std::fabs(run.events[i].value - slow.states[k][static_cast<Index>(i)]));
    }
  }
  return bounded(EvidenceKind::numerical, "distance between the two orbits", distance, 1e-9,
                 "tolerance 1e-12 a step on both");
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const ReducedInstance<double> instance = numbers(setting, true, Attention::softmax);
  for (const double m : instance.target.reshaped()) result.parameters["mu or delta"].push_back(m);
  result.parameters["v0"] = instance.start(0, 0);
  result.parameters["tau"] = instance.tau;
  result.parameters["seed"] = setting.seed;
  const bool inverse = variant == "inverse-clock";
  const bool no_logarithm = variant == "no-logarithm";
  if (!setting.only_what_varies) examine_symbols(inverse, no_logarithm, result);
  if (inverse || no_logarithm) return result;
  result.evidence.push_back(sums_along_the_flow(setting, true));
  result.evidence.push_back(sums_along_the_flow(setting, false));
  result.evidence.push_back(distance_of_orbits(setting));
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
      .hypotheses = {"mu and Delta are not 0", "v(0) differs from mu"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"inverse-clock", "dt_exp = sum a dt_softmax"},
                   {"no-logarithm", "sum of 1 - delta in place of sum of ln(1/delta)"}},
      .knobs = {tau, token_count, size, start, units},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
