#pragma once
/// Instances that begin at V = mu 1', and the l1 weight in units of what it acts against.

#include "popgrad/scb/instance.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::scb {

inline constexpr const char* from_scratch_text = "V(0) = mu 1'";
inline constexpr const char* light_weight_text = "lambda below q_min <V,P>";

/// The user's instance, or one that the knobs and the seed make; requires V(0) = mu 1'.
popgrad::scb::Training<double> scratch_instance(const Setting& setting, const Knob& length,
                                                const Knob& support, Examination& it);

/// q_min <V,P> where part 2 settles without an l1 norm.
double least_pull(const popgrad::scb::Bigrams<double>& bigrams);
/// Requires lambda below q_min <V,P>, where part 2 settles and at an alpha_V.
void require_light_weight(const popgrad::scb::Bigrams<double>& bigrams, double weight,
                          double alpha_V, Examination& it);

inline constexpr Knob several_positions{.name = "support",
                                        .meaning = "positions Q that a token looks at",
                                        .low = 2,
                                        .high = 4,
                                        .usual = 2,
                                        .spacing = Spacing::whole};
inline constexpr Knob l1_weight{.name = "l1-weight",
                                .meaning = "lambda over q_min <V,P> where part 2 settles",
                                .low = 0.003,
                                .high = 0.05,
                                .usual = 0.02,
                                .spacing = Spacing::logarithmic};
inline constexpr Knob heavy_weight{
    .name = "heavy-weight",
    .meaning = "the same, where it takes positions away; 0: l1-weight",
    .low = 1.5,
    .high = 15,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = light_weight_text};
/// lambda that the two knobs say.
double weight_of(const Setting& setting, const popgrad::scb::Bigrams<double>& bigrams);

}  // namespace popgrad::theorems::scb
