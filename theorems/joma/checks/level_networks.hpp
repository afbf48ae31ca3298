#pragma once
/// What networks trained on two levels of latents have learned of each level at one time, with
/// attention trained and uniform.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::checks {

/// Residual of a network: P[class | sequence] - softmax(logits). What is left of a level of latents
/// y is the sum over them of |E[residual (y - E y)]|^2/Var y, in units of that at the start.
struct LevelReading {
  double time = 0;
  double lower = 1, higher = 1;
  double classes = 1;  ///< of the classes themselves: of latents of any sequences, on average
  double wrong = 1;    ///< of level 0, with the latents of the wrong sequences, mean over orders
};

/// What is left of level 0 at the readings: it is learned to a tenth, three tenths, ... nine tenths.
inline constexpr std::array level_shares{0.9, 0.7, 0.5, 0.3, 0.1};
inline constexpr std::size_t half_learned = 3;  ///< readings up to the half

struct LevelNetwork {
  /// Between two steps, where level 0 is down to these shares, or after the last step; by attention.
  std::vector<LevelReading> trained, uniform;
  /// Of the last of `trained`: variance of the hidden units along the latents, in units of that along
  /// any sequences (layers by levels).
  Matrix<double> units, units_at_start;
};

/// Descent follows the flow in steps that lower the loss by this share of its start, by its slope,
///   x <- x + min(level_longest_step, level_step_share loss(0)/|x'|^2) x',
/// at most that many of them: a fixed step that is fine for the start of one network is too long for
/// the end of another.
inline constexpr double level_step_share = 0.04;
inline constexpr double level_longest_step = 0.4;
inline constexpr int level_most_steps = 400;

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
/// the start, with attention trained, and uniform up to the first `uniform_readings`. The result does not
/// depend on `jobs`. Throws std::runtime_error if one diverges.
std::vector<LevelNetwork> level_networks(
    const std::function<MultilayerInstance<double>(std::uint64_t seed)>& draw,
    std::size_t uniform_readings, std::uint64_t first, std::uint32_t count, int jobs);

/// "3/10 learned, " and each of these, of the first readings.
std::vector<std::string> level_places(std::size_t readings_of,
                                      const std::vector<std::string>& each);

}  // namespace popgrad::joma::checks
