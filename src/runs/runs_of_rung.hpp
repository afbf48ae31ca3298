#pragma once
/// Whole runs of a rung, with their regimes or without, and what became of them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/rungs/model.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "runs/run.hpp"

namespace popgrad {

struct RunChoices {
  bool events = true;  ///< and regimes; false for what asks for rows only
  /// Every run has an instance of its own seed, and so a start of its own.
  bool fresh_starts = false;
  /// Parameters of the rung whose observables the rows have, where these are not of the steps; of a state of as many
  /// numbers.
  std::optional<Parameters> observed = {};
};

/// Of descent, SGD or moments, seeded by the request. Interrupted ones have the rows made so far.
std::vector<Trajectory<double>> runs_of_walk(const Model& model, const RungInfo& info,
                                             const Parameters& parameters, WalkRequest request,
                                             const RunChoices& choices, const Report& report);

/// Of a flow or a closed form, with events if the request finds them; likewise.
Trajectory<double> run_of_flow(const Model& model, const RungInfo& info,
                               const Parameters& parameters, std::uint64_t seed,
                               SolveRequest<double> request, const Report& report);

/// The steps of this learning rate at these times. Throws InputError for a time between two steps.
std::vector<std::uint64_t> steps_at(const std::vector<double>& times, double learning_rate);

/// What became of the first run that did not reach its end; empty if all did.
std::string failure_of(const std::vector<Trajectory<double>>& runs);
/// Was one of them?
bool was_interrupted(const std::vector<Trajectory<double>>& runs);
/// The runs given. Throws Stopped where one was interrupted, for what needs all of them.
std::vector<Trajectory<double>> uninterrupted(std::vector<Trajectory<double>> runs);
/// Throws Failure where a run did not reach its end.
void require_ends(const std::vector<Trajectory<double>>& runs);

}  // namespace popgrad
