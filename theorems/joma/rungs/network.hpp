#pragma once
/// Layers of attention and MLP over sequences, and their gradient by reverse accumulation.
///
///   x_t = W_E e_{token t},   then in every layer, with N = LayerNorm or the identity,
///   u_t = N(x_t + sum_{s<=t} b_st W_V x_s)          l_st = (W_K x_s).(W_Q x_t)/sqrt d
///   x_t <- N(u_t + W_2 phi(W_1 u_t + b_1) + b_2)
///   logits = W_O x_last + b_O
/// Attention over the t positions up to its own; b_st = 1/t where `train_attention` is false:
///   softmax  b_st = e^{l_st} / sum_{s'<=t} e^{l_s't}
///   exp      b_st = e^{l_st} / t
///   linear   b_st = l_st / t
/// Shapes  parameters in one vector: W_E (d x M), then of every layer W_K, W_Q, W_V (d x d), W_1
///         (width x d), b_1, W_2 (d x width), b_2, with LayerNorm gain and shift (d) after attention
///         and after the MLP, then W_O (C x d), b_O; matrices by columns. No positions.
/// Cost    O(3 d^2 + 2 d width) a column and layer forward, twice that backward, O(n^2 d) more for
///         the attention of n columns; the last layer asks at the last position only. Equal padding
///         is one column, of any length.
/// Source  decoder_only_hier.py of the authors (arXiv 2310.00535, Table 1).

#include <string>
#include <utility>
#include <vector>

#include "theorems/joma/rungs/activation.hpp"
#include "theorems/joma/rungs/attention.hpp"
#include "theorems/joma/rungs/sequence_data.hpp"

namespace popgrad::joma {

struct NetworkShape {
  Index layers = 2;      ///< 1 to 3
  Index dimension = 16;  ///< d
  Index width = 64;      ///< hidden units of a layer
  Index tokens = 20;     ///< M
  Index classes = 10;    ///< C
  Attention attention = Attention::softmax;
  Activation phi = Activation::relu;
  bool layer_norm = false;
  bool train_attention = true;
};

/// Sequences side by side, a column a position; padding of a sequence is its first column.
struct SequenceBatch {
  std::vector<Index> token;      ///< of every column (S)
  std::vector<Index> positions;  ///< that a column stands for (S): more than 1 for padding
  std::vector<Index> first;      ///< column where every sequence begins (N), then S

  [[nodiscard]] Index columns() const { return static_cast<Index>(token.size()); }
  [[nodiscard]] Index sequences() const { return static_cast<Index>(first.size()) - 1; }
  [[nodiscard]] Index begin(Index sequence) const {
    return first[static_cast<std::size_t>(sequence)];
  }
  [[nodiscard]] Index size(Index sequence) const { return begin(sequence + 1) - begin(sequence); }
};

/// The chosen sequences of the data.
SequenceBatch sequence_batch(const SequenceData& data, const std::vector<Index>& chosen);
/// The same in place of what a batch held.
void take_sequences(const SequenceData& data, const std::vector<Index>& chosen,
                    SequenceBatch& batch);

/// A matrix among the parameters.
struct NetworkBlock {
  std::string name;
  Index offset = 0, rows = 0, cols = 1;
  double spread = 0;  ///< drawn uniformly in +- spread; 0: not drawn so
};
/// In their order; names W_E, W_K_0, ..., b_O, layers counted from 0.
std::vector<NetworkBlock> network_blocks(const NetworkShape& shape);

/// PyTorch's defaults: W_E normal of deviation 1, the others uniform in +- 1/sqrt(inputs), gains 1,
/// shifts 0.
Vector<double> network_start(const NetworkShape& shape, std::uint64_t seed);

/// A matrix whose size changes from batch to batch, in memory for the largest so far and some more.
/// A copy is empty.
template <class T>
class ScratchMatrix {
 public:
  using View = Eigen::Map<Matrix<T>>;

  ScratchMatrix() = default;
  ScratchMatrix(const ScratchMatrix& /*other*/) {}
  ScratchMatrix& operator=(const ScratchMatrix& /*other*/) { return *this; }
  ~ScratchMatrix() = default;

  /// With this size from now on; the numbers are any.
  View resized(Index rows, Index cols) {
    rows_ = rows;
    cols_ = cols;
    const Index size = rows * cols;
    if (numbers_.size() < size) numbers_.resize(numbers_.size() == 0 ? size : size + size / 2);
    return (*this)();
  }
  View operator()() { return {numbers_.data(), rows_, cols_}; }
  Eigen::Map<const Matrix<T>> operator()() const { return {numbers_.data(), rows_, cols_}; }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index cols() const { return cols_; }

 private:
  Vector<T> numbers_;
  Index rows_ = 0, cols_ = 0;
};

/// The pass over a batch; keeps what the way back and the observables need. A network is copied for
/// every thread. Scalars: double, Dual<double>.
template <Transcendental T>
class Network final {
 public:
  using ConstView = Eigen::Map<const Matrix<T>>;
  using View = Eigen::Map<Matrix<T>>;

  explicit Network(const NetworkShape& shape);

