#pragma once
/// The identities behind Theorem 1, for a generic Gram matrix of three classes and a generic M.

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks {

/// beta as Eqn 88 has it without noise: q1 E'_nn' + q0 (1 + sum_{k != n} E'_kn'), where the 1 has
/// the sign -q0 in the algebra.
template <class T>
Matrix<T> beta_of_eqn_88(const Matrix<T>& inverse_gram, const T& tokens) {
  Matrix<T> beta = beta_of<T>(inverse_gram, tokens);
  for (Index n = 0; n < beta.rows(); ++n) {
    for (Index other = 0; other < beta.cols(); ++other) {
      if (other == n) continue;
      beta(n, other) = beta(n, other) + T(2) * cross_scale(tokens);
    }
  }
  return beta;
}

enum class Beta { derived, of_eqn_88 };

/// With W_j.(e_n - alpha_n) = gamma zeta_j.zeta_n, which is gamma q1 or gamma q0:
///   G (q1 e_n + q0 sum_{k != n} e_k) = iota_n e_n - sum_{n' != n} beta_nn' e_n'
Truth gradient_identity(Beta beta);
/// The two forms of xi_n/gamma:
///   sum_{n' != n} beta_nn' f_n.f_n' = q1 [G_nn - 1 - sum_{k != n} G_nk/(M-1)]
Truth xi_identity(Beta beta);

/// The second form, (K): q1 [G_nn - 1 - sum sum_{k != n} G_nk/(M-1)] with sum = 1; 0 leaves it out.
Vector<double> xi_formula(const Matrix<double>& inverse_gram, double tokens, double sum);

/// K (K - 1) entries, row by row, the diagonal left out.
Vector<double> off_diagonal(const Matrix<double>& a);

}  // namespace popgrad::scan_snap::checks
