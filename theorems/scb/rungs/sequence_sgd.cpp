#include "theorems/scb/rungs/sequence_sgd.hpp"

#include <fmt/format.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "popgrad/base/memory.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/observables.hpp"
#include "theorems/scb/rungs/sequence_covariance.hpp"

namespace popgrad::scb {
namespace {

// P with every label replaced, with this probability, by one drawn uniformly.
template <class T>
Bigrams<T> with_label_noise(Bigrams<T> bigrams, const T& probability) {
  const T uniform = probability / T(static_cast<int>(bigrams.tokens()));
  for (T& entry : bigrams.transition.reshaped()) entry = (T(1) - probability) * entry + uniform;
  return bigrams;
}

}  // namespace

template <class T>
SequenceSgd<T>::SequenceSgd(Training<T> training)
    : training_(std::move(training)),
      drawn_(with_label_noise(training_.bigrams, training_.label_noise)),
      pull_rate_(training_.attention_rate / training_.temperature),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)),
      products_(training_.bigrams),
      drawn_products_(drawn_),
      mean_next_(drawn_.transition * drawn_.stationary) {
  const Bigrams<T>& b = training_.bigrams;
  attention_.resize(b.context, b.tokens());
  if constexpr (std::is_same_v<T, double>) {
    const auto size = static_cast<std::size_t>(b.tokens());
    for (Index k = 0; k < b.tokens(); ++k) {
      tokens_.emplace_back(std::span(drawn_.transition.col(k).data(), size));
      const auto begin = b.first[static_cast<std::size_t>(k)];
      positions_.emplace_back(
          std::span(b.law.data() + begin, static_cast<std::size_t>(b.support(k))));
    }
    tokens_.emplace_back(std::span(b.stationary.data(), size));
    symbols_ =
        SequenceSymbols(b.stationary, b.context, SequenceSymbols::fastest(b.tokens(), b.context));
  }
}

template <class T>
Index SequenceSgd<T>::dimension() const {
  const Bigrams<T>& b = training_.bigrams;
  return b.tokens() * (b.tokens() + b.context);
}

template <class T>
Vector<T> SequenceSgd<T>::initial() const {
  const Bigrams<T>& b = training_.bigrams;
  const T start = training_.softmax ? T(0) : T(T(1) / T(static_cast<int>(b.context)));
  require_memory(4 * static_cast<double>(dimension()) * sizeof(T),
                 fmt::format("steps of a state of {} numbers", dimension()), "lower --T or --N");
  Vector<T> x = Vector<T>::Constant(dimension(), start);
  x.head(b.tokens() * b.tokens()) = training_.start.reshaped();
  if (training_.attention_start.size() > 0) {
    x.tail(b.tokens() * b.context) = training_.attention_start.reshaped();
  }
  return x;
}

template <class T>
std::vector<std::string> SequenceSgd<T>::columns() const {
  return observable_names();
}

template <class T>
std::vector<std::string> SequenceSgd<T>::state_names() const {
  return dense_state_names(training_.bigrams, training_.softmax ? "w" : "a");
}

template <class T>
Vector<T> SequenceSgd<T>::attention(const Vector<T>& x, Index token) const {
  Vector<T> own(training_.bigrams.context);
  read_attention(x, token, own);
  return own;
}

template <class T>
void SequenceSgd<T>::read_attention(const Vector<T>& x, Index token,
                                    Eigen::Ref<Vector<T>> own) const {
  const Bigrams<T>& b = training_.bigrams;
  own = x.segment(b.tokens() * b.tokens() + token * b.context, b.context);
  if (!training_.softmax) return;
  own = own / training_.temperature;
  if constexpr (Transcendental<T>) {
    using std::exp;
    T shift(0);
    if constexpr (Ordered<T>) shift = own.maxCoeff();
    T total(0);
    for (T& value : own) {
      value = exp(T(value - shift));
      total = total + value;
    }
    for (T& value : own) value = value / total;
  }
}

template <class T>
void SequenceSgd<T>::attend(const Vector<T>& x) const {
  for (Index k = 0; k < training_.bigrams.tokens(); ++k) {
    read_attention(x, k, attention_.col(k));
    if (!training_.softmax) attention_.col(k) /= training_.temperature;
  }
}

