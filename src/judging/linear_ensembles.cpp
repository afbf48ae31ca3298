#include "judging/linear_ensembles.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/stoppable_step.hpp"
#include "popgrad/fluctuations/momentum_pair.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {
namespace {

constexpr double relative_change = 0.05;
// Of a prediction: its cost goes with the cube of either, a few seconds at the most.
constexpr Index largest_state = 160;
constexpr std::size_t most_rows = 640;
constexpr Index first_order_runs = 256;
constexpr Index runs_of_a_shift = 256;  // the same draws on both sides: few are enough for a mean
// Further on than seeds are given by hand.
constexpr std::uint64_t seed_of_fits = 0x5DEECE66DULL;

struct Task {
  AnyRung<double> rung;
  LinearRunsRequest request;
  LinearEnsembles::Runs* made;
};

void run(std::vector<Task>& tasks, int jobs, const Report& report) {
  std::exception_ptr failure;
  std::size_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(jobs)
  for (Task& task : tasks) {
    try {
      const StoppableStep stoppable;
      throw_if_step_stopped();
      *task.made = linear_runs(task.rung, task.request);
    } catch (...) {
#pragma omp critical(popgrad_linear_ensembles)
      failure = std::current_exception();
    }
#pragma omp critical(popgrad_linear_ensembles_report)
    static_cast<void>(report(static_cast<double>(++done) / static_cast<double>(tasks.size())));
  }
  if (failure) std::rethrow_exception(failure);
}

LinearRunsRequest request_of(const RunSetting& setting, Index runs, LinearOrder order,
                             std::uint64_t other_seed = 0) {
  const WalkRequest& steps = setting.steps;
  return {steps.step_size, setting.batch, steps.save_steps, runs, steps.seed + other_seed, order};
}

}  // namespace

double change_of(const Suspect& suspect) {
  if (suspect.kind == Suspect::Kind::choice) return 1;
  return suspect.assumed == 0 ? relative_change : relative_change * std::fabs(suspect.assumed);
}

std::string LinearEnsembles::why_not(std::size_t observables) const {
  if (claimed_.steps.sampled.any())
    return "the law of a column of samples is known by sampling only";
  if (observables * claimed_.steps.save_steps.size() > most_rows) {
    return fmt::format("more than {} numbers are logged", most_rows);
  }
  const Suspect as_said = suspects(claimed_, {}).front();
  if (rung_of(setting_with(claimed_, as_said, as_said.assumed), true)) return {};
  return fmt::format("the law of one draw is not known, or the state has more than {} numbers",
                     largest_state);
}

void LinearEnsembles::make(const std::vector<Suspect>& suspects, Index second_order_runs,
                           Index runs_of_a_law, const Report& report) {
  const Suspect& as_said = suspects.front();
  const RunSetting setting = setting_with(claimed_, as_said, as_said.assumed);
  const std::optional<AnyRung<double>> rung = rung_of(setting, true);
  if (!rung) return;
  std::vector<Task> tasks;
  // The longest first, so that threads end together.
  tasks.push_back({*rung, request_of(setting, second_order_runs, LinearOrder::second), &second_});
  tasks.push_back(
      {rung->clone(), request_of(setting, first_order_runs, LinearOrder::first), &first_});
  for (const Suspect& suspect : suspects) {
    try {
      const RunSetting other =
          setting_with(claimed_, suspect, suspect.assumed + change_of(suspect));
      if (auto changed = rung_of(other, true)) {
        tasks.push_back(
            {std::move(*changed),
             request_of(other, suspect.changes_fluctuation() ? runs_of_a_law : runs_of_a_shift,
                        LinearOrder::second),
             &changed_[suspect.label()]});
      }
    } catch (const InputError&) {
      // Not a setting of these steps: for whoever looks for a fault there to say.
    }
  }
  const int jobs = claimed_.steps.jobs > 0 ? claimed_.steps.jobs : omp_get_num_procs();
  run(tasks, jobs, report);
}

const LinearEnsembles::Runs* LinearEnsembles::changed(const Suspect& suspect) const {
  const auto own = changed_.find(suspect.label());
  return own == changed_.end() ? nullptr : &own->second;
}

std::optional<LinearEnsembles::Runs> LinearEnsembles::with(const Suspect& suspect, double value,
                                                           Index runs, LinearOrder order) const {
  if (suspect.in_training_only) return std::nullopt;  // a rung has one observer
  const RunSetting setting = setting_with(claimed_, suspect, value);
  const std::optional<AnyRung<double>> rung = rung_of(setting, false);
  if (!rung) return std::nullopt;
  return linear_runs(*rung, request_of(setting, runs, order, seed_of_fits));
}

std::optional<AnyRung<double>> LinearEnsembles::rung_of(const RunSetting& setting,
                                                        bool same_draws) const {
  if (fresh_starts_) return std::nullopt;
  const auto& [steps, parameters, batch] = setting;
  const Optimiser::Rule assumed = claimed_.steps.optimiser.rule;
  const Optimiser::Rule rule = steps.optimiser.rule;
  if (steps.batch < 1 || assumed == Optimiser::Rule::adam || rule == Optimiser::Rule::adam) {
    return std::nullopt;
  }
  // Draws are the same where the state has as many numbers.
  const bool as_pair = assumed == Optimiser::Rule::momentum;
  const bool with_momentum = rule == Optimiser::Rule::momentum;
  if (same_draws && with_momentum && !as_pair) return std::nullopt;
  // What is no momentum is for the steps themselves to refuse.
  if (with_momentum && !(steps.optimiser.momentum >= 0 && steps.optimiser.momentum < 1)) {
    return std::nullopt;
  }
  AnyRung<double> sgd = claimed_.model.rung(claimed_.sampled.name, parameters, claimed_.steps.seed);
  if (!sgd.draws.covariance) return std::nullopt;
  if (as_pair || with_momentum) {
    sgd = momentum_pair(sgd, with_momentum ? steps.optimiser.momentum : 0, steps.step_size);
  }
  if (sgd.dimension > largest_state) return std::nullopt;
  return sgd;
}

}  // namespace popgrad
