#pragma once
/// Covariance of the direction of one sampled sequence, before projection, without T x T numbers.
///
/// Given the query k, x_t = mu + e_t in one-hot form with independent centred e_t, so that
///   h   = S mu + sum_t a_t e_t
///   r   = label - V h
///   g_t = (V'r)[x_t]
/// are polynomials in the e_t and the label, which depends on one of them, x_s. Moments of h about
/// what is held fixed follow from p_j = sum_t a_t^j, j = 1..4. Hence
///   E[g_t g_u], t != u  of degree 2 in (a_t, a_u), with terms in q_t and q_u
///   E[r h' g_t]         of degree 3 in a_t, with a correction on the support of q
///   E[r h' r h']        one table (N^2 x N^2)
/// Where the query is x_T, that position is held fixed too: h has the mean (S - a_T) mu + a_T e_k, all
/// sums are over t < T, and g_T = e_k'V'r moves with r, whose moments are those of r h' for h with a
/// further component 1. The label is of x_T with probability q_T, of an independent position else.
/// Derived here; tests/laws/one_step.cpp compares with all sequences.
/// Cost O(N^6 Q + N T) to set up, O(N^4 + N T + N^3 Q) a vector; memory O(N^4 + N T).

#include <array>
#include <vector>

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

class SequenceCovariance {
 public:
  /// V (N x N), attention a^k by columns (T x N), the rate of attention; whether the query is x_T.
  SequenceCovariance(const Bigrams<double>& b, const Matrix<double>& values,
                     const Matrix<double>& attention, double rate, bool query_last = false);

  /// Of a vector in the shape of the state: V by columns, then A by columns.
  [[nodiscard]] Vector<double> operator()(const Vector<double>& vector) const;

 private:
  /// Moments given that the query is k and, where it is x_T, whether the label is of x_T.
  struct Query {
    Index token = 0;               ///< k
    double weight = 0, scale = 0;  ///< probability, eta_A / mu_k
    Vector<double> attention;      ///< a^k, (T); 0 where the token is fixed
    std::vector<Index> position;   ///< independent positions that the label may be of
    Vector<double> law;            ///< with these probabilities; without any the label is of x_T
    Vector<double> seen;           ///< E h (N), and behind it 1 where r by itself is asked for too
    Vector<double> label;          ///< its law (N)
    Matrix<double> label_spread;   ///< and covariance
    Vector<double> mean;           ///< E g_t, (T)
    // E[g_t g_u] = constant + linear (a_t + a_u) + product a_t a_u + square (a_t^2 + a_u^2)
    //   + q_t (on + own a_t + other a_u) + q_u (on + own a_u + other a_t),  t != u.
    double constant = 0, linear = 0, product = 0, square = 0, on = 0, own = 0, other = 0;
    Vector<double> diagonal;               ///< E g_t^2 less the line above at u = t, (T)
    std::array<Vector<double>, 4> powers;  ///< E[r h' g_t] = sum_j powers_j a_t^j, (N^2) each,
    std::vector<Vector<double>> extra;     ///< and this on the support
    // Of g_T where the query is x_T: E[g_T g_t] in the same way, E g_T^2, E[r h' g_T].
    std::array<double, 4> last_powers{};
    std::vector<double> last_extra;
    double last_square = 0;
    Vector<double> last_mixed;
  };
  [[nodiscard]] std::vector<Query> queries_of(const Bigrams<double>& b,
                                              const Matrix<double>& attention, double rate,
                                              Index k) const;
  void set_up_attention(const Bigrams<double>& b, const Matrix<double>& v, Query& query) const;
  void set_up_mixed(const Bigrams<double>& b, const Matrix<double>& v, Query& query) const;
  void add_values(const Bigrams<double>& b, const Matrix<double>& v, Query& query);

  Index tokens_, context_;
  bool query_last_;
  Matrix<double> centred_;  ///< e by token, I - mu 1' (N x N); a row of zeros below for the 1
  Matrix<double> moved_;    ///< V e by token
  Matrix<double> next_;     ///< P e by token: P - mu 1'
  Vector<double> mean_;     ///< V mu
  Vector<double> scale_;    ///< 1/mu, by columns of V (N^2)
  Matrix<double> values_;   ///< E[r h' r h'], (N^2 x N^2)
  Vector<double> mean_rh_;  ///< E[r h'], (N^2)
  std::vector<Query> queries_;
};

}  // namespace popgrad::scb
