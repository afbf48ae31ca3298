#pragma once
/// The random field of a loss: means over minibatches, and the gradients of single samples for its covariance.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learning/sample_draws.hpp"
#include "popgrad/rungs/known_draws.hpp"

namespace popgrad::learning {

/// Writes a variable, where the evaluator reads it, from its entries at `from`, and returns where those of the next are.
template <class T>
const T* set_variable(formulas::Evaluator<T>& evaluator, const Array& variable, const T* from) {
  const Index count = formulas::entries(variable.shape());
  const std::span<T> to = evaluator.variable(variable.node().text);
  if (!to.empty()) std::copy(from, from + count, to.begin());
  return from + count;
}
/// The first `outputs` of an evaluator as x, entries of one after those of the other.
template <class T>
void read_outputs(const formulas::Evaluator<T>& evaluator, std::size_t outputs, Vector<T>& x) {
  Index i = 0;
  for (std::size_t k = 0; k < outputs; ++k) {
    for (const T& number : evaluator.output(k)) x[i++] = number;
  }
}

/// x as the states of an evaluator: entries of the states one after the other.
template <class T>
void set_states(formulas::Evaluator<T>& evaluator, const LossArrays& arrays, const Vector<T>& x);

/// Mean loss of a block of samples and its gradient: outputs one a state, then the loss.
template <class T>
class BlockMean {
 public:
  BlockMean(LossArrays& arrays, const Array& loss, const std::vector<Draw>& draws, Index size);
  [[nodiscard]] Index size() const { return size_; }
  formulas::Evaluator<T>& evaluator() { return evaluator_; }
  /// To be written for draw k.
  std::span<T> draw(std::size_t k) { return evaluator_.variable(variables_[k]); }
  /// Adds weight * gradient to `gradient`, and returns the mean loss, at what was written.
  T add(const T& weight, Vector<T>& gradient);

 private:
  Index size_;
  std::vector<std::string> variables_;
  formulas::Evaluator<T> evaluator_;
  std::size_t states_;
};

/// The same in blocks that fit into memory: of `size` samples as many as there are.
template <class T>
class MeanOverSamples {
 public:
  MeanOverSamples(LossArrays& arrays, Array loss, std::vector<Draw> draws,
                  std::vector<std::vector<T>> parameters);
  /// write(k, first, numbers) gives draw k of the samples from `first` on. Adds the mean gradient to `gradient`;
  /// returns the mean loss.
  T add(const Vector<T>& x, Index samples,
        const std::function<void(std::size_t, Index, std::span<T>)>& write, Vector<T>& gradient);

 private:
  BlockMean<T>& block(Index size);

  LossArrays& arrays_;
  Array loss_;
  std::vector<Draw> draws_;
  std::vector<std::vector<T>> parameters_;
  std::map<Index, BlockMean<T>> blocks_;
};

/// Mean over samples of an array of one sample, which may read states and the draws.
template <class T>
class ArrayMean {
 public:
  ArrayMean(LossArrays& arrays, Array formula, std::vector<Draw> draws,
            std::vector<std::vector<T>> parameters);
  /// write(k, first, numbers) gives draw k of the samples from `first` on.
  std::vector<T> of(const Vector<T>& x, Index samples,
                    const std::function<void(std::size_t, Index, std::span<T>)>& write);

 private:
  struct Block {
    std::vector<std::string> variables;
    formulas::Evaluator<T> evaluator;
  };
  Block& block(Index size);

  LossArrays& arrays_;
  Array formula_;
  std::vector<Draw> draws_;
  std::vector<std::vector<T>> parameters_;
  std::map<Index, Block> blocks_;
};

/// Samples in a block: few enough for a copy of the state each.
Index most_samples_of_block(Index dimension);

/// One draw of the field: its covariance from all values of the draws, or from samples that are stored.
class OneSample {
 public:
  /// `draws` are those that the loss reads. `stored` may be null; with `always_stored` it stands for the law even
  /// where there are few values.
  OneSample(LossArrays& arrays, Array loss, std::vector<Draw> draws,
            std::vector<std::vector<double>> parameters,
            std::shared_ptr<const StoredSamples> stored, bool always_stored = false);

  [[nodiscard]] KnownDraws known() const { return known_; }
  [[nodiscard]] const std::vector<Draw>& draws() const { return draws_; }

  /// Covariance of the gradient, times the columns of `vectors` (n x m). Cost: the gradient of every sample, and two
  /// products with it.
  void covariance(const Vector<double>& x, const Matrix<double>& vectors, NodeSet nodes,
                  Matrix<double>& images);
  /// Standard errors of the mean gradient (n) and of the mean loss by the stored samples.
  struct Errors {
    Vector<double> gradient;
    double loss = 0;
  };
  [[nodiscard]] Errors standard_errors(const Vector<double>& x);

 private:
  struct Block {
    std::vector<std::string> variables, states;
    formulas::Evaluator<double> evaluator;
  };
  Block& block(Index size);
  // Calls use(gradients (n x block), losses, weights) for all samples, in blocks.
  using Use =
      std::function<void(const Matrix<double>&, std::span<const double>, const Vector<double>&)>;
  void each_block(const Vector<double>& x, NodeSet nodes, const Use& use);

  LossArrays& arrays_;
  Array loss_;
  std::vector<Draw> draws_;
  std::vector<std::vector<double>> parameters_;
  std::shared_ptr<const StoredSamples> stored_;
  KnownDraws known_ = KnownDraws::not_at_all;
  Index samples_ = 0;
  std::map<Index, Block> blocks_;
};

/// Combinations of values up to which the covariance of one draw sums over all of them.
inline constexpr double most_summed_values = 200'000;
/// Whether these draws are of finite laws, of no more values together.
bool finite_law_is_summed(const std::vector<Draw>& draws);

}  // namespace popgrad::learning
