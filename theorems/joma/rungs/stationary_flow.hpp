#pragma once
/// Rung `stationary`: Assumption 1 makes Delta_k = E[g_k phi' x] constant, z is kept.
///
///   linear   v_k' = Delta_k o z/T
///            T z' = sum_k Delta_k o v_k
///   exp      v_k' = Delta_k o exp(z/T)
///            T z' = sum_k v_k o v_k'
///   softmax  v_k' = Delta_k o b_bar, b_bar = softmax(z/T)
///            T z' = sum_k (v_k o v_k' - b_bar (v_k.v_k'))
/// With nonlinear phi near a fixed point, mu_k - v_k stands for Delta_k.
/// Shapes  state (v, z): v (M_C x K) by columns, then z (M_C).
/// Units   t = learning rate * steps.
/// Cost    O(M_C K) an evaluation and memory, no allocation.
/// Source  arXiv 2310.00535, Assumption 1 and Theorem 1; the softmax closure is popgrad's.

#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/event.hpp"
#include "popgrad/rungs/observable.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma {

template <Transcendental T>
class StationaryFlow final {
 public:
  using Scalar = T;
  explicit StationaryFlow(ReducedInstance<T> instance);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// attention_entropy, invariant_residual, invariant_residual_relative,
  /// normalised_correlation, stable_rank.
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;
  [[nodiscard]] std::vector<EventFinder<T>> events() const;

  [[nodiscard]] const ReducedInstance<T>& instance() const { return instance_; }
  template <class U>
  [[nodiscard]] StationaryFlow<U> cast() const {
    return StationaryFlow<U>(instance_.template cast<U>());
  }

 private:
  ReducedInstance<T> instance_;
  Vector<T> invariant_at_start_;
  mutable Vector<T> gain_;
};

}  // namespace popgrad::joma
