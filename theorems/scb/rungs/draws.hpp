#pragma once
/// The laws that lumping draws from: chi-square, binomial, the tail of a normal.

#include <boost/random/binomial_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <cstdint>

#include "popgrad/scalars/random.hpp"

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

/// g - x for a standard normal g given that g > x. By rejection from an exponential law of the best
/// rate, accepted with probability > 0.76; plain draws for x < 0.
/// Source: Robert, Simulation of truncated normal variables, Statistics and Computing 5 (1995).
inline double excess_over(double x, Stream& stream) {
  if (x < 0) {
    double g = stream.normal();
    while (g <= x) g = stream.normal();
    return g - x;
  }
  const double rate = (x + std::sqrt(x * x + 4)) / 2;
  while (true) {
    const double excess = -std::log(stream.uniform()) / rate;
    const double off = excess + x - rate;
    if (stream.uniform() <= std::exp(-off * off / 2)) return excess;
  }
}

}  // namespace popgrad::scb
