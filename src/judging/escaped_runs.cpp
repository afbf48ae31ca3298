#include "judging/escaped_runs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "popgrad/judging/compare.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad {
namespace {

constexpr double least_reach = 8;       // in deviations
constexpr double least_gap = 2;         // times the reach of the other runs
constexpr std::size_t of_so_many = 10;  // at most one

struct Reach {
  double distance = 0;  // in deviations
  std::size_t column = 0, row = 0;
};

// Of every run, the largest distance from the median of a row, over rows; values[row][run] may be NaN.
void add_reach(const std::vector<std::vector<double>>& values, std::size_t column, double floor,
               std::vector<Reach>& reach) {
  constexpr double to_deviation = 1.4826;  // of a normal law, from the median distance
  for (std::size_t row = 0; row < values.size(); ++row) {
    std::vector<double> known;
    std::copy_if(values[row].begin(), values[row].end(), std::back_inserter(known),
                 [](double x) { return std::isfinite(x); });
    if (known.empty()) continue;
    const double centre = median(known);
    for (double& x : known) x = std::fabs(x - centre);
    const double unit = to_deviation * median(known);
    if (!(unit > floor)) continue;
    for (std::size_t run = 0; run < reach.size(); ++run) {
      const double distance = std::fabs(values[row][run] - centre) / unit;
      if (distance > reach[run].distance) reach[run] = {distance, column, row};
    }
  }
}

// Runs that reach further than this have escaped; none: infinity.
double bound_of_escape(const std::vector<Reach>& reach) {
  std::vector<double> sorted;
  for (const Reach& each : reach) sorted.push_back(each.distance);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (std::size_t k = sorted.size() / of_so_many; k > 0; --k) {
    const double bound = std::max(least_reach, least_gap * sorted[k]);
    if (sorted[k - 1] > bound) return bound;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

Escapes escapes(const std::vector<RecordedRun>& recorded,
                const std::vector<Trajectory<double>>& ensemble, double resolution, double chance) {
  std::vector<const RecordedRun*> single;
  for (const RecordedRun& run : recorded) {
    if (run.averaged == 1) single.push_back(&run);
  }
  Escapes made;
  made.own.assign(ensemble.size(), false);
  const std::vector<std::string>& columns = recorded.front().columns;
  std::vector<Reach> reach(ensemble.size() + single.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::vector<std::vector<double>> values(ensemble.front().t.size());
    double size = 0;
    for (const Trajectory<double>& run : ensemble) {
      const std::vector<double> own = curve(run, columns[c]);
      for (std::size_t row = 0; row < values.size(); ++row) values[row].push_back(own[row]);
    }
    for (const auto& row : values) size = std::max(size, std::fabs(median(row)));
    for (const RecordedRun* run : single) {
      for (std::size_t row = 0; row < values.size(); ++row) {
        values[row].push_back(run->values[c].at(row));
      }
    }
    const double floor = std::max(digits_of(recorded, c).unit_at(size) / 2, resolution * size);
    add_reach(values, c, floor, reach);
  }
  const double bound = bound_of_escape(reach);
  const auto escaped = [&](const Reach& each) { return each.distance > bound; };
  const auto count = [&](auto from, auto to) {
    return static_cast<unsigned>(std::count_if(from, to, escaped));
  };
  const auto first_recorded = reach.begin() + static_cast<std::ptrdiff_t>(ensemble.size());
  std::transform(reach.begin(), first_recorded, made.own.begin(), escaped);
  EscapedRuns& found = made.found;
  const unsigned own = count(reach.begin(), first_recorded),
                 seen = count(first_recorded, reach.end());
  found.own = own;
  found.recorded = seen;
  found.chance = hypergeometric_tail(seen, own + seen, static_cast<unsigned>(single.size()),
                                     static_cast<unsigned>(reach.size()));
  found.departs = found.own > 0 && found.chance < chance;
  const Reach& furthest =
      *std::max_element(reach.begin(), reach.end(),
                        [](const Reach& a, const Reach& b) { return a.distance < b.distance; });
  found.column = columns[furthest.column];
  found.time = ensemble.front().t.at(furthest.row);
  return made;
}

}  // namespace popgrad
