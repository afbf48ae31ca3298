#pragma once
/// What the Gaussian rungs share: the noise of V, and how large a step makes the noise.

#include <algorithm>
#include <cmath>

#include "popgrad/random.hpp"
#include "popgrad/scb/noise.hpp"

namespace popgrad::scb {

/// (I - 11'/N) Xi (I - mu 1') of independent standard normals (N x N).
inline Matrix<double> value_noise(const Bigrams<double>& b, Stream& stream) {
  const Index n = b.tokens();
  Matrix<double> noise(n, n);
  stream.normals({noise.data(), static_cast<std::size_t>(noise.size())});
  noise.rowwise() -= noise.colwise().mean().eval();
  const Vector<double> along = noise * b.stationary;
  noise.colwise() -= along;
  return noise;
}

/// Factors of the levels in a step.
struct NoiseScale {
  double value = 0, attention = 0;
};

/// 1/sqrt(batch), 0 for batch 0; multiplicative noise goes with d = `size` and <V,V> = `square`
/// over their values at the solution.
inline NoiseScale noise_scale(NoiseShape shape, Index batch, double size, double square,
                              double transition_size, double context_size) {
  if (batch == 0) return {};
  const double share = 1 / std::sqrt(static_cast<double>(batch));
  if (shape == NoiseShape::constant) return {share, share};
  return {share * std::sqrt(size / context_size),
          share * std::sqrt(std::max(0.0, square) / transition_size)};
}

}  // namespace popgrad::scb
