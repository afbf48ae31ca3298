#pragma once
/// The laws that lumping draws from: chi-square, binomial, the tail of a normal.

#include <boost/math/special_functions/erf.hpp>
#include <boost/random/binomial_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <cstdint>

#include "popgrad/random.hpp"

namespace popgrad::scb {

/// A stream as Boost.Random's distributions want it.
class Bits {
 public:
  using result_type = std::uint64_t;
  explicit Bits(Stream& stream) : stream_(&stream) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return stream_->bits(); }

 private:
  Stream* stream_;
};

inline double chi_square(double degrees, Stream& stream) {
  if (degrees <= 0) return 0;
  Bits bits(stream);
  return 2 * boost::random::gamma_distribution<double>(degrees / 2, 1.0)(bits);
}

/// Number of successes of probability p among n.
inline std::int64_t binomial(std::int64_t n, double p, Stream& stream) {
  if (n <= 0 || !(p > 0)) return 0;
  if (p >= 1) return n;
  Bits bits(stream);
  return boost::random::binomial_distribution<std::int64_t, double>(n, p)(bits);
}

/// P[N(0,1) > x].
inline double normal_tail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

/// g - x for a standard normal g given that g > x.
inline double excess_over(double x, Stream& stream) {
  const double share = stream.uniform() * normal_tail(x);
  return std::sqrt(2.0) * boost::math::erfc_inv(2 * share) - x;
}

}  // namespace popgrad::scb
