#include "theorems/scb/rungs/reduced_flow.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scb/rungs/observables.hpp"

namespace popgrad::scb {
namespace {

// alpha_A of A(0), which has to be of the form a^k = 1/T + alpha_A (q^k - 1/T).
template <class T>
T coefficient_of_family(const Training<T>& training) {
  const Bigrams<T>& b = training.bigrams;
  const T share = T(1) / T(static_cast<int>(b.context));
  Matrix<T> direction = Matrix<T>::Constant(b.context, b.tokens(), T(-share));
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      T& entry = direction(b.position[static_cast<std::size_t>(e)], k);
      entry = entry + b.law[e];
    }
  }
  T along(0);
  T size(0);
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index t = 0; t < b.context; ++t) {
      const T& d = direction(t, k);
      along = along + b.stationary[k] * d * (training.attention_start(t, k) - share);
      size = size + b.stationary[k] * d * d;
    }
  }
  const T coefficient = along / size;
  if constexpr (Ordered<T>) {
    constexpr double tolerance = 1e-9;
    for (Index k = 0; k < b.tokens(); ++k) {
      for (Index t = 0; t < b.context; ++t) {
        const double off =
            to_double(T(training.attention_start(t, k) - share - coefficient * direction(t, k)));
        if (std::fabs(off) <= tolerance) continue;
        reject("scb reduced", "A", fmt::format("row {}, column {}", t, k),
               fmt::format("is {:.3g} away from 1/T + alpha_A (q^k - 1/T) with alpha_A = {:.6g}, "
                           "the only form that this rung has; take the rung 'flow'",
                           off, to_double(coefficient)));
      }
    }
  }
  return coefficient;
}

}  // namespace

template <class T>
ReducedFlow<T>::ReducedFlow(T transition_size, T context_size, T positions, T stationary_square,
                            T value_start, T residual_start, T attention_start)
    : transition_size_(std::move(transition_size)),
      context_size_(std::move(context_size)),
      positions_(std::move(positions)),
      stationary_square_(std::move(stationary_square)),
      value_start_(std::move(value_start)),
      residual_start_(std::move(residual_start)),
      attention_start_(std::move(attention_start)) {}

template <class T>
ReducedFlow<T>::ReducedFlow(const Training<T>& training)
    : transition_size_(scb::transition_size(training.bigrams)),
      context_size_(scb::context_size(training.bigrams)),
      positions_(static_cast<int>(training.bigrams.context)),
      stationary_square_(training.bigrams.stationary.squaredNorm()),
      attention_start_(0) {
  const Bigrams<T>& b = training.bigrams;
  value_start_ = covariance_product(training.start, b.transition, b.stationary) / transition_size_;
  residual_start_ = covariance_product(training.start, training.start, b.stationary) -
                    value_start_ * value_start_ * transition_size_;
  if constexpr (Ordered<T>) {
    // The loss and dist_P of the family have V mu = mu built in.
    constexpr double tolerance = 1e-9;
    const Vector<T> off = training.start * b.stationary - b.stationary;
    const double apart = to_double(off.cwiseAbs().maxCoeff());
    if (!(apart <= tolerance)) {
      reject(
          "scb reduced", "--start", "as given",
          fmt::format("begins with V mu off mu by {:.3g}; it must have V mu = mu, as 'stationary' "
                      "and 'transfer' have, or take the rung 'flow'",
                      apart));
    }
  }
  if (training.attention_start.size() > 0) attention_start_ = coefficient_of_family(training);
}

template <class T>
Vector<T> ReducedFlow<T>::initial() const {
  Vector<T> x(3);
  x << value_start_, attention_start_, residual_start_;
  return x;
}

template <class T>
std::vector<std::string> ReducedFlow<T>::columns() const {
  return {"alpha_V", "alpha_A",           "dist_P",           "dist_Q", "loss",
          "S_mean",  "dist_P_normalised", "dist_Q_normalised"};
}

template <class T>
T ReducedFlow<T>::overlap(const T& alpha_A) const {
  const T share = T(1) / positions_;
  return share + (context_size_ - share) * alpha_A;
}

template <class T>
T ReducedFlow<T>::size(const T& alpha_A) const {
  const T share = T(1) / positions_;
  return share + (context_size_ - share) * alpha_A * alpha_A;
}

template <class T>
void ReducedFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  const T d = size(x[1]);
  dx[0] = overlap(x[1]) - d * x[0];
  dx[1] = transition_size_ * x[0] * (T(1) - x[1] * x[0]) - x[2] * x[1];
  dx[2] = T(-2) * d * x[2];
}

