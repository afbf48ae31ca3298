#pragma once
/// Gaussian noise in the preconditioned, projected coordinates: its levels and how they vary.
///
///   V + eta sigma_V/sqrt(B) (I - 11'/N) Xi (I - mu 1'),  a^k + eta sigma_{A,k}/sqrt(B) (xi - mean)
/// At the solution V = P, A = Q the covariance of one sample gives, up to O(1/T),
///   sigma_{A,k}^2 = tr(P C P' R)/mu_k,  R = sum_x mu_x (diag(P_x) - P_x P_x')
///   sigma_V^2 = sum_x mu_x tr(diag(P_x) - P_x P_x') ((1/mu_x - 1)^2 + N - 1)
///               / ((N-1) (N - 2 + N |mu|^2))
/// Source: arXiv 2410.23438, Section 5 (the levels are derived here).

#include "popgrad/scb/instance.hpp"

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

/// Levels of one sample at the solution. Cost N^3.
NoiseLevels noise_at_solution(const Bigrams<double>& bigrams);

}  // namespace popgrad::scb
