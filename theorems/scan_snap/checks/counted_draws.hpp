#pragma once
/// What N random draws make of the decoder of a class: W_n = (1 + theta_n) (M-1) h(P(n) N) zeta_n.
///
/// A draw of class n is felt by W_n alone, so W_n = (M-1) h*(N_n) zeta_n (scan-snap.decoder-recursion)
/// and theta_n = h*(N_n)/h(P(n) N) - 1.

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"

namespace popgrad::scan_snap::checks {

/// theta (runs x K) of N draws of classes with law P(n) (K).
Matrix<double> sampled_thetas(const Decoder& decoder, const Vector<double>& law, long draws,
                              const Setting& setting);

/// (h'/h)^2 p (1 - p) N at s = p N; part "next order": what the next derivatives of h, the skewness
/// of the count and h* - h add, of relative order 1/s.
Quantity variance_of_theta(const Decoder& decoder, double probability, long draws);

/// Root mean square of h(N_n)/h - 1 - (h'/h) (N_n - p N) over the binomial law of N_n, in units of
/// sqrt(3) |h''|/(2 h) p (1 - p) N, as N grows beyond a hundred times `draws`.
Quantity residual_of_theta(const Decoder& decoder, double probability, long draws);

}  // namespace popgrad::scan_snap::checks
