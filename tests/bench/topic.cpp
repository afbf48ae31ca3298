/// What the topic model costs: a grid of the landscape, a certified minimum, a step of the flow.

#include <benchmark/benchmark.h>

#include <cmath>

#include "popgrad/solving/solve.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace {

using namespace popgrad;
using namespace popgrad::topic;

/// 1000 x 1000 points, alpha in [0, 200], beta in [0, 4], diagonal W_V; the landscape made anew.
void topic_grid(benchmark::State& state) {
  const TopicLaw<double> law{10, 4, 10, 0.15, 0.1, 0.1};
  const std::vector<double> alphas = equally_spaced(0.0, 200.0, 1000);
  const std::vector<double> betas = equally_spaced(0.0, 4.0, 1000);
  double least = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::vector<double> values =
        on_grid(landscape(law, diagonal_value(law)), alphas, betas, 2);
    benchmark::DoNotOptimize(values.data());
    least = *std::min_element(values.begin(), values.end());
  }
  state.counters["least"] = least;
}

/// The minimum to 1e-9, range(0): block-wise, else diagonal W_V.
void topic_certificate(benchmark::State& state) {
  const TopicLaw<Rational> law{10, 4, 10, Rational(3) / 20, Rational(1) / 10, Rational(1) / 10};
  const auto made =
      landscape(law, state.range(0) == 1 ? minimum_norm_value(law) : diagonal_value(law));
  for ([[maybe_unused]] auto _ : state) {
    const Certificate c = certify_minimum(law, made, {0, 800, 0, state.range(0) == 1 ? 800 : 20},
                                          Rational(1) / 1'000'000'000);
    state.counters["boxes"] = static_cast<double>(c.boxes);
  }
}

/// One gradient at T = 10, tau = 4, v = 10, d_a = 100, at entries that the peer can make as well.
void topic_population(benchmark::State& state) {
  Training training;
  training.law = {10, 4, 10, 0.15, 0.1, 0.1};
  const PopulationFlow flow(training);
  Vector<double> x(flow.dimension());
  for (Index i = 0; i < x.size(); ++i) x[i] = 0.3 * std::sin(1 + 0.7 * static_cast<double>(i));
  Vector<double> slope(x.size());
  for ([[maybe_unused]] auto _ : state) flow.rhs(x, slope, 0.0);
  state.counters["loss"] = flow.loss(x);
  state.counters["slope"] = slope.norm();
}

BENCHMARK(topic_grid)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(topic_certificate)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(topic_population)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