template <class T>
void SequenceSgd<T>::add_sample(const Vector<T>& x, const std::vector<Index>& sequence, Index query,
                                Index label, const T& weight, Vector<T>& dx) const {
  const Bigrams<T>& b = training_.bigrams;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<T>> v(x.data(), n, n);
  const auto a = attention_.col(query);
  histogram_ = Vector<T>::Constant(n, T(0));
  for (Index t = 0; t < b.context; ++t) {
    T& bin = histogram_[sequence[static_cast<std::size_t>(t)]];
    bin = bin + a[t];
  }
  residual_ = -(v * histogram_);
  residual_[label] = residual_[label] + T(1);
  for (Index j = 0; j < n; ++j) {
    const T scale = weight * histogram_[j] / b.stationary[j];
    for (Index i = 0; i < n; ++i) dx[j * n + i] = dx[j * n + i] + scale * residual_[i];
  }
  pull_ = v.transpose() * residual_;
  pull_ = pull_ * T(weight * pull_rate_ / b.stationary[query]);
  T* const da = dx.data() + n * n + query * b.context;
  for (Index t = 0; t < b.context; ++t) {
    da[t] = da[t] + pull_[sequence[static_cast<std::size_t>(t)]];
  }
}

template <class T>
void SequenceSgd<T>::finish_values(Vector<T>& dx) const {
  if (!training_.project) return;
  const Vector<T>& mu = training_.bigrams.stationary;
  const Index n = mu.size();
  Eigen::Map<Matrix<T>> dv(dx.data(), n, n);
  for (Index k = 0; k < n; ++k) {
    const T mean = dv.col(k).sum() / T(static_cast<int>(n));
    for (Index i = 0; i < n; ++i) dv(i, k) = dv(i, k) - mean;
  }
  along_.noalias() = dv * mu;
  for (Index k = 0; k < n; ++k) dv.col(k) -= along_;
}

template <class T>
void SequenceSgd<T>::finish_attention(Index token, Vector<T>& dx) const {
  const Bigrams<T>& b = training_.bigrams;
  auto da = dx.segment(b.tokens() * b.tokens() + token * b.context, b.context);
  if (training_.softmax) {
    const T mean = attention_.col(token).dot(da);
    for (Index t = 0; t < b.context; ++t) da[t] = attention_(t, token) * (da[t] - mean);
  } else if (training_.project) {
    const T mean = da.sum() / T(static_cast<int>(b.context));
    for (Index t = 0; t < b.context; ++t) da[t] = da[t] - mean;
  }
}

template <class T>
void SequenceSgd<T>::finish(Vector<T>& dx) const {
  finish_values(dx);
  for (Index k = 0; k < training_.bigrams.tokens(); ++k) finish_attention(k, dx);
}

template <class T>
void SequenceSgd<T>::sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream,
                                Index batch) const {
  if constexpr (std::is_same_v<T, double>) {
    const Bigrams<T>& b = training_.bigrams;
    const Index n = b.tokens();
    const auto length = static_cast<std::size_t>(symbols_.count());
    const bool as_given = !training_.softmax && training_.temperature == 1;
    if (!as_given) attend(x);
    const double* const attention = as_given ? x.data() + n * n : attention_.data();
    const Eigen::Map<const Matrix<T>> v(x.data(), n, n);
    if (histograms_.cols() != batch) {
      require_memory(static_cast<double>(batch) * (2.0 * static_cast<double>(length) +
                                                   8.0 * (1 + 3 * static_cast<double>(n))),
                     "the sequences of a batch of " + std::to_string(batch), "lower --batch");
    }
    sequences_.resize(length * static_cast<std::size_t>(batch));
    queries_.resize(static_cast<std::size_t>(batch));
    histograms_.resize(n, batch);
    residuals_.resize(n, batch);
    pulls_.resize(n, batch);
    // A word for every symbol, and three more: query, source, label.
    const std::size_t words = (length + 3 + 63) / 64 * 64;
    const AliasTable& stationary = tokens_.back();
    const double scale = pull_rate_ / static_cast<double>(batch);
    const auto one_sample = [&](Index s) {
      thread_local std::vector<std::uint32_t> bits;
      bits.resize(words);
      stream.skip(static_cast<std::uint32_t>(s * static_cast<Index>(words / 64))).fill(bits);
      std::uint16_t* const sequence = sequences_.data() + static_cast<std::size_t>(s) * length;
      symbols_.draw(bits, {sequence, length});
      const auto query =
          static_cast<std::size_t>(training_.query_last ? symbols_.token(sequence, b.context - 1)
                                                        : stationary(bits[length]));
      const std::size_t entry =
          static_cast<std::size_t>(b.first[query]) + positions_[query](bits[length + 1]);
      const auto source = static_cast<std::size_t>(symbols_.token(sequence, b.position[entry]));
      const auto label = static_cast<Index>(tokens_[source](bits[length + 2]));
      queries_[static_cast<std::size_t>(s)] = static_cast<Index>(query);
      symbols_.weigh(sequence, attention + static_cast<Index>(query) * b.context,
                     histograms_.col(s).data());
      auto residual = residuals_.col(s);
      residual.noalias() = v * histograms_.col(s);
      residual = -residual;
      residual[label] += 1;
      pulls_.col(s).noalias() =
          (scale / b.stationary[static_cast<Index>(query)]) * (v.transpose() * residuals_.col(s));
    };
    double* const da = dx.data() + n * n;
    const auto one_token = [&](Index k) {
      double* const own = da + k * b.context;
      std::fill(own, own + b.context, 0.0);
      for (Index s = 0; s < batch; ++s) {
        if (queries_[static_cast<std::size_t>(s)] != k) continue;
        symbols_.add_pulls(sequences_.data() + static_cast<std::size_t>(s) * length,
                           pulls_.col(s).data(), own);
      }
      finish_attention(k, dx);
    };
    constexpr Index worth_threads = 100'000;
    if (batch * b.context > worth_threads && omp_in_parallel() == 0) {
      team_.run([&](bool together) {
#pragma omp parallel if (together)
        {
#pragma omp for schedule(dynamic, 2)
          for (Index s = 0; s < batch; ++s) one_sample(s);
#pragma omp for schedule(dynamic, 1) nowait
          for (Index k = 0; k < n; ++k) one_token(k);
        }
      });
    } else {
      for (Index s = 0; s < batch; ++s) one_sample(s);
      for (Index k = 0; k < n; ++k) one_token(k);
    }
    Eigen::Map<Matrix<T>> dv(dx.data(), n, n);
    dv.noalias() = residuals_ * histograms_.transpose();
    for (Index k = 0; k < n; ++k) dv.col(k) /= static_cast<double>(batch) * b.stationary[k];
    finish_values(dx);
  } else {
    throw std::logic_error("scb: samples are drawn in double only");
  }
}

