#include "theorems/joma/rungs/network.hpp"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "popgrad/scalars/dual.hpp"
#include "scalars/softmax.hpp"

namespace popgrad::joma {
namespace {

constexpr std::uint32_t instance_run = 0xFFFFFFFFU;
constexpr std::uint64_t start_stream = 33;

constexpr Index plain_parts = 7;    // of a layer
constexpr Index normed_parts = 11;  // with two LayerNorms

// PyTorch's epsilon of LayerNorm, 1e-5.
template <class T>
T norm_epsilon() {
  return T(1) / T(100000);
}

// The maximum of a column of numbers; nothing else is ordered.
template <class Column>
auto largest(const Column& column, Index count) {
  auto most = column[0];
  for (Index i = 1; i < count; ++i) {
    if (most < column[i]) most = column[i];
  }
  return most;
}

}  // namespace

SequenceBatch sequence_batch(const SequenceData& data, const std::vector<Index>& chosen) {
  SequenceBatch batch;
  take_sequences(data, chosen, batch);
  return batch;
}

void take_sequences(const SequenceData& data, const std::vector<Index>& chosen,
                    SequenceBatch& batch) {
  batch.token.clear();
  batch.positions.clear();
  batch.first.assign(1, 0);
  for (const Index i : chosen) {
    const std::vector<Index>& content = data.content[static_cast<std::size_t>(i)];
    const Index padding = data.length - std::ssize(content);
    if (padding > 0) {
      batch.token.push_back(0);
      batch.positions.push_back(padding);
    }
    for (const Index token : content) {
      batch.token.push_back(token);
      batch.positions.push_back(1);
    }
    batch.first.push_back(batch.columns());
  }
}

std::vector<NetworkBlock> network_blocks(const NetworkShape& shape) {
  const Index d = shape.dimension;
  const Index m = shape.width;
  std::vector<NetworkBlock> blocks;
  const auto add = [&](std::string name, Index rows, Index cols, Index inputs) {
    const Index offset =
        blocks.empty() ? 0 : blocks.back().offset + blocks.back().rows * blocks.back().cols;
    const double spread = inputs > 0 ? 1 / std::sqrt(static_cast<double>(inputs)) : 0.0;
    blocks.push_back({std::move(name), offset, rows, cols, spread});
  };
  add("W_E", d, shape.tokens, 0);
  for (Index h = 0; h < shape.layers; ++h) {
    for (const char* name : {"W_K", "W_Q", "W_V"}) add(fmt::format("{}_{}", name, h), d, d, d);
    add(fmt::format("W_1_{}", h), m, d, d);
    add(fmt::format("b_1_{}", h), m, 1, d);
    add(fmt::format("W_2_{}", h), d, m, m);
    add(fmt::format("b_2_{}", h), d, 1, m);
    if (!shape.layer_norm) continue;
    for (const char* name : {"gain_1", "shift_1", "gain_2", "shift_2"}) {
      add(fmt::format("{}_{}", name, h), d, 1, 0);
    }
  }
  add("W_O", shape.classes, d, d);
  add("b_O", shape.classes, 1, d);
  return blocks;
}

Vector<double> network_start(const NetworkShape& shape, std::uint64_t seed) {
  const std::vector<NetworkBlock> blocks = network_blocks(shape);
  Vector<double> x(blocks.back().offset + blocks.back().rows);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const NetworkBlock& block = blocks[b];
    Stream stream(seed, instance_run, start_stream + b);
    auto part = x.segment(block.offset, block.rows * block.cols);
    if (block.spread > 0) {
      for (double& entry : part) entry = block.spread * (2 * stream.uniform() - 1);
    } else if (b == 0) {
      for (double& entry : part) entry = stream.normal();
    } else {
      part.setConstant(block.name.starts_with("gain") ? 1.0 : 0.0);
    }
  }
  return x;
}

template <Transcendental T>
Network<T>::Network(const NetworkShape& shape)
    : shape_(shape),
      blocks_(network_blocks(shape)),
      stream_(static_cast<std::size_t>(shape.layers) + 1),
      layers_(static_cast<std::size_t>(shape.layers)) {}

