#include "popgrad/walk.hpp"

#include "popgrad/error.hpp"
#include "popgrad/rung.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <stdexcept>

namespace popgrad {
namespace {

/// Beyond this, a copy of the state and a look for NaN would cost what a step costs.
constexpr Index largest_always_checked = 100'000;
constexpr std::uint64_t steps_between_checks(Index size) {
  return size <= largest_always_checked ? 16 : 256;
}
/// Steps between looks at the progress of a run.
constexpr std::uint64_t steps_between_looks = 256;

// The memory of an optimiser and its step; Adam's two moments lie one behind the other.
class Stepper {
 public:
  Stepper(const WalkRequest& request, const AnyRung<double>& rung)
      : optimiser_(request.optimiser), step_size_(request.step_size), rates_(rung.rates) {
    const Index n = rung.dimension;
    const Index kept = optimiser_.rule == Optimiser::Rule::plain      ? 0
                       : optimiser_.rule == Optimiser::Rule::momentum ? n
                                                                      : 2 * n;
    memory_ = request.start_memory.size() == kept ? request.start_memory
                                                  : Vector<double>(Vector<double>::Zero(kept));
    if (rates_.size() == 0) rates_ = Vector<double>::Ones(n);
  }

  // x <- x + the step number `step` (from 0) along `field`.
  void advance(const Vector<double>& field, std::uint64_t step, Vector<double>& x) {
    switch (optimiser_.rule) {
      case Optimiser::Rule::plain:
        x += step_size_ * field;
        return;
      case Optimiser::Rule::momentum:
        memory_ = optimiser_.momentum * memory_ + field;
        x += step_size_ * memory_;
        return;
      case Optimiser::Rule::adam:
        break;
    }
    const double b1 = optimiser_.first_moment_decay;
    const double b2 = optimiser_.second_moment_decay;
    auto first = memory_.head(x.size()).array();
    auto second = memory_.tail(x.size()).array();
    const auto gradient = field.array() / rates_.array();
    first = b1 * first + (1 - b1) * gradient;
    second = b2 * second + (1 - b2) * gradient.square();
    const auto count = static_cast<double>(step + 1);
    const double first_bias = 1 - std::pow(b1, count);
    const double second_bias = 1 - std::pow(b2, count);
    x.array() += step_size_ * rates_.array() * (first / first_bias) /
                 ((second / second_bias).sqrt() + optimiser_.damping);
  }

  [[nodiscard]] const Vector<double>& memory() const { return memory_; }

