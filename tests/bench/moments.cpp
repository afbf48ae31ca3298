/// What moments cost against the number of numbers, where a direction, an observation and a product with
/// the covariance of a draw cost one operation for each: by adjoints, and with the covariance in full, by
/// blocks of steps and step by step.

#include <benchmark/benchmark.h>

#include "allocations.hpp"
#include "popgrad/fluctuations/adjoint_moments.hpp"
#include "popgrad/fluctuations/moments_rung.hpp"
#include "popgrad/rungs/rung.hpp"

namespace {

using namespace popgrad;

AnyRung<double> wells(Index n) {
  AnyRung<double> rung;
  rung.dimension = n;
  rung.initial = Vector<double>::LinSpaced(n, 0.5, 1.0);
  rung.columns = {"sum"};
  rung.state_names = std::vector<std::string>(static_cast<std::size_t>(n), "x");
  rung.rhs = [](const Vector<double>& x, Vector<double>& dx, const double&) {
    dx = -(x.array() + 0.3 * x.array().square()).matrix();
  };
  rung.observe = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x.sum();
  };
  rung.sample_rhs = [](const Vector<double>& x, Vector<double>& dx, Stream& stream, Index) {
    for (Index i = 0; i < x.size(); ++i) dx[i] = stream.normal() - x[i] - 0.3 * x[i] * x[i];
  };
  rung.draw_covariance = [](const Vector<double>&, const Matrix<double>& vectors,
                            Matrix<double>& images) { images = vectors; };
  return rung;
}

constexpr double eta = 0.01;
constexpr Index batch = 1000;

void adjoint_step(benchmark::State& state) {
  const AnyRung<double> rung = adjoint_moments_rung(wells(state.range(0)), "bench");
  Vector<double> x = rung.initial;
  Stream stream(1, 0, 0);
  for ([[maybe_unused]] auto _ : state) rung.sample_step(x, eta, stream, batch);
}

/// A row after 64 steps.
void adjoint_row(benchmark::State& state) {
  const std::size_t before = bench::bytes_in_use();
  bench::forget_peak();
  const AnyRung<double> rung = adjoint_moments_rung(wells(state.range(0)), "bench");
  Vector<double> x = rung.initial;
  Stream stream(1, 0, 0);
  for (int k = 0; k < 64; ++k) rung.sample_step(x, eta, stream, batch);
  std::vector<double> row(rung.columns.size());
  for ([[maybe_unused]] auto _ : state) rung.observe(x, 0.0, row);
  state.counters["vectors"] =
      static_cast<double>(bench::peak_bytes() - before) / (8 * static_cast<double>(state.range(0)));
}

/// 1000 steps of range(0) numbers, in blocks of at most range(1).
void full_steps(benchmark::State& state) {
  const AnyRung<double> rung =
      rung_of_moments(wells(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
  Stream stream(1, 0, 0);
  for ([[maybe_unused]] auto _ : state) {
    Vector<double> x = rung.initial;
    for (int k = 0; k < 1000; ++k) rung.sample_step(x, eta, stream, batch);
    benchmark::DoNotOptimize(x.data());
  }
}

BENCHMARK(full_steps)
    ->ArgsProduct({{16, 32, 64, 128}, {static_cast<long>(longest_moment_block)}})
    ->Args({32, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(adjoint_step)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(adjoint_row)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
