/// What JoMA's rungs cost: full-batch descent, the population flow, the JoMA flow.
/// The environment names the instance of the descent: POPGRAD_INSTANCE=FILE.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "allocations.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace {

using namespace popgrad;

/// Full-batch SGD of the invariant figure from a file, as `popgrad run joma gd` does it.
void full_batch_descent(benchmark::State& state) {
  const char* const path = std::getenv("POPGRAD_INSTANCE");
  std::ifstream file(path == nullptr ? "" : path);
  if (!file) {
    state.SkipWithError("POPGRAD_INSTANCE names no file");
    return;
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Parameters parameters = Parameters::parse("joma", text, path);
  parameters.set("attention", "softmax");
  parameters.set("phi", "linear");
  const AnyRung<double> rung = find_model("joma").rung("gd", parameters, 1);
  WalkRequest request;
  request.step_size = 0.1;
  request.steps = 2000;
  request.save_steps = {0, request.steps};
  request.jobs = 1;
  Trajectory<double> run;
  for ([[maybe_unused]] auto _ : state) run = walk(rung, rung.initial, request).front();
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i] == "loss" || run.columns[i] == "attention_entropy") {
      state.counters[run.columns[i]] = run.rows.back()[i];
    }
  }
}

/// One evaluation of the population field at M_C = range(0), K = C = range(1).
template <joma::Attention attention>
void population_flow(benchmark::State& state) {
  const Index tokens = state.range(0);
  const Index units = state.range(1);
  joma::ClassInstance<double> instance;
  instance.attention = attention;
  instance.temperature = 0.5;
  instance.token_law.resize(tokens, units);
  Stream stream(1, 0, 0);
  for (Index c = 0; c < units; ++c) {
    for (Index l = 0; l < tokens; ++l) instance.token_law(l, c) = stream.uniform();
    instance.token_law.col(c) /= instance.token_law.col(c).sum();
  }
  instance.class_law = Vector<double>::Constant(units, 1.0 / static_cast<double>(units));
  instance.weights.resize(tokens + 1, units);
  for (double& weight : instance.weights.reshaped()) weight = stream.normal();
  instance.logits = Vector<double>::Zero(tokens);
  const joma::PopulationFlow<double> flow(instance);
  const Vector<double> x = flow.initial();
  Vector<double> dx(x.size());
  flow.rhs(x, dx, 0.0);
  const std::size_t before = bench::allocations();
  for ([[maybe_unused]] auto _ : state) {
    flow.rhs(x, dx, 0.0);
    benchmark::DoNotOptimize(dx.data());
  }
  const auto evaluations = static_cast<double>(state.iterations());
  state.counters["allocations"] = static_cast<double>(bench::allocations() - before) / evaluations;
  state.counters["products"] = static_cast<double>(tokens * units * units);
}

/// The JoMA flow with range(0) weights to time 2, relative tolerance 1e-8.
void joma_flow(benchmark::State& state) {
  const Index d = state.range(0);
  const auto vectors = [d](std::size_t bytes) {
    return static_cast<double>(bytes) / (static_cast<double>(d) * sizeof(double));
  };
  joma::ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = 3;
  instance.target.resize(d, 1);
  Stream stream(1, 0, 0);
  for (double& mu : instance.target.reshaped()) mu = 1 + 3 * stream.uniform();
  instance.start = Matrix<double>::Constant(d, 1, 0.05);
  instance.logits = Vector<double>::Zero(d);
  const std::size_t without = bench::bytes_in_use();
  const AnyRung<double> rung = forget_type(joma::ReducedFlow<double>(std::move(instance)));
  state.counters["rung_vectors"] = vectors(bench::bytes_in_use() - without);

  Vector<double> slope(d);
  rung.field.value(rung.initial, slope, 0.0);
  const std::size_t calls = bench::allocations();
  for (int i = 0; i < 10; ++i) rung.field.value(rung.initial, slope, 0.0);
  state.counters["allocations"] = static_cast<double>(bench::allocations() - calls) / 10;
  slope.resize(0);

  SolveRequest<double> request;
  request.end = 2;
  request.save_at = {0, 2};
  request.relative_tolerance = request.absolute_tolerance = 1e-8;
  request.method = Method::dopri5;
  request.find_events = false;
  Outcome outcome;
  std::size_t most = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::size_t held = bench::bytes_in_use();
    bench::forget_peak();
    outcome = solve(rung, request).outcome;
    most = bench::peak_bytes() - held;
  }
  if (!outcome.usable()) state.SkipWithError(describe(outcome.ending).c_str());
  const auto steps = static_cast<double>(outcome.steps_taken + outcome.steps_rejected);
  state.counters["steps"] = steps;
  state.counters["evaluations"] = static_cast<double>(outcome.evaluations);
  state.counters["vectors"] = static_cast<double>(most) / (static_cast<double>(d) * sizeof(double));
}

BENCHMARK(full_batch_descent)->Unit(benchmark::kMillisecond);
/// M_C grows, then K.
void sizes(benchmark::internal::Benchmark* family) {
  for (const long tokens : {20, 40, 80, 160}) family->Args({tokens, 20});
  for (const long units : {40, 80, 160}) family->Args({20, units});
  family->Unit(benchmark::kMicrosecond);
}
BENCHMARK(population_flow<joma::Attention::softmax>)
    ->Name("population_flow<softmax>")
    ->Apply(sizes);
BENCHMARK(population_flow<joma::Attention::exp>)->Name("population_flow<exp>")->Apply(sizes);
BENCHMARK(joma_flow)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

}  // namespace
