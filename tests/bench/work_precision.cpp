/// Work against precision: one flow each where stability and where size decides, by every method
/// and tolerance. range(0) is the number of digits asked for, rtol = 10^-digits.
///
///   reduced   v' = (mu - v) o exp(v^2/3), 20 weights, mu from 1 to 4, v(0) = 0.05, to t = 1; rates
///             exp(mu^2/3) = 1.4 to 207 at rest
///   growth    the population flow of scan and snap's growth instance, 11,892 numbers, to t = 700
/// Counters: evaluations, and the error: of `reduced` the largest of v, each relative to its reference;
/// of `growth` the largest of an attention logit, relative to the largest logit. The last benchmark of
/// each flow tells the reference as `reference_I`, and `known_to`, how well it is known.

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "cvode.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace {

using namespace popgrad;

constexpr double reduced_end = 1;
constexpr double growth_end = 700;
/// Decimals of a solve beyond those of its tolerance, and of the reference.
constexpr unsigned guard_digits = 5;
constexpr int reference_digits = 60;

template <class T>
T tolerance(int digits) {
  using std::pow;
  return pow(T(10), -digits);
}

template <class T>
Trajectory<T> solved(const AnyRung<T>& rung, double end, int digits, Method method) {
  SolveRequest<T> request;
  request.end = T(end);
  request.save_at = {T(end)};
  request.relative_tolerance = tolerance<T>(digits);
  request.absolute_tolerance = tolerance<T>(digits + 2);
  request.find_events = false;
  request.method = method;
  return solve(rung, request);
}

joma::ReducedFlow<double> reduced() {
  constexpr Index tokens = 20;
  joma::ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = 3;
  instance.target.resize(tokens, 1);
  for (Index l = 0; l < tokens; ++l) {
    instance.target(l, 0) = 1 + 3 * static_cast<double>(l) / (tokens - 1);
  }
  instance.start = Matrix<double>::Constant(tokens, 1, 0.05);
  instance.logits = Vector<double>::Zero(tokens);
  return joma::ReducedFlow<double>(instance);
}

const Vector<Real>& reduced_reference() {
  static const Vector<Real> reference = [] {
    const DigitsScope scope(reference_digits + guard_digits);
    return solved(forget_type(reduced().cast<Real>()), reduced_end, reference_digits,
                  Method::bulirsch_stoer)
        .last_state;
  }();
  return reference;
}

template <class T>
double largest_error(const Vector<T>& found, const Vector<Real>& reference) {
  const DigitsScope scope(reference_digits + guard_digits);
  double largest = 0;
  for (Index i = 0; i < reference.size(); ++i) {
    const Real error = (Real(found[i]) - reference[i]) / reference[i];
    largest = std::max(largest, std::abs(to_double(error)));
  }
  return largest;
}

void tell(benchmark::State& state, double error, double evaluations) {
  state.counters["error"] = error;
  state.counters["evaluations"] = evaluations;
}

void tell_reference(benchmark::State& state, const Vector<double>& reference, double known_to) {
  for (Index i = 0; i < reference.size(); ++i) {
    state.counters["reference_" + std::to_string(i)] = reference[i];
  }
  state.counters["known_to"] = known_to;
}

void reduced_flow(benchmark::State& state, Method method) {
  const AnyRung<double> rung = forget_type(reduced());
  Trajectory<double> run;
  for ([[maybe_unused]] auto _ : state) {
    run = solved(rung, reduced_end, static_cast<int>(state.range(0)), method);
  }
  if (!run.outcome.usable()) return state.SkipWithError(describe(run.outcome.ending).c_str());
  tell(state, largest_error(run.last_state, reduced_reference()),
       static_cast<double>(run.outcome.evaluations));
}

void reduced_flow_digits(benchmark::State& state) {
  const auto asked = static_cast<int>(state.range(0));
  Trajectory<Real> run;
  {
    const DigitsScope scope(static_cast<unsigned>(asked) + guard_digits);
    const AnyRung<Real> rung = forget_type(reduced().cast<Real>());
    for ([[maybe_unused]] auto _ : state) {
      run = solved(rung, reduced_end, asked, Method::bulirsch_stoer);
    }
  }
  if (!run.outcome.usable()) return state.SkipWithError(describe(run.outcome.ending).c_str());
  tell(state, largest_error(run.last_state, reduced_reference()),
       static_cast<double>(run.outcome.evaluations));
}

void reduced_flow_cvode(benchmark::State& state, bool stiff) {
  const joma::ReducedFlow<double> flow = reduced();
  const auto rhs = [&](const Vector<double>& x, Vector<double>& dx) { flow.rhs(x, dx, 0.0); };
  const auto digits = static_cast<int>(state.range(0));
  bench::CvodeResult result;
  for ([[maybe_unused]] auto _ : state) {
    result =
        bench::integrate_with_cvode(rhs, flow.initial(), reduced_end, tolerance<double>(digits),
                                    tolerance<double>(digits + 2), stiff);
  }
  tell(state, largest_error(result.state, reduced_reference()),
       static_cast<double>(result.evaluations));
}

void reduced_flow_reference(benchmark::State& state) {
  const DigitsScope scope(reference_digits + guard_digits);
  Vector<Real> coarser;
  for ([[maybe_unused]] auto _ : state) {
    coarser = solved(forget_type(reduced().cast<Real>()), reduced_end, reference_digits - 3,
                     Method::bulirsch_stoer)
                  .last_state;
  }
  tell_reference(state, reduced_reference().unaryExpr([](const Real& v) { return to_double(v); }),
                 largest_error(coarser, reduced_reference()));
}