template <class T>
double SequenceSgd<T>::batch_loss(const Vector<T>& x, Stream& stream, Index batch) const {
  if constexpr (std::is_same_v<T, double>) {
    Vector<T> unused(dimension());
    sample_rhs(x, unused, stream, batch);
    return residuals_.squaredNorm() / (2 * static_cast<double>(batch));
  } else {
    throw std::logic_error("scb: samples are drawn in double only");
  }
}

template <>
void SequenceSgd<double>::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                          Matrix<double>& images) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  attend(x);
  const SequenceCovariance raw(drawn_, x.head(n * n).reshaped(n, n), attention_, pull_rate_,
                               training_.query_last);
  images.resize(vectors.rows(), vectors.cols());
  Vector<double> vector;
  for (Index column = 0; column < vectors.cols(); ++column) {
    vector = vectors.col(column);
    // Transposes of what `finish` does: D -> (I - 11'/N) D (I - mu 1') of V; of a^k symmetric.
    if (training_.project) {
      Eigen::Map<Matrix<double>> values(vector.data(), n, n);
      values.rowwise() -= values.colwise().mean().eval();
      values -= values.rowwise().sum().eval() * b.stationary.transpose();
    }
    for (Index k = 0; k < n; ++k) finish_attention(k, vector);
    Vector<double> image = raw(vector);
    finish(image);
    images.col(column) = image;
  }
}

// Given k, with the mean m_k = (S_k - a_T) mu + a_T e_k of h, that of the label
// l_k = (1 - q_T) P mu + q_T P e_k, and sums over t < T only,
//   E r h' = l_k m_k' + (q.a) P C - V (m_k m_k' + |a|^2 C)
//   E g_t  = mu'V'(l_k - V m_k) + q_t <V,P> - a_t <V,V>,  t < T
//   E g_T  = e_k'V'(l_k - V m_k).
template <class T>
void SequenceSgd<T>::expect_with_last_query(const Vector<T>& x, Vector<T>& dx) const {
  const Bigrams<T>& b = drawn_;
  const Vector<T>& mu = b.stationary;
  const Index n = b.tokens();
  const Index last = b.context - 1;
  const Eigen::Map<const Matrix<T>> v(x.data(), n, n);
  const auto [product, square] = drawn_products_.of(v, b);
  mean_value_.noalias() = v * mu;
  T overlap(0), size(0);
  Matrix<T> outer = Matrix<T>::Constant(n, n, T(0));  // sum_k mu_k (l_k - V m_k) m_k'
  Eigen::Map<Matrix<T>> da(dx.data() + n * n, b.context, n);
  attend(x);
  for (Index k = 0; k < n; ++k) {
    const auto a = attention_.col(k);
    T own_size(0), mass(0), own_overlap(0), law_of_last(0);
    for (Index t = 0; t < last; ++t) {
      mass = mass + a[t];
      own_size = own_size + a[t] * a[t];
      da(t, k) = T(-(square * a[t]));
    }
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      const Index t = b.position[static_cast<std::size_t>(e)];
      if (t == last) {
        law_of_last = b.law[e];
      } else {
        own_overlap = own_overlap + b.law[e] * a[t];
        da(t, k) = da(t, k) + product * b.law[e];
      }
    }
    Vector<T> seen = mu * mass;
    seen[k] = seen[k] + a[last];
    Vector<T> missed = -(v * seen);
    for (Index i = 0; i < n; ++i) {
      missed[i] =
          missed[i] + (T(1) - law_of_last) * mean_next_[i] + law_of_last * b.transition(i, k);
    }
    const T level = mean_value_.dot(missed);
    for (Index t = 0; t < last; ++t) da(t, k) = pull_rate_ * (da(t, k) + level);
    da(last, k) = pull_rate_ * v.col(k).dot(missed);
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) outer(i, j) = outer(i, j) + mu[k] * missed[i] * seen[j];
    }
    overlap = overlap + mu[k] * own_overlap;
    size = size + mu[k] * own_size;
  }
  Eigen::Map<Matrix<T>> dv(dx.data(), n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      dv(i, j) = overlap * (b.transition(i, j) - mean_next_[i]) -
                 size * (v(i, j) - mean_value_[i]) + outer(i, j) / mu[j];
    }
  }
}

