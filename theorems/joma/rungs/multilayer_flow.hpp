#pragma once
/// Rungs `multilayer-flow`, `multilayer-gd`, `multilayer-sgd`: a network of 1 to 3 layers on
/// sequences of tokens, nothing of the theory assumed.
///
///   x' = -d/dx E[-ln softmax(logits)_class], x all parameters (theorems/joma/rungs/network.hpp)
/// Shapes  state: the parameters, in the order and under the names of the blocks of the network.
/// Units   t = learning rate * steps.
/// Cost    O(S (d^2 + d width)) a layer and evaluation, S the columns of all N sequences (at most N
///         (L + 1), equal padding being one), and O(S (d + width)) memory a layer; a minibatch pays
///         for the sequences that it has drawn.
/// Source  arXiv 2310.00535, Section 5 and Table 1, as in the authors' decoder_only_hier.py;
///         optimiser, weight decay and momentum are the caller's.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/joma/rungs/latent_correlation.hpp"
#include "theorems/joma/rungs/network.hpp"

namespace popgrad::joma {

template <class T>
struct MultilayerInstance {
  NetworkShape shape;
  SequenceData data;
  Vector<T> start;
};

/// From named parameters (`hierarchy`, `layers`, `d`, ...). Throws InputError.
MultilayerInstance<double> multilayer_instance(const Parameters& parameters, std::uint64_t seed);

template <Transcendental T>
class MultilayerFlow final {
 public:
  using Scalar = T;
  explicit MultilayerFlow(MultilayerInstance<T> instance);

  [[nodiscard]] Index dimension() const { return network_.parameters(); }
  [[nodiscard]] Vector<T> initial() const { return instance_.start; }
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const { return columns_.names(); }
  /// Of a matrix W: W_i_j; of a vector b: b_i.
  [[nodiscard]] std::vector<std::string> state_names() const;

  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// The mean over `batch` >= 1 draws of a sequence and its class; equal draws are counted.
  void sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) const;
  /// Mean cross entropy of the draws of `sample_rhs`, in nats. Cost of their logits.
  [[nodiscard]] T batch_loss(const Vector<T>& x, Stream& stream, Index batch) const;
  /// Share of these draws whose class has the largest logit. The same cost.
  [[nodiscard]] double batch_accuracy(const Vector<T>& x, Stream& stream, Index batch) const;
  /// Covariance of one draw applied to the columns of a matrix, over every sequence and class.
  /// Cost: a gradient each; memory O(dimension m) for m columns.
  void draw_covariance(const Vector<T>& x, const Matrix<T>& vectors, Matrix<T>& images) const;
  /// loss (nats), accuracy (probability that the largest logit is the class), then for every layer h
  /// attention_entropy_h (nats, at the last position, mean over sequences), then for every layer h
  /// and level l of latents correlation_h_l and matched_h_l (theorems/joma/rungs/latent_correlation.hpp,
  /// hidden units at the last position).
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

  /// Mean cross entropy, in nats.
  [[nodiscard]] T loss(const Vector<T>& x) const;
  /// Hidden units of a layer at the last position (width x N).
  [[nodiscard]] Matrix<T> hidden(const Vector<T>& x, Index layer) const;

  [[nodiscard]] const MultilayerInstance<T>& instance() const { return instance_; }
  [[nodiscard]] const Network<T>& network() const { return network_; }
  template <class U>
  [[nodiscard]] MultilayerFlow<U> cast() const {
    return MultilayerFlow<U>({instance_.shape, instance_.data, instance_.start.template cast<U>()});
  }

 private:
  /// What the columns are read from.
  struct Readings {
    using Scalar = T;
    T loss{};
    double accuracy = 0;
    std::vector<T> attention_entropy;               ///< of every layer
    std::vector<std::vector<LatentScore>> latents;  ///< of every layer and level
  };

  [[nodiscard]] T loss_of(Eigen::Map<const Matrix<T>> logits,
                          const Eigen::Map<const Matrix<double>>& weight) const;
  [[nodiscard]] double accuracy_of(Eigen::Map<const Matrix<T>> logits,
                                   const Eigen::Map<const Matrix<double>>& weight) const;
  [[nodiscard]] Eigen::Map<const Matrix<double>> weights_of_all() const {
    return {weight_.data(), weight_.rows(), weight_.cols()};
  }
  /// Leaves a drawn minibatch in drawn_batch_ and drawn_weight_.
  void draw_batch(Stream& stream, Index batch) const;
  void field(const Vector<T>& x, const SequenceBatch& batch,
             Eigen::Map<const Matrix<double>> weight, Vector<T>& dx) const;

  MultilayerInstance<T> instance_;
  Network<T> network_;
  SequenceBatch all_;
  Matrix<double> weight_;  ///< P[class, sequence] (C x N)
  std::vector<double> cumulative_;
  std::vector<std::vector<double>> cumulative_classes_;  ///< of every sequence
  IndexedColumns<Readings> columns_;
  // Scratch; of a minibatch, its draws, its sequences, and the shares of their classes.
  mutable ScratchMatrix<T> pull_;
  mutable std::vector<std::pair<Index, Index>> drawn_;
  mutable std::vector<Index> chosen_;
  mutable SequenceBatch drawn_batch_;
  mutable ScratchMatrix<double> drawn_weight_;
};

}  // namespace popgrad::joma
