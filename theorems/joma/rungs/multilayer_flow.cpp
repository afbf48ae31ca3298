#include "theorems/joma/rungs/multilayer_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "popgrad/base/stoppable_step.hpp"
#include "popgrad/scalars/dual.hpp"
#include "scalars/softmax.hpp"

namespace popgrad::joma {
namespace {

std::vector<double> cumulative(const Vector<double>& law) {
  std::vector<double> sums(static_cast<std::size_t>(law.size()));
  std::partial_sum(law.begin(), law.end(), sums.begin());
  sums.back() = 1;
  return sums;
}

std::vector<Index> every_sequence(const SequenceData& data) {
  std::vector<Index> all(static_cast<std::size_t>(data.sequences()));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

template <class T>
Matrix<double> as_double(const Matrix<T>& m) {
  return m.unaryExpr([](const T& entry) { return to_double(entry); });
}

}  // namespace

template <Transcendental T>
MultilayerFlow<T>::MultilayerFlow(MultilayerInstance<T> instance)
    : instance_(std::move(instance)),
      network_(instance_.shape),
      all_(sequence_batch(instance_.data, every_sequence(instance_.data))),
      weight_(instance_.data.target * instance_.data.probability.asDiagonal()),
      cumulative_(cumulative(instance_.data.probability)) {
  for (Index i = 0; i < instance_.data.sequences(); ++i) {
    cumulative_classes_.push_back(cumulative(instance_.data.target.col(i)));
  }
  columns_.add("loss", [](const Readings& of) { return of.loss; });
  columns_.add("accuracy", [](const Readings& of) { return T(of.accuracy); });
  const auto layers = static_cast<std::size_t>(instance_.shape.layers);
  for (std::size_t h = 0; h < layers; ++h) {
    columns_.add(fmt::format("attention_entropy_{}", h),
                 [h](const Readings& of) { return of.attention_entropy[h]; });
  }
  for (std::size_t h = 0; h < layers; ++h) {
    for (std::size_t l = 0; l < instance_.data.latent_means.size(); ++l) {
      columns_.add(fmt::format("correlation_{}_{}", h, l),
                   [h, l](const Readings& of) { return T(of.latents[h][l].free); });
      columns_.add(fmt::format("matched_{}_{}", h, l),
                   [h, l](const Readings& of) { return T(of.latents[h][l].matched); });
    }
  }
}

template <Transcendental T>
std::vector<ObservableInfo> MultilayerFlow<T>::observables() {
  return {
      {"loss", "`E[-ln softmax(logits)_c]` over all sequences", "`>= 0`, nats",
       "mean cross entropy"},
      {"accuracy", "probability that the largest logit is the class", "[0, 1]"},
      {"attention_entropy_N",
       "layer `N`: entropy of `softmax(l)` at the last position, mean over sequences; ln of the "
       "positions if attention is not trained",
       "[0, `ln L`] nats", "padding positions count"},
      {"correlation_N_L",
       "mean over varying latents of level `L` of max over units of layer `N` of |corr|", "[0, 1]",
       "Table 1's kind of score; chance is high"},
      {"matched_N_L", "the same with a unit of its own for each latent, best assignment", "[0, 1]",
       "no unit serves twice"}};
}

template <Transcendental T>
std::vector<std::string> MultilayerFlow<T>::state_names() const {
  std::vector<std::string> names;
  for (const NetworkBlock& block : network_.blocks()) {
    for (Index j = 0; j < block.cols; ++j) {
      for (Index i = 0; i < block.rows; ++i) {
        const bool matrix = block.name.starts_with("W");
        names.push_back(matrix ? fmt::format("{}_{}_{}", block.name, i, j)
                               : fmt::format("{}_{}", block.name, i));
      }
    }
  }
  return names;
}

// weight (C x sequences of the batch): P[class, sequence], or shares of draws.
template <Transcendental T>
void MultilayerFlow<T>::field(const Vector<T>& x, const SequenceBatch& batch,
                              Eigen::Map<const Matrix<double>> weight, Vector<T>& dx) const {
  using std::exp;
  const auto logits = network_.forward(x, batch);
  auto pull = pull_.resized(logits.rows(), logits.cols());
  for (Index i = 0; i < logits.cols(); ++i) {
    const T whole = log_sum_exp(logits.col(i));
    const T share(weight.col(i).sum());
    for (Index c = 0; c < logits.rows(); ++c) {
      pull(c, i) = T(weight(c, i)) - share * exp(T(logits(c, i) - whole));
    }
  }
  network_.backward(x, batch, std::as_const(pull_)(), dx);
}

template <Transcendental T>
void MultilayerFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  field(x, all_, weights_of_all(), dx);
}

template <Transcendental T>
void MultilayerFlow<T>::draw_batch(Stream& stream, Index batch) const {
  const double share = 1 / static_cast<double>(batch);
  drawn_.clear();
  for (Index i = 0; i < batch; ++i) {
    throw_if_step_stopped(i);
    const std::uint32_t sequence = stream.category(cumulative_);
    drawn_.emplace_back(sequence, stream.category(cumulative_classes_[sequence]));
  }
  // In the order of sequences, not of the draws; equal ones are counted.
  std::sort(drawn_.begin(), drawn_.end());
  chosen_.clear();
  for (const auto& [sequence, label] : drawn_) {
    if (chosen_.empty() || chosen_.back() != sequence) chosen_.push_back(sequence);
  }
  auto weight = drawn_weight_.resized(weight_.rows(), std::ssize(chosen_));
  weight.setZero();
  Index column = 0;
  for (const auto& [sequence, label] : drawn_) {
    if (chosen_[static_cast<std::size_t>(column)] != sequence) ++column;
    weight(label, column) += share;
  }
  take_sequences(instance_.data, chosen_, drawn_batch_);
}

template <Transcendental T>
void MultilayerFlow<T>::sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream,
                                   Index batch) const {
  draw_batch(stream, batch);
  field(x, drawn_batch_, std::as_const(drawn_weight_)(), dx);
}