template <Transcendental T>
const NetworkBlock& Network<T>::block(Index layer, Part part) const {
  const Index parts = shape_.layer_norm ? normed_parts : plain_parts;
  return blocks_[static_cast<std::size_t>(1 + layer * parts + static_cast<Index>(part))];
}

// ---- forward -----------------------------------------------------------------------------------

// The weights of one query over the positions up to its own; logits are in place.
template <Transcendental T>
void Network<T>::weigh(const SequenceBatch& batch, Index sequence, Index query, Layer& kept) const {
  using std::exp;
  const auto s = static_cast<std::size_t>(sequence);
  const Index n = batch.size(sequence);
  const Index asking = kept.asking[s] == n ? query : n - 1;
  const auto logit = kept.logit(sequence, n).col(query);
  auto weight = kept.weight(sequence, n).col(query);
  const auto positions = [&](Index column) {
    return T(static_cast<int>(
        batch.positions[static_cast<std::size_t>(batch.begin(sequence) + column)]));
  };
  const bool softmax = shape_.attention == Attention::softmax && shape_.train_attention;
  T shift(0);
  if (softmax) shift = largest(logit, asking + 1);
  T total(0);
  T places(0);
  for (Index c = 0; c < n; ++c) {
    if (c > asking) {
      weight[c] = T(0);
      continue;
    }
    places = places + positions(c);
    if (!shape_.train_attention) {
      weight[c] = positions(c);
    } else if (shape_.attention == Attention::linear) {
      weight[c] = positions(c) * logit[c];
    } else {
      weight[c] = positions(c) * exp(T(logit[c] - shift));
    }
    total = total + weight[c];
  }
  const T divisor = softmax ? total : places;
  for (Index c = 0; c <= asking; ++c) weight[c] = weight[c] / divisor;
}

template <Transcendental T>
void Network<T>::normalise(const Vector<T>& x, const NetworkBlock& gain, const NetworkBlock& shift,
                           View u, Normalised& kept) const {
  using std::sqrt;
  const auto g = view(x, gain);
  const auto b = view(x, shift);
  const T rows(static_cast<int>(u.rows()));
  View value = kept.value.resized(u.rows(), u.cols());
  View scale = kept.scale.resized(1, u.cols());
  for (Index c = 0; c < u.cols(); ++c) {
    const T mean = u.col(c).sum() / rows;
    value.col(c) = u.col(c).array() - mean;
    const T variance = value.col(c).squaredNorm() / rows;
    scale(0, c) = T(1) / sqrt(T(variance + norm_epsilon<T>()));
    value.col(c) *= scale(0, c);
    u.col(c) = value.col(c).cwiseProduct(g.col(0)) + b.col(0);
  }
}

template <Transcendental T>
void Network<T>::attend(const Vector<T>& x, const SequenceBatch& batch, Index layer) const {
  using std::sqrt;
  Layer& kept = layers_[static_cast<std::size_t>(layer)];
  const View input = stream_[static_cast<std::size_t>(layer)]();
  const bool everywhere = asks_everywhere(layer);
  View asked = kept.asked.resized(input.rows(), everywhere ? input.cols() : batch.sequences());
  if (everywhere) {
    asked = input;
  } else {
    for (Index i = 0; i < batch.sequences(); ++i) {
      asked.col(i) = input.col(batch.begin(i + 1) - 1);
    }
  }
  View values = kept.values.resized(input.rows(), input.cols());
  values.noalias() = view(x, block(layer, Part::value)) * input;
  View keys = kept.keys.resized(input.rows(), input.cols());
  View queries_of = kept.queries.resized(asked.rows(), asked.cols());
  if (shape_.train_attention) {
    keys.noalias() = view(x, block(layer, Part::key)) * input;
    queries_of.noalias() = view(x, block(layer, Part::query)) * asked;
    queries_of /= sqrt(T(static_cast<int>(shape_.dimension)));
  }
  kept.places.clear();
  kept.asking.clear();
  Index numbers = 0;
  for (Index i = 0; i < batch.sequences(); ++i) {
    const Index n = batch.size(i);
    kept.places.push_back(numbers);
    kept.asking.push_back(everywhere ? n : 1);
    numbers += (n * kept.asking.back() + 1) / 2 * 2;  // where vectors of two begin
  }
  kept.logits.resized(1, numbers);
  kept.weights.resized(1, numbers);
  View middle = kept.middle.resized(asked.rows(), asked.cols());
  middle = asked;
  for (Index i = 0; i < batch.sequences(); ++i) {
    const Index n = batch.size(i);
    const Index queries = everywhere ? n : 1;
    const Index at = everywhere ? batch.begin(i) : i;
    View logit = kept.logit(i, n);
    if (shape_.train_attention) {
      logit.noalias() =
          keys.middleCols(batch.begin(i), n).transpose() * queries_of.middleCols(at, queries);
    } else {
      logit.setConstant(T(0));
    }
    for (Index q = 0; q < queries; ++q) weigh(batch, i, q, kept);
    middle.middleCols(at, queries).noalias() +=
        values.middleCols(batch.begin(i), n) * kept.weight(i, n);
  }
}

