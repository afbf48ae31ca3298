#pragma once
/// The noise of V that both Gaussian rungs share.

#include "popgrad/random.hpp"
#include "popgrad/scb/instance.hpp"

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

}  // namespace popgrad::scb
