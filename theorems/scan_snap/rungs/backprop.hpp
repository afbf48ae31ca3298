#pragma once
/// The gradient that attention sees, g_n = Y (e_n - alpha_n), written in the features of
/// the other classes.
///
/// Theorem 1:
///   G        = (I + E)^{-1}
///   E'       = I - G
///   q1       = M/(M-1)
///   q0       = -M/(M-1)^2
///   g_n      = gamma (iota_n f_n - sum_{n' != n} beta_nn' f_n')
///   beta_nn' = q1 E'_nn' - q0 (1 - sum_{k != n} E'_n'k)
///   iota_n   = q1 (1 - E'_nn) - q0 sum_{k != n} E'_nk
///   xi_n     = gamma sum_{n' != n} beta_nn' f_n.f_n'
/// Source: arXiv 2305.16380, Theorem 1; the sign of q0 follows the algebra, not Eqn 88.

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::scan_snap {

template <class T>
T own_scale(const T& vocabulary) {  // q1
  return vocabulary / (vocabulary - T(1));
}
template <class T>
T cross_scale(const T& vocabulary) {  // q0
  return -vocabulary / ((vocabulary - T(1)) * (vocabulary - T(1)));
}

/// beta (K x K, diagonal 0) from G (K x K). Cost K^2.
template <class T>
void take_beta(const Matrix<T>& inverse_gram, const T& vocabulary, Matrix<T>& beta) {
  const Index k = inverse_gram.rows();
  const T q1 = own_scale(vocabulary);
  const T q0 = cross_scale(vocabulary);
  beta.resize(k, k);
  for (Index other = 0; other < k; ++other) {
    T sum(0);  // of E'_n'j over all j
    for (Index j = 0; j < k; ++j) sum = sum - inverse_gram(other, j);
    sum = sum + T(1);
    for (Index n = 0; n < k; ++n) {
      const T own = (n == other ? T(1) : T(0)) - inverse_gram(other, n);  // E'_n'n
      beta(n, other) = n == other ? T(0) : T(q1 * own - q0 * (T(1) - (sum - own)));
    }
  }
}
template <class T>
Matrix<T> beta_of(const Matrix<T>& inverse_gram, const T& vocabulary) {
  Matrix<T> beta;
  take_beta(inverse_gram, vocabulary, beta);
  return beta;
}

/// iota (K).
template <class T>
Vector<T> iota_of(const Matrix<T>& inverse_gram, const T& vocabulary) {
  const Index k = inverse_gram.rows();
  Vector<T> iota(k);
  for (Index n = 0; n < k; ++n) {
    T others(0);  // sum over k != n of E'_nk
    for (Index j = 0; j < k; ++j) {
      if (j != n) others = others - inverse_gram(n, j);
    }
    iota[n] = own_scale(vocabulary) * inverse_gram(n, n) - cross_scale(vocabulary) * others;
  }
  return iota;
}

/// xi_n / gamma = sum_{n' != n} beta_nn' f_n.f_n' (K), from beta and F'F.
template <class T>
void take_relative_xi(const Matrix<T>& beta, const Matrix<T>& gram, Vector<T>& xi) {
  xi.resize(beta.rows());
  for (Index n = 0; n < beta.rows(); ++n) {
    T sum(0);
    for (Index other = 0; other < beta.cols(); ++other) {
      if (other != n) sum = sum + beta(n, other) * gram(n, other);
    }
    xi[n] = sum;
  }
}
template <class T>
Vector<T> relative_xi(const Matrix<T>& beta, const Matrix<T>& gram) {
  Vector<T> xi;
  take_relative_xi(beta, gram, xi);
  return xi;
}

/// xi of any decoder: the coefficient of f_n in the least-squares fit of g_n on F, minus f_n.g_n.
/// `products` (K x K) holds f_j.g_n in row j, column n. Cost K^3.
template <class T>
Vector<T> fitted_xi(const Matrix<T>& gram, const Matrix<T>& products) {
  const Matrix<T> coefficients = solve_symmetric<T>(gram, products);
  return coefficients.diagonal() - products.diagonal();
}

/// The same at one state after another, with room of its own; what is returned stays until the next call.
template <class T>
class FittedXi {
 public:
  const Vector<T>& of(const Matrix<T>& gram, const Matrix<T>& products) {
    solver_.solve(gram, products, coefficients_);
    xi_ = coefficients_.diagonal() - products.diagonal();
    return xi_;
  }
  /// Where products = answers pulls' (K x C each). Cost K^3/3 + K^2 C.
  template <class Answers, class Pulls>
  const Vector<T>& of(const Matrix<T>& gram, const Answers& answers, const Pulls& pulls) {
    answers_ = answers;
    pulls_ = pulls;
    solver_.solve(gram, answers_, coefficients_);
    coefficients_ -= answers_;
    xi_ = coefficients_.cwiseProduct(pulls_).rowwise().sum();
    return xi_;
  }

 private:
  SymmetricSolver<T> solver_;
  Matrix<T> answers_, pulls_, coefficients_;
  Vector<T> xi_;
};
/// Of scalars without an order nothing is fitted.
template <>
class FittedXi<Expression> {};

}  // namespace popgrad::scan_snap
