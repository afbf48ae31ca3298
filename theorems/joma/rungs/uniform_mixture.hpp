#pragma once
/// Nonlinear phi under uniform attention (Theorem 3): one unit on a mixture of Gaussian clouds.
///
/// x = xbar_c + sigma n with probability P_c, f = x, phi = ReLU, g_c constant, a_c = P_c g_c:
///   w'    = sum_c a_c (th1_c xbar_c + th2_c w/|w|)
///   r_c   = w.xbar_c / |w|
///   th1_c = Phi(r_c/sigma)
///   th2_c = sigma pdf(r_c/sigma)
/// The field depends on the direction of w only. Source: arXiv 2310.00535, Theorem 3.

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::joma {

/// E[phi'(|w| (r + s))] of a centred Gaussian s of deviation sigma: the chance that r + s > 0.
template <Transcendental T>
T relu_gate(const T& r, const T& sigma) {
  return gaussian_cdf(T(r / sigma));
}

/// E[s phi'(|w| (r + s))]: the mean of s where the unit is active.
template <Transcendental T>
T relu_pull(const T& r, const T& sigma) {
  return sigma * gaussian_pdf(T(r / sigma));
}

struct GaussianMixture {
  Matrix<double> centres;   ///< (d x C)
  Vector<double> strength;  ///< a_c = P_c g_c, of any sign
  double sigma = 1;         ///< deviation of the noise, > 0
};

/// w' at w != 0 (d). Cost O(d C).
Vector<double> expected_field(const GaussianMixture& mixture, const Vector<double>& w);

/// One draw of sum_c a_c 1[w.x_c > 0] x_c, x_c = xbar_c + sigma n; its mean is expected_field.
Vector<double> sampled_field(const GaussianMixture& mixture, const Vector<double>& w,
                             Stream& stream);

}  // namespace popgrad::joma
