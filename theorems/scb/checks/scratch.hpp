#pragma once
/// Instances that begin at V = mu 1', and the l1 weight in units of what it acts against.

#include <functional>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

inline constexpr const char* from_scratch_text = "`V(0) = mu 1'`";
inline constexpr const char* light_weight_text = "`lambda` below `q_min <V,P>`";

/// The user's instance, or one that the knobs and the seed make; requires V(0) = mu 1'.
Training<double> scratch_instance(const Setting& setting, const Knob& length, const Knob& support,
                                  Examination& it);
/// The same, or one that `drawn` makes.
Training<double> scratch_instance(const Setting& setting,
                                  const std::function<Training<double>()>& drawn, Examination& it);

/// q_min <V,P> where part 2 settles without an l1 norm.
double least_pull(const Bigrams<double>& bigrams);
/// Requires lambda below q_min <V,P>, where part 2 settles and at an alpha_V.
void require_light_weight(const Bigrams<double>& bigrams, double weight, double alpha_V,
                          Examination& it);

inline constexpr Knob several_positions =
    whole_knob("support", "positions Q that a token attends to", 2, 4, 2);
inline constexpr Knob l1_weight = logarithmic_knob(
    "l1-weight", "lambda over q_min <V,P> where part 2 settles", 0.003, 0.05, 0.02);
inline constexpr Knob heavy_weight =
    logarithmic_knob("heavy-weight", "the same, where it takes positions away; 0: l1-weight", 1.5,
                     15, 0)
        .breaking(light_weight_text);
/// lambda that the two knobs say.
double weight_of(const Setting& setting, const Bigrams<double>& bigrams);

}  // namespace popgrad::scb::checks
