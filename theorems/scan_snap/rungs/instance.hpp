#pragma once
/// Data law of scan and snap: sequence classes with sparse laws of contextual tokens.
///
/// A class n is a query (last) token psi(n), a next token and a law P(l|n) of the contextual
/// tokens. A token is *distinct* if exactly one class has P(l|n) > 0 and *common* if several have.
/// Source: Tian, Wang, Chen, Du, Scan and Snap, arXiv 2305.16380, Section 3.
/// Memory O(nnz(P) + K): no table over tokens x tokens.

#include <cstdint>
#include <string_view>
#include <vector>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::scan_snap {

/// P(l|n) by classes: entries first[n] .. first[n + 1] - 1 belong to class n.
template <class T>
struct SequenceClasses {
  Index tokens = 0;          ///< M, size of the vocabulary
  std::vector<Index> query;  ///< psi(n) in 0..M-1 (K)
  std::vector<Index> next;   ///< next token of class n in 0..M-1 (K)
  std::vector<Index> first;  ///< offsets into `token` and `law` (K + 1)
  std::vector<Index> token;  ///< contextual tokens, ascending within a class (nnz)
  Vector<T> law;             ///< P(l|n) > 0, sums to 1 within a class (nnz)
  Vector<T> weight;          ///< P(n), sums to 1 (K)

  [[nodiscard]] Index classes() const { return static_cast<Index>(query.size()); }
  [[nodiscard]] Index entries() const { return static_cast<Index>(token.size()); }

  template <class U>
  [[nodiscard]] SequenceClasses<U> cast() const {
    return {tokens, query, next, first, token, law.template cast<U>(), weight.template cast<U>()};
  }
};

/// Number of classes that have each token in their law (M).
template <class T>
std::vector<Index> classes_of_tokens(const SequenceClasses<T>& classes) {
  std::vector<Index> count(static_cast<std::size_t>(classes.tokens), 0);
  for (const Index l : classes.token) ++count[static_cast<std::size_t>(l)];
  return count;
}

/// P as a dense matrix (K x M), zeros left out; K equally likely classes, next token n for class n.
template <class T>
SequenceClasses<T> classes_from_matrix(const Matrix<T>& law, const std::vector<Index>& query,
                                       Index tokens);

/// Where training begins unless Y and Z are given. Only a zero start keeps the columns of Y equal
/// that never are a next token, so only it can share them.
enum class Start {
  zero,     ///< Y = Z = 0
  uniform,  ///< Y and Z uniform in +-1/sqrt(M), as the authors' code draws them
};

/// Which clock the sum over classes in z' runs on (the paper's Eqn 10 against its own derivation).
enum class Clock {
  consistent,  ///< w = 1/K in both sums: t counts steps of batch 1
  paper,       ///< w = 1/K in h, w = 1 in the attention sum: an eta_Z too large by K
};

/// Everything that training is: data, rates, start, and what to watch.
template <class T>
struct TrainingInstance {
  SequenceClasses<T> classes;
  T decoder_rate{1};    ///< eta_Y > 0
  T attention_rate{1};  ///< eta_Z > 0
  Index length = 128;   ///< T >= 2: T - 1 contextual tokens and the query (sgd)
  Start start = Start::zero;
  Clock clock = Clock::consistent;
  std::uint64_t seed = 1;  ///< of the uniform start
  /// Carry B_n = eta_Z w int xi_n along with the state; only of clean training.
  bool track_growth = false;
  /// (class, token) pairs whose f and chi are columns.
  std::vector<std::pair<Index, Index>> watched;
  /// Y(0) and Z(0) (M x M, row m of Z for query m) where they are given; empty: as `start` says.
  Matrix<T> decoder_start, logit_start;
  /// Probability that the label of a sequence, the next token of its class, is replaced by that of
  /// a class drawn uniformly from all K (sgd).
  T label_noise{0};
  T temperature{1};  ///< of softmax(z/temperature), > 0 (sgd)

  /// Labels and attention are those of the theory.
  [[nodiscard]] bool is_clean() const { return label_noise == T(0) && temperature == T(1); }

  /// Y(0) = 0, so that the columns of tokens that never are a next token stay equal.
  [[nodiscard]] bool shares_column() const {
    return start == Start::zero && decoder_start.size() == 0;
  }

  template <class U>
  [[nodiscard]] TrainingInstance<U> cast() const {
    return {classes.template cast<U>(),
            U(decoder_rate),
            U(attention_rate),
            length,
            start,
            clock,
            seed,
            track_growth,
            watched,
            decoder_start.template cast<U>(),
            logit_start.template cast<U>(),
            U(label_noise),
            U(temperature)};
  }
};

/// Syn-Small: K = 2 classes of a query each, M = 30, 10 common tokens of weight 1, 10 distinct ones
/// a class of weights 0.1, 0.2, ..., 1. Syn-Medium: `queries` last tokens, two classes
/// each, the same law.
template <class T>
SequenceClasses<T> syn_small();
template <class T>
SequenceClasses<T> syn_medium(Index queries);
/// Growth: K = 10 classes of one query, M = 1000, one common token of weight 7/10, 99 distinct
/// ones a class of weights from 1/10 to 1; |E| = 0.013.
template <class T>
SequenceClasses<T> growth_classes();

/// From named parameters (`P`, `psi`, ... as in instance files). Throws InputError.
template <class T>
TrainingInstance<T> training_instance(const Parameters& parameters, std::uint64_t seed);

}  // namespace popgrad::scan_snap
