#pragma once
/// Rungs `reduced` and `attended`, the JoMA flow: z eliminated by the invariant, only v is left.
///
///   v_k' = F_k o a
///   F_k  = Delta_k     (linear phi)
///          mu_k - v_k       (nonlinear phi near a fixed point: `reduced`, Eqn 10)
///          mu_k - a o v_k   (the same: `attended`)
///   exp      a  = exp(sum_k v_k^2 / tau)
///   softmax  a  = softmax over tokens of sum_k v_k^2 / tau
///   linear   v' = (Delta/T) o sqrt(v^2 + c), K = 1, linear phi, c = z(0)^2 - v(0)^2 >= 0
/// With exp attention v_k' = a o G_k(a o v_k) exactly, G the field under uniform attention; mu is a
/// zero of G. `attended` linearises G where it is taken, `reduced` leaves out that attention scales
/// its argument too; for linear phi, where G is Delta, they are the same.
/// tau = 2 T^2. The softmax form drops -|v|^2 b_bar and so is the exp flow on another clock.
/// Shapes  state v (M_C x K) by columns.
/// Units   t = learning rate * steps.
/// Domain  tau > 0; linear attention needs K = 1, linear phi and c >= 0; `attended` exp attention.
/// Cost    O(M_C K) an evaluation and memory, no allocation.
/// Source  arXiv 2310.00535, Theorem 2 (linear phi), Eqn 10 and Theorem 4 (nonlinear phi);
///         `attended` is popgrad's (joma.attended-target).

#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/event.hpp"
#include "popgrad/rungs/observable.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma {

template <Transcendental T>
class ReducedFlow final {
 public:
  using Scalar = T;
  explicit ReducedFlow(ReducedInstance<T> instance);

  [[nodiscard]] Index dimension() const { return instance_.target.size(); }
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// attention_entropy, stable_rank (0 at v = 0, where it is undefined), and with nonlinear phi
  /// largest_delta = max |1 - v/mu| (attended: max |1 - a v/mu|).
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;
  [[nodiscard]] std::vector<EventFinder<T>> events() const;

  /// Attention logits z/T that the invariant assigns to v (M_C).
  [[nodiscard]] Vector<T> attention_logits(const Vector<T>& x) const;
  /// Entropy of softmax(z/T), in nats.
  [[nodiscard]] T attention_entropy(const Vector<T>& x) const;

  [[nodiscard]] const ReducedInstance<T>& instance() const { return instance_; }
  template <class U>
  [[nodiscard]] ReducedFlow<U> cast() const {
    return ReducedFlow<U>(instance_.template cast<U>());
  }

 private:
  ReducedInstance<T> instance_;
  Vector<T> offset_;  ///< c of linear attention
  mutable Vector<T> gain_;
};

}  // namespace popgrad::joma
