#pragma once
/// How far a hypothesis may be violated before the conclusion fails.
///
/// A statement declares a knob for each quantitative hypothesis (Knob::breaks). On random
/// instances, all other knobs within the hypotheses, it is turned from `usual` to its far end: a
/// coarse scan brackets the first failure, bisection locates it.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

struct FrontierRequest {
  std::uint64_t seed = 1;  ///< instance i examines with seed + i
  int instances = 32;      ///< >= 1; a bisection each
  int grid = 9;            ///< values of the scan, >= 2
  double slack = 0.01;     ///< an equality fails when it is off by more than this, relative
  int jobs = 0;            ///< threads inside one examination
  /// Called after every examination with the fraction done; returns true to stop.
  std::function<bool(double)> on_progress;
};

/// One random instance.
struct FrontierInstance {
  std::map<std::string, double, std::less<>> point;  ///< of the other knobs
  std::uint64_t seed = 1;
  /// The value of the knob at which the conclusion first fails, from bisection; infinite where it
  /// holds to the far end, NaN where it could not be decided.
  double fails_at = std::numeric_limits<double>::quiet_NaN();
  std::string what;  ///< the evidence that fails there
  /// share_of_allowed, at the values of the scan; infinite where an identity fails.
  std::vector<double> of_allowed;
};

struct Frontier {
  Knob knob;
  std::vector<double> values;  ///< of the scan, from `usual` outwards
  std::vector<FrontierInstance> instances;
  std::size_t examinations = 0;
  bool stopped = false;

  /// The value at which a share `p` of the decided instances has failed; infinite if fewer fail.
  [[nodiscard]] double quantile(double p) const;
  /// Share of the decided instances that have failed up to the value.
  [[nodiscard]] double failed_share(double value) const;
};

/// Knobs of the statement that stand for a hypothesis.
std::vector<Knob> quantitative_hypotheses(const Statement& statement);

/// Cost: instances * (grid + 10) examinations.
Frontier frontier(const Statement& statement, const Knob& knob, const FrontierRequest& request);

}  // namespace popgrad
