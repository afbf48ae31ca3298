/// What the rungs of scan and snap cost: SGD on Syn-Medium, the population flow of the growth
/// instance with our solver and with CVODE.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "allocations.hpp"
#include "cvode.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace {

using namespace popgrad;
using namespace popgrad::scan_snap;

/// 100 steps of SGD with momentum, 10 queries, 20 next tokens, T = 128, batch 128, one thread.
void syn_medium_sgd(benchmark::State& state) {
  TrainingInstance<double> instance;
  instance.classes = syn_medium<double>(10);
  instance.decoder_rate = 2;
  instance.start = Start::uniform;
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(instance));
  WalkRequest request;
  request.step_size = 1;
  request.steps = 100;
  request.save_steps = {request.steps};
  request.batch = 128;
  request.jobs = 1;
  request.optimiser.rule = Optimiser::Rule::momentum;
  Trajectory<double> run;
  for ([[maybe_unused]] auto _ : state) {
    run = walk(rung, rung.initial, request).front();
    ++request.seed;
  }
  double entropy = 0;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i].starts_with("distinct_entropy_")) entropy += run.rows.back()[i] / 20;
  }
  state.counters["distinct_entropy"] = entropy;
  state.counters["steps"] = 100;
}

TrainingInstance<double> growth() {
  TrainingInstance<double> instance;
  instance.classes = growth_classes<double>();
  instance.attention_rate = 0.5;
  return instance;
}

constexpr double growth_end = 700;
constexpr double relative = 1e-8;
constexpr double absolute = 1e-10;

void tell_logits(benchmark::State& state, const PopulationFlow<double>& flow,
                 const Vector<double>& x) {
  const Vector<double> z = flow.logits_at(x);
  state.counters["z_common"] = z[0];
  state.counters["z_distinct"] = z[1];
}

/// To t = 700 at rtol 1e-8; range(0) is the method.
void growth_flow(benchmark::State& state) {
  const PopulationFlow<double> flow(growth());
  const AnyRung<double> rung = forget_type(flow);
  SolveRequest<double> request;
  request.end = growth_end;
  request.save_at = {growth_end};
  request.relative_tolerance = relative;
  request.absolute_tolerance = absolute;
  request.find_events = false;
  request.method = static_cast<Method>(state.range(0));
  Trajectory<double> run;
  for ([[maybe_unused]] auto _ : state) run = solve(rung, request);
  if (!run.outcome.usable()) state.SkipWithError(describe(run.outcome.ending).c_str());
  state.counters["steps"] = static_cast<double>(run.outcome.steps_taken);
  state.counters["evaluations"] = static_cast<double>(run.outcome.evaluations);
  tell_logits(state, flow, run.last_state);
}

void growth_flow_cvode(benchmark::State& state) {
  const PopulationFlow<double> flow(growth());
  const auto rhs = [&](const Vector<double>& x, Vector<double>& dx) { flow.rhs(x, dx, 0.0); };
  bench::CvodeResult result;
  for ([[maybe_unused]] auto _ : state) {
    result = bench::integrate_with_cvode(rhs, flow.initial(), growth_end, relative, absolute,
                                         state.range(0) != 0);
  }
  state.counters["steps"] = static_cast<double>(result.steps);
  state.counters["evaluations"] = static_cast<double>(result.evaluations);
  tell_logits(state, flow, result.state);
}

/// One evaluation with range(0) classes of 100 tokens each, half of them shared: nnz(P) C grows as
/// the square of the classes.
void population_field(benchmark::State& state) {
  const Index k = state.range(0);
  Matrix<double> law = Matrix<double>::Zero(k, 50 + 50 * k);
  for (Index n = 0; n < k; ++n) {
    law.row(n).head(50).setConstant(0.01);
    law.row(n).segment(50 + 50 * n, 50).setConstant(0.01);
  }
  TrainingInstance<double> instance;
  instance.classes = classes_from_matrix<double>(
      law, std::vector<Index>(static_cast<std::size_t>(k), 0), law.cols() + 1);
  const PopulationFlow<double> flow(instance);
  const Vector<double> x = flow.initial();
  Vector<double> dx(x.size());
  flow.rhs(x, dx, 0.0);
  const std::size_t before = bench::allocations();
  for ([[maybe_unused]] auto _ : state) {
    flow.rhs(x, dx, 0.0);
    benchmark::DoNotOptimize(dx.data());
  }
  state.counters["allocations"] =
      static_cast<double>(bench::allocations() - before) / static_cast<double>(state.iterations());
  state.counters["products"] =
      static_cast<double>(instance.classes.entries() * flow.layout().columns());
}

/// As many classes as asked for of 300 tokens each, drawn by Zipf's law from 10,000; five classes share
/// two next tokens. So a row of Y has 2/5 of a column a class, and tokens are as often shared as in text.
TrainingInstance<double> text(Index count) {
  constexpr Index tokens = 10'000;
  constexpr std::size_t drawn = 300;
  Vector<double> frequency(tokens);
  for (Index l = 0; l < tokens; ++l) frequency[l] = 1 / static_cast<double>(l + 1);
  frequency /= frequency.sum();
  const AliasTable zipf({frequency.data(), static_cast<std::size_t>(tokens)});
  TrainingInstance<double> instance;
  SequenceClasses<double>& classes = instance.classes;
  classes.tokens = tokens;
  classes.first = {0};
  std::vector<double> law;
  for (Index n = 0; n < count; ++n) {
    std::vector<std::uint32_t> counts(tokens, 0);
    Stream(1, 0, static_cast<std::uint64_t>(n)).count(zipf, drawn, counts);
    for (Index l = 0; l < tokens; ++l) {
      const std::uint32_t times = counts[static_cast<std::size_t>(l)];
      if (times == 0) continue;
      classes.token.push_back(l);
      law.push_back(static_cast<double>(times) / static_cast<double>(drawn));
    }
    classes.first.push_back(static_cast<Index>(law.size()));
    classes.query.push_back(n % 50);
    classes.next.push_back(2 * n / 5);
  }
  classes.law = Eigen::Map<Vector<double>>(law.data(), static_cast<Index>(law.size()));
  classes.weight = Vector<double>::Constant(count, 1 / static_cast<double>(count));
  return instance;
}

/// One evaluation on a text with range(0) classes.
void text_field(benchmark::State& state) {
  const TrainingInstance<double> instance = text(state.range(0));
  const PopulationFlow<double> flow(instance);
  Vector<double> x = flow.initial();
  Vector<double> dx(x.size());
  Stream stream(1, 0, 0);
  for (double& value : x) value = 0.1 * stream.normal();
  // The first evaluation gets its scratch space from the system.
  flow.rhs(x, dx, 0.0);
  for ([[maybe_unused]] auto _ : state) {
    flow.rhs(x, dx, 0.0);
    benchmark::DoNotOptimize(dx.data());
  }
  state.counters["products"] =
      static_cast<double>(instance.classes.entries() * flow.layout().columns());
  state.counters["columns"] = static_cast<double>(flow.layout().columns());
}

BENCHMARK(syn_medium_sgd)->Unit(benchmark::kMillisecond);
BENCHMARK(growth_flow)
    ->Arg(static_cast<int>(Method::automatic))
    ->Arg(static_cast<int>(Method::bulirsch_stoer))
    ->Unit(benchmark::kMillisecond);
BENCHMARK(growth_flow_cvode)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(text_field)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(population_field)->RangeMultiplier(2)->Range(16, 256)->Unit(benchmark::kMicrosecond);

}  // namespace