template <Transcendental T>
T MultilayerFlow<T>::batch_loss(const Vector<T>& x, Stream& stream, Index batch) const {
  draw_batch(stream, batch);
  return loss_of(network_.forward(x, drawn_batch_), std::as_const(drawn_weight_)());
}

template <Transcendental T>
double MultilayerFlow<T>::batch_accuracy(const Vector<T>& x, Stream& stream, Index batch) const {
  draw_batch(stream, batch);
  return accuracy_of(network_.forward(x, drawn_batch_), std::as_const(drawn_weight_)());
}

template <Transcendental T>
T MultilayerFlow<T>::loss_of(Eigen::Map<const Matrix<T>> logits,
                             const Eigen::Map<const Matrix<double>>& weight) const {
  T sum(0);
  for (Index i = 0; i < logits.cols(); ++i) {
    const T whole = log_sum_exp(logits.col(i));
    for (Index c = 0; c < logits.rows(); ++c) {
      if (weight(c, i) > 0) sum = sum + T(weight(c, i)) * (whole - logits(c, i));
    }
  }
  return sum;
}

template <Transcendental T>
double MultilayerFlow<T>::accuracy_of(Eigen::Map<const Matrix<T>> logits,
                                      const Eigen::Map<const Matrix<double>>& weight) const {
  double sum = 0;
  for (Index i = 0; i < logits.cols(); ++i) {
    Index best = 0;
    logits.col(i).maxCoeff(&best);
    sum += weight(best, i);
  }
  return sum;
}

template <Transcendental T>
T MultilayerFlow<T>::loss(const Vector<T>& x) const {
  return loss_of(network_.forward(x, all_), weights_of_all());
}

template <Transcendental T>
Matrix<T> MultilayerFlow<T>::hidden(const Vector<T>& x, Index layer) const {
  network_.forward(x, all_);
  return network_.hidden(layer, all_);
}

template <Transcendental T>
void MultilayerFlow<T>::draw_covariance(const Vector<T>& x, const Matrix<T>& vectors,
                                        Matrix<T>& images) const {
  const SequenceData& data = instance_.data;
  Vector<T> direction(x.size());
  Vector<T> mean = Vector<T>::Constant(x.size(), T(0));
  Matrix<T> sum = Matrix<T>::Constant(vectors.rows(), vectors.cols(), T(0));
  Vector<double> label(data.classes());
  for (Index i = 0; i < data.sequences(); ++i) {
    const SequenceBatch alone = sequence_batch(data, {i});
    for (Index c = 0; c < data.classes(); ++c) {
      const T chance(weight_(c, i));
      if (weight_(c, i) == 0) continue;
      label.setZero();
      label[c] = 1;
      field(x, alone, Eigen::Map<const Matrix<double>>(label.data(), label.size(), 1), direction);
      mean += chance * direction;
      sum += direction * (chance * (direction.transpose() * vectors));
    }
  }
  images = sum - mean * (mean.transpose() * vectors);
}

template <Transcendental T>
void MultilayerFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  const SequenceData& data = instance_.data;
  const auto logits = network_.forward(x, all_);
  Readings read;
  read.loss = loss_of(logits, weights_of_all());
  read.accuracy = accuracy_of(logits, weights_of_all());
  for (Index h = 0; h < instance_.shape.layers; ++h) {
    const Vector<T> entropy = network_.attention_entropy(h, all_);
    T mean(0);
    for (Index i = 0; i < entropy.size(); ++i) mean = mean + T(data.probability[i]) * entropy[i];
    read.attention_entropy.push_back(mean);
    const Matrix<double> units = as_double<T>(network_.hidden(h, all_));
    read.latents.emplace_back();
    for (const Matrix<double>& latents : data.latent_means) {
      read.latents.back().push_back(
          latent_score(latent_correlations(units, latents, data.probability)));
    }
  }
  columns_.write(read, row);
}

template class MultilayerFlow<double>;
template class MultilayerFlow<Dual<double>>;

}  // namespace popgrad::joma
