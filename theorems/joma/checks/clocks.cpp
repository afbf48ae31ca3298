#include "theorems/joma/checks/clocks.hpp"

#include "solving/common_error.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

// The time of the exp clock is the last component of the state.
AnyRung<double> softmax_flow_with_exp_clock(ReducedInstance<double> instance) {
  instance.attention = Attention::softmax;
  const ReducedFlow<double> flow(std::move(instance));
  const Index n = flow.dimension();
  AnyRung<double> rung;
  rung.dimension = n + 1;
  rung.initial = Vector<double>::Zero(n + 1);
  rung.initial.head(n) = flow.initial();
  rung.field.value = [flow, n, v = Vector<double>(n), slope = Vector<double>(n)](
                         const Vector<double>& x, Vector<double>& dx, const double& t) mutable {
    v = x.head(n);
    flow.rhs(v, slope, t);
    dx.head(n) = slope;
    dx[n] = 1 / flow.attention_logits(v).array().exp().sum();
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

}  // namespace

std::vector<Solved> solve_softmax_flow(const ReducedInstance<double>& instance,
                                       const std::vector<double>& times, double tolerance) {
  const AnyRung<double> rung = softmax_flow_with_exp_clock(instance);
  std::vector<Solved> runs;
  for (const double time : times) runs.emplace_back(rung, std::vector{time}, tolerance);
  return runs;
}

std::vector<Quantity> states_of_exp_flow(
    ReducedInstance<double> instance, const std::vector<Solved>& softmax, double tolerance,
    const std::function<double(double softmax_time, double exp_time)>& time_of) {
  instance.attention = Attention::exp;
  const ReducedFlow<double> flow(instance);
  const Index n = flow.dimension();
  Vector<double> slope(n);
  std::vector<Quantity> states;
  for (const Solved& one : softmax) {
    const Quantity clock = one.at(0, [n](const Vector<double>& state) { return state[n]; });
    const Solved run(forget_type(flow), {time_of(one.times().front(), clock.value())}, tolerance);
    flow.rhs(run.state(0), slope, 0.0);
    for (Index i = 0; i < n; ++i) {
      // An error of the time moves the state by its slope.
      states.push_back(run.at(0, [i](const Vector<double>& v) { return v[i]; }) +
                       mapped(clock, 0, slope[i]));
    }
  }
  return with_common_error(states);
}

std::vector<Quantity> sums_along(const ReducedInstance<double>& instance,
                                 const std::vector<Solved>& softmax, Index tokens) {
  std::vector<Quantity> all;
  for (Index unit = 0; unit < instance.units(); ++unit) {
    for (const Solved& run : softmax) {
      Quantity sum;
      for (Index l = 0; l < tokens; ++l) {
        const double m = instance.target(l, unit);
        const double v0 = instance.start(l, unit);
        const Index i = l + unit * instance.tokens();
        sum = sum + run.at(0, [&](const Vector<double>& v) {
          return instance.nonlinear ? std::log(std::fabs((m - v0) / (m - v[i]))) : (v[i] - v0) / m;
        });
        // What rounding of v does to a logarithm grows like 1/delta.
        const double v = run.state(0)[i];
        sum.add(ErrorPart::rounding(2, v / (m - (instance.nonlinear ? v : 0.0))));
      }
      all.push_back(sum);
    }
  }
  return with_common_error(all);
}

}  // namespace popgrad::joma::checks
