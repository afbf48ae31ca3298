#include "learning/each_sample.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "formulas/gradient.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::learning {
namespace each_sample_cpp {
namespace {

Array of_block(const Array& formula, const std::vector<formulas::Samples>& samples, Index size) {
  const Array batched = samples.empty() ? formula : over_batch(formula, samples);
  if (batched.rank() > formula.rank()) return batched;
  Shape shape = formula.shape();
  shape.insert(shape.begin(), {size, {}});
  return broadcast(formula, shape);
}

std::vector<std::string> names_of(const std::vector<Array>& variables) {
  std::vector<std::string> names;
  for (const Array& v : variables) names.push_back(v.node().text);
  return names;
}

// Outputs of a block of a mean.
std::vector<Array> mean_outputs(LossArrays& arrays, const Array& loss, const DrawnBlock& block,
                                Index size) {
  const Array mean = reduce("mean", of_block(loss, block.samples, size));
  std::vector<Array> outputs = gradient(mean, arrays.state_variables());
  outputs.push_back(mean);
  return outputs;
}

}  // namespace
}  // namespace each_sample_cpp

template <class T>
void set_states(formulas::Evaluator<T>& evaluator, const LossArrays& arrays, const Vector<T>& x) {
  const T* from = x.data();
  for (const StateArray& s : arrays.states) from = set_variable(evaluator, s.variable, from);
}

template <class T>
BlockMean<T>::BlockMean(LossArrays& arrays, const Array& loss, const std::vector<Draw>& draws,
                        Index size)
    : size_(size),
      evaluator_([&] {
        const DrawnBlock block = drawn_block(arrays, draws, {size, {}});
        variables_ = each_sample_cpp::names_of(block.variables);
        return formulas::Evaluator<T>(each_sample_cpp::mean_outputs(arrays, loss, block, size),
                                      arrays.steady_names<T>());
      }()),
      states_(arrays.states.size()) {}

template <class T>
T BlockMean<T>::add(const T& weight, Vector<T>& gradient) {
  evaluator_.run();
  Index i = 0;
  for (std::size_t k = 0; k < states_; ++k) {
    for (const T& slope : evaluator_.output(k)) {
      gradient[i] = gradient[i] + weight * slope;
      ++i;
    }
  }
  return evaluator_.output(states_)[0];
}

Index most_samples_of_block(Index dimension) {
  constexpr Index most_numbers = Index{1} << 21U, most = 256;
  return std::clamp<Index>(most_numbers / std::max<Index>(dimension, 1), 1, most);
}

template <class T>
MeanOverSamples<T>::MeanOverSamples(LossArrays& arrays, Array loss, std::vector<Draw> draws,
                                    std::vector<std::vector<T>> parameters)
    : arrays_(arrays), loss_(loss), draws_(std::move(draws)), parameters_(std::move(parameters)) {}

template <class T>
BlockMean<T>& MeanOverSamples<T>::block(Index size) {
  if (const auto made = blocks_.find(size); made != blocks_.end()) return made->second;
  BlockMean<T>& block =
      blocks_.emplace(size, BlockMean<T>(arrays_, loss_, draws_, size)).first->second;
  set_parameters(block.evaluator(), arrays_, parameters_);
  return block;
}

template <class T>
T MeanOverSamples<T>::add(const Vector<T>& x, Index samples,
                          const std::function<void(std::size_t, Index, std::span<T>)>& write,
                          Vector<T>& gradient) {
  T mean(0);
  const Index most = most_samples_of_block(x.size());
  for (Index first = 0; first < samples; first += most) {
    const Index size = std::min(most, samples - first);
    BlockMean<T>& block = this->block(size);
    set_states(block.evaluator(), arrays_, x);
    for (std::size_t k = 0; k < draws_.size(); ++k) write(k, first, block.draw(k));
    const T share = T(static_cast<double>(size)) / T(static_cast<double>(samples));
    mean = mean + share * block.add(share, gradient);
  }
  return mean;
}

template <class T>
ArrayMean<T>::ArrayMean(LossArrays& arrays, Array formula, std::vector<Draw> draws,
                        std::vector<std::vector<T>> parameters)
    : arrays_(arrays),
      formula_(formula),
      draws_(std::move(draws)),
      parameters_(std::move(parameters)) {}

