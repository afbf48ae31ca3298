#include "theorems/scb/checks/tilted_law.hpp"

#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks {

Vector<double> tilted_law(Index tokens, double spread, std::uint64_t seed, std::uint32_t run) {
  Stream stream(seed, run, static_cast<std::uint64_t>(tokens));
  Vector<double> mu(tokens);
  for (double& weight : mu) weight = 1 + spread * (2 * stream.uniform() - 1);
  return mu / mu.sum();
}

Training<double> tilted_training(Index tokens, Index context, double spread, std::uint64_t seed) {
  constexpr Index support = 2;
  constexpr int most_rounds = 10'000;
  Training<double> training = from_scratch(tokens, context, support, seed);
  Bigrams<double>& b = training.bigrams;
  b.stationary = tilted_law(tokens, spread, seed, 0);
  const Vector<double>& mu = b.stationary;
  Matrix<double>& kernel = b.transition;
  for (int round = 0; round < most_rounds; ++round) {
    const Vector<double> mean = kernel * mu;
    if ((mean - mu).cwiseAbs().maxCoeff() < 1e-16) break;
    kernel.array().colwise() *= mu.array() / mean.array();
    kernel.array().rowwise() /= kernel.colwise().sum().array().eval();
  }
  training.start = mu * Vector<double>::Ones(tokens).transpose();
  return training;
}

Matrix<double> squared_offsets(Index tokens, double spread, std::uint32_t draws,
                               std::uint64_t seed) {
  Matrix<double> squares(draws, 1);
  for (std::uint32_t run = 0; run < draws; ++run) {
    throw_if_stopped();
    const Vector<double> mu = tilted_law(tokens, spread, seed, run + 1);
    squares(run, 0) = (mu.array() - 1 / static_cast<double>(tokens)).square().sum();
  }
  return squares;
}

}  // namespace popgrad::scb::checks
