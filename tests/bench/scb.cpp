/// What the rungs of sparse contextual bigrams cost: SGD on sequences, noisy steps
/// dense and lumped.

#include <benchmark/benchmark.h>

#include <array>
#include <span>

#include "allocations.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/lumped_moments.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"
#include "theorems/scb/rungs/sequence_symbols.hpp"

namespace {

using namespace popgrad;
using namespace popgrad::scb;

Training<double> training(Index tokens, Index context) {
  Training<double> made;
  made.bigrams = random_bigrams(tokens, context, 2, 1);
  made.start = transfer_start(made.bigrams, 0.5, 0.5, 1);
  return made;
}

/// 100 steps at N = 20, T = 5000, B = 64, all threads in one run.
void scb_sgd(benchmark::State& state) {
  const AnyRung<double> rung = forget_type(SequenceSgd<double>(training(20, 5000)));
  Vector<double> x = rung.initial;
  Vector<double> slope(x.size());
  std::uint64_t step = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (int i = 0; i < 100; ++i) {
      Stream stream(1, 0, step++);
      rung.draws.sample(x, slope, stream, 64);
      x += 0.01 * slope;
    }
  }
  state.counters["steps"] = 100;
}

/// One step at N = range(0), T = range(1), B = 64.
void scb_sgd_size(benchmark::State& state) {
  const AnyRung<double> rung =
      forget_type(SequenceSgd<double>(training(state.range(0), state.range(1))));
  const Vector<double> x = rung.initial;
  Vector<double> slope(x.size());
  std::uint64_t step = 0;
  for ([[maybe_unused]] auto _ : state) {
    Stream stream(1, 0, step++);
    rung.draws.sample(x, slope, stream, 64);
  }
  const auto n = static_cast<double>(state.range(0));
  state.counters["products"] = 64 * (static_cast<double>(state.range(1)) + n * n);
}

constexpr Index many_tokens = 500;
constexpr Index many_positions = 100'000;

