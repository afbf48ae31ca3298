#pragma once
/// Softmax, entropy and the few statistics of vectors that observables are made of.

#include <cmath>
#include <type_traits>

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// exp(x - max x) for ordered scalars (no overflow); exp(x) for the others.
template <Transcendental T>
void shifted_exponentials(const Vector<T>& x, Vector<T>& out) {
  using std::exp;
  T shift(0);
  if constexpr (Ordered<T>) {
    shift = x[0];
    for (Index i = 1; i < x.size(); ++i) {
      if (shift < x[i]) shift = x[i];
    }
  }
  out.resize(x.size());
  for (Index i = 0; i < x.size(); ++i) out[i] = exp(T(x[i] - shift));
}

/// exp(x_i) / sum_j exp(x_j).
template <Transcendental T>
Vector<T> softmax(const Vector<T>& x) {
  Vector<T> weights;
  shifted_exponentials(x, weights);
  const T total = weights.sum();
  return weights / total;
}

/// ln sum_i exp(x_i) of a column of any matrix; for ordered scalars without overflow.
template <class Column>
typename Column::Scalar log_sum_exp(const Column& x) {
  using std::exp, std::log;
  using T = typename Column::Scalar;
  T shift(0);
  if constexpr (Ordered<T>) shift = x.maxCoeff();
  if constexpr (std::is_same_v<T, double>) {
    return shift + log((x.array() - shift).exp().sum());  // in wide vectors
  } else {
    T total(0);
    for (Index i = 0; i < x.size(); ++i) total = total + exp(T(x[i] - shift));
    return shift + log(total);
  }
}

/// -sum_i p_i ln p_i of p = softmax(x), natural logarithm, without forming ln of a small p_i:
///   H = ln sum_j e^{x_j - m} - sum_i p_i (x_i - m).
template <Transcendental T>
T softmax_entropy(const Vector<T>& x) {
  using std::exp, std::log;
  T shift(0);
  if constexpr (Ordered<T>) {
    shift = x[0];
    for (Index i = 1; i < x.size(); ++i) {
      if (shift < x[i]) shift = x[i];
    }
  }
  T total(0);
  T moment(0);
  for (Index i = 0; i < x.size(); ++i) {
    const T weight = exp(T(x[i] - shift));
    total = total + weight;
    moment = moment + weight * (x[i] - shift);
  }
  return log(total) - moment / total;
}

/// Its gradient, dH/dx_i = -p_i (ln p_i + H).
template <Transcendental T>
Vector<T> softmax_entropy_gradient(const Vector<T>& x) {
  using std::log;
  Vector<T> weights;
  shifted_exponentials(x, weights);
  const T total = weights.sum();
  const T entropy = softmax_entropy(x);
  Vector<T> gradient(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    const T share = weights[i] / total;
    gradient[i] = share > T(0) ? T(-share * (log(share) + entropy)) : T(0);
  }
  return gradient;
}

/// Pearson correlation of two vectors (n >= 2); 0/0 where one of them is constant.
template <class T>
T correlation(const Vector<T>& x, const Vector<T>& y) {
  using std::sqrt;
  const T n(static_cast<int>(x.size()));
  const T mean_x = x.sum() / n;
  const T mean_y = y.sum() / n;
  T xx(0);
  T yy(0);
  T xy(0);
  for (Index i = 0; i < x.size(); ++i) {
    const T dx = x[i] - mean_x;
    const T dy = y[i] - mean_y;
    xx = xx + dx * dx;
    yy = yy + dy * dy;
    xy = xy + dx * dy;
  }
  return xy / sqrt(T(xx * yy));
}

}  // namespace popgrad
