#pragma once
/// Loss per selected position on infinitely long documents, and its gradient, exact over all
/// C(T, tau) subsets of topics. Both losses are linear in the target e_w, so that label noise
/// (Training) has (1 - label_noise) e_w + label_noise 1/(T v) over all words in its place, exactly.
///
/// For one query, outputs are sums of T + 1 vectors over a scalar, so the squared loss of a subset
/// needs only their products: tau^2 numbers for any vocabulary. Cost of an evaluation:
///   squared loss             O((Tv)^3) in matrix products and O(Tv (C(T, tau) tau^2 + T^2 Tv))
///   cross entropy, `plain`   O(C(T, tau) tau (Tv)^2)
/// Memory O(T (Tv)^2), kept from one evaluation to the next: an object serves one caller at a time.

#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

/// Attention per key of a kind over uniform attention, averaged over queries in documents
/// that have their topic.
struct AttentionByKind {
  double same_word = 0, same_topic = 0, other_topic = 0;
};

class SubsetExpectation {
 public:
  /// Throws InputError if there are more than 200 000 subsets.
  SubsetExpectation(const TopicLaw<double>& law, LossKind loss, bool plain = false,
                    double label_noise = 0);

  /// Both matrices (Tv + 1) square; gradients are set where pointers are given.
  double operator()(const Matrix<double>& value, const Matrix<double>& logits,
                    Matrix<double>* dvalue = nullptr, Matrix<double>* dlogits = nullptr) const;
  [[nodiscard]] AttentionByKind attention(const Matrix<double>& logits) const;

 private:
  /// Of a thread: what one query column adds, and its gradients with respect to the T + 1 vectors and
  /// weights that its outputs are made of.
  struct Column {
    Index query = 0;
    Matrix<double> vectors, dvectors;  // (Tv + 1) x (T + 1)
    Vector<double> weights, dweights;  // T + 1
    // Scratch of `squared`.
    Matrix<double> gram, dgram, sums, dsums;
    Vector<double> totals, dtotals, down;
    // Of `enumerated`.
    Vector<double> out, target, slope;
  };
  /// Room of an evaluation; shared by no threads but those of one.
  struct Scratch {
    Matrix<double> exponentials, mass, from_mask, gradient;
    std::vector<Matrix<double>> from;  // what each topic adds to the outputs of each query
    std::vector<double> losses;
    std::vector<Column> columns;  // a thread each
    Eigen::RowVectorXd row;
  };
  /// The loss of a query, and its gradient into the column.
  double squared(Column& column, bool gradient) const;
  double enumerated(Column& column, bool gradient) const;
  /// The column of one query, its loss and its gradient, at their places in the scratch.
  void take_query(Index query, const Matrix<double>& value, bool gradient, Column& column) const;

  [[nodiscard]] std::size_t count() const {
    return subsets_.size() / static_cast<std::size_t>(law_.active);
  }
  [[nodiscard]] const Index* subset(std::size_t s) const {
    return subsets_.data() + s * static_cast<std::size_t>(law_.active);
  }
  [[nodiscard]] bool own_topic_in(std::size_t s, Index query) const {
    return query > 0 && present_[s * static_cast<std::size_t>(law_.topics) +
                                 static_cast<std::size_t>(law_.topic_of(query))] != 0;
  }
  /// Weight of the event that a query is kept and its target itself; of a target drawn from the words
  /// of the document.
  [[nodiscard]] double kept(bool own) const {
    return own ? law_.correct / static_cast<double>(law_.active * law_.words) : 0.0;
  }
  [[nodiscard]] double drawn(Index query) const {
    return query > 0 ? law_.random / static_cast<double>(law_.topics * law_.words) : law_.hidden();
  }
  /// Share of the targets that is left, and what goes to each of the T v words, of a mass of 1.
  [[nodiscard]] double own_labels() const { return 1 - label_noise_; }
  [[nodiscard]] double any_label() const {
    return label_noise_ / static_cast<double>(law_.topics * law_.words);
  }

  TopicLaw<double> law_;
  LossKind loss_;
  bool plain_;
  double label_noise_;
  std::vector<Index> subsets_;  ///< tau numbers each
  std::vector<char> present_;   ///< T flags each
  mutable Scratch scratch_;
};

}  // namespace popgrad::topic
