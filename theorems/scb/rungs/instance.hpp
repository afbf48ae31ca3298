#pragma once
/// Data law of sparse contextual bigrams: a Markov kernel and a sparse context for every token.
///
/// A sample: x_1..x_T, k = x_{T+1} i.i.d. from mu; a position s ~ q^k; the label y ~ P(:, x_s).
/// Source: Ren, Wang, Lee, Learning and Transferring Sparse Contextual Bigrams with Linear
/// Transformers, arXiv 2410.23438, Section 2.
/// Memory O(N^2 + N Q): nothing of length T.

#include <cstdint>
#include <vector>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::scb {

template <class T>
struct Bigrams {
  Matrix<T> transition;         ///< P (N x N): column k is the law of the token after k
  Vector<T> stationary;         ///< mu (N), P mu = mu, all > 0
  Index context = 0;            ///< T, positions
  std::vector<Index> first;     ///< offsets into the two lists below (N + 1)
  std::vector<Index> position;  ///< support of q^k, ascending within a token (sum of Q_k)
  Vector<T> law;                ///< q^k on it, sums to 1 within a token

  [[nodiscard]] Index tokens() const { return transition.rows(); }
  [[nodiscard]] Index entries() const { return static_cast<Index>(position.size()); }
  [[nodiscard]] Index support(Index token) const {
    return first[static_cast<std::size_t>(token + 1)] - first[static_cast<std::size_t>(token)];
  }

  template <class U>
  [[nodiscard]] Bigrams<U> cast() const {
    return {transition.template cast<U>(), stationary.template cast<U>(), context, first, position,
            law.template cast<U>()};
  }
};

/// How V begins unless it is given.
enum class Start {
  stationary,  ///< V = mu 1'
  uniform,     ///< V = 11'/N, off the constraint V mu = mu unless mu is uniform
  transfer,    ///< V = mu 1' + theta (P_hat - mu 1')(I - mu 1'), P_hat correlated with P
};

template <class T>
struct Training {
  Bigrams<T> bigrams;
  Matrix<T> start;  ///< V(0), (N x N)
  /// A(0) (T x N): column k is a^k, or w^k for softmax attention. Empty: a^k = 1/T, w^k = 0.
  Matrix<T> attention_start;
  T attention_rate{1};   ///< factor of the attention part of the field, > 0
  bool softmax = false;  ///< a^k = softmax(w^k) rather than a^k itself
  /// Project gradients onto 1'V = 1', V mu = mu, sum a^k = 1, as the paper does.
  bool project = true;
  // Only of the rung sgd, as runs recorded elsewhere may have them.
  T label_noise{0};  ///< probability that a label is replaced by one drawn uniformly
  T temperature{1};  ///< softmax(w^k / temperature), or a^k / temperature for linear attention; > 0
  bool query_last = false;  ///< the query is x_T itself, not a token of its own behind the context

  template <class U>
  [[nodiscard]] Training<U> cast() const {
    return {bigrams.template cast<U>(),
            start.template cast<U>(),
            attention_start.template cast<U>(),
            U(attention_rate),
            softmax,
            project,
            U(label_noise),
            U(temperature),
            query_last};
  }
};

/// Random P (columns uniform, normalised) and q (Q distinct positions, uniform weights).
Bigrams<double> random_bigrams(Index tokens, Index context, Index support, std::uint64_t seed);

/// Random bigrams, V(0) = mu 1'.
Training<double> from_scratch(Index tokens, Index context, Index support, std::uint64_t seed);

/// V(0) = mu 1' + theta (P_hat - mu 1')(I - mu 1'), with <P_hat, P> / (|P_hat| |P|) = correlation
/// in (0, 1] for a random P_hat of the size of P.
Matrix<double> transfer_start(const Bigrams<double>& bigrams, double theta, double correlation,
                              std::uint64_t seed);

/// From named parameters (`P`, `mu`, `q`, ... as in instance files). Throws InputError.
template <class T>
Training<T> training(const Parameters& parameters, std::uint64_t seed);

}  // namespace popgrad::scb
