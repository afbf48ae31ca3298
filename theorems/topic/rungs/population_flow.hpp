#pragma once
/// Rungs flow, gd, sgd and two-stage: all matrices of the layer.
///
/// flow and gd follow the gradient on infinitely long documents (SubsetExpectation); sgd samples
/// documents of N tokens and their masks. two-stage: only W_V under uniform attention until a
/// time, then only W_K and W_Q. State: as in Layout. Source: arXiv 2303.04245, Sections 3 and 4.
///
/// Observables of attention are of the attention that the layer has, at its temperature. With label
/// noise `loss` and the expected gradient are those of the noisy labels, as SGD descends them.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/known_draws.hpp"
#include "popgrad/rungs/observable.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/topic/rungs/documents.hpp"
#include "theorems/topic/rungs/sampled_documents.hpp"
#include "theorems/topic/rungs/subset_expectation.hpp"

namespace popgrad::topic {

class PopulationFlow final {
 public:
  using Scalar = double;

  explicit PopulationFlow(Training training);

  [[nodiscard]] Index dimension() const { return layout_.size(); }
  [[nodiscard]] Vector<double> initial() const { return start(training_); }
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// Minus the gradient. Cost that of SubsetExpectation and O(d_a (Tv)^2).
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const;
  /// The mean over `batch` documents. Cost of a document O(N' N'' Tv), N' distinct words, N''
  /// selected positions. Documents, selections and masks are the same with label noise and without;
  /// labels have a part of the stream, as it is on entry, that documents of fewer than 2^32 numbers
  /// do not reach.
  void sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream, Index batch) const;
  /// Mean loss of the documents of `sample_rhs`, over the expected number of their selected positions, with the
  /// penalty. Cost of `sample_rhs`.
  [[nodiscard]] double batch_loss(const Vector<double>& x, Stream& stream, Index batch) const;
  /// Expectation and covariance of `sample_rhs`: exact for documents short enough for
  /// popgrad/fluctuations/draw_law.hpp. For longer ones the squared loss has its bias to order 1/N by
  /// add_document_bias, and a covariance from documents that are drawn once (sampled_documents.hpp)
  /// where they have fewer than 1000 tokens. For exactly tau topics and N tokens. Labels are run
  /// through, too.
  void draw_mean(const Vector<double>& x, Vector<double>& dx) const;
  void draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                       Matrix<double>& images) const;
  void covariance_of_nodes(const Vector<double>& x, const Matrix<double>& vectors, NodeSet nodes,
                           Matrix<double>& images) const;
  [[nodiscard]] KnownDraws known_draws() const { return known_; }
  /// Why nothing is.
  [[nodiscard]] std::string why_not_known() const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<double>& x, double step, Index batch) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const;

  [[nodiscard]] const Training& training() const { return training_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] double loss(const Vector<double>& x) const;

  enum class Moving { all, value_under_uniform_attention, attention };
  void move(const Vector<double>& x, Vector<double>& dx, Moving moving) const;

 private:
  [[nodiscard]] double penalty(const Vector<double>& x) const;
  /// Leaves the mean gradient of drawn documents in dvalue_ and dlogits_; returns their mean loss.
  double add_batch(const Vector<double>& x, Stream& stream, Index batch) const;
  void descend(const Vector<double>& x, const Matrix<double>& dvalue, const Matrix<double>& dlogits,
               Moving moving, Vector<double>& dx) const;

  /// Leaves what is not trained where it is.
  void hold_untrained(Moving moving, Vector<double>& dx) const;

  [[nodiscard]] const DocumentLaw& documents() const;
  [[nodiscard]] DrawField field_of_document(const Vector<double>& x) const;

  Training training_;
  Layout layout_;
  SubsetExpectation expectation_;
  KnownDraws known_ = KnownDraws::not_at_all;
  mutable std::optional<DocumentLaw> documents_;             ///< made when first asked for
  mutable std::shared_ptr<const SampledDocuments> sampled_;  ///< likewise
  // Scratch.
  mutable Effective now_;
  mutable Matrix<double> dvalue_, dlogits_;
  /// A document refers to the training of its rung: a copy makes its own.
  struct OwnDocument {
    std::optional<DocumentLoss> of_this;
    OwnDocument() = default;
    OwnDocument(const OwnDocument& /*other*/) {}
    OwnDocument& operator=(const OwnDocument& /*other*/) {
      of_this.reset();
      return *this;
    }
    ~OwnDocument() = default;
  };
  mutable OwnDocument document_;
};

class TwoStageFlow final {
 public:
  using Scalar = double;

  TwoStageFlow(Training training, double switch_time);

  [[nodiscard]] Index dimension() const { return flow_.dimension(); }
  [[nodiscard]] Vector<double> initial() const { return flow_.initial(); }
  [[nodiscard]] std::vector<std::string> columns() const { return flow_.columns(); }
  [[nodiscard]] std::vector<std::string> state_names() const { return flow_.state_names(); }
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const;

 private:
  PopulationFlow flow_;
  double switch_time_;
};

/// Rates of the two stages with W_V = 0 at first, derived here: of W_V under uniform attention at
/// its slowest towards the minimum-norm member, and of W_K, W_Q after it:
///   value_rate     = 2 a^2 (T - tau)/(tau v T (T - 1))
///   attention_rate = 2 p_c pi_1 (tau - 1)/(a v tau (T - 1) sqrt(d_a))
double value_rate(const TopicLaw<double>& law);
double attention_rate(const TopicLaw<double>& law, Index key_width);

}  // namespace popgrad::topic
