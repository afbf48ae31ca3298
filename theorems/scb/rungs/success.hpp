#pragma once
/// Does a run of the three-part algorithm succeed? Ensembles for critical batch sizes.

#include <cstdint>

#include "statistics/critical.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/schedule.hpp"

namespace popgrad::scb {

/// Which part of the algorithm is tried.
enum class Attempt {
  boost,     ///< part 1 and the threshold: alpha_A reaches its value within twice the time that it
             ///< takes without noise, and what survives the threshold is within 1/2 of Q
  rise,      ///< part 1 without the threshold: alpha_A reaches its value within twice that time
  supports,  ///< part 1 and the threshold: as many positions survive as are attended to, within twice
             ///< the time that it takes without noise
  whole,     ///< all parts, after `steps` in all: both normalised distances within `goal`
};

/// Where samples come from.
enum class Sampling { sequences, dense_noise, lumped_noise };

struct AttemptSetting {
  Attempt attempt = Attempt::boost;
  Sampling sampling = Sampling::lumped_noise;
  Schedule schedule;
  NoiseLevels levels;       ///< unused with sequences
  double step = 0.05;       ///< eta_1
  std::uint64_t steps = 0;  ///< of Attempt::whole
  double goal = 0.1;        ///< of Attempt::whole
  std::uint64_t seed = 1;
  int jobs = 0;
};

/// Steps that part 1 takes without noise.
std::uint64_t quiet_boost_steps(const Training<double>& training, const Schedule& schedule,
                                double step);

/// Counts successes at a batch size (rounded to a whole number >= 1). A run that diverges, or whose
/// nonzeros outgrow memory, fails. Cost that of the rung; linear attention, projected.
CountSuccesses success_counter(const Training<double>& training, const AttemptSetting& setting);

}  // namespace popgrad::scb
