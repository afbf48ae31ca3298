#pragma once
/// Rungs sgd, gd, flow and fast-decoder: decoder Y and attention logits Z on sampled
/// or expected sequences.
///
///   dY/dt   = eta_Y sum_n w_n f_n (e_n - alpha_n)'
///   dz_m/dt = eta_Z sum_{n: psi(n) = m} w_n diag(f_n) (I - f_n f_n') g_n
///   g_n     = Y (e_n - alpha_n)
///   alpha_n = softmax(Y' f_n)
/// fast-decoder replaces the first line (Lemma 3), with the F of the moment, so that rows of F'Y
/// decouple:
///   dY/dt   = eta_Y sum_n w_n F (I + E)^{-1} e_n (e_n - alpha_n)'
/// Training may depart from the theory in two ways (sgd). With a temperature T, attention is
/// softmax(z/T):
///   f_n proportional to P(l|n) exp(z_ml/T),   dz_m/dt as above divided by T
/// With label noise rho the next token of a sequence is that of its class n, or with probability
/// rho that of a class drawn uniformly from all K; its tokens and its query stay those of n. The
/// field is linear in the label, so its expectation has
///   (1 - rho) e_n + (rho/K) sum_k e_k   in place of e_n
/// Observables leave out both, as scripts log them whose training does so by mistake: labels are
/// those of the classes, attention (of loss, entropies, xi and f alike) is softmax(z).
/// State: Y by rows (R x C, see Layout), z (pairs), and B_n (K) if growth is tracked.
/// Clock: t counts steps of batch 1; one step of gradient descent is Euler with step 1.
/// Cost of an evaluation: 3 nnz(P) C multiply-adds and K C exp; with label noise K C and with a
/// temperature nnz(P) more; with growth tracked K^2 C + K^3 more.
/// Memory O(nnz(P) + R C). From Y = 0, C <= K + 1. Above 48 MB of Y its columns are gone through by panels of
/// 8 MB, so that the rows that entries ask for come from the cache.
/// Source: arXiv 2305.16380, Lemmas 1 and 2.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/team_choice.hpp"
#include "popgrad/fluctuations/draw_law.hpp"
#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/known_draws.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/inverse.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/observables.hpp"

namespace popgrad::scan_snap {

/// How the decoder learns.
enum class DecoderRule {
  gradient,  ///< the gradient of the loss
  fast,      ///< the gradient with the overlap of the features undone (Lemma 3); K^3 more
};

template <Transcendental T>
class PopulationFlow final {
 public:
  using Scalar = T;

  explicit PopulationFlow(TrainingInstance<T> instance, DecoderRule rule = DecoderRule::gradient);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const { return observer_.columns(); }
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// The learning rate that each component of rhs contains.
  [[nodiscard]] Vector<T> rates() const;

  /// The expected field.
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// The mean over `batch` sampled sequences of length T. Cost a sequence: T draws and 3 u C
  /// multiply-adds, u <= T - 1 the different tokens drawn; with label noise one draw more. Classes
  /// and tokens are the same for any label noise.
  void sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) const;
  /// Mean cross entropy of the sequences of `sample_rhs` on their labels, in nats. Cost of their logits.
  [[nodiscard]] double batch_loss(const Vector<T>& x, Stream& stream, Index batch) const;
  /// Share of their labels that are the likeliest token, ties broken by lot. The same cost.
  [[nodiscard]] double batch_accuracy(const Vector<T>& x, Stream& stream, Index batch) const;
  /// Expectation and covariance of `sample_rhs`: of short and of long sequences by
  /// popgrad/fluctuations/draw_law.hpp, between them by popgrad/fluctuations/sampled_draws.hpp, of all counts up to 4000. Cost: 3 u C multiply-adds a
  /// class and count, or a class and node; of long sequences 2 nnz(P) + K times 3 u C. With label
  /// noise K times as much.
  void draw_mean(const Vector<T>& x, Vector<T>& dx) const;
  void draw_covariance(const Vector<T>& x, const Matrix<T>& vectors, Matrix<T>& images) const;
  /// The same from some of the nodes, where they are sampled.
  void covariance_of_nodes(const Vector<T>& x, const Matrix<T>& vectors, NodeSet nodes,
                           Matrix<T>& images) const;
  /// Jacobian of draw_mean without B_n, where draws are sampled (n x n). Cost: C^2 + 6 C products (u x S)
  /// (S x u) a class, S nodes.
  void mean_jacobian(const Vector<T>& x, Matrix<T>& jacobian) const;
  /// B_n is of the expected field and has no such Jacobian.
  [[nodiscard]] bool has_mean_jacobian() const { return !instance_.track_growth; }
  /// Are they close enough to be offered? Not for sequences of middle length whose classes have too
  /// many or too rare tokens (has_draw_nodes), nor for more pairs of class and label than
  /// noisy_labels.hpp allows.
  [[nodiscard]] KnownDraws known_draws() const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

  /// Mean cross entropy of the next token, nats: without label noise and temperature.
  [[nodiscard]] T loss(const Vector<T>& x) const;