template <Transcendental T>
typename Network<T>::ConstView Network<T>::forward(const Vector<T>& x,
                                                   const SequenceBatch& batch) const {
  const auto embedding = view(x, blocks_.front());
  View embedded = stream_[0].resized(shape_.dimension, batch.columns());
  for (Index c = 0; c < batch.columns(); ++c) {
    embedded.col(c) = embedding.col(batch.token[static_cast<std::size_t>(c)]);
  }
  const Activation phi = shape_.phi;
  for (Index h = 0; h < shape_.layers; ++h) {
    Layer& kept = layers_[static_cast<std::size_t>(h)];
    attend(x, batch, h);
    const View middle = kept.middle();
    if (shape_.layer_norm) {
      normalise(x, block(h, Part::gain_1), block(h, Part::shift_1), middle, kept.first);
    }
    View before = kept.before.resized(shape_.width, middle.cols());
    before.noalias() = view(x, block(h, Part::in)) * middle;
    before.colwise() += view(x, block(h, Part::in_bias)).col(0);
    View active = kept.active.resized(shape_.width, middle.cols());
    if (phi == Activation::linear) {
      active = before;
    } else {
      active = before.unaryExpr([phi](const T& a) { return activate(phi, a); });
    }
    View output = stream_[static_cast<std::size_t>(h) + 1].resized(middle.rows(), middle.cols());
    output = middle;
    output.noalias() += view(x, block(h, Part::out)) * active;
    output.colwise() += view(x, block(h, Part::out_bias)).col(0);
    if (shape_.layer_norm) {
      normalise(x, block(h, Part::gain_2), block(h, Part::shift_2), output, kept.second);
    }
  }
  const View last = stream_.back()();
  View logits = logits_.resized(shape_.classes, last.cols());
  logits.noalias() = view(x, blocks_[blocks_.size() - 2]) * last;
  logits.colwise() += view(x, blocks_.back()).col(0);
  return {logits.data(), logits.rows(), logits.cols()};
}

// ---- backward ----------------------------------------------------------------------------------

template <Transcendental T>
void Network<T>::pull_norm(const Vector<T>& x, const NetworkBlock& gain, const NetworkBlock& shift,
                           const Normalised& kept, View du, Vector<T>& dx) const {
  const auto g = view(x, gain);
  const T rows(static_cast<int>(du.rows()));
  const ConstView value = kept.value();
  const ConstView scale = kept.scale();
  view(dx, gain).col(0) = du.cwiseProduct(value).rowwise().sum();
  view(dx, shift).col(0) = du.rowwise().sum();
  for (Index c = 0; c < du.cols(); ++c) {
    du.col(c) = du.col(c).cwiseProduct(g.col(0));
    const T mean = du.col(c).sum() / rows;
    const T along = du.col(c).dot(value.col(c)) / rows;
    du.col(c) -= along * value.col(c);
    du.col(c) = (scale(0, c) * (du.col(c).array() - mean)).matrix();
  }
}

