#pragma once
/// Rung symmetric: the population flow of W_K, W_Q, W_V on matrices that permutations within and of
/// topics leave unchanged, exact for any T, tau and v.
///
/// With G = dL/ds the flow closes in the products
///   K = W_K' W_K
///   Q = W_Q' W_Q
///   S = W_K' W_Q
/// (primes are transposes):
///   dK/dt = -(G S' + S G')/sqrt(d_a)
///   dQ/dt = -(G' S + S' G)/sqrt(d_a)
///   dS/dt = -(G Q + K G)/sqrt(d_a)
/// Each has five or six different entries, W_V four. At first K = Q = sigma^2 d_a I and S = 0, what
/// random W_K and W_Q have for large d_a. What breaks the symmetry inside topics, the third stage,
/// is left out. Derived here.
/// State: W_V (w0, d, s', u'), then K, Q, S as (corner, row 0, column 0, diagonal, same topic,
/// other). Cost O(1) for any T, tau and v.

#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "theorems/topic/rungs/landscape.hpp"

namespace popgrad::topic {

/// A (Tv + 1) square matrix in the algebra of those that the permutations leave unchanged.
template <class T>
struct SymmetricMatrix {
  T corner{0};    ///< (0, 0)
  T row{0};       ///< (0, word)
  T column{0};    ///< (word, 0)
  T diagonal{0};  ///< (word, the same word)
  T same{0};      ///< (word, another of its topic)
  T other{0};     ///< (word, one of another topic)

  [[nodiscard]] SymmetricMatrix transposed() const {
    return {corner, column, row, diagonal, same, other};
  }
};

/// A B, for `words` = v and `all` = T v.
template <class T>
SymmetricMatrix<T> product(const SymmetricMatrix<T>& a, const SymmetricMatrix<T>& b, const T& words,
                           const T& all);

template <class T>
class SymmetricFlow final {
 public:
  using Scalar = T;

  SymmetricFlow(TopicLaw<T> law, BlockValue<T> start, Index key_width, T scale);

  [[nodiscard]] static Index dimension() { return 22; }
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

 private:
  /// ln alpha, ln beta, and the logarithms of both weights of [MASK].
  [[nodiscard]] Eigen::Matrix<T, 4, 1> log_weights(const Vector<T>& x) const;

  TopicLaw<T> law_;
  BlockValue<T> start_;
  T key_width_, scale_, root_;
};

}  // namespace popgrad::topic