template <class T>
typename ArrayMean<T>::Block& ArrayMean<T>::block(Index size) {
  if (const auto made = blocks_.find(size); made != blocks_.end()) return made->second;
  const DrawnBlock drawn = drawn_block(arrays_, draws_, {size, {}});
  const Array mean = reduce("mean", each_sample_cpp::of_block(formula_, drawn.samples, size), 0);
  return blocks_
      .emplace(size, Block{each_sample_cpp::names_of(drawn.variables),
                           prepared({mean}, arrays_, parameters_)})
      .first->second;
}

template <class T>
std::vector<T> ArrayMean<T>::of(
    const Vector<T>& x, Index samples,
    const std::function<void(std::size_t, Index, std::span<T>)>& write) {
  std::vector<T> mean(static_cast<std::size_t>(formulas::entries(formula_.shape())), T(0));
  const Index most = most_samples_of_block(std::max(x.size(), std::ssize(mean)));
  for (Index first = 0; first < samples; first += most) {
    const Index size = std::min(most, samples - first);
    Block& block = this->block(size);
    set_states(block.evaluator, arrays_, x);
    for (std::size_t k = 0; k < draws_.size(); ++k)
      write(k, first, block.evaluator.variable(block.variables[k]));
    block.evaluator.run();
    const T share = T(static_cast<double>(size)) / T(static_cast<double>(samples));
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] = mean[i] + share * block.evaluator.output(0)[i];
  }
  return mean;
}

bool finite_law_is_summed(const std::vector<Draw>& draws) {
  const FiniteDraws finite = finite_draws(draws);
  return finite.draws.size() == draws.size() && finite.values <= most_summed_values;
}

OneSample::OneSample(LossArrays& arrays, Array loss, std::vector<Draw> draws,
                     std::vector<std::vector<double>> parameters,
                     std::shared_ptr<const StoredSamples> stored, bool always_stored)
    : arrays_(arrays),
      loss_(loss),
      draws_(std::move(draws)),
      parameters_(std::move(parameters)),
      stored_(std::move(stored)) {
  if (finite_law_is_summed(draws_) && !always_stored) {
    known_ = KnownDraws::directly;
    samples_ = static_cast<Index>(std::llround(finite_draws(draws_).values));
  } else if (stored_) {
    known_ = KnownDraws::from_nodes;
    samples_ = stored_->count;
  }
}

// Every sample has states of its own, so that one gradient has those of all.
OneSample::Block& OneSample::block(Index size) {
  if (const auto made = blocks_.find(size); made != blocks_.end()) return made->second;
  const bool summed = known_ == KnownDraws::directly;
  DrawnBlock drawn =
      summed ? given_block(arrays_, draws_, size) : drawn_block(arrays_, draws_, {size, {}});
  std::vector<Array> states;
  std::vector<formulas::Samples> samples = drawn.samples;
  for (const StateArray& s : arrays_.states) {
    Shape shape = s.variable.shape();
    shape.insert(shape.begin(), {size, {}});
    states.push_back(arrays_.graph->variable("block of " + s.variable.node().text, shape));
    samples.push_back({s.variable, states.back()});
  }
  const Array losses = each_sample_cpp::of_block(loss_, samples, size);
  std::vector<Array> outputs = gradient(reduce("sum", losses), states);
  outputs.push_back(losses);
  if (summed) {
    Array weight = arrays_.graph->constant(1);
    for (const Draw& draw : draws_) weight = weight * probability(draw);
    outputs.push_back(each_sample_cpp::of_block(weight, drawn.samples, size));
  }
  Block block{each_sample_cpp::names_of(drawn.variables), each_sample_cpp::names_of(states),
              prepared(outputs, arrays_, parameters_)};
  return blocks_.emplace(size, std::move(block)).first->second;
}

