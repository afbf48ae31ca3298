#pragma once
/// Rung block-reduced: W_V = (w0, d, s', u') and logits (ln alpha, ln beta, 0), tied entries.
///
///   x_i' = -(1/n_i) dL/dx_i,  n_i entries of the matrix that x_i stands for
/// which is the gradient flow of the whole matrices W_V and s on the symmetric ones. A [MASK] query
/// attends uniformly, and [MASK] as a key has weight 1. Cost O(1) for any T, tau and v.

#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "theorems/topic/rungs/landscape.hpp"

namespace popgrad::topic {

template <class T>
class BlockFlow final {
 public:
  using Scalar = T;

  BlockFlow(TopicLaw<T> law, BlockValue<T> start, bool train_value, bool train_attention);

  [[nodiscard]] static Index dimension() { return 6; }
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

 private:
  TopicLaw<T> law_;
  BlockValue<T> start_;
  bool train_value_, train_attention_;
};

}  // namespace popgrad::topic
