/// What moments cost against the number of numbers, where a direction, an observation and a product with
/// the covariance of a draw cost one operation for each: by adjoints, and with the covariance in full, by
/// blocks of steps and step by step.

#include <benchmark/benchmark.h>

#include "allocations.hpp"
#include "popgrad/fluctuations/adjoint_moments.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"

namespace {

using namespace popgrad;

AnyRung<double> wells(Index n) {
  AnyRung<double> rung;
  rung.dimension = n;
  rung.initial = Vector<double>::LinSpaced(n, 0.5, 1.0);
  rung.observables.columns = {"sum"};
  rung.state_names = std::vector<std::string>(static_cast<std::size_t>(n), "x");
  rung.field.value = [](const Vector<double>& x, Vector<double>& dx, const double&) {
    dx = -(x.array() + 0.3 * x.array().square()).matrix();
  };
  rung.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x.sum();
  };
  rung.draws.sample = [](const Vector<double>& x, Vector<double>& dx, Stream& stream, Index) {
    for (Index i = 0; i < x.size(); ++i) dx[i] = stream.normal() - x[i] - 0.3 * x[i] * x[i];
  };
  rung.draws.covariance = [](const Vector<double>&, const Matrix<double>& vectors,
                             Matrix<double>& images) { images = vectors; };
  rung.clone = [n] { return wells(n); };
  return rung;
}

/// Some steps, and rows after these.
WalkRequest steps_of(std::uint64_t steps, std::vector<std::uint64_t> rows) {
  WalkRequest request;
  request.step_size = 0.01;
  request.batch = 1000;
  request.steps = steps;
  request.save_steps = std::move(rows);
  return request;
}

/// 64 steps.
void adjoint_steps(benchmark::State& state) {
  const Prediction prediction = predict_by_adjoints(wells(state.range(0)), "bench");
  for ([[maybe_unused]] auto _ : state) prediction.rows(steps_of(64, {}), nullptr);
}

/// The same with a row after them.
void adjoint_row(benchmark::State& state) {
  const std::size_t before = bench::bytes_in_use();
  bench::forget_peak();
  const Prediction prediction = predict_by_adjoints(wells(state.range(0)), "bench");
  for ([[maybe_unused]] auto _ : state) prediction.rows(steps_of(64, {64}), nullptr);
  state.counters["vectors"] =
      static_cast<double>(bench::peak_bytes() - before) / (8 * static_cast<double>(state.range(0)));
}

/// 1000 steps of range(0) numbers, in blocks of at most range(1).
void full_steps(benchmark::State& state) {
  const Prediction prediction =
      predict_in_blocks([n = state.range(0)] { return FollowedSteps{wells(n)}; },
                        static_cast<std::uint64_t>(state.range(1)));
  for ([[maybe_unused]] auto _ : state) prediction.rows(steps_of(1000, {}), nullptr);
}

BENCHMARK(full_steps)
    ->ArgsProduct({{16, 32, 64, 128}, {static_cast<long>(longest_moment_block)}})
    ->Args({32, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(adjoint_steps)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(adjoint_row)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