scan_snap::PopulationFlow<double> growth() {
  scan_snap::TrainingInstance<double> instance;
  instance.classes = scan_snap::growth_classes<double>();
  instance.attention_rate = 0.5;
  return scan_snap::PopulationFlow<double>(instance);
}

/// Attention logits at the end by extrapolation to 1e-14, and how far apart those to 1e-13 by dopri5
/// are: what the reference is known to.
struct GrowthReference {
  Vector<double> logits;
  double known_to;
};

double largest_error(const Vector<double>& found, const Vector<double>& reference) {
  return (found - reference).cwiseAbs().maxCoeff() / reference.cwiseAbs().maxCoeff();
}

const GrowthReference& growth_reference() {
  static const GrowthReference reference = [] {
    const scan_snap::PopulationFlow<double> flow = growth();
    const AnyRung<double> rung = forget_type(flow);
    constexpr int fine = 14;
    const Vector<double> logits =
        flow.logits_at(solved(rung, growth_end, fine, Method::bulirsch_stoer).last_state);
    const Vector<double> others =
        flow.logits_at(solved(rung, growth_end, fine - 1, Method::dopri5).last_state);
    return GrowthReference{logits, largest_error(others, logits)};
  }();
  return reference;
}

void growth_flow(benchmark::State& state, Method method) {
  const scan_snap::PopulationFlow<double> flow = growth();
  const AnyRung<double> rung = forget_type(flow);
  Trajectory<double> run;
  for ([[maybe_unused]] auto _ : state) {
    run = solved(rung, growth_end, static_cast<int>(state.range(0)), method);
  }
  if (!run.outcome.usable()) return state.SkipWithError(describe(run.outcome.ending).c_str());
  tell(state, largest_error(flow.logits_at(run.last_state), growth_reference().logits),
       static_cast<double>(run.outcome.evaluations));
}

void growth_flow_cvode(benchmark::State& state, bool stiff) {
  const scan_snap::PopulationFlow<double> flow = growth();
  const auto rhs = [&](const Vector<double>& x, Vector<double>& dx) { flow.rhs(x, dx, 0.0); };
  const auto digits = static_cast<int>(state.range(0));
  bench::CvodeResult result;
  for ([[maybe_unused]] auto _ : state) {
    result = bench::integrate_with_cvode(rhs, flow.initial(), growth_end, tolerance<double>(digits),
                                         tolerance<double>(digits + 2), stiff);
  }
  tell(state, largest_error(flow.logits_at(result.state), growth_reference().logits),
       static_cast<double>(result.evaluations));
}

void growth_flow_reference(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(&growth_reference());
  tell_reference(state, growth_reference().logits, growth_reference().known_to);
}

void tolerances(benchmark::internal::Benchmark* family, long most) {
  family->DenseRange(3, most, 1)->Unit(benchmark::kMillisecond);
}
void of_double(benchmark::internal::Benchmark* family) { tolerances(family, 12); }
/// An L-stable method of order 4 takes 10^(digits/4) steps.
void of_order_four(benchmark::internal::Benchmark* family) { tolerances(family, 10); }
void of_many_digits(benchmark::internal::Benchmark* family) {
  family->DenseRange(10, 50, 5)->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(reduced_flow, dopri5, Method::dopri5)
    ->Name("work_precision/reduced/dopri5")
    ->Apply(of_double);
BENCHMARK_CAPTURE(reduced_flow, bulirsch_stoer, Method::bulirsch_stoer)
    ->Name("work_precision/reduced/bulirsch-stoer")
    ->Apply(of_double);
BENCHMARK_CAPTURE(reduced_flow, rosenbrock4, Method::rosenbrock4)
    ->Name("work_precision/reduced/rosenbrock4")
    ->Apply(of_order_four);
BENCHMARK(reduced_flow_digits)->Name("work_precision/reduced/extrapolation")->Apply(of_many_digits);
BENCHMARK_CAPTURE(reduced_flow_cvode, adams, false)
    ->Name("work_precision/reduced/CVODE Adams")
    ->Apply(of_double);
BENCHMARK_CAPTURE(reduced_flow_cvode, bdf, true)
    ->Name("work_precision/reduced/CVODE BDF")
    ->Apply(of_double);
BENCHMARK(reduced_flow_reference)->Name("work_precision/reduced/reference")->Iterations(1);
BENCHMARK_CAPTURE(growth_flow, dopri5, Method::dopri5)
    ->Name("work_precision/growth/dopri5")
    ->Apply(of_double);
BENCHMARK_CAPTURE(growth_flow, bulirsch_stoer, Method::bulirsch_stoer)
    ->Name("work_precision/growth/bulirsch-stoer")
    ->Apply(of_double);
BENCHMARK_CAPTURE(growth_flow_cvode, adams, false)
    ->Name("work_precision/growth/CVODE Adams")
    ->Apply(of_double);
BENCHMARK_CAPTURE(growth_flow_cvode, bdf, true)
    ->Name("work_precision/growth/CVODE BDF")
    ->Apply(of_double);
BENCHMARK(growth_flow_reference)->Name("work_precision/growth/reference")->Iterations(1);

}  // namespace
