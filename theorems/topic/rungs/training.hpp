#pragma once
/// One layer without residual, out = W_V Z A(Z): which of its matrices exist, how they start, which
/// of them are trained, on which loss.
///
/// Attention of query token i on key token j goes as exp(s_ji), outputs are out:
///   s   = (W_K W_E)' (W_Q W_E)/(temperature sqrt(d_a))
///   out = W_E' W_V W_E Z A
/// One-hot embeddings: W_E = I. Source: arXiv 2303.04245, Section 3, which has temperature 1 and no
/// label noise.

#include <cstdint>
#include <vector>

#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

enum class LossKind { squared, cross_entropy };
/// Which topics a sampled document has: exactly tau, or shares that a Dirichlet law draws.
enum class DocumentKind { uniform, lda };
enum class ValueStart { zero, identity, normal, block };

struct Training {
  TopicLaw<double> law;
  LossKind loss = LossKind::squared;
  Index key_width = 100;      ///< d_a
  double temperature = 1;     ///< of attention, > 0
  Index embedding_width = 0;  ///< d_e; 0: one-hot
  double scale = 0.01;        ///< sigma: W_K, W_Q, W_E start with entries N(0, sigma^2)
  ValueStart start = ValueStart::zero;
  BlockValue<double> value;  ///< of ValueStart::block
  /// Starts that are given, in the shapes of Layout; empty: drawn, or as `start` says.
  Matrix<double> keys, queries, values, embedding;
  bool train_value = true, train_attention = true, train_embedding = true;
  double penalty = 0;    ///< lambda |W_V|^2 is added to the loss
  Index document = 128;  ///< N, tokens of a sampled document at least
  Index longer = 0;      ///< and so many more at most, uniformly
  DocumentKind documents = DocumentKind::uniform;
  double concentration = 0.1;              ///< of lda: each parameter of the Dirichlet law
  std::vector<std::vector<Index>> corpus;  ///< documents to sample from; empty: from the law
  /// Probability that the label of a selected position is replaced by a word drawn uniformly from all
  /// T v, the true one among them; what the document shows stays as it is.
  double label_noise = 0;
  std::uint64_t seed = 1;  ///< of the start
};

/// The parts of a state: W_K, W_Q (d_a x width), W_V (width x width), W_E (width x Tv + 1) by
/// columns, one behind the other; width is d_e, or Tv + 1 without W_E.
struct Layout {
  Index vocabulary = 0, width = 0, key_width = 0;
  double temperature = 1;
  bool embedded = false;

  explicit Layout(const Training& training);
  [[nodiscard]] Index keys() const { return 0; }
  [[nodiscard]] Index queries() const { return key_width * width; }
  [[nodiscard]] Index values() const { return 2 * key_width * width; }
  [[nodiscard]] Index embedding() const { return values() + width * width; }
  [[nodiscard]] Index size() const { return embedding() + (embedded ? width * vocabulary : 0); }
};

using ConstView = Eigen::Map<const Matrix<double>>;
using View = Eigen::Map<Matrix<double>>;

/// W_V and s as the attention sees them, (Tv + 1 square) each: W_E' W_V W_E and the logits, which
/// the temperature has divided.
struct Effective {
  Matrix<double> value, logits;
};
Effective effective(const Layout& layout, const Vector<double>& x);
/// The same in place of what `now` held; allocates nothing without W_E where it has that size.
void make_effective(const Layout& layout, const Vector<double>& x, Effective& now);

/// Adds to `dx` the gradients of the parameters that those of the effective matrices make.
void chain(const Layout& layout, const Vector<double>& x, const Matrix<double>& dvalue,
           const Matrix<double>& dlogits, Vector<double>& dx);

/// The matrices P, Q with <dvalue, P> + <dlogits, Q> = <chain(dvalue, dlogits), direction>, of all
/// dvalue and dlogits.
Effective chain_adjoint(const Layout& layout, const Vector<double>& x,
                        const Vector<double>& direction);

Vector<double> start(const Training& training);

/// From named parameters; `label_noise` as well, which rungs other than sgd take back. Throws
/// InputError.
Training training(const Parameters& parameters, std::uint64_t seed);

/// Documents of a file: words 0 .. Tv - 1 by spaces, one document a line, closed by END. Words are
/// numbered from 1 here. Throws InputError with the line.
std::vector<std::vector<Index>> read_documents(const std::string& path, Index words);

}  // namespace popgrad::topic
