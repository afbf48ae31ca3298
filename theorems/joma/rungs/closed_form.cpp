#include "theorems/joma/rungs/closed_form.hpp"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <limits>
#include <type_traits>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma {
namespace {

/// Boost.Math of Debian 12 needs the precision at compile time; 120 digits leave 20 to spare.
using Wide = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<120>,
                                           boost::multiprecision::et_off>;
constexpr unsigned most_digits = 100;

template <class F>
F constant_pi() {
  return boost::math::constants::pi<F>();
}

// Runs a formula in double for double, and in Wide for Real.
template <class T, class Formula, class... A>
T compute(const Formula& formula, const A&... arguments) {
  if constexpr (std::is_same_v<T, double>) {
    return formula(arguments...);
  } else {
    if (digits() > most_digits) {
      reject("joma closed-form", "--digits", std::to_string(digits()),
             "exceeds 100, the most that closed forms are evaluated to; use the rung 'reduced'");
    }
    return T(formula(Wide(arguments)...));
  }
}

// Gauss-Legendre on panels of length <= 1/2. The integrands are entire functions that vary on a
// scale of 1, so n points leave an error of about (1/4)^{2n}/(2n)! a panel: below rounding for both
// n. (Adaptive rules bisect without end where rounding hides their error estimate.)
template <class F, class Integrand>
F integrate(const Integrand& f, const F& from, const F& to) {
  constexpr unsigned points = std::is_same_v<F, double> ? 20 : 60;
  const double length = std::fabs(static_cast<double>(F(to - from)));
  const int panels = std::max(1, static_cast<int>(std::ceil(2 * length)));
  const F width = (to - from) / panels;
  F sum = 0;
  for (int k = 0; k < panels; ++k) {
    const F left = from + width * k;
    sum += boost::math::quadrature::gauss<F, points>::integrate(f, left, F(left + width));
  }
  return sum;
}

// The complementary error function and its inverse. For Wide by MPFR: Boost.Math fills tables of its own for it when
// a program starts, which takes as long as all else of the start.
double erfc_of(double x) { return boost::math::erfc(x); }
Wide erfc_of(const Wide& x) {
  Wide value;
  mpfr_erfc(value.backend().data(), x.backend().data(), MPFR_RNDN);
  return value;
}
double inverse_erfc(double complement) { return boost::math::erfc_inv(complement); }
Wide inverse_erfc(const Wide& complement) {
  if (complement > 1) return -inverse_erfc(Wide(2 - complement));
  // Newton's steps on ln erfc, which is concave, so that they converge from every start at or above 0; the digits double
  // in each. The start is the double's inverse, or for what is too small for a double the tail's.
  constexpr double least = 1e-300;
  const Wide logarithm = log(complement);
  Wide x = complement > least ? Wide(boost::math::erfc_inv(static_cast<double>(complement)))
                              : Wide(sqrt(-logarithm));
  const Wide half_root_pi = sqrt(constant_pi<Wide>()) / 2;
  const Wide rounding = 8 * std::numeric_limits<Wide>::epsilon();
  constexpr int most_steps = 60;
  for (int step = 0; step < most_steps; ++step) {
    const Wide value = erfc_of(x);
    const Wide change = (log(value) - logarithm) * value * exp(Wide(x * x)) * half_root_pi;
    x += change;
    if (abs(change) <= rounding * (1 + abs(x))) break;
  }
  return x;
}

struct LinearPhi {
  template <class F>
  F operator()(const F& delta, const F& start, const F& tau, const F& t) const {
    using std::sqrt;
    const F root = sqrt(tau);
    const F rise = 2 * delta * t / sqrt(F(constant_pi<F>() * tau));
    // Near 1 the complement keeps the digits that 1 - erf would lose.
    const F sign = delta < 0 ? F(-1) : F(1);
    const F complement = erfc_of(F(sign * start / root)) - sign * rise;
    if (complement <= 0) return sign * std::numeric_limits<F>::infinity();
    return sign * root * inverse_erfc(complement);
  }
};

struct BlowUp {
  template <class F>
  F operator()(const F& delta, const F& start, const F& tau) const {
    using std::sqrt, std::abs;
    if (delta == 0) return std::numeric_limits<F>::infinity();
    const F sign = delta < 0 ? F(-1) : F(1);
    return sqrt(F(constant_pi<F>() * tau)) / 2 * erfc_of(F(sign * start / sqrt(tau))) / abs(delta);
  }
};

struct Approach {
  template <class F>
  F operator()(const F& mu, const F& start, const F& tau, const F& y) const {
    const auto pace = [&](const F& at) -> F {
      using std::exp;
      const F v = mu - (mu - start) * exp(F(-at));
      return exp(F(-v * v / tau));
    };
    return integrate<F>(pace, F(0), y);
  }
};

struct ApproachInverse {
  template <class F>
  F operator()(const F& mu, const F& start, const F& tau, const F& t) const {
    using std::exp, std::abs, std::max;
    if (mu == start || !(t > 0)) return F(0);
    // t'(y) = exp(-v^2/tau) is bounded by its extremes on the way, which brackets y.
    const F largest = max(F(abs(mu)), F(abs(start)));
    F low = 0;
    F high = t * exp(F(largest * largest / tau));
    F y = high / 2;
    if constexpr (!std::is_same_v<F, double>) {
      // The double solution leaves Newton three or four steps.
      const double guess = ApproachInverse{}(static_cast<double>(mu), static_cast<double>(start),
                                             static_cast<double>(tau), static_cast<double>(t));
      if (F(guess) > low && F(guess) < high) y = guess;
    }
    F known_y = 0;
    F known_t = 0;
    F spacing = 8 * std::numeric_limits<F>::epsilon();
    if constexpr (!std::is_same_v<F, double>) {
      spacing = pow(F(10), -static_cast<int>(digits()) - 3);
    }
    for (int iteration = 0; iteration < 400; ++iteration) {
      const auto pace = [&](const F& at) -> F {
        const F v = mu - (mu - start) * exp(F(-at));
        return exp(F(-v * v / tau));
      };
      // Integrates only from the last point: Newton's steps are short in the end.
      const F at_y = known_t + integrate<F>(pace, known_y, y);
      known_y = y;
      known_t = at_y;
      const F excess = at_y - t;
      if (excess > 0) {
        high = y;
      } else {
        low = y;
      }
      F next = y - excess / pace(y);
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (abs(F(next - y)) <= spacing * max(F(1), y)) return next;
      y = next;
    }
    return y;
  }
};

struct ApproachConstant {
  template <class F>
  F operator()(const F& mu, const F& start, const F& tau) const {
    using std::log, std::abs;
    const F delta = 1 - start / mu;
    // (mu^2 - v^2) = (mu - v)(mu + v): the quotient is regular at v = mu.
    const auto integrand = [&](const F& v) -> F {
      const F gap = mu - v;
      const F exponent = gap * (mu + v) / tau;
      if (gap == 0) return -(2 * mu / tau);
      return -boost::math::expm1(exponent) / gap;
    };
    return -log(F(abs(delta))) + integrate<F>(integrand, start, mu);
  }
};

}  // namespace

