#pragma once
/// Classes of several queries for the model with a residual connection, and what Theorem 1 becomes.
///
/// Where no query token is in a context, |f_n + e_m| = sqrt(2) and
///   kappa    = Phi'Phi = (F'F + B)/2,   B_nn' = [psi(n) = psi(n')]
///   G        = kappa^{-1} = 2 (B + F'F)^{-1}
/// to first order in the overlaps E = F'F - I, with C = (I + B)^{-1} = I - B_nn'/(1 + K_m):
///   G        = 2 C - 2 C E C
/// Source: arXiv 2305.16380, Section 7 (a sketch); the algebra is ours.

#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/checks/residual_flow.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

/// What random classes of several queries are to be like.
struct QueryDraw {
  Index queries = 2;  ///< Q; each holds 2 to `most` classes
  Index most = 3;
  Index distinct = 2;  ///< distinct tokens a class
  double inside = 1;   ///< weight of the token that all classes of a query have
  double across = 1;   ///< weight of the tokens that classes of different queries have
  Index tokens = 100;  ///< M
};
/// Weights times uniform (0.1, 1), drawn anew for each class. Tokens: one of each query, which all
/// of its classes have; one of the first class of every query; one of the last class of the first
/// query and the first of the second; distinct ones; queries.
SequenceClasses<double> classes_of_queries(Stream stream, const QueryDraw& draw);

/// What is asked of all instances, and of those in which kappa is inverted.
inline constexpr Hypothesis queries_apart{"no query token is in a context"};
inline constexpr Hypothesis independent_inputs{"inputs of the classes are linearly independent"};

/// Features at z = 0, and what the residual connection makes of their overlaps.
class ResidualView {
 public:
  explicit ResidualView(const SequenceClasses<double>& of);

  [[nodiscard]] Index classes() const { return same.rows(); }
  [[nodiscard]] double spread() const;          ///< |lambda(E)| at most
  [[nodiscard]] double condition() const;       ///< of kappa
  [[nodiscard]] Index of_query(Index n) const;  ///< K_m of psi(n)
  /// 2 C - 2 C E C (K x K): G to first order in the overlaps.
  [[nodiscard]] Matrix<double> first_order() const;
  /// beta (K x K) of the modified gradient at E = 0 and M tokens, by one + K_m for one = 1.
  [[nodiscard]] Matrix<double> isolated_beta(double tokens, double one) const;
  /// What pairs of queries and tokens gain by couplings beta (K x K) of the classes:
  ///   2 z_ml'/(eta_Z w) = sum_{n: psi(n) = m} f_nl sum_{j != n} beta_nj (f_nl f_n.f_j - f_jl)
  [[nodiscard]] Vector<double> gains(const Matrix<double>& beta) const;
  /// Pairs whose token has one class.
  [[nodiscard]] std::vector<Index> distinct_pairs() const;
  void require_apart(Examination& it) const;
  void require_independent(Examination& it) const;

  Layout layout;
  Vector<double> f;               ///< by entries
  Matrix<double> dense;           ///< F (rows x K)
  Matrix<double> overlap;         ///< E (K x K)
  Matrix<double> same;            ///< B (K x K)
  Matrix<double> kappa, inverse;  ///< (K x K)

 private:
  Index queries_in_contexts_ = 0;
};

/// Training on the classes, eta_Y = 1, Y = Z = 0, with M tokens.
TrainingInstance<double> residual_training(const SequenceClasses<double>& classes, double tokens);

/// Normal numbers of this standard deviation.
Vector<double> random_state(Stream& stream, Index size, double scale);

/// z' (pairs) at a state where no query token is in a context, part "rounding":
///   z_m' = (eta_Z/sqrt(2)) sum_{n: psi(n) = m} w_n diag(f_n) (I - f_n f_n') g_n
std::vector<Quantity> short_rates(const ResidualFlow<double>& flow, const Vector<double>& x);

/// Coefficients (K x K) of g_n in Phi, a column a class, at a state.
Matrix<double> input_coefficients(const ResidualFlow<double>& flow, const Vector<double>& x);

/// M beta_nn'/tau where Y learns by its gradient from 0 and features rest, as M -> infinity at
/// tau = eta_Y s, s draws of every class:
///   b(tau kappa_nn'),   b(x) = (e^x - 1)/x + e^x - 1
double coupling(double x);
Matrix<double> couplings(const Matrix<double>& kappa, double tau);

}  // namespace popgrad::scan_snap::checks
