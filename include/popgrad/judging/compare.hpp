#pragma once
/// Distances between trajectories of the same observables on one clock.

#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// How far two curves of one observable are apart.
struct Distance {
  std::string column;
  double largest = 0;  ///< max |a - b|
  double time_of_largest = 0;
  double relative = 0;  ///< max |a - b| / max |b|; 0 where b is 0 throughout
  double root_mean_square = 0;
};

/// Over the save points that both have (the shorter of the two). Throws std::invalid_argument if
/// the times differ.
Distance distance(const std::string& column, std::span<const double> times,
                  std::span<const double> a, std::span<const double> b);

/// One observable of a trajectory over its save points.
std::vector<double> curve(const Trajectory<double>& trajectory, const std::string& column);
/// The same of runs with equal save points, (save points x runs). Needs at least one run; throws
/// std::invalid_argument for runs of different lengths.
Matrix<double> curves(const std::vector<Trajectory<double>>& runs, const std::string& column);

/// Mean and standard deviation over runs at each save point.
struct Band {
  std::vector<double> mean, deviation;
  std::size_t runs = 0;
};
/// Over the save points that all runs reached. Needs at least one run; deviation is 0 for one.
Band band(const std::vector<Trajectory<double>>& runs, const std::string& column);

/// A recorded curve against a computed one whose clock is unknown up to a factor.
struct ClockFit {
  double factor = 1;  ///< computed time = factor * recorded time
  double root_mean_square = 0;
  double largest = 0;
  double time_of_largest = 0;  ///< recorded time
  double correlation = 0;      ///< Pearson, of the recorded and the computed values
};

/// Deviation at a given factor; linear interpolation between computed points, constant beyond.
ClockFit deviation_at(double factor, std::span<const double> times, std::span<const double> values,
                      std::span<const double> recorded_times, std::span<const double> recorded);
/// The factor of least root mean square: a scan over six decades around (end of computed)/(end of
/// recorded), refined by golden section. Cost 400 evaluations of the deviation.
ClockFit fit_clock(std::span<const double> times, std::span<const double> values,
                   std::span<const double> recorded_times, std::span<const double> recorded);

}  // namespace popgrad
