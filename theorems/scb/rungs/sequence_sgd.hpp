#pragma once
/// Rung sgd: values V and dense attention A on sampled sequences.
///
/// For one sample x_1..x_T, k, y, with eta_A the rate of attention:
///   h              = X a^k  (a weighted histogram)
///   r              = e_y - V h
///   V-direction    = r h' D^{-1}
///   a^k-direction  = eta_A (V'r)[x_t] / mu_k,  t = 1..T;  other a: none
/// Projected: V-direction by (I - 11'/N) . (I - mu 1'), a^k-direction less its mean over t.
/// Softmax: a^k = softmax(w^k), the w^k-direction is J_k times the a^k-direction.
/// At a temperature, h = X a^k / temperature and the a^k-direction is divided by it, or
/// a^k = softmax(w^k / temperature) and the w^k-direction is; of linear attention the observables read
/// a^k itself. With label noise y is of (1 - label_noise) P x_s + label_noise 1/N, and the
/// observables keep P. With the query in the last position k = x_T, in the context and in the label's
/// source alike; the observables, the loss among them, are those of a free query.
/// State: V by columns (N x N), then A (or w) by columns (T x N). Cost of a sample O(T + N^2),
/// memory O(N T + N^2), no one-hot matrix. Source: arXiv 2410.23438, Section 2.

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "base/team_choice.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/sequence_symbols.hpp"

namespace popgrad::scb {

template <class T>
class SequenceSgd final {
 public:
  using Scalar = T;

  explicit SequenceSgd(Training<T> training);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// The expectation over samples. Cost O(N T + N^2), with the query in the last position O(N T + N^3).
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// The mean over `batch` samples. Samples, then tokens, are shared by the threads where runs are
  /// not; the result does not depend on them.
  void sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) const;
  /// Mean of |e_label - V h|^2/2 over the samples of `sample_rhs`. Cost of `sample_rhs`.
  [[nodiscard]] double batch_loss(const Vector<T>& x, Stream& stream, Index batch) const;
  /// Covariance of `sample_rhs`, whose expectation is `rhs`: by structure, without T x T numbers.
  /// Cost O(N^6 Q + N T), and O(N^4 + N T) a column.
  void draw_covariance(const Vector<T>& x, const Matrix<T>& vectors, Matrix<T>& images) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<T>& x, double step, Index batch) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

  /// Keeps the attention of every token at a state, for what follows. Cost O(N T).
  void attend(const Vector<T>& x) const;
  /// Adds weight times the direction of one sample to dx, without projection: the token at each
  /// position (T), the query token, the label. After `attend`.
  void add_sample(const Vector<T>& x, const std::vector<Index>& sequence, Index query, Index label,
                  const T& weight, Vector<T>& dx) const;
  /// Projects an accumulated direction, if the training asks for it; softmax: the part of J_k.
  void finish(Vector<T>& dx) const;

  [[nodiscard]] const Training<T>& training() const { return training_; }
  /// a^k (T) at a state; linear attention without the temperature.
  [[nodiscard]] Vector<T> attention(const Vector<T>& x, Index token) const;

 private:
  /// `rhs` before projection where the query is x_T.
  void expect_with_last_query(const Vector<T>& x, Vector<T>& dx) const;
  /// a^k (T) at a state into `own`, as `attention`.
  void read_attention(const Vector<T>& x, Index token, Eigen::Ref<Vector<T>> own) const;
  void finish_values(Vector<T>& dx) const;
  void finish_attention(Index token, Vector<T>& dx) const;

  Training<T> training_;
  Bigrams<T> drawn_;  ///< what samples are of: with the noise of labels in P
  T pull_rate_;       ///< of attention, over the temperature
  T transition_size_, context_size_;
  ValueProducts<T> products_;          ///< of the bigrams
  ValueProducts<T> drawn_products_;    ///< of what samples are of
  Vector<T> mean_next_;                ///< P mu of these
  std::vector<AliasTable> tokens_;     ///< that P by columns, then mu behind
  std::vector<AliasTable> positions_;  ///< q^k on its support
  SequenceSymbols symbols_;
  mutable Vector<T> histogram_, residual_, pull_;
  mutable Vector<T> mean_value_;  ///< V mu
  mutable Vector<T> along_;       ///< what the projection takes off every column of V
  mutable Matrix<T> attention_;   ///< softmax(w / temperature) or A / temperature, (T x N)
  // The samples of one batch, one behind the other.
  mutable std::vector<std::uint16_t> sequences_;      ///< symbols of every sample
  mutable std::vector<Index> queries_;                ///< (batch)
  mutable Matrix<T> histograms_, residuals_, pulls_;  ///< (N x batch)
  mutable TeamChoice team_;
};

// The covariance of a draw is known in double.
template <>
void SequenceSgd<double>::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                          Matrix<double>& images) const;

}  // namespace popgrad::scb