// From the derivative by the weights of one query, in d_weight_, to that by its logits, in place.
template <Transcendental T>
void Network<T>::pull_weights(const SequenceBatch& batch, Index sequence, Index query,
                              const Layer& kept) const {
  const Index n = batch.size(sequence);
  const ConstView weights = kept.weight(sequence, n);
  const Index asking = weights.cols() == n ? query : n - 1;
  const auto weight = weights.col(query);
  auto pull = d_weight_().col(query);
  if (shape_.attention == Attention::linear) {
    Index places = 0;
    const auto positions = [&](Index c) {
      return batch.positions[static_cast<std::size_t>(batch.begin(sequence) + c)];
    };
    for (Index c = 0; c <= asking; ++c) places += positions(c);
    for (Index c = 0; c < n; ++c) {
      const Index own = c <= asking ? positions(c) : 0;
      pull[c] = pull[c] * T(static_cast<int>(own)) / T(static_cast<int>(places));
    }
    return;
  }
  T along(0);
  if (shape_.attention == Attention::softmax) along = weight.dot(pull);
  for (Index c = 0; c < n; ++c) pull[c] = weight[c] * (pull[c] - along);
}

// Takes the derivative by u from d_asked of the layer, adds that by its input to it and to `d_input`.
template <Transcendental T>
void Network<T>::pull_attention(const Vector<T>& x, const SequenceBatch& batch, Index layer,
                                ScratchMatrix<T>& of_input, Vector<T>& dx) const {
  using std::sqrt;
  Layer& kept = layers_[static_cast<std::size_t>(layer)];
  const View input = stream_[static_cast<std::size_t>(layer)]();
  const bool everywhere = asks_everywhere(layer);
  View d_asked = kept.d_asked();
  View d_values = d_values_.resized(input.rows(), input.cols());
  View d_keys = d_keys_.resized(input.rows(), input.cols());
  View d_queries = kept.d_queries.resized(input.rows(), kept.asked.cols());
  for (Index i = 0; i < batch.sequences(); ++i) {
    const Index n = batch.size(i);
    const Index queries = everywhere ? n : 1;
    const Index at = everywhere ? batch.begin(i) : i;
    const auto pull = d_asked.middleCols(at, queries);
    d_values.middleCols(batch.begin(i), n).noalias() = pull * kept.weight(i, n).transpose();
    if (!shape_.train_attention) continue;
    View d_weight = d_weight_.resized(n, queries);
    d_weight.noalias() = kept.values().middleCols(batch.begin(i), n).transpose() * pull;
    for (Index q = 0; q < queries; ++q) pull_weights(batch, i, q, kept);
    d_keys.middleCols(batch.begin(i), n).noalias() =
        kept.queries().middleCols(at, queries) * d_weight.transpose();
    d_queries.middleCols(at, queries).noalias() =
        kept.keys().middleCols(batch.begin(i), n) * d_weight;
  }
  view(dx, block(layer, Part::value)).noalias() = d_values * input.transpose();
  View d_input = of_input.resized(input.rows(), input.cols());
  d_input.noalias() = view(x, block(layer, Part::value)).transpose() * d_values;
  if (shape_.train_attention) {
    d_queries /= sqrt(T(static_cast<int>(shape_.dimension)));
    view(dx, block(layer, Part::key)).noalias() = d_keys * input.transpose();
    view(dx, block(layer, Part::query)).noalias() = d_queries * kept.asked().transpose();
    d_input.noalias() += view(x, block(layer, Part::key)).transpose() * d_keys;
    d_asked.noalias() += view(x, block(layer, Part::query)).transpose() * d_queries;
  } else {
    view(dx, block(layer, Part::key)).setConstant(T(0));
    view(dx, block(layer, Part::query)).setConstant(T(0));
  }
  if (everywhere) {
    d_input += d_asked;
  } else {
    for (Index i = 0; i < batch.sequences(); ++i) {
      d_input.col(batch.begin(i + 1) - 1) += d_asked.col(i);
    }
  }
}

