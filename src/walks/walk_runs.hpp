#pragma once
/// The loop over the steps of a run and that over runs, for any state.
///
/// `Steps` says how one run moves:
///   State                              copied, with size()
///   columns()                          names of observables
///   step(State& x, State& last, step)  one step on; `last` keeps a state to go back to; false if numbers
///                                      stopped being finite
///   observe(x, t, row), divergence(x)  as AnyRung has them
///   in_double(x)                       the state as files have it, to go on from
///   memory()                           of the optimiser

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/base/stoppable_step.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::walking {

/// Beyond this, a copy of the state and a look for NaN would cost what a step costs.
inline constexpr Index largest_always_checked = 100'000;
constexpr std::uint64_t steps_between_checks(Index size) {
  return size <= largest_always_checked ? 16 : 256;
}
/// Steps between looks at the progress of a run: a look costs what a hundred numbers or draws do.
inline constexpr std::uint64_t steps_between_looks = 256;
constexpr std::uint64_t steps_between_reports(Index size, Index batch) {
  return size <= 1000 && batch <= 1000 ? steps_between_looks : 1;
}

/// Steps between looks at the request to stop: a step of a large state takes longer than a look.
constexpr std::uint64_t steps_between_stops(Index size) { return size <= 1000 ? 16 : 1; }

/// Throws std::invalid_argument for a step size, and for a momentum, out of range.
void check_request(const WalkRequest& request);
/// Throws InputError if the rows of all runs need more memory than may be taken.
void require_memory_of_rows(const WalkRequest& request, std::size_t columns, Index dimension);
/// Throws InputError unless the request is for plain steps.
void require_plain_steps(const WalkRequest& request);

/// Is a state of that size looked at after this step of a rung that takes its own?
inline bool is_checked(const WalkRequest& request, std::uint64_t step, Index size) {
  return size <= largest_always_checked || (step - request.start_step) % steps_between_looks == 0 ||
         step + 1 == request.steps;
}

/// One run; `stop` is polled, `done` counts steps of all runs.
template <class Steps>
Trajectory<double> single_run(Steps& steps, typename Steps::State x, const WalkRequest& request,
                              const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done,
                              const std::function<void()>& look) {
  Trajectory<double> result;
  result.columns = steps.columns();
  std::size_t next_save = 0;
  const auto diverged = [&] {
    const std::string why = steps.divergence(x);
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
    std::vector<double> row(result.columns.size());
    steps.observe(x, t, row);
    result.t.push_back(t);
    result.rows.push_back(std::move(row));
    if (request.keep_states) result.states.push_back(steps.in_double(x));
  };
  typename Steps::State last = x;
  std::uint64_t step = request.start_step;
  if (step == 0) save(0);
  for (; step < request.steps; ++step) {
    if ((step - request.start_step) % steps_between_reports(x.size(), request.batch) == 0) {
      look();
      if (stop.load(std::memory_order_relaxed)) {
        result.outcome.ending = Ending::interrupted;
        break;
      }
    }
    if ((step - request.start_step) % steps_between_stops(x.size()) == 0 && stop_asked()) {
      result.outcome.ending = Ending::interrupted;
      break;
    }
    if ((step - request.start_step) % steps_between_checks(x.size()) == 0 && diverged()) break;
    bool finite = true;
    try {
      const StoppableStep stoppable;
      finite = steps.step(x, last, step);
    } catch (const Stopped&) {
      result.outcome.ending = Ending::interrupted;
      break;
    }
    if (!finite) {
      x = last;
      if (!diverged()) result.outcome.ending = Ending::not_a_number;
      break;
    }
    ++done;
    if (due(step + 1) && diverged()) break;
    save(step + 1);
  }
  const bool good =
      result.outcome.ending == Ending::reached_end || result.outcome.ending == Ending::interrupted;
  result.last_state = steps.in_double(good ? std::move(x) : std::move(last));
  result.last_memory = steps.memory();
  result.outcome.t_reached = request.step_size * static_cast<double>(step);
  result.outcome.steps_taken = static_cast<std::size_t>(step - request.start_step);
  result.outcome.evaluations = result.outcome.steps_taken;
  return result;
}

/// All runs of a request, shared by its threads. `for_thread()` makes what a thread needs of its own,
/// one thread at a time; that makes a run, from its number, as `single_run` does.
template <class ForThread>
std::vector<Trajectory<double>> all_runs(const WalkRequest& request, const ForThread& for_thread) {
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
  const std::function<void()> look = [&] {
    if (!request.on_progress) return;
    const std::unique_lock<std::mutex> lock(reporting, std::try_to_lock);
    if (!lock.owns_lock()) return;
    if (request.on_progress(static_cast<double>(done.load()) / total)) stop = true;
  };
#pragma omp parallel num_threads(std::max(1, jobs))
  {
    // Rungs keep scratch space, so every thread works on a copy of its own.
    decltype(for_thread()) own;
#pragma omp critical(popgrad_clone_rung)
    own = for_thread();
#pragma omp for schedule(dynamic, 1)
    for (std::uint32_t k = 0; k < request.runs; ++k) {
      // Who follows the progress takes what there is, if only the start.
      if (!request.on_progress && stop_asked()) continue;
      try {
        runs[k] = own(request.first_run + k, stop, done, look);
      } catch (...) {
#pragma omp critical(popgrad_walk_failure)
        if (!failure) failure = std::current_exception();
        stop = true;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (!request.on_progress) throw_if_stopped();  // others expect whole runs
  return runs;
}

/// Makes one run of a thread.
using MakeRun = std::function<Trajectory<double>(std::uint32_t run, const std::atomic<bool>& stop,
                                                 std::atomic<std::uint64_t>& done,
                                                 const std::function<void()>& look)>;

/// One run of plain steps, however many the request has. Throws InputError for another optimiser.
template <class Steps>
Trajectory<double> one_run(Steps& steps, const typename Steps::State& initial,
                           WalkRequest request) {
  check_request(request);
  require_plain_steps(request);
  request.runs = 1;
  require_memory_of_rows(request, steps.columns().size(), initial.size());
  const MakeRun run = [&](std::uint32_t, const auto& stop, auto& done, const auto& look) {
    return single_run(steps, initial, request, stop, done, look);
  };
  return std::move(all_runs(request, [&] { return run; }).front());
}

}  // namespace popgrad::walking
