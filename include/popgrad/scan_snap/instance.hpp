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

#include "popgrad/parameters.hpp"
#include "popgrad/vector.hpp"

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

}  // namespace popgrad::scan_snap