  [[nodiscard]] const TrainingInstance<T>& instance() const { return instance_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  /// f (nnz) at a state, z (pairs) of a state.
  [[nodiscard]] Vector<T> features_at(const Vector<T>& x) const;
  [[nodiscard]] Vector<T> logits_at(const Vector<T>& x) const;

 private:
  /// Own labels and temperature 1, as observed, or those that are trained with.
  enum class Problem { clean, trained };
  /// `together`: by all threads, with the same result.
  void evaluate(const Vector<T>& x, Problem problem, bool together) const;
  /// `rhs` by all threads or by one.
  void field(const Vector<T>& x, Vector<T>& dx, bool together) const;
  /// Is an evaluation so long that a team of threads pays, and none at work here?
  [[nodiscard]] bool worth_a_team() const;
  /// z/temperature (pairs), at the place of z in the state where the temperature is 1.
  [[nodiscard]] const T* tempered_logits(const Vector<T>& x) const;
  /// use(column of the label) of each drawn sequence, whose counts are in drawn_row_, drawn_pair_, drawn_f_.
  template <class Use>
  void for_each_drawn(Stream& stream, Index batch, const Use& use) const;
  /// The loss of the sequence in drawn_*: leaves its features in drawn_f_, what the decoder misses in residual_.
  double respond_to_drawn(const Vector<T>& x, Index label) const;
  /// Adds `share` times the direction of the sequence whose tokens and counts are in the scratch
  /// space below and whose label is the next token of a class, the column `label` of Y.
  void add_drawn(const Vector<T>& x, Index label, double share, Vector<T>& dx) const;
  [[nodiscard]] DrawField field_of_sample(const Vector<T>& x) const;
  [[nodiscard]] const SampledDraws& sampled_draws() const;
  /// Classes of `draws_` that differ in the label only.
  [[nodiscard]] Index labels_of_a_class() const { return noisy_ ? instance_.classes.classes() : 1; }
  /// Leaves f, e - alpha and eta_Z dL/dz of sequences of a class of `draws_`, a column of frequencies
  /// each, in the scratch space of columns.
  void respond_to_columns(const Vector<T>& x, Index of_law, const Matrix<T>& frequencies) const;
  /// xi_n (K) at the state of the last evaluation, whose F'F is `overlap`.
  [[nodiscard]] Vector<T> xi_of_last(const Matrix<T>& overlap) const;
  /// B_n' (K) there, into the last numbers of a slope.
  void write_growth(Vector<T>& dx) const;

  TrainingInstance<T> instance_;
  DecoderRule rule_;
  Layout layout_;
  Observer<T> observer_;
  Vector<T> multiplicity_;
  std::vector<double> cumulative_classes_;
  std::vector<AliasTable> token_laws_;  ///< of each class, by entry
  DrawLaw draws_;                       ///< of classes, noisy labels and tokens, by entry
  bool noisy_ = false, tempered_ = false;
  double noise_ = 0;       ///< label_noise, where samples are drawn
  Vector<T> label_share_;  ///< of the K classes, by the column of their next token (C); with noise
  // Scratch of one evaluation; a rung is copied for every thread.
  mutable Vector<T> f_, products_, tempered_z_;
  mutable RowMatrix<T> logits_, residual_, pull_;  ///< (K x C)
  // What overlaps of features take: F'F, its inverse and the pull that it undoes, the fit of xi.
  mutable Matrix<T> gram_, undone_;
  mutable GramInverse<T> inverse_;
  mutable FittedXi<T> fitted_xi_;
  mutable Vector<T> panel_;  ///< some columns of a table beyond the cache
  mutable TeamChoice team_;
  // One drawn sequence: counts by entry of its class, then its different tokens.
  mutable std::vector<std::uint32_t> counts_;
  mutable std::vector<Index> drawn_row_, drawn_pair_;
  mutable std::vector<double> drawn_f_, drawn_products_;
  // Many drawn sequences of one class: f (u x S), e - alpha (C x S), eta_Z dL/dz (u x S), Y in the rows
  // of its tokens (u x C), and Y'f (C x S).
  mutable Matrix<T> columns_f_, columns_residual_, columns_pull_, columns_table_, columns_logits_;
  mutable std::shared_ptr<const SampledDraws> sampled_;  ///< made when first asked for
};

// What is known of one draw is known in double.
template <>
DrawField PopulationFlow<double>::field_of_sample(const Vector<double>& x) const;
template <>
void PopulationFlow<double>::draw_mean(const Vector<double>& x, Vector<double>& dx) const;
template <>
void PopulationFlow<double>::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                             Matrix<double>& images) const;
template <>
void PopulationFlow<double>::covariance_of_nodes(const Vector<double>& x,
                                                 const Matrix<double>& vectors, NodeSet nodes,
                                                 Matrix<double>& images) const;
template <>
void PopulationFlow<double>::mean_jacobian(const Vector<double>& x, Matrix<double>& jacobian) const;
template <>
const SampledDraws& PopulationFlow<double>::sampled_draws() const;
template <>
void PopulationFlow<double>::respond_to_columns(const Vector<double>& x, Index of_law,
                                                const Matrix<double>& frequencies) const;

}  // namespace popgrad::scan_snap
