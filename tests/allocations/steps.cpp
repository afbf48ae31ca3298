/// A step allocates nothing: of every rung of every model at its default instance, by itself and within
/// a walk. A program of its own, as it brings its own malloc, which counts.

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/allocations.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {
namespace {

constexpr std::uint64_t seed = 3;
/// Scratch has its size after the first steps, and threads are there.
constexpr std::uint64_t warm_up = 40;
constexpr std::uint64_t counted = 10;

/// Calls of malloc during steps `warm_up` to `warm_up + counted` of a run of single steps.
template <class Step>
std::size_t allocations_of(const Step& step) {
  for (std::uint64_t k = 0; k < warm_up; ++k) step(k);
  const std::size_t before = bench::allocations();
  for (std::uint64_t k = warm_up; k < warm_up + counted; ++k) step(k);
  return bench::allocations() - before;
}

/// The field, and draws of it, along Euler steps.
void check_field(const AnyRung<double>& rung, double eta, Index batch) {
  Vector<double> slope(rung.dimension);
  if (rung.field.value) {
    Vector<double> x = rung.initial;
    CHECK(allocations_of([&](std::uint64_t k) {
            rung.field.value(x, slope, eta * static_cast<double>(k));
            x += eta * slope;
          }) == 0);
  }
  if (rung.draws.sample && batch > 0) {
    Vector<double> x = rung.initial;
    CHECK(allocations_of([&](std::uint64_t k) {
            Stream stream(seed, 0, k);
            rung.draws.sample(x, slope, stream, batch);
            x += eta * slope;
          }) == 0);
  }
}

/// Steps that a rung takes itself.
void check_own_step(const AnyRung<double>& rung, double eta, Index batch) {
  Vector<double> x = rung.initial;
  CHECK(allocations_of([&](std::uint64_t k) {
          Stream stream(seed, 0, k);
          rung.draws.step(x, eta, stream, batch);
        }) == 0);
}

/// Calls of malloc during a walk of `steps` steps.
std::size_t allocations_of_walk(const AnyRung<double>& rung, WalkRequest request,
                                std::uint64_t steps) {
  request.steps = steps;
  const std::size_t before = bench::allocations();
  static_cast<void>(walk(rung, rung.initial, request));
  return bench::allocations() - before;
}

/// What a walk adds to them: some more steps of it take as many calls as none.
void check_walk(const AnyRung<double>& rung, WalkRequest request) {
  for (const Optimiser::Rule rule :
       {Optimiser::Rule::plain, Optimiser::Rule::momentum, Optimiser::Rule::adam}) {
    if (rung.draws.step && rule != Optimiser::Rule::plain) continue;
    request.optimiser.rule = rule;
    static_cast<void>(allocations_of_walk(rung, request, warm_up));
    const std::size_t fewer = allocations_of_walk(rung, request, warm_up);
    CHECK(allocations_of_walk(rung, request, warm_up + counted) - fewer == 0);
  }
}

void check(const RungInfo& info, const AnyRung<double>& rung) {
  WalkRequest request;
  request.step_size = walks(info) ? std::stod(info.default_step) : 1e-3;
  request.batch = samples(info) ? info.default_batch : 0;
  request.seed = seed;
  request.jobs = 1;
  // A row at the start, as a run has it, is where some scratch gets its size.
  std::vector<double> row(rung.observables.columns.size());
  rung.observables.read(rung.initial, 0.0, row);
  check_field(rung, request.step_size, request.batch);
  if (rung.draws.step) check_own_step(rung, request.step_size, request.batch);
  if (walks(info)) check_walk(rung, request);
}

// No rung, where there is none at the default instance.
std::optional<AnyRung<double>> rung_at_defaults(const Model& model, const RungInfo& info) {
  try {
    return model.rung(info.name, Parameters(model.name()), seed);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

TEST_CASE("a step of any rung allocates nothing at its default instance") {
  for (const Theory& theory : theories()) {
    const Model& model = *theory.model;
    for (const RungInfo& info : model.rungs()) {
      if (info.kind == RungKind::closed_form || info.kind == RungKind::moments) continue;
      DYNAMIC_SECTION("a step of " << model.name() << " " << info.name << " allocates nothing") {
        const std::optional<AnyRung<double>> rung = rung_at_defaults(model, info);
        if (!rung) continue;
          // As in an ensemble, whose runs are what threads share: a rung then works by itself, and OpenMP
          // needs no memory to share the work of one step. Both threads arrive first: a new one allocates
          // while it starts.
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp single
          check(info, *rung);
        }
      }
    }
  }
}

}  // namespace
}  // namespace popgrad
