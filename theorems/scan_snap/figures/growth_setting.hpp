#pragma once
/// The setting of the figures on growth, whose instance has the classes of the growth statement.

#include <array>
#include <string>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::figures {

std::vector<FigureParameter> growth_parameters();
/// Of the vocabulary and attention rate asked for. Throws InputError if the vocabulary is smaller
/// than the classes need.
TrainingInstance<double> growth_instance(const FigureRequest& request, double decoder_rate = 1);

inline constexpr std::array decoder_rates{0.5, 1.0, 2.0, 5.0};
/// "η_Y = 0.5".
std::string name_of(double decoder_rate);

/// The solution with its states at `times`.
Trajectory<double> growth_run(const AnyRung<double>& rung, std::vector<double> times,
                              const FigureRequest& request);

}  // namespace popgrad::scan_snap::figures