template <Transcendental T>
void Network<T>::backward(const Vector<T>& x, const SequenceBatch& batch, ConstView pull,
                          Vector<T>& dx) const {
  dx.resize(x.size());
  const NetworkBlock& classes = blocks_[blocks_.size() - 2];
  view(dx, classes).noalias() = pull * stream_.back()().transpose();
  view(dx, blocks_.back()).col(0) = pull.rowwise().sum();
  layers_.back().d_output.resized(shape_.dimension, pull.cols()).noalias() =
      view(x, classes).transpose() * pull;
  const Activation phi = shape_.phi;
  for (Index h = shape_.layers; h-- > 0;) {
    Layer& kept = layers_[static_cast<std::size_t>(h)];
    const View d_output = kept.d_output();
    if (shape_.layer_norm) {
      pull_norm(x, block(h, Part::gain_2), block(h, Part::shift_2), kept.second, d_output, dx);
    }
    view(dx, block(h, Part::out)).noalias() = d_output * kept.active().transpose();
    view(dx, block(h, Part::out_bias)).col(0) = d_output.rowwise().sum();
    View d_hidden = kept.d_hidden.resized(shape_.width, d_output.cols());
    d_hidden.noalias() = view(x, block(h, Part::out)).transpose() * d_output;
    if (phi != Activation::linear) {
      d_hidden = d_hidden.binaryExpr(kept.before(), [phi](const T& g, const T& a) -> T {
        return g * activation_slope(phi, a);
      });
    }
    view(dx, block(h, Part::in)).noalias() = d_hidden * kept.middle().transpose();
    view(dx, block(h, Part::in_bias)).col(0) = d_hidden.rowwise().sum();
    View d_asked = kept.d_asked.resized(d_output.rows(), d_output.cols());
    d_asked = d_output;
    d_asked.noalias() += view(x, block(h, Part::in)).transpose() * d_hidden;
    if (shape_.layer_norm) {
      pull_norm(x, block(h, Part::gain_1), block(h, Part::shift_1), kept.first, d_asked, dx);
    }
    pull_attention(x, batch, h,
                   h > 0 ? layers_[static_cast<std::size_t>(h - 1)].d_output : d_embedded_, dx);
  }
  View embedding = view(dx, blocks_.front());
  embedding.setConstant(T(0));
  const View d_embedded = d_embedded_();
  for (Index c = 0; c < batch.columns(); ++c) {
    embedding.col(batch.token[static_cast<std::size_t>(c)]) += d_embedded.col(c);
  }
}

// ---- what observables read ---------------------------------------------------------------------

template <Transcendental T>
Matrix<T> Network<T>::hidden(Index layer, const SequenceBatch& batch) const {
  const ScratchMatrix<T>& active = layers_[static_cast<std::size_t>(layer)].active;
  if (!asks_everywhere(layer)) return active();
  Matrix<T> last(active.rows(), batch.sequences());
  for (Index i = 0; i < batch.sequences(); ++i) {
    last.col(i) = active().col(batch.begin(i + 1) - 1);
  }
  return last;
}

template <Transcendental T>
Vector<T> Network<T>::attention_entropy(Index layer, const SequenceBatch& batch) const {
  using std::log;
  const Layer& kept = layers_[static_cast<std::size_t>(layer)];
  Vector<T> entropy(batch.sequences());
  for (Index i = 0; i < batch.sequences(); ++i) {
    const ConstView logits = kept.logit(i, batch.size(i));
    // A column of m positions is m equal ones: l + ln m, and ln m more of entropy for its share.
    Vector<T> merged = logits.col(logits.cols() - 1);
    Vector<T> spread(merged.size());
    for (Index c = 0; c < merged.size(); ++c) {
      const Index positions = batch.positions[static_cast<std::size_t>(batch.begin(i) + c)];
      spread[c] = log(T(static_cast<int>(positions)));
      merged[c] = merged[c] + spread[c];
    }
    entropy[i] = softmax_entropy(merged) + softmax(merged).dot(spread);
  }
  return entropy;
}

template class Network<double>;
template class Network<Dual<double>>;

}  // namespace popgrad::joma
