#include "theorems/scb/rungs/noise.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb {

namespace {

// (1 - |P h|^2) sum_j (h_j/mu_j - 1)^2 for tokens x_i of weights q_i; overlap = P'P.
double value_square(const Vector<double>& mu, const Matrix<double>& overlap,
                    std::span<const Index> tokens, std::span<const double> law) {
  double next = 0;    // |P h|^2
  double square = 0;  // sum_j (h_j/mu_j)^2
  double linear = 0;  // sum_j h_j/mu_j
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    linear += law[i] / mu[tokens[i]];
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      next += law[i] * law[j] * overlap(tokens[i], tokens[j]);
      if (tokens[i] == tokens[j]) square += law[i] * law[j] / (mu[tokens[i]] * mu[tokens[i]]);
    }
  }
  return (1 - next) * (square - 2 * linear + static_cast<double>(mu.size()));
}

// Its mean over the tokens on the support of q^k, all of them.
double enumerated(const Bigrams<double>& b, const Matrix<double>& overlap,
                  std::span<const double> law) {
  std::vector<Index> tokens(law.size(), 0);
  double sum = 0;
  while (true) {
    if (tokens[0] == 0) throw_if_stopped();
    double weight = 1;
    for (const Index x : tokens) weight *= b.stationary[x];
    sum += weight * value_square(b.stationary, overlap, tokens, law);
    std::size_t i = 0;
    while (i < tokens.size() && ++tokens[i] == b.tokens()) tokens[i++] = 0;
    if (i == tokens.size()) return sum;
  }
}

double mean_value_square(const Bigrams<double>& b) {
  const Index n = b.tokens();
  const Matrix<double> overlap = b.transition.transpose() * b.transition;
  const auto law_of_token = [&](Index k) {
    return std::span<const double>(b.law.data() + b.first[static_cast<std::size_t>(k)],
                                   static_cast<std::size_t>(b.support(k)));
  };
  double cases = 0;
  for (Index k = 0; k < n; ++k) {
    cases += std::pow(static_cast<double>(n), static_cast<double>(b.support(k)));
  }
  constexpr double most_cases = 1e7;
  double sum = 0;
  if (cases <= most_cases) {
    for (Index k = 0; k < n; ++k) sum += b.stationary[k] * enumerated(b, overlap, law_of_token(k));
    return sum;
  }
  constexpr int draws = 200'000;
  const AliasTable stationary(
      std::span<const double>(b.stationary.data(), static_cast<std::size_t>(n)));
  Stream stream(0, 0xFFFFFFFDU, 0);
  std::vector<Index> tokens;
  const auto token = [&] {
    return static_cast<Index>(stationary(static_cast<std::uint32_t>(stream.bits())));
  };
  for (int i = 0; i < draws; ++i) {
    const std::span<const double> law = law_of_token(token());
    tokens.clear();
    for (std::size_t j = 0; j < law.size(); ++j) tokens.push_back(token());
    sum += value_square(b.stationary, overlap, tokens, law) / draws;
  }
  return sum;
}

}  // namespace

NoiseLevels noise_at_solution(const Bigrams<double>& b) {
  const Vector<double>& mu = b.stationary;
  const Matrix<double> second = b.transition * mu.asDiagonal() * b.transition.transpose();
  const Matrix<double> square = mu * mu.transpose();
  const Matrix<double> moved = second - square;  // P C P', as P mu = mu
  NoiseLevels levels;
  const auto count = static_cast<double>(b.tokens());
  levels.value =
      std::sqrt(mean_value_square(b) / ((count - 1) * (count - 2 + count * mu.squaredNorm())));
  levels.attention.resize(b.tokens());
  const double of_law = moved.diagonal().dot(mu);
  const double of_second = moved.cwiseProduct(second).sum();
  const double of_square = moved.cwiseProduct(square).sum();
  for (Index k = 0; k < b.tokens(); ++k) {
    const double weight =
        b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k)).squaredNorm();
    const double trace = of_law - weight * of_second - (1 - weight) * of_square;
    levels.attention[k] = std::sqrt(std::max(0.0, trace) / mu[k]);
  }
  return levels;
}

NoiseLevels noise_from_pilot(const Training<double>& training, const Vector<double>& state,
                             Index samples, std::uint64_t seed) {
  const Bigrams<double>& b = training.bigrams;
  const Index n = b.tokens();
  const SequenceSgd<double> rung(training);
  Vector<double> mean = Vector<double>::Zero(state.size());
  Vector<double> draw(state.size());
  double values = 0;
  Vector<double> attention = Vector<double>::Zero(n);
  const auto sizes = [&](const Vector<double>& x, Index k) {
    return x.segment(n * n + k * b.context, b.context).squaredNorm();
  };
  for (Index i = 0; i < samples; ++i) {
    // Streams of their own: no training draw repeats one.
    Stream stream(seed, 0xFFFFFFFEU, static_cast<std::uint64_t>(i));
    rung.sample_rhs(state, draw, stream, 1);
    mean += draw;
    values += draw.head(n * n).squaredNorm();
    for (Index k = 0; k < n; ++k) attention[k] += sizes(draw, k);
  }
  const auto count = static_cast<double>(samples);
  mean /= count;
  // Unbiased: sum |x|^2 - n |mean|^2 over n - 1.
  values = (values - count * mean.head(n * n).squaredNorm()) / (count - 1);
  NoiseLevels levels;
  levels.shape = NoiseShape::constant;
  const auto tokens = static_cast<double>(n);
  levels.value = std::sqrt(std::max(0.0, values) /
                           ((tokens - 1) * (tokens - 2 + tokens * b.stationary.squaredNorm())));
  levels.attention.resize(n);
  for (Index k = 0; k < n; ++k) {
    const double trace = (attention[k] - count * sizes(mean, k)) / (count - 1);
    levels.attention[k] = std::sqrt(std::max(0.0, trace) / static_cast<double>(b.context - 1)) /
                          training.attention_rate;
  }
  return levels;
}

}  // namespace popgrad::scb