 private:
  Optimiser optimiser_;
  double step_size_;
  Vector<double> rates_, memory_;
};

// One run; `stop` is polled, `done` counts steps of all runs.
Trajectory<double> single_run(const AnyRung<double>& rung, const Vector<double>& initial,
                              const WalkRequest& request, std::uint32_t run,
                              const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done,
                              const std::function<void()>& look) {
  Trajectory<double> result;
  result.columns = rung.columns;
  Vector<double> x = initial;
  Vector<double> slope(x.size());
  Stepper stepper(request, rung);
  std::size_t next_save = 0;
  const auto diverged = [&] {
    if (!rung.divergence) return false;
    const std::string why = rung.divergence(x, request.step_size, request.batch);
    if (why.empty()) return false;
    result.outcome.ending = Ending::diverged;
    result.outcome.notes.push_back(why);
    return true;
  };
  const auto due = [&](std::uint64_t step) {
    while (next_save < request.save_steps.size() && request.save_steps[next_save] < step) {
      ++next_save;
    }
    return next_save < request.save_steps.size() && request.save_steps[next_save] == step;
  };
  const auto save = [&](std::uint64_t step) {
    if (!due(step)) return;
    ++next_save;
    const double t = request.step_size * static_cast<double>(step);
    std::vector<double> row(rung.columns.size());
    rung.observe(x, t, row);
    result.t.push_back(t);
    result.rows.push_back(std::move(row));
    if (request.keep_states) result.states.push_back(x);
  };
  result.last_state = x;
  std::uint64_t step = request.start_step;
  if (step == 0) save(0);
  for (; step < request.steps; ++step) {
    if ((step - request.start_step) % steps_between_looks == 0) {
      look();
      if (stop.load(std::memory_order_relaxed)) {
        result.outcome.ending = Ending::interrupted;
        break;
      }
    }
    if ((step - request.start_step) % steps_between_checks(x.size()) == 0 && diverged()) break;
    const double t = request.step_size * static_cast<double>(step);
    if (rung.sample_step) {
      Stream stream(request.seed, run, step);
      const bool checked = x.size() <= largest_always_checked ||
                           (step - request.start_step) % steps_between_looks == 0 ||
                           step + 1 == request.steps;
      if (checked) result.last_state = x;
      rung.sample_step(x, request.step_size, stream, request.batch);
      if (checked && !x.allFinite()) {
        x = result.last_state;
        if (!diverged()) result.outcome.ending = Ending::not_a_number;
        break;
      }
      ++done;
      if (due(step + 1) && diverged()) break;
      save(step + 1);
      continue;
    }
    if (request.batch > 0) {
      Stream stream(request.seed, run, step);
      rung.sample_rhs(x, slope, stream, request.batch);
    } else {
      rung.rhs(x, slope, t);
    }
    if (!slope.allFinite() || !x.allFinite()) {
      x = result.last_state;
      if (!diverged()) result.outcome.ending = Ending::not_a_number;
      break;
    }
    result.last_state = x;
    stepper.advance(slope, step, x);
    ++done;
    if (due(step + 1) && diverged()) break;
    save(step + 1);
  }
  if (result.outcome.ending == Ending::reached_end) result.last_state = x;
  if (result.outcome.ending == Ending::interrupted) result.last_state = x;
  result.last_memory = stepper.memory();
  result.outcome.t_reached = request.step_size * static_cast<double>(step);
  result.outcome.steps_taken = static_cast<std::size_t>(step - request.start_step);
  result.outcome.evaluations = result.outcome.steps_taken;
  return result;
}

}  // namespace

std::vector<Trajectory<double>> walk(const AnyRung<double>& rung, const Vector<double>& initial,
                                     const WalkRequest& request) {
  if (!(request.step_size > 0)) throw std::invalid_argument("walk: the step size must be > 0");
  const double momentum = request.optimiser.momentum;
  if (request.optimiser.rule == Optimiser::Rule::momentum && !(momentum >= 0 && momentum < 1)) {
    throw std::invalid_argument("walk: momentum must be >= 0 and < 1");
  }
  if (rung.sample_step && request.optimiser.rule != Optimiser::Rule::plain) {
    throw InputError("--optimiser: this rung takes plain steps only; leave it out");
  }
  if (request.batch > 0 && !rung.sample_rhs && !rung.sample_step) {
    throw std::invalid_argument("walk: this rung draws no samples; use batch 0");
  }
  if (request.batch == 0 && !rung.rhs) {
    throw std::invalid_argument("walk: a closed form has no steps");
  }
  std::vector<Trajectory<double>> runs(request.runs);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done{0};
  std::exception_ptr failure;
  const double total =
      static_cast<double>(request.runs) * static_cast<double>(request.steps - request.start_step);
  const int jobs = std::min(request.jobs > 0 ? request.jobs : omp_get_num_procs(),
                            static_cast<int>(std::min<std::uint32_t>(request.runs, 1U << 20U)));
  // Whoever comes by reports, one at a time: no thread is sure to have work to the end.
  std::mutex reporting;
  const auto look = [&] {
    if (!request.on_progress) return;
    const std::unique_lock<std::mutex> lock(reporting, std::try_to_lock);
    if (!lock.owns_lock()) return;
    if (request.on_progress(static_cast<double>(done.load()) / total)) stop = true;
  };
#pragma omp parallel num_threads(std::max(1, jobs))
  {
    // Rungs keep scratch space, so every thread works on a copy of its own.
    AnyRung<double> own;
#pragma omp critical(popgrad_clone_rung)
    own = rung.clone();
    if (!rung.sample_rhs) own.sample_rhs = nullptr;
#pragma omp for schedule(dynamic, 1)
    for (std::uint32_t k = 0; k < request.runs; ++k) {
      try {
        runs[k] = single_run(own, initial, request, request.first_run + k, stop, done, look);
      } catch (...) {
#pragma omp critical(popgrad_walk_failure)
        if (!failure) failure = std::current_exception();
        stop = true;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  return runs;
}

std::vector<std::uint64_t> evenly_spread_steps(std::uint64_t steps, std::size_t count) {
  if (count < 2) throw std::invalid_argument("evenly_spread_steps: at least two points");
  std::vector<std::uint64_t> chosen;
  for (std::size_t k = 0; k < count; ++k) {
    const long double share = static_cast<long double>(k) / static_cast<long double>(count - 1);
    const auto step =
        static_cast<std::uint64_t>(std::llround(share * static_cast<long double>(steps)));
    if (chosen.empty() || chosen.back() != step) chosen.push_back(step);
  }
  return chosen;
}

}  // namespace popgrad
