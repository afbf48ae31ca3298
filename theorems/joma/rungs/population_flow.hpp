#pragma once
/// Rungs `flow`, `gd`, `sgd`: the joint training of hidden weights and attention on classes.
///
///   w_k' = E[g_k phi'(w_k'f) f]
///   z'   = E[(db/dz)' U_C' g_f]
///   g_f  = sum_k g_k phi'(w_k'f) w_k
///   f    = U_C b(x, z) + u_q
///   g    = O'(e_y - softmax(O phi(W'f))), the gradient of the mean log-likelihood
///   y    = the class c, or with probability rho (label_noise) one drawn uniformly from all C:
///          P(y | c) = (1 - rho) [y = c] + rho/C, for any x, which stays that of c
/// g is linear in e_y, so the expectation is the field of E[e_y | c]. Observables are those of the
/// clean problem, y = c.
/// Shapes  state (v, z): v = [U_C, u_q]'W, (M_C + 1) x K by columns (M_C x K without residual),
///         then z (M_C). Rows of W outside the span of the embeddings never move.
/// Units   t = learning rate * steps.
/// Domain  temperature > 0; 0 <= rho <= 1; columns of X and the class law are distributions.
/// Cost    O(M_C K + C K) a class and evaluation as matrix products; memory O((M_C + C) (K + C)).
/// Source  arXiv 2310.00535, Section 3, Eqn 2; paper symbol -> name: V -> weights, z -> logits.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "popgrad/fluctuations/draw_law.hpp"
#include "popgrad/rungs/event.hpp"
#include "popgrad/rungs/known_draws.hpp"
#include "popgrad/rungs/observable.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/joma/rungs/full_batch_kernel.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma {

template <Transcendental T>
class PopulationFlow final {
 public:
  using Scalar = T;
  explicit PopulationFlow(ClassInstance<T> instance);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;

  /// The expectation over classes; allocates nothing after the first call.
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// The mean over `batch` >= 1 sampled classes, each with x its law or the frequencies of
  /// `length` sampled tokens. Cost O(C M_C K) for laws, O(batch (length + M_C K))
  /// for sampled tokens; with label noise C^2 and a random number a sample more. Classes and tokens
  /// are the same for any label noise.
  void sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) const;
  /// Mean cross entropy of the samples of `sample_rhs` on their labels, in nats. Cost of their logits.
  [[nodiscard]] T batch_loss(const Vector<T>& x, Stream& stream, Index batch) const;
  /// Expectation and covariance of `sample_rhs`, see popgrad/fluctuations/draw_law.hpp: exact for laws, and for
  /// sampled tokens as far as counts can be run through. Cost O(M_C K) a class and count; with
  /// label noise a class, label and count.
  void draw_mean(const Vector<T>& x, Vector<T>& dx) const;
  void draw_covariance(const Vector<T>& x, const Matrix<T>& vectors, Matrix<T>& images) const;
  /// Are they close enough to be offered? Not for many sequences that are not long, nor for more
  /// pairs of class and label than noisy_labels.hpp allows.
  [[nodiscard]] KnownDraws known_draws() const;
  /// attention_entropy, invariant_residual (absolute, max), invariant_residual_relative,
  /// normalised_correlation, stable_rank, loss.
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;
  /// The same where `wanted`: the stable rank by itself costs several evaluations of the field.
  void observe_some(const Vector<T>& x, const T& t, std::span<T> row,
                    const std::vector<bool>& wanted) const;
  [[nodiscard]] std::vector<EventFinder<T>> events() const;

  /// Mean cross entropy of the classes at a state, in nats: without label noise.
  [[nodiscard]] T loss(const Vector<T>& x) const;
  /// Expected gradient before attention, Delta = E[g phi' x'] (M_C x K): constant under
  /// Assumption 1, audited here.
  [[nodiscard]] Matrix<T> mean_gradient(const Vector<T>& x) const;
  /// E[b] (M_C).
  [[nodiscard]] Vector<T> mean_attention(const Vector<T>& x) const;
  /// Defect of E[b q] = b_bar E[q], q = sum_k g_k phi' v_k'b:
  ///   |E[b q] - b_bar E[q]| / |E[b q]|
  [[nodiscard]] T factorisation_defect(const Vector<T>& x) const;
  /// z and its prediction from v by the invariant, both from the start (softmax: b_bar := E[x]).
  [[nodiscard]] Vector<T> logits(const Vector<T>& x) const { return x.tail(instance_.tokens()); }
  [[nodiscard]] Vector<T> predicted(const Vector<T>& x) const;

  [[nodiscard]] const ClassInstance<T>& instance() const { return instance_; }
  template <class U>
  [[nodiscard]] PopulationFlow<U> cast() const {
    return PopulationFlow<U>(instance_.template cast<U>());
  }

 private:
  using ConstBlock = Eigen::Map<const Matrix<T>>;
  using Block = Eigen::Map<Matrix<T>>;
  [[nodiscard]] ConstBlock weights(const Vector<T>& x) const;
  template <class Columns, class Targets>
  void field(const Columns& columns, const Targets& targets, const Vector<T>& weight,
             const Vector<T>& x, Vector<T>& dx) const;
  void field_of_laws(const Vector<T>& weight, const Vector<T>& x, Vector<T>& dx) const;
  [[nodiscard]] DrawField field_of_sample(const Vector<T>& x) const;
  /// Leaves active units (K x S) in active_ and class logits (C x S) in logits_.
  template <class Columns>
  void propagate(const Columns& columns, const Vector<T>& x) const;
  template <class Columns, class Targets>
  void back_propagate(const Columns& columns, const Targets& targets, const Vector<T>& x) const;
  template <class Columns, class Targets>
  T mean_loss(const Columns& columns, const Targets& targets, const Vector<T>& weight,
              const Vector<T>& x) const;
  /// use(columns, targets, weight) of a drawn minibatch.
  template <class Use>
  void with_batch(Stream& stream, Index batch, const Use& use) const;

  ClassInstance<T> instance_;
  Vector<T> mean_law_;  ///< E[x]
  Vector<T> invariant_at_start_;
  Matrix<T> targets_;  ///< E[e_y | c], column c (C x C); empty without label noise
  double noise_ = 0;   ///< label_noise, where samples are drawn
  DrawLaw draws_;      ///< of classes, noisy labels and sampled tokens
  std::vector<double> cumulative_classes_;
  std::vector<std::vector<double>> cumulative_tokens_;
  // Scratch of one evaluation; a rung is copied for every thread.
  mutable std::optional<FullBatchKernel> kernel_;  ///< where the setting is the kernel's
  mutable JointWorkspace<T> work_;
  mutable Matrix<T> active_, logits_, error_, pulled_;
  mutable Vector<T> drawn_weight_;  ///< shares of the classes among the samples of a batch
};

// What is known of one draw is known in double.
template <>
DrawField PopulationFlow<double>::field_of_sample(const Vector<double>& x) const;
template <>
void PopulationFlow<double>::draw_mean(const Vector<double>& x, Vector<double>& dx) const;
template <>
void PopulationFlow<double>::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                             Matrix<double>& images) const;

}  // namespace popgrad::joma
