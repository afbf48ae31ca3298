#pragma once
/// Dense and lumped noisy descent of one training, as drawn from knobs or given by a user.

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/checks/examples.hpp"
#include "theorems/scb/checks/given_training.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/schedule.hpp"

namespace popgrad::scb::checks {

inline constexpr Knob l1_length =
    logarithmic_knob("length", "positions T of the context", 20, 50, 40);
inline constexpr Knob step_size =
    logarithmic_knob("step-size", "learning rates of both parts", 0.02, 0.3, 0.2);
inline constexpr Knob batch_size =
    logarithmic_knob("batch-size", "sequences B of a step", 4, 256, 8);
inline constexpr Knob l1_weight_knob =
    logarithmic_knob("l1-weight", "weight lambda of the l1 norm over sigma_A/sqrt(B)", 0.3, 1.5, 1);
inline constexpr Knob leak =
    logarithmic_knob("leak", "weight that one token, drawn, gives to a position off the support",
                     1e-4, 0.9, 0)
        .breaking("q vanishes off its support");

inline constexpr std::uint64_t boost_steps = 5;

/// Both descents of one training, the steps that they take, and how many are drawn.
struct Pair {
  Training<double> training;
  Training<double> leaking;  ///< what the dense descent sees
  NoiseLevels levels;
  double step = 0;
  double l1_weight = 0;
  Index batch = 1;
  std::uint32_t draws = 0;
  std::uint64_t seed = 1;         ///< of the instance and the state that one step begins at
  std::uint64_t sample_seed = 1;  ///< of the draws of both descents
  double false_alarm = 0;         ///< of each of the four samples

  /// The noise of a step in a position of token k, at V.
  [[nodiscard]] double noise(const Vector<double>& x, Index k) const {
    const Bigrams<double>& b = training.bigrams;
    const Matrix<double> v = x.head(b.tokens() * b.tokens()).reshaped(b.tokens(), b.tokens());
    const double share = covariance_product(v, v, b.stationary) / transition_size(b);
    return step * training.attention_rate * levels.attention[k] *
           std::sqrt(std::max(0.0, share) / static_cast<double>(batch));
  }

  /// The state of either after the threshold and one step of the l1 stage.
  template <class Rung>
  [[nodiscard]] Vector<double> end_of(const Rung& rung, std::uint32_t run) const {
    Vector<double> x = rung.initial();
    for (std::uint64_t done = 0; done <= boost_steps; ++done) {
      throw_if_stopped();
      Stream stream(sample_seed, run, done);
      rung.sample_step(x, step, stream, batch);
    }
    return x;
  }

  /// Boosting, a threshold that some of the rest survives by chance, and l1 steps.
  [[nodiscard]] Schedule schedule(double weight_factor) const {
    const auto steps = static_cast<double>(boost_steps);
    const double level = levels.attention.maxCoeff() / std::sqrt(static_cast<double>(batch));
    Schedule made;
    made.boost_until = std::numeric_limits<double>::infinity();
    made.boost_steps = boost_steps;
    made.threshold =
        1 / static_cast<double>(training.bigrams.context) + step * level * std::sqrt(steps);
    made.l1_step = step;
    made.l1_weight = weight_factor * l1_weight * level;
    return made;
  }
};

inline Pair drawn_pair(const Setting& setting) {
  Pair pair;
  pair.training = examined_training(setting, [&] {
    Training<double> drawn;
    drawn.bigrams =
        random_bigrams(3, setting.count(l1_length), setting.count(support_knob), setting.seed);
    drawn.start = popgrad::scb::transfer_start(drawn.bigrams, 1.0, 0.8, setting.seed);
    return drawn;
  });
  const Bigrams<double>& b = pair.training.bigrams;
  pair.leaking = pair.training;
  if (const double weight = setting.value(leak); weight > 0) {
    Stream stream(setting.seed, 0, 0);
    const Index token = stream.index(static_cast<std::uint32_t>(b.tokens()));
    add_position(pair.leaking.bigrams, token, weight);
  }
  pair.levels = noise_at_solution(b);
  pair.step = setting.value(step_size);
  pair.l1_weight = setting.value(l1_weight_knob);
  pair.batch = setting.count(batch_size);
  pair.seed = setting.seed;
  pair.sample_seed = setting.draw_seed();
  pair.false_alarm = setting.false_alarm / 4;
  // Long contexts take as long, with fewer draws.
  const double most = 3e7 / static_cast<double>(b.tokens() * b.context);
  pair.draws = std::max(100U, std::min(setting.draws(60'000), static_cast<std::uint32_t>(most)));
  return pair;
}

}  // namespace popgrad::scb::checks
