#include "theorems/scan_snap/rungs/decoder.hpp"

#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::scan_snap {
namespace {

double exp_minus_one(double x) { return std::expm1(x); }
Real exp_minus_one(const Real& x) {
  Real result;
  mpfr_expm1(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}
double log_one_plus(double x) { return std::log1p(x); }
Real log_one_plus(const Real& x) {
  Real result;
  mpfr_log1p(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

template <class T>
void require(bool condition, const char* name, const T& value, const char* rule) {
  if (!condition) reject("scan-snap decoder", name, to_text(value), rule);
}

/// Newton's iterations double the digits; from above they cannot overshoot.
constexpr int most_iterations = 200;

}  // namespace

template <class T>
T decoder_scale(const T& vocabulary, const T& decoder_rate, const T& draws) {
  require(!(vocabulary < T(2)), "M", vocabulary, "must be >= 2");
  require(decoder_rate > T(0), "eta_Y", decoder_rate, "must be > 0");
  require(!(draws < T(0)), "s", draws, "must be >= 0 (draws of the class)");
  // expm1(x) + (M-1) x = M eta_Y s with x = M h; both bounds below lie above the root.
  const T target = vocabulary * decoder_rate * draws;
  const T linear = decoder_rate * draws;
  const T logarithm = log_one_plus(target);
  T x = linear < logarithm ? linear : logarithm;
  for (int i = 0; i < most_iterations && x > T(0); ++i) {
    const T grown = exp_minus_one(x);
    const T step = (grown + (vocabulary - T(1)) * x - target) / (grown + vocabulary);
    const T next = x - step;
    const bool settled = !(step > machine_epsilon<T>() * x);
    x = next;
    if (settled) break;
  }
  return x / vocabulary;
}

template <class T>
T crossover(const T& vocabulary) {
  using std::exp, std::log;
  require(!(vocabulary < T(4)), "M", vocabulary,
          "must be >= 4: exp(x) = (M-1) x has no root below");
  // Newton on x - ln x = ln(M-1) for x > 1, from above.
  const T level = log(T(vocabulary - T(1)));
  T x = T(2) * level + T(2);
  for (int i = 0; i < most_iterations; ++i) {
    const T step = (x - log(x) - level) * x / (x - T(1));
    x = x - step;
    const T size = step < T(0) ? T(-step) : step;
    if (!(size > machine_epsilon<T>() * x)) break;
  }
  return x;
}

template double decoder_scale(const double&, const double&, const double&);
template Real decoder_scale(const Real&, const Real&, const Real&);
template double crossover(const double&);
template Real crossover(const Real&);

}  // namespace popgrad::scan_snap
