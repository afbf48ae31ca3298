#include "theorems/joma/checks/clocks.hpp"

#include "solving/common_error.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

ReducedFlow<double> flow_with(ReducedInstance<double> instance, Attention attention) {
  instance.attention = attention;
  return ReducedFlow<double>(std::move(instance));
}

// States of the exp flow at `share` of the times that the softmax flow gives its clock. An error of
// the time moves the state by its slope.
std::vector<Quantity> states_of_exp_flow(const ReducedInstance<double>& instance,
                                         const std::vector<Solved>& softmax, double share,
                                         double tolerance) {
  const ReducedFlow<double> flow = flow_with(instance, Attention::exp);
  const Index n = flow.dimension();
  Vector<double> slope(n);
  std::vector<Quantity> states;
  for (const Solved& one : softmax) {
    const Quantity clock = one.at(0, [n](const Vector<double>& state) { return state[n]; });
    const Solved run(forget_type(flow), {share * clock.value()}, tolerance);
    flow.rhs(run.state(0), slope, 0.0);
    for (Index i = 0; i < n; ++i) {
      states.push_back(run.at(0, [i](const Vector<double>& v) { return v[i]; }) +
                       mapped(clock, 0, slope[i]));
    }
  }
  return with_common_error(states);
}

// ln(|delta(0)|/|delta|), or (v - v(0))/Delta, of one token and unit.
double term_of(const ReducedInstance<double>& instance, const Vector<double>& state, Index token,
               Index unit) {
  const double m = instance.target(token, unit);
  const double v0 = instance.start(token, unit);
  const double v = state[token + unit * instance.tokens()];
  return instance.nonlinear ? std::log(std::fabs((m - v0) / (m - v))) : (v - v0) / m;
}

// Over the first `tokens` tokens, for every unit and time. The errors of the tokens are added up:
// in the sum they cancel, for linear phi in both solves alike. What rounding of v does to a
// logarithm grows like 1/delta.
std::vector<Quantity> sums(const ReducedInstance<double>& instance,
                           const std::vector<Solved>& softmax, Index tokens) {
  std::vector<Quantity> all;
  for (Index unit = 0; unit < instance.units(); ++unit) {
    for (const Solved& run : softmax) {
      Quantity sum;
      for (Index l = 0; l < tokens; ++l) {
        const auto term = [&](const Vector<double>& v) { return term_of(instance, v, l, unit); };
        const double v = run.state(0)[l + unit * instance.tokens()];
        const double way = instance.target(l, unit) - (instance.nonlinear ? v : 0.0);
        sum = sum + run.at(0, term);
        sum.add(ErrorPart::rounding(2, v / way));
      }
      all.push_back(sum);
    }
  }
  return with_common_error(all);
}

// The time of the exp clock is the last component of the state.
AnyRung<double> softmax_flow_with_exp_clock(ReducedInstance<double> instance) {
  const ReducedFlow<double> flow = flow_with(std::move(instance), Attention::softmax);
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

void judge_orbits(const ReducedInstance<double>& instance, const std::vector<Solved>& softmax,
                  double tolerance, Examination& it) {
  std::vector<Quantity> states;
  for (const Solved& run : softmax) {
    for (Index i = 0; i < instance.target.size(); ++i) {
      states.push_back(run.at(0, [i](const Vector<double>& v) { return v[i]; }));
    }
  }
  it.judge(Comparison{.what = "states of the softmax flow against those of the exp flow",
                      .measured = with_common_error(states),
                      .predicted = states_of_exp_flow(instance, softmax, 1, tolerance),
                      .mistakes = {{.control = "exp-clock", .predicts = [&](const auto&) {
                                      return states_of_exp_flow(instance, softmax, 0.9, tolerance);
                                    }}}});
}

void judge_sums(const ReducedInstance<double>& instance, const std::vector<Solved>& softmax,
                Examination& it) {
  std::vector<Quantity> times;
  std::vector<std::string> places;
  for (Index unit = 0; unit < instance.units(); ++unit) {
    for (const Solved& run : softmax) {
      const double t = run.times().front();
      times.emplace_back(t);
      places.push_back(fmt::format("t = {:.4g}, unit {}", t, unit));
    }
  }
  it.judge(Comparison{
      .what = instance.nonlinear ? "sum of ln(|delta(0)|/|delta|)" : "sum of (v - v(0))/Delta",
      .measured = sums(instance, softmax, instance.tokens()),
      .predicted = times,
      .mistakes = {predicts_times("sum-rate", 1.1),
                   measures("token-short",
                            [&] { return sums(instance, softmax, instance.tokens() - 1); })},
      .places = places});
}

}  // namespace popgrad::joma::checks
