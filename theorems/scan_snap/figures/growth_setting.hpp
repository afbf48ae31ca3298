#pragma once
/// The setting of the figures on growth, whose instance has the classes of the growth statement.

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

/// "η_Y = 0.5", and its colour.
struct NamedRate {
  double value;
  std::string name;
  int colour;
};
std::vector<NamedRate> decoder_rates();

/// The solution with its states at `times`.
Trajectory<double> growth_run(const AnyRung<double>& rung, std::vector<double> times,
                              const FigureRequest& request);

}  // namespace popgrad::scan_snap::figures
