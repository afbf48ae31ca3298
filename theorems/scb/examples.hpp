#pragma once
/// Noise that several statements on sparse contextual bigrams share.

#include "popgrad/scb/instance.hpp"
#include "popgrad/scb/noise.hpp"

namespace popgrad::theorems::scb {

inline popgrad::scb::NoiseLevels levels_of_shape(const popgrad::scb::Bigrams<double>& bigrams,
                                                 popgrad::scb::NoiseShape shape) {
  popgrad::scb::NoiseLevels levels = popgrad::scb::noise_at_solution(bigrams);
  levels.shape = shape;
  return levels;
}

}  // namespace popgrad::theorems::scb
