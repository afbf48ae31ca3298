#pragma once
/// Instances of one P whose tokens attend to Q, 4 Q and 16 Q positions, with even weights.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

inline constexpr Hypothesis long_context{"`T` above `100 Q`"};
inline constexpr std::array range_growth{1, 4, 16};

inline constexpr Knob range_vocabulary =
    whole_knob("tokens", "tokens N of the vocabulary", 3, 6, 3);
/// Beyond 10^6 positions the rung draws at the threshold only large entries.
inline constexpr Knob range_length =
    logarithmic_knob("length", "positions T of the context, beyond 10^6", 2e6, 1e7, 4e6);
inline constexpr Knob short_range_length =
    logarithmic_knob("short-length", "the same, too short; 0: length", 100, 1000, 0)
        .breaking(long_context);
inline constexpr Knob least_range =
    whole_knob("support", "positions Q that a token attends to, the fewest", 1, 4, 2);

inline Training<double> ranged_training(const Setting& setting, int times) {
  const Knob& length = setting.value(short_range_length) > 0 ? short_range_length : range_length;
  Training<double> training = from_scratch(setting.count(range_vocabulary), setting.count(length),
                                           times * setting.count(least_range), setting.seed);
  Bigrams<double>& b = training.bigrams;
  b.law.setConstant(1 / static_cast<double>(b.support(0)));
  return training;
}

/// Reports the largest instance; requires T above 100 Q there.
inline void require_long_context(const Setting& setting, Examination& it) {
  const Bigrams<double> b = ranged_training(setting, range_growth.back()).bigrams;
  it.parameters = {
      {"N", b.tokens()}, {"T", b.context}, {"Q", b.support(0)}, {"seed", setting.seed}};
  it.require(long_context, static_cast<double>(b.context - 100 * b.support(0)),
             fmt::format("`Q = {}`, `T = {}`", b.support(0), b.context));
}

/// Of Q between the ends of range_growth.
inline void report_exponent(const std::vector<double>& batch, Examination& it) {
  it.report("exponent of `Q` in the batch",
            std::log(batch[2] / batch[0]) / std::log(double{range_growth.back()}),
            fmt::format("`B = {:.5g}`, {:.5g}, {:.5g}", batch[0], batch[1], batch[2]));
}

}  // namespace popgrad::scb::checks