  [[nodiscard]] const NetworkShape& shape() const { return shape_; }
  [[nodiscard]] Index parameters() const { return blocks_.back().offset + blocks_.back().rows; }
  [[nodiscard]] const std::vector<NetworkBlock>& blocks() const { return blocks_; }

  /// Class logits (C x N).
  ConstView forward(const Vector<T>& x, const SequenceBatch& batch) const;
  /// The gradient of sum_{c,i} pull_ci logits_ci after `forward` at the same x and batch; dx has the
  /// size of x.
  void backward(const Vector<T>& x, const SequenceBatch& batch, ConstView pull,
                Vector<T>& dx) const;

  // After `forward`:
  /// u of a layer (d x columns), in the last one at the last positions.
  [[nodiscard]] ConstView inputs(Index layer) const {
    return std::as_const(layers_[static_cast<std::size_t>(layer)].middle)();
  }
  /// After `backward`: its gradient by W_1 u + b_1 (width x columns): that by W_1 is this times inputs'.
  [[nodiscard]] ConstView pulled(Index layer) const {
    return std::as_const(layers_[static_cast<std::size_t>(layer)].d_hidden)();
  }
  /// phi(W_1 u + b_1) of a layer at the last position (width x N).
  [[nodiscard]] Matrix<T> hidden(Index layer, const SequenceBatch& batch) const;
  /// Entropy in nats of softmax(l) over the positions at the last one (N); ln of their number
  /// where attention is not trained.
  [[nodiscard]] Vector<T> attention_entropy(Index layer, const SequenceBatch& batch) const;

 private:
  /// (U - mean)/sqrt(variance + epsilon) over the rows of every column, and 1/sqrt(...).
  struct Normalised {
    ScratchMatrix<T> value;
    ScratchMatrix<T> scale;  ///< (1 x columns)
  };
  struct Layer {
    ScratchMatrix<T> asked;  ///< input where attention is asked for: all columns or last ones
    ScratchMatrix<T> keys, queries, values;  ///< W x
    /// Of every sequence (positions x queries), one behind the other.
    ScratchMatrix<T> logits, weights;
    std::vector<Index> places;  ///< where those of every sequence begin
    std::vector<Index> asking;  ///< their queries
    /// Of a sequence of n columns.
    View logit(Index s, Index n) {
      const auto at = static_cast<std::size_t>(s);
      return {logits().data() + places[at], n, asking[at]};
    }
    ConstView logit(Index s, Index n) const {
      const auto at = static_cast<std::size_t>(s);
      return {logits().data() + places[at], n, asking[at]};
    }
    View weight(Index s, Index n) {
      const auto at = static_cast<std::size_t>(s);
      return {weights().data() + places[at], n, asking[at]};
    }
    ConstView weight(Index s, Index n) const {
      const auto at = static_cast<std::size_t>(s);
      return {weights().data() + places[at], n, asking[at]};
    }
    ScratchMatrix<T> middle, before, active;  ///< u, W_1 u + b_1, phi of it
    Normalised first, second;
    // Of the way back: derivatives by the output, the queries' input, the queries, the hidden units.
    ScratchMatrix<T> d_output, d_asked, d_queries, d_hidden;
  };
  enum class Part {
    key,
    query,
    value,
    in,
    in_bias,
    out,
    out_bias,
    gain_1,
    shift_1,
    gain_2,
    shift_2
  };
  [[nodiscard]] const NetworkBlock& block(Index layer, Part part) const;
  [[nodiscard]] ConstView view(const Vector<T>& x, const NetworkBlock& block) const {
    return {x.data() + block.offset, block.rows, block.cols};
  }
  [[nodiscard]] View view(Vector<T>& x, const NetworkBlock& block) const {
    return {x.data() + block.offset, block.rows, block.cols};
  }
  [[nodiscard]] bool asks_everywhere(Index layer) const { return layer + 1 < shape_.layers; }

  void attend(const Vector<T>& x, const SequenceBatch& batch, Index layer) const;
  void weigh(const SequenceBatch& batch, Index sequence, Index query, Layer& kept) const;
  void pull_attention(const Vector<T>& x, const SequenceBatch& batch, Index layer,
                      ScratchMatrix<T>& of_input, Vector<T>& dx) const;
  void pull_weights(const SequenceBatch& batch, Index sequence, Index query,
                    const Layer& kept) const;
  void normalise(const Vector<T>& x, const NetworkBlock& gain, const NetworkBlock& shift, View u,
                 Normalised& kept) const;
  void pull_norm(const Vector<T>& x, const NetworkBlock& gain, const NetworkBlock& shift,
                 const Normalised& kept, View du, Vector<T>& dx) const;

  NetworkShape shape_;
  std::vector<NetworkBlock> blocks_;
  mutable std::vector<ScratchMatrix<T>> stream_;  ///< x before every layer and behind the last
  mutable std::vector<Layer> layers_;
  mutable ScratchMatrix<T> logits_;
  // Of the way back, of one layer after the other: derivatives by b, the keys, the values; by x of the
  // first.
  mutable ScratchMatrix<T> d_weight_, d_keys_, d_values_, d_embedded_;
};

}  // namespace popgrad::joma
