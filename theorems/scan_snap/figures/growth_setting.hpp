#pragma once
/// The setting of the figures on growth, whose instance has the classes of the growth statement.

#include <vector>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::scan_snap::figures {

/// Vocabulary and attention rate of the growth instance.
struct GrowthSetting {
  Index tokens;
  double attention_rate;
};
std::vector<FigureParameter> growth_parameters();
/// Throws InputError if the vocabulary is smaller than the instance.
GrowthSetting growth_setting(const FigureRequest& request);

}  // namespace popgrad::scan_snap::figures