// One step at N = 500, T = 1e5.
void noisy(benchmark::State& state, const auto& rung) {
  auto x = rung.initial();
  std::uint64_t step = 0;
  // The first step reads all of A once more, for the sums that later ones carry along.
  Stream first(1, 0, step++);
  rung.sample_step(x, 0.01, first, 100'000);
  for ([[maybe_unused]] auto _ : state) {
    Stream stream(1, 0, step++);
    rung.sample_step(x, 0.01, stream, 100'000);
  }
}
void scb_noisy(benchmark::State& state) {
  const Training<double> made = training(many_tokens, many_positions);
  noisy(state, NoisyDescent(made, noise_at_solution(made.bigrams)));
}

/// The limit of the machine: an array of that size, scaled in place.
void scb_scaling(benchmark::State& state) {
  Vector<double> x = Vector<double>::Constant(many_tokens * many_positions, 1e-5);
  double* const entry = x.data();
  for ([[maybe_unused]] auto _ : state) {
#pragma omp parallel for simd schedule(static)
    for (Index i = 0; i < x.size(); ++i) entry[i] *= 1.000001;
    benchmark::ClobberMemory();
  }
}

/// Calls draw(stream) `parts` times, shared by the threads.
void in_parts(std::uint32_t parts, const auto& draw) {
#pragma omp parallel for schedule(static)
  for (std::uint32_t i = 0; i < parts; ++i) {
    Stream stream(1, i, 0);
    draw(stream);
  }
}

/// The other limit: as many normals as the noisy step takes, which do not leave the first cache.
void scb_normals(benchmark::State& state) {
  constexpr std::size_t part = 1024;
  constexpr std::uint32_t parts = many_tokens * many_positions / part;
  for ([[maybe_unused]] auto _ : state) {
    in_parts(parts, [](Stream& stream) {
      std::array<double, part> numbers;
      stream.normals(numbers);
      benchmark::DoNotOptimize(numbers.data());
      benchmark::ClobberMemory();
    });
  }
  state.counters["items"] = part * parts;
}

/// The tokens of a batch of 64 at N = 20, T = 5000, without the rest of a step.
void scb_tokens(benchmark::State& state) {
  const SequenceSymbols symbols(training(20, 10).bigrams.stationary, 5000,
                                SequenceSymbols::fastest(20, 5000));
  const auto count = static_cast<std::size_t>(symbols.count());
  for ([[maybe_unused]] auto _ : state) {
    in_parts(64, [&](Stream& stream) {
      std::array<std::uint32_t, 5056> bits;
      std::array<std::uint16_t, 5000> drawn;
      stream.fill({bits.data(), count});
      symbols.draw({bits.data(), count}, {drawn.data(), count});
      benchmark::DoNotOptimize(drawn.data());
      benchmark::ClobberMemory();
    });
  }
  state.counters["items"] = 64 * 5000;
}

/// exp of an array in the first cache, as Eigen has it.
void exponentials(benchmark::State& state) {
  constexpr Index part = 1024;
  for ([[maybe_unused]] auto _ : state) {
    in_parts(64, [](Stream& stream) {
      Eigen::Array<double, part, 1> x = Eigen::Array<double, part, 1>::LinSpaced(-8, 0);
      x += stream.uniform();
      Eigen::Array<double, part, 1> y;
      for (int i = 0; i < 64; ++i) {
        y = x.exp();
        benchmark::DoNotOptimize(y.data());
        benchmark::ClobberMemory();
      }
    });
  }
  state.counters["items"] = part * 64 * 64;
}

/// One step at N = range(0), T = 1e9.
void scb_lumped(benchmark::State& state) {
  const std::size_t before = bench::bytes_in_use();
  bench::forget_peak();
  const Training<double> made = training(state.range(0), 1'000'000'000);
  const AnyRung<double> rung = forget_type(LumpedDescent(made, noise_at_solution(made.bigrams)));
  Vector<double> x = rung.initial;
  std::uint64_t step = 0;
  for ([[maybe_unused]] auto _ : state) {
    Stream stream(1, 0, step++);
    rung.draws.step(x, 0.01, stream, 1'000'000'000);
  }
  state.counters["peak_bytes"] = static_cast<double>(bench::peak_bytes() - before);
  state.counters["products"] = static_cast<double>(state.range(0) * (state.range(0) + 2));
}

/// 64 steps of mean and covariance from the start.
void take_moment_steps(const Prediction& prediction, Index batch) {
  WalkRequest request;
  request.step_size = 0.01;
  request.steps = 64;
  request.batch = batch;
  prediction.rows(request, nullptr);
}

/// Of these the covariance in full, at 3 tokens and range(0) positions.
void scb_moments_full(benchmark::State& state) {
  const AnyRung<double> sgd = forget_type(SequenceSgd<double>(training(3, state.range(0))));
  const Prediction prediction = predict_moments(sgd, "scb");
  for ([[maybe_unused]] auto _ : state) take_moment_steps(prediction, 10'000);
  state.counters["numbers"] = static_cast<double>(sgd.dimension);
}

/// The same at N = range(0), T = range(1), in the span of the adjoints.
void scb_moments_lumped(benchmark::State& state) {
  const std::size_t before = bench::bytes_in_use();
  bench::forget_peak();
  const Prediction prediction = lumped_moments(training(state.range(0), state.range(1)));
  for ([[maybe_unused]] auto _ : state) take_moment_steps(prediction, 10'000'000'000);
  state.counters["peak_bytes"] = static_cast<double>(bench::peak_bytes() - before);
}

/// What has to be done before the first step.
void scb_moments_set_up(benchmark::State& state) {
  const Training<double> made = training(state.range(0), 1'000'000'000);
  for ([[maybe_unused]] auto _ : state) {
    const LumpedMoments law(made);
    benchmark::DoNotOptimize(law.dimension());
  }
}

BENCHMARK(scb_sgd)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(scb_sgd_size)
    ->Args({5, 2000})
    ->Args({5, 20'000})
    ->Args({20, 5000})
    ->Args({20, 50'000})
    ->Args({100, 5000})
    ->Args({100, 50'000})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(scb_noisy)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(scb_normals)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(scb_tokens)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(exponentials)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(scb_scaling)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(scb_lumped)->Arg(125)->Arg(250)->Arg(500)->Unit(benchmark::kMillisecond);
BENCHMARK(scb_moments_full)->Arg(30)->Arg(60)->Arg(120)->Unit(benchmark::kMillisecond);
BENCHMARK(scb_moments_lumped)
    ->ArgsProduct({{3, 50, 500}, {1000, 1'000'000, 1'000'000'000}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(scb_moments_set_up)->Arg(125)->Arg(250)->Arg(500)->Unit(benchmark::kMillisecond);

}  // namespace
