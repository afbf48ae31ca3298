#pragma once
/// Gaussian noise in the preconditioned, projected coordinates: its levels and how they vary.
///
///   V   <- V + eta sigma_V/sqrt(B) (I - 11'/N) Xi (I - mu 1')
///   a^k <- a^k + eta sigma_{A,k}/sqrt(B) (xi - mean)
/// At the solution V = P, A = Q the covariance of one sample with h = sum_t q_t e_{x_t} gives, the
/// first up to O(1/T),
///   sigma_{A,k}^2 = tr(P C P' R_k)/mu_k
///   R_k           = diag(mu) - |q^k|^2 P D P' - (1 - |q^k|^2) mu mu'
///   sigma_V^2     = sum_k mu_k E[(1 - |P h|^2) sum_j (h_j/mu_j - 1)^2] / n
///   n             = (N - 1) (N - 2 + N |mu|^2)
/// Source: arXiv 2410.23438, Section 5 (the levels are derived here).

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

enum class NoiseShape {
  constant,        ///< the levels as they are
  multiplicative,  ///< sigma_A times sqrt(<V,V>/K_P), sigma_V times sqrt(d/K_Q): as SGD's own noise
};

struct NoiseLevels {
  double value = 0;          ///< sigma_V >= 0
  Vector<double> attention;  ///< sigma_{A,k} >= 0 (N)
  NoiseShape shape = NoiseShape::multiplicative;
};

inline NoiseLevels no_noise(Index tokens) {
  return {0, Vector<double>::Zero(tokens), NoiseShape::constant};
}

/// Levels of one sample at the solution. The expectation in sigma_V is a sum over all tokens on the
/// support while these are at most 10^7, else a mean over 2 10^5 draws that are the same each time
/// (0.5 %). Cost N^3 besides.
NoiseLevels noise_at_solution(const Bigrams<double>& bigrams);

/// Levels measured from `samples` >= 2 single sequences at a state of the rung sgd:
///   sigma_V^2     = tr Cov(projected V-direction) / ((N - 1) (N - 2 + N |mu|^2))
///   sigma_{A,k}^2 = tr Cov(projected a^k-direction) / ((T - 1) eta_A^2)
/// of constant shape, eta_A the rate of attention that directions contain. At the start from mu 1'
/// sigma_A is 0. Cost samples * N (T + N).
NoiseLevels noise_from_pilot(const Training<double>& training, const Vector<double>& state,
                             Index samples, std::uint64_t seed);

}  // namespace popgrad::scb