template <class T>
T linear_phi_component(const T& delta, const T& start, const T& tau, const T& t) {
  return compute<T>(LinearPhi{}, delta, start, tau, t);
}

template <class T>
T blow_up_time(const T& delta, const T& start, const T& tau) {
  return compute<T>(BlowUp{}, delta, start, tau);
}

template <class T>
T linear_attention_component(const T& delta, const T& start, const T& offset, const T& temperature,
                             const T& t) {
  using std::sqrt, std::sinh, std::log;
  const T root = sqrt(offset);
  const T ratio = start / root;
  const T size = ratio < T(0) ? T(-ratio) : ratio;
  const T asinh_size = log(T(size + sqrt(T(size * size + T(1)))));
  return root * sinh(T(delta * t / temperature + (ratio < T(0) ? T(-asinh_size) : asinh_size)));
}

template <class T>
T time_to_approach(const T& mu, const T& start, const T& tau, const T& y) {
  return compute<T>(Approach{}, mu, start, tau, y);
}

template <class T>
T approach_at(const T& mu, const T& start, const T& tau, const T& t) {
  return compute<T>(ApproachInverse{}, mu, start, tau, t);
}

template <class T>
T approach_constant(const T& mu, const T& start, const T& tau) {
  return compute<T>(ApproachConstant{}, mu, start, tau);
}