template <class T>
void SequenceSgd<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  if (training_.query_last) {
    expect_with_last_query(x, dx);
    finish(dx);
    return;
  }
  const Bigrams<T>& b = drawn_;
  const Vector<T>& mu = b.stationary;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<T>> v(x.data(), n, n);
  const auto [product, square] = drawn_products_.of(v, b);
  mean_value_.noalias() = v * mu;
  const T mean_product = mean_value_.dot(mean_next_);
  const T mean_square = mean_value_.squaredNorm();
  T overlap(0), size(0), mass_mean(0), mass_square(0);
  Eigen::Map<Matrix<T>> dv(dx.data(), n, n);
  Eigen::Map<Matrix<T>> da(dx.data() + n * n, b.context, n);
  attend(x);
  for (Index k = 0; k < n; ++k) {
    const auto a = attention_.col(k);
    T mass(0), own_size(0), own_overlap(0);
    for (Index t = 0; t < b.context; ++t) {
      mass = mass + a[t];
      own_size = own_size + a[t] * a[t];
    }
    const T level = mean_product - mass * mean_square;
    for (Index t = 0; t < b.context; ++t) {
      da(t, k) = pull_rate_ * (level - square * a[t]);
    }
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      const Index t = b.position[static_cast<std::size_t>(e)];
      own_overlap = own_overlap + b.law[e] * a[t];
      da(t, k) = da(t, k) + pull_rate_ * product * b.law[e];
    }
    overlap = overlap + mu[k] * own_overlap;
    size = size + mu[k] * own_size;
    mass_mean = mass_mean + mu[k] * mass;
    mass_square = mass_square + mu[k] * mass * mass;
  }
  for (Index k = 0; k < n; ++k) {
    for (Index i = 0; i < n; ++i) {
      dv(i, k) = overlap * (b.transition(i, k) - mean_next_[i]) -
                 size * (v(i, k) - mean_value_[i]) + mass_mean * mean_next_[i] -
                 mass_square * mean_value_[i];
    }
  }
  finish(dx);
}

template <class T>
void SequenceSgd<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  const Bigrams<T>& b = training_.bigrams;
  const Eigen::Map<const Matrix<T>> v(x.data(), b.tokens(), b.tokens());
  std::vector<AttentionSums<T>> sums;
  for (Index k = 0; k < b.tokens(); ++k) {
    sums.push_back(sums_of_column(b, k, attention(x, k)));
  }
  write_row(observable_table<T>(),
            read_observables<T>(b, v, products_, sums, transition_size_, context_size_), row);
}

template <class T>
std::string SequenceSgd<T>::divergence(const Vector<T>& x, double step, Index batch) const {
  if constexpr (std::is_same_v<T, double>) {
    const Bigrams<T>& b = training_.bigrams;
    const Index n = b.tokens();
    const Eigen::Map<const Matrix<T>> v(x.data(), n, n);
    double size = 0;
    attend(x);
    for (Index k = 0; k < n; ++k) size += b.stationary[k] * attention_.col(k).squaredNorm();
    return divergence_of(v.squaredNorm(), size, products_.of(v, b).square, step, pull_rate_, batch);
  } else {
    return {};
  }
}

template class SequenceSgd<double>;
template class SequenceSgd<Expression>;

}  // namespace popgrad::scb