template <class T>
T ReducedFlow<T>::loss(const Vector<T>& x) const {
  const T product = transition_size_ * x[0];
  const T square = transition_size_ * x[0] * x[0] + x[2];
  return (T(1) - stationary_square_) / T(2) - overlap(x[1]) * product + size(x[1]) * square / T(2);
}

template <class T>
void ReducedFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  Readings<T> read;
  read.alpha_V = x[0];
  read.alpha_A = x[1];
  read.loss = loss(x);
  read.S_mean = T(1);
  if constexpr (Ordered<T> && Transcendental<T>) {
    using std::sqrt;
    const T value_gap = T(1) - x[0];
    const T attention_gap = x[1] < T(1) ? T(T(1) - x[1]) : T(x[1] - T(1));
    read.dist_P = sqrt(T(transition_size_ * value_gap * value_gap + x[2]));
    read.dist_Q = attention_gap * sqrt(T(context_size_ - T(1) / positions_));
    read.dist_P_normalised = read.dist_P;
    read.dist_Q_normalised = read.dist_Q;
  }
  write_row(observable_table<T>(), read, row);
}

template <Transcendental T>
T growth_rate(const T& transition_size, const T& context_size, const T& positions) {
  using std::sqrt;
  const T half = T(1) / (T(2) * positions);
  return sqrt(T(transition_size * (context_size - T(2) * half) + half * half)) - half;
}

template <Transcendental T>
Vector<T> linearised(const T& transition_size, const T& context_size, const T& positions,
                     const T& t) {
  using std::exp;
  const T fast = growth_rate(transition_size, context_size, positions);
  const T slow = -fast - T(1) / positions;  // the eigenvalues of M add up to -1/T
  // Integral of e^{Ms} b: projectors (M - other)/(own - other) on each eigenvalue.
  const T share = T(1) / positions;
  Vector<T> x = Vector<T>::Constant(2, T(0));
  const auto add = [&](const T& own, const T& other) {
    const T weight = (exp(T(own * t)) - T(1)) / own / (own - other) * share;
    x[0] = x[0] + weight * (-share - other);
    x[1] = x[1] + weight * transition_size;
  };
  add(fast, slow);
  add(slow, fast);
  return x;
}

template <Transcendental T>
Vector<T> along_hyperbola(const T& transition_size, const T& context_size, const T& positions,
                          const T& t) {
  using std::exp, std::fabs, std::log, std::sqrt;
  const T excess = context_size - T(1) / positions;
  const T kappa = excess / transition_size;
  const T start = sqrt(sqrt(kappa));
  // g = -ln(|1 - v| / |1 - v(0)|) takes v all the way to 1 without loss of digits.
  const T gap = T(1) - start;
  const auto rest = [&](const T& v) {
    return kappa * (log(v) - T(1) / v - T(1) / (T(2) * v * v) - T(1) / (T(3) * v * v * v));
  };
  const T begin = rest(start);
  const T elapsed = t / positions;
  T low(0);
  // The slope of t/T in g is (kappa + v^4)/v^4 > 1, so g <= t/T.
  T high = elapsed;
  T g = low;
  for (int i = 0; i < 400; ++i) {
    const T v = T(1) - gap * exp(-g);
    const T miss = (T(1) + kappa) * g + rest(v) - begin - elapsed;
    (miss > T(0) ? high : low) = g;
    const T slope = (kappa + v * v * v * v) / (v * v * v * v);
    T next = g - miss / slope;
    if (!(next >= low && next <= high)) next = (low + high) / T(2);
    const T moved = fabs(T(next - g));
    g = next;
    if (moved <= T(4) * machine_epsilon<T>() * (g + T(1))) break;
  }
  Vector<T> x(2);
  const T v = T(1) - gap * exp(-g);
  T a = T(1) / v;
  const T lag = -a * (T(1) - v) / (positions * (excess * a * a + transition_size * v * v));
  a = (T(1) - lag) / v;
  x << v, a;
  return x;
}

template class ReducedFlow<double>;
template class ReducedFlow<Real>;
template class ReducedFlow<Rational>;
template class ReducedFlow<Expression>;
template class ReducedFlow<Dual<double>>;
template Vector<double> linearised(const double&, const double&, const double&, const double&);
template Vector<Real> linearised(const Real&, const Real&, const Real&, const Real&);
template Vector<double> along_hyperbola(const double&, const double&, const double&, const double&);
template Vector<Real> along_hyperbola(const Real&, const Real&, const Real&, const Real&);
template double growth_rate(const double&, const double&, const double&);
template Real growth_rate(const Real&, const Real&, const Real&);
template Expression growth_rate(const Expression&, const Expression&, const Expression&);

}  // namespace popgrad::scb
