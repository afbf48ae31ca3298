#pragma once
/// `run MODEL moments --correlations`: correlations over runs between all observables at all rows.

#include <cstdint>

#include "commands/options.hpp"
#include "io/run_record.hpp"

namespace popgrad::cli {

/// What can be told before anything is computed. Throws InputError.
void check_correlations(const CommonOptions& options, const RungInfo& info);

/// Of the rows that `moments` has, by linear_covariance (popgrad/fluctuations/linear_runs.hpp); not a number for what
/// does not fluctuate. Throws InputError where states or rows are too many.
PredictedCorrelations predicted_correlations(const Model& model, const Parameters& parameters,
                                             std::uint64_t seed, const WalkRequest& request,
                                             const Trajectory<double>& moments);

}  // namespace popgrad::cli
