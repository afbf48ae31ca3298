#include "theorems/scb/rungs/single_descent.hpp"

#include <fmt/format.h>

#include <utility>

#include "theorems/scb/rungs/column_kernels.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/gaussian_noise.hpp"
#include "theorems/scb/rungs/observables.hpp"
#include "walks/walk_runs.hpp"

namespace popgrad::scb {

Vector<double> SingleState::in_double() const {
  Vector<double> x(size());
  x.head(values.size()) = values.reshaped();
  x.tail(attention.size()) = attention.reshaped().cast<double>();
  return x;
}

SingleDescent::SingleDescent(Training<double> training, NoiseLevels levels)
    : training_(std::move(training)),
      levels_(std::move(levels)),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)) {
  require_gaussian_form(training_, "scb noisy");
}

SingleState SingleDescent::initial() const {
  const Bigrams<double>& b = training_.bigrams;
  SingleState x{training_.start, {}};
  if (training_.attention_start.size() > 0) {
    x.attention = training_.attention_start.cast<float>();
  } else {
    x.attention = Matrix<float>::Constant(b.context, b.tokens(), 1 / static_cast<float>(b.context));
  }
  return x;
}

SingleState SingleDescent::from_double(const Vector<double>& x) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  return {x.head(n * n).reshaped(n, n), x.tail(n * b.context).reshaped(b.context, n).cast<float>()};
}

std::vector<std::string> SingleDescent::columns() const { return observable_names(); }

std::vector<std::string> SingleDescent::state_names() const {
  return dense_state_names(training_.bigrams, "a");
}

void SingleDescent::sample_step(SingleState& x, double eta, Stream& stream, Index batch) const {
  step_.take({training_, levels_, transition_size_, context_size_},
             Eigen::Map<Matrix<double>>(x.values.data(), x.values.rows(), x.values.cols()),
             x.attention.data(), eta, stream, batch);
}

std::string SingleDescent::divergence(const SingleState& x, double step, Index batch) const {
  const Bigrams<double>& b = training_.bigrams;
  double size = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    size += b.stationary[k] * column_sums(x.attention.col(k).data(), b.context).size;
  }
  return divergence_of(x.values.squaredNorm(), size,
                       covariance_product(x.values, x.values, b.stationary), step,
                       training_.attention_rate, batch);
}

void SingleDescent::observe(const SingleState& x, double /*t*/, std::span<double> row) const {
  const Bigrams<double>& b = training_.bigrams;
  std::vector<AttentionSums<double>> sums;
  for (Index k = 0; k < b.tokens(); ++k) {
    sums.push_back(sums_of_column(b, k, x.attention.col(k)));
  }
  write_observables<double>(b, x.values, sums, transition_size_, context_size_, row);
}

AnyWalk single_walk(Training<double> training, NoiseLevels levels) {
  return walking::walk_of(SingleDescent(std::move(training), std::move(levels)));
}

}  // namespace popgrad::scb
