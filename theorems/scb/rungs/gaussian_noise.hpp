#pragma once
/// What the Gaussian rungs share: the noise of V, and how large a step makes the noise.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/noise.hpp"

namespace popgrad::scb {

/// The noise is taken off so that every a^k sums to 1; InputError if A(0) does not begin there.
inline void require_unit_mass(const Training<double>& training, const char* where) {
  constexpr double tolerance = 1e-9;
  for (Index k = 0; k < training.attention_start.cols(); ++k) {
    const double mass = training.attention_start.col(k).sum();
    if (std::fabs(mass - 1) <= tolerance) continue;
    reject(where, "A", fmt::format("column {}", k),
           fmt::format("sums to {}; it must be 1 (to 1e-9) for Gaussian noise, which is projected "
                       "onto sum a^k = 1; or take the rung 'sgd'",
                       mass));
  }
}

/// What the rungs with dense attention need; throws InputError otherwise.
inline void require_gaussian_form(const Training<double>& training, const char* where) {
  if (training.softmax || !training.project) {
    reject(where, training.softmax ? "--attention" : "--no-project", "as given",
           "has no Gaussian model; take linear attention, projected, or the rung 'sgd'");
  }
  require_unit_mass(training, where);
}

/// (I - 11'/N) Xi (I - mu 1') of independent standard normals (N x N). Kept from step to step, as
/// memory of this size is slow to get from the system and to give back.
class ValueNoise {
 public:
  void draw(const Bigrams<double>& b, Stream& stream) {
    const Index n = b.tokens();
    centred_.resize(n, n);
    // Column by column in the first cache. Whole groups, so that the normals are those of one call.
    constexpr Index piece = 1024;
    Index drawn = 0;
    for (Index k = 0; k < n; ++k) {
      for (; drawn < (k + 1) * n; drawn += piece) {
        const Index count = std::min(piece, n * n - drawn);
        stream.normals({centred_.data() + drawn, static_cast<std::size_t>(count)});
      }
      centred_.col(k).array() -= centred_.col(k).mean();
    }
    along_.noalias() = centred_ * b.stationary;
  }
  /// Column k of the noise drawn last.
  [[nodiscard]] auto column(Index k) const { return centred_.col(k) - along_; }

 private:
  Matrix<double> centred_;  ///< (I - 11'/N) Xi
  Vector<double> along_;    ///< that times mu
};

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
