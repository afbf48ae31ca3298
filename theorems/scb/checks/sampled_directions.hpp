#pragma once
/// Directions of the rung sgd by draws, at a state that is drawn as well.

#include <algorithm>
#include <cmath>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks {

inline constexpr Knob state_size = logarithmic_knob(
    "state-size", "standard deviation of the entries of V, and of sqrt(T)/3 times those of A", 0.5,
    2, 0.7);
/// A state with independent normal entries, of standard deviation `size` in V, 3 size/sqrt(T) in A.
inline Vector<double> drawn_state(const SequenceSgd<double>& rung, double size,
                                  std::uint64_t seed) {
  const Bigrams<double>& b = rung.training().bigrams;
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

/// A bound on every |component| of the direction of any one sample. A query k that weighs the
/// tokens by h, |h|_1 <= |a_k|_1, leaves a residual r = e_y - V h of entries of at most
/// 1 + |V|_max |a_k|_1; column j of V moves by r h_j/mu_j, a_k by V'r/mu_k. The projections, and
/// softmax, take off means, of V twice.
inline Vector<double> largest_of_one_sample(const Training<double>& training,
                                            const Vector<double>& x) {
  const Bigrams<double>& b = training.bigrams;
  const Index n = b.tokens();
  const auto values = x.head(n * n).reshaped(n, n).cwiseAbs();
  Vector<double> weight = Vector<double>::Ones(n);
  if (!training.softmax) {
    weight = x.tail(n * b.context).reshaped(b.context, n).cwiseAbs().colwise().sum() /
             training.temperature;
  }
  const Vector<double> residual = (1 + values.maxCoeff() * weight.array()).matrix();
  const double of_value = (training.project ? 4 : 1) * residual.cwiseProduct(weight).maxCoeff();
  const double of_attention = (training.project || training.softmax ? 2 : 1) *
                              training.attention_rate / training.temperature *
                              values.colwise().sum().maxCoeff();
  Vector<double> largest(x.size());
  for (Index k = 0; k < n; ++k) {
    largest.segment(k * n, n).setConstant(of_value / b.stationary[k]);
    largest.segment(n * n + k * b.context, b.context)
        .setConstant(of_attention * residual[k] / b.stationary[k]);
  }
  return largest;
}

/// Means of sampled directions over parts of the draws, whose means are normal, at x; and what rare
/// samples add that none of the draws may have been.
inline std::vector<Quantity> sampled_means(const SequenceSgd<double>& rung, const Vector<double>& x,
                                           const Setting& setting) {
  constexpr std::uint32_t parts = 50;
  // Long contexts take as long, with fewer draws.
  const auto length = static_cast<double>(rung.training().bigrams.context);
  const double most = std::max(100.0, 1e9 / length);
  const Index batch = std::min(setting.draws(1'000'000), static_cast<std::uint32_t>(most)) / parts;
  Matrix<double> directions(parts, x.size());
  Vector<double> part(x.size());
  for (std::uint32_t i = 0; i < parts; ++i) {
    throw_if_stopped();
    Stream stream(setting.draw_seed(), 1, i);
    rung.sample_rhs(x, part, stream, batch);
    directions.row(i) = part;
  }
  std::vector<Quantity> means = sample_moments(directions, setting.false_alarm).mean;
  // Samples of a probability p are all missed with (1 - p)^draws <= exp(-p draws): what has at most
  // the level of false alarms to be missed may be missing from every part.
  const Vector<double> largest = largest_of_one_sample(rung.training(), x);
  const double missed = std::log(static_cast<double>(x.size()) / setting.false_alarm) /
                        static_cast<double>(parts * batch);
  for (std::size_t i = 0; i < means.size(); ++i) {
    means[i].add(ErrorPart::sampling(missed, largest[static_cast<Index>(i)]));
  }
  return means;
}

}  // namespace popgrad::scb::checks
