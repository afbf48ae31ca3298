#pragma once
/// Directions of the rung sgd by draws, at a state that is drawn as well.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "popgrad/ensemble.hpp"
#include "popgrad/scb/sequence_sgd.hpp"
#include "popgrad/statement.hpp"
#include "popgrad/stop.hpp"

namespace popgrad::theorems::scb {

inline constexpr Knob state_size = logarithmic_knob(
    "state-size", "standard deviation of the entries of V, and of sqrt(T)/3 times those of A", 0.5,
    2, 0.7);
/// A state with independent normal entries, of standard deviation `size` in V, 3 size/sqrt(T) in A.
inline Vector<double> drawn_state(const popgrad::scb::SequenceSgd<double>& rung, double size,
                                  std::uint64_t seed) {
  const popgrad::scb::Bigrams<double>& b = rung.training().bigrams;
  Stream stream(seed, 0, 1);
  Vector<double> x(rung.dimension());
  for (double& value : x) value = size * stream.normal();
  x.tail(b.tokens() * b.context) *= 3 / std::sqrt(static_cast<double>(b.context));
  return x;
}

/// For every component of a direction the largest one of V, or of A.
inline std::vector<double> largest_of_part(const Vector<double>& direction, Index values) {
  const Vector<double> sizes = direction.cwiseAbs();
  std::vector<double> scales(static_cast<std::size_t>(sizes.size()),
                             sizes.tail(sizes.size() - values).maxCoeff());
  std::fill_n(scales.begin(), values, sizes.head(values).maxCoeff());
  return scales;
}

/// Means of sampled directions over parts of the draws, whose means are normal, at x.
inline std::vector<Quantity> sampled_means(const popgrad::scb::SequenceSgd<double>& rung,
                                           const Vector<double>& x, const Setting& setting) {
  constexpr std::uint32_t parts = 50;
  // Long contexts take as long, with fewer draws.
  const auto length = static_cast<double>(rung.training().bigrams.context);
  const double most = std::max(100.0, 5e8 / length);
  const Index batch = std::min(setting.draws(500'000), static_cast<std::uint32_t>(most)) / parts;
  Matrix<double> directions(parts, x.size());
  Vector<double> part(x.size());
  for (std::uint32_t i = 0; i < parts; ++i) {
    throw_if_stopped();
    Stream stream(setting.draw_seed(), 1, i);
    rung.sample_rhs(x, part, stream, batch);
    directions.row(i) = part;
  }
  return sample_moments(directions, setting.false_alarm).mean;
}

/// The hypotheses on the laws, up to the rounding of their sums.
inline void require_laws(const popgrad::scb::Bigrams<double>& b, Examination& it) {
  const auto n = static_cast<double>(b.tokens());
  const double least = b.stationary.minCoeff();
  const double miss = std::fabs(b.stationary.sum() - 1);
  it.require("mu > 0 sums to 1", std::min(least, ErrorPart::rounding(n, 1).size() - miss),
             fmt::format("least {:.3g}, sum off by {:.3g}", least, miss));
  double off = (b.transition.colwise().sum().array() - 1).abs().maxCoeff();
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    off = std::max(off, std::fabs(b.law.segment(begin, b.support(k)).sum() - 1));
  }
  const auto terms = static_cast<double>(b.entries()) + n;
  it.require("columns of P and q sum to 1", ErrorPart::rounding(terms, 1).size() - off,
             fmt::format("off by {:.3g}", off));
}

}  // namespace popgrad::theorems::scb
