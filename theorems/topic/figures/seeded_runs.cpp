#include "theorems/topic/figures/seeded_runs.hpp"

#include "popgrad/rungs/rung.hpp"

namespace popgrad::topic::figures {

std::vector<Trajectory<double>> seeded_runs(
    const std::function<AnyRung<double>(std::uint64_t seed)>& made, const WalkRequest& walk_request,
    std::uint32_t seeds, const FigureRequest& request) {
  std::vector<Trajectory<double>> runs(seeds);
  request.each(seeds, [&](std::size_t i) {
    WalkRequest own = walk_request;
    own.seed = request.seed;
    own.first_run = static_cast<std::uint32_t>(i);
    own.runs = 1;
    own.jobs = 1;
    const AnyRung<double> rung = made(request.seed + i);
    runs[i] = walk(rung, rung.initial, own).front();
    require_usable(runs[i].outcome, request.name);
  });
  return runs;
}

MeanInterval interval_over(const std::vector<Trajectory<double>>& runs, std::size_t save,
                           const std::function<double(const std::vector<double>& row)>& number) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const Trajectory<double>& run : runs) values.push_back(number(run.rows[save]));
  return mean_interval(values, 0.05);
}

MeanInterval interval_over(const std::vector<Trajectory<double>>& runs,
                           const std::vector<std::string>& columns, const std::string& column,
                           std::size_t save) {
  const std::size_t place = place_of(columns, column);
  return interval_over(runs, save, [&](const std::vector<double>& row) { return row[place]; });
}

std::function<double(const std::vector<double>&)> same_less_other(
    const std::vector<std::string>& columns, const std::string& kind, const char* own,
    double words) {
  return [words, own_word = place_of(columns, kind + own),
          same = place_of(columns, kind + "same_topic"),
          other = place_of(columns, kind + "other_topic")](const std::vector<double>& row) {
    return (row[own_word] + (words - 1) * row[same]) / words - row[other];
  };
}

}  // namespace popgrad::topic::figures
