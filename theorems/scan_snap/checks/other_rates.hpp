#pragma once
/// The reduced flow of one instance at other learning rates: what scan-snap.rate-dependence reads.

#include <cmath>
#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr double rates_tolerance = 1e-12;

/// Factors of eta_Y and eta_Z.
struct Rates {
  double decoder = 1, attention = 1;
};

/// Steps t of batch 1 and y = M h, one from the other, and d ln h/d ln t.
struct DecoderClock {
  double m, k, rate;
  [[nodiscard]] double y(double t) const { return m * decoder_scale(m, rate, t / k); }
  [[nodiscard]] double t(double y) const { return k * (std::expm1(y) + (m - 1) * y) / (m * rate); }
  [[nodiscard]] double order(double y) const {
    return (std::expm1(y) + (m - 1) * y) / (y * (m - 1 + std::exp(y)));
  }
};

DecoderClock clock_of(const LeadingToken& token);

/// y where d ln h/d ln t = 1/2, M > 7.
double turning_point(double m);

/// B_n, or another number of a state, at `times` with the rates of the instance times `factor`.
std::vector<Quantity> read(const LeadingToken& token, Rates factor,
                           const std::vector<double>& times,
                           double (LeadingToken::*number)(const Vector<double>&) const);

/// d ln B_n/d ln eta_Y over d ln B_n/d ln eta_Z at `times`, by central differences extrapolated to 0.
std::vector<Quantity> quotients_of_slopes(const LeadingToken& token,
                                          const std::vector<double>& times);

}  // namespace popgrad::scan_snap::checks
