#pragma once
/// Instances that several statements on sparse contextual bigrams share.

#include "popgrad/scb/instance.hpp"
#include "popgrad/scb/noise.hpp"

namespace popgrad::theorems::scb {

/// V = mu 1' on a random kernel.
inline popgrad::scb::Training<double> from_scratch(Index tokens, Index context, Index support,
                                                   std::uint64_t seed) {
  popgrad::scb::Training<double> training;
  training.bigrams = popgrad::scb::random_bigrams(tokens, context, support, seed);
  training.start = training.bigrams.stationary * Vector<double>::Ones(tokens).transpose();
  return training;
}

inline popgrad::scb::NoiseLevels levels_of_shape(const popgrad::scb::Bigrams<double>& bigrams,
                                                 popgrad::scb::NoiseShape shape) {
  popgrad::scb::NoiseLevels levels = popgrad::scb::noise_at_solution(bigrams);
  levels.shape = shape;
  return levels;
}

inline popgrad::scb::NoiseLevels no_noise(Index tokens) {
  return {0, Vector<double>::Zero(tokens), popgrad::scb::NoiseShape::constant};
}

}  // namespace popgrad::theorems::scb
