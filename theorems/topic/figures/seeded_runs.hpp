#pragma once
/// Runs of SGD whose start and documents a seed draws, and intervals over them.

#include <functional>
#include <string>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/scalars/vector.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::topic::figures {

/// Run i is of `made(request.seed + i)` and draws documents of its own; `seeds` runs share
/// `request.jobs` threads. `walk.seed`, `runs` and `jobs` are set here. Throws std::runtime_error
/// where a run does not reach its end.
std::vector<Trajectory<double>> seeded_runs(
    const std::function<AnyRung<double>(std::uint64_t seed)>& made, const WalkRequest& walk,
    std::uint32_t seeds, const FigureRequest& request);

/// Mean of a column over runs at one save, with its 95 % interval.
MeanInterval interval_over(const std::vector<Trajectory<double>>& runs,
                           const std::vector<std::string>& columns, const std::string& column,
                           std::size_t save);
/// The same of a number that a row of the columns makes.
MeanInterval interval_over(const std::vector<Trajectory<double>>& runs, std::size_t save,
                           const std::function<double(const std::vector<double>& row)>& number);

/// Of a row: the mean of a kind of columns ("attention_") over the topic, with `own` for the own
/// word, less that over other topics.
std::function<double(const std::vector<double>& row)> same_less_other(
    const std::vector<std::string>& columns, const std::string& kind, const char* own,
    double words);

}  // namespace popgrad::topic::figures