void OneSample::each_block(const Vector<double>& x, NodeSet nodes, const Use& use) {
  const bool summed = known_ == KnownDraws::directly;
  const Index half = samples_ / 2;
  const Index begin = nodes == NodeSet::second ? half : 0;
  const Index end = nodes == NodeSet::first ? half : samples_;
  const Index most = most_samples_of_block(x.size());
  Matrix<double> gradients;
  Vector<double> weights;
  for (Index first = begin; first < end; first += most) {
    const Index size = std::min(most, end - first);
    Block& block = this->block(size);
    Index from = 0;
    for (const std::string& name : block.states) {
      const std::span<double> to = block.evaluator.variable(name);
      const auto count = static_cast<Index>(to.size()) / size;
      for (Index b = 0; b < size && count > 0; ++b)
        std::copy(x.data() + from, x.data() + from + count, to.begin() + b * count);
      from += count;
    }
    // The first draw changes slowest, as do the first of its entries.
    double faster = 1;
    for (std::size_t k = draws_.size(); k-- > 0;) {
      const std::span<double> to = block.evaluator.variable(block.variables[k]);
      const auto count = static_cast<std::size_t>(formulas::entries(draws_[k].variable.shape()));
      if (!summed) {
        stored_->copy(draws_[k], first, to);
        continue;
      }
      const auto base = static_cast<double>(draws_[k].categories);
      for (std::size_t e = count; e-- > 0; faster *= base) {
        for (Index b = 0; b < size && !to.empty(); ++b) {
          const double slower = std::floor(static_cast<double>(first + b) / faster);
          to[static_cast<std::size_t>(b) * count + e] = std::fmod(slower, base);
        }
      }
    }
    block.evaluator.run();
    gradients.resize(x.size(), size);
    Index row = 0;
    for (std::size_t k = 0; k < block.states.size(); ++k) {
      const std::span<const double> slopes = block.evaluator.output(k);
      const Index count = static_cast<Index>(slopes.size()) / size;
      gradients.middleRows(row, count) =
          Eigen::Map<const Matrix<double>>(slopes.data(), count, size);
      row += count;
    }
    if (summed) {
      const std::span<const double> p = block.evaluator.output(block.states.size() + 1);
      weights = Eigen::Map<const Vector<double>>(p.data(), size);
    } else {
      weights = Vector<double>::Constant(size, 1 / static_cast<double>(end - begin));
    }
    use(gradients, block.evaluator.output(block.states.size()), weights);
  }
}

void OneSample::covariance(const Vector<double>& x, const Matrix<double>& vectors, NodeSet nodes,
                           Matrix<double>& images) {
  images = Matrix<double>::Zero(x.size(), vectors.cols());
  Vector<double> mean = Vector<double>::Zero(x.size());
  each_block(x, nodes,
             [&](const Matrix<double>& gradients, std::span<const double> /*losses*/,
                 const Vector<double>& weights) {
               const Matrix<double> along = gradients.transpose() * vectors;
               images.noalias() += gradients * (weights.asDiagonal() * along);
               mean.noalias() += gradients * weights;
             });
  images.noalias() -= mean * (mean.transpose() * vectors);
}

OneSample::Errors OneSample::standard_errors(const Vector<double>& x) {
  Vector<double> mean = Vector<double>::Zero(x.size()), square = mean;
  double mean_loss = 0, square_loss = 0;
  each_block(x, NodeSet::both,
             [&](const Matrix<double>& gradients, std::span<const double> losses,
                 const Vector<double>& weights) {
               mean += gradients * weights;
               square += gradients.cwiseAbs2() * weights;
               const Eigen::Map<const Vector<double>> all(losses.data(), weights.size());
               mean_loss += all.dot(weights);
               square_loss += all.cwiseAbs2().dot(weights);
             });
  const auto samples = static_cast<double>(samples_);
  return {((square - mean.cwiseAbs2()) / (samples - 1)).cwiseMax(0).cwiseSqrt(),
          std::sqrt(std::max(0.0, square_loss - mean_loss * mean_loss) / (samples - 1))};
}

#define POPGRAD_INSTANCE(T)                                                               \
  template void set_states(formulas::Evaluator<T>&, const LossArrays&, const Vector<T>&); \
  template class BlockMean<T>;                                                            \
  template class MeanOverSamples<T>;                                                      \
  template class ArrayMean<T>;
POPGRAD_INSTANCE(double)
POPGRAD_INSTANCE(Real)
POPGRAD_INSTANCE(Rational)
POPGRAD_INSTANCE(Dual<double>)
#undef POPGRAD_INSTANCE

}  // namespace popgrad::learning
