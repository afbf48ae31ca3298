#pragma once
/// What networks trained on two levels of latents have learned of each level at one time, with
/// attention trained and uniform.

#include <cstdint>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::checks {

/// Residual of a network: P[class | sequence] - softmax(logits). What is left of a level of latents
/// y is the sum over them of |E[residual (y - E y)]|^2/Var y, in units of that at the start.
struct LevelReading {
  double time = 0;  ///< at which a tenth of level 0 is learned; `level_latest` if it is not
  double lower = 1, higher = 1;
  double classes = 1;  ///< of the classes themselves: of latents of any sequences, on average
  double wrong = 1;    ///< of level 0, with the latents of the wrong sequences, mean over orders
  /// Variance of the hidden units along the latents, in units of that along any sequences: layers
  /// by levels.
  Matrix<double> units, units_at_start;
};

struct LevelNetwork {
  LevelReading trained, uniform;  ///< by attention
  LevelReading untrained;         ///< the start: all is left
};

/// The step of descent, and the last time.
inline constexpr double level_step = 0.05;
inline constexpr double level_latest = 15;

inline constexpr Hypothesis no_fewer_above{"level 1 has no fewer latents than level 0"};

/// Knobs of a network only, and the parameters of the rung `multilayer-gd` that they give.
std::vector<Knob> knobs_of_network_shape();
Record network_shape_parameters(const Setting& setting);

/// Knobs of a network on two levels of latents, the parameters that they give, and by how many
/// latents level 1 exceeds level 0.
std::vector<Knob> knobs_of_level_networks();
Record level_network_parameters(const Setting& setting);
Index latents_to_spare(const Setting& setting);

/// The network, and its data, that these parameters and the seed make.
MultilayerInstance<double> level_instance(const Record& parameters, std::uint64_t seed);

/// Networks of the seeds first .. first + count - 1, which draw the hierarchy (that of sets) and
/// the start. The result does not depend on `jobs`. Throws std::runtime_error if one diverges.
std::vector<LevelNetwork> level_networks(const Record& parameters, std::uint64_t first,
                                         std::uint32_t count, int jobs,
                                         int steps_between_looks = 4);

}  // namespace popgrad::joma::checks