namespace {

// c = 0: v' = (Delta/T) |v|, an exponential; zero stays zero.
template <class T>
T grow(const T& exponent, const T& start) {
  using std::exp;
  return exp(start < T(0) ? T(-exponent) : exponent);
}

}  // namespace

template <class T>
AnyRung<T> closed_form_rung(const ReducedInstance<T>& instance) {
  constexpr const char* where = "joma closed-form";
  if (instance.units() != 1) {
    reject(where, "units", std::to_string(instance.units()),
           "must be 1: several units do not decouple; use the rung 'reduced'");
  }
  if (instance.attention == Attention::softmax) {
    reject(where, "--attention", "softmax",
           "must be exp or linear: softmax couples the tokens; use the rung 'reduced'");
  }
  AnyRung<T> rung = forget_type(ReducedFlow<T>(instance));
  rung.field.value = nullptr;
  rung.field.jacobian = nullptr;
  rung.events.clear();
  rung.field.state_at = [instance](const T& t) {
    Vector<T> v(instance.tokens());
    for (Index l = 0; l < v.size(); ++l) {
      const T& target = instance.target(l, 0);
      const T& start = instance.start(l, 0);
      if (instance.attention == Attention::linear) {
        const T offset = instance.logits[l] * instance.logits[l] - start * start;
        v[l] = offset > T(0)
                   ? linear_attention_component<T>(target, start, offset, instance.temperature(), t)
                   : start * grow(T(target * t / instance.temperature()), start);
      } else if (instance.nonlinear) {
        using std::exp;
        const T y = approach_at<T>(target, start, instance.tau, t);
        v[l] = target - (target - start) * exp(T(-y));
      } else {
        v[l] = linear_phi_component<T>(target, start, instance.tau, t);
      }
    }
    return v;
  };
  return rung;
}

namespace {

// W(y), y > 0, from the double by Newton's steps on w + ln w = ln y, each of which doubles the
// digits.
template <class T>
T lambert(const T& y) {
  using std::log;
  const double start = boost::math::lambert_w0(to_double(y));
  if constexpr (std::is_same_v<T, double>) {
    return start;
  } else {
    constexpr int doublings = 8;  // 15 digits to 3840
    const T logarithm = log(y);
    T w(start);
    for (int i = 0; i < doublings; ++i) w = w * (T(1) + logarithm - log(w)) / (T(1) + w);
    return w;
  }
}

}  // namespace

template <class T>
T attended_fixed_point(const T& mu, const T& tau) {
  using std::sqrt;
  if (mu == T(0)) return T(0);
  const T v = sqrt(T(tau / T(2) * lambert<T>(T(2) * mu * mu / tau)));
  return mu < T(0) ? T(-v) : v;
}

template <class T>
T attended_rate(const T& mu, const T& tau) {
  const T square = T(2) * mu * mu / tau;
  return square * (T(1) + T(1) / lambert<T>(square));
}

template double linear_phi_component(const double&, const double&, const double&, const double&);
template Real linear_phi_component(const Real&, const Real&, const Real&, const Real&);
template double blow_up_time(const double&, const double&, const double&);
template Real blow_up_time(const Real&, const Real&, const Real&);
template double linear_attention_component(const double&, const double&, const double&,
                                           const double&, const double&);
template Real linear_attention_component(const Real&, const Real&, const Real&, const Real&,
                                         const Real&);
template double time_to_approach(const double&, const double&, const double&, const double&);
template Real time_to_approach(const Real&, const Real&, const Real&, const Real&);
template double approach_at(const double&, const double&, const double&, const double&);
template Real approach_at(const Real&, const Real&, const Real&, const Real&);
template double approach_constant(const double&, const double&, const double&);
template Real approach_constant(const Real&, const Real&, const Real&);
template double attended_fixed_point(const double&, const double&);
template Real attended_fixed_point(const Real&, const Real&);
template double attended_rate(const double&, const double&);
template Real attended_rate(const Real&, const Real&);
template AnyRung<double> closed_form_rung(const ReducedInstance<double>&);
template AnyRung<Real> closed_form_rung(const ReducedInstance<Real>&);

}  // namespace popgrad::joma
