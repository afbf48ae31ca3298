#include "theorems/scb/rungs/population_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include "popgrad/base/memory.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/observables.hpp"

namespace popgrad::scb {
namespace {

// Positions off the support of q^k that A(0) does not set to their commonest value join the
// support, with probability 0: the others stay equal, and one number stands for them.
template <class T>
Training<T> with_uneven_positions(Training<T> training) {
  if constexpr (Ordered<T>) {
    if (training.attention_start.size() == 0) return training;
    const Bigrams<T> narrow = training.bigrams;
    Bigrams<T>& b = training.bigrams;
    b.first = {0};
    b.position.clear();
    std::vector<T> law;
    for (Index k = 0; k < narrow.tokens(); ++k) {
      Vector<T> q = Vector<T>::Constant(b.context, T(0));
      std::map<T, Index> times;
      for (Index e = narrow.first[static_cast<std::size_t>(k)];
           e < narrow.first[static_cast<std::size_t>(k + 1)]; ++e) {
        q[narrow.position[static_cast<std::size_t>(e)]] = narrow.law[e];
      }
      for (Index t = 0; t < b.context; ++t) {
        if (q[t] == T(0)) ++times[training.attention_start(t, k)];
      }
      const auto common = std::max_element(
          times.begin(), times.end(),
          [](const auto& one, const auto& other) { return one.second < other.second; });
      for (Index t = 0; t < b.context; ++t) {
        if (q[t] == T(0) && training.attention_start(t, k) == common->first) continue;
        b.position.push_back(t);
        law.push_back(q[t]);
      }
      b.first.push_back(static_cast<Index>(law.size()));
    }
    b.law = Eigen::Map<const Vector<T>>(law.data(), static_cast<Index>(law.size()));
  }
  return training;
}

}  // namespace

template <class T>
PopulationFlow<T>::PopulationFlow(Training<T> training)
    : training_(with_uneven_positions(std::move(training))),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)),
      products_(training_.bigrams),
      mean_next_(training_.bigrams.transition * training_.bigrams.stationary) {
  attention_.resize(training_.bigrams.entries() + training_.bigrams.tokens());
}

template <class T>
Index PopulationFlow<T>::dimension() const {
  const Bigrams<T>& b = training_.bigrams;
  return b.tokens() * b.tokens() + b.entries() + b.tokens();
}

template <class T>
Vector<T> PopulationFlow<T>::initial() const {
  const Bigrams<T>& b = training_.bigrams;
  const T start = training_.softmax ? T(0) : T(T(1) / T(static_cast<int>(b.context)));
  require_memory(4 * static_cast<double>(dimension()) * sizeof(T),
                 fmt::format("steps of a state of {} numbers", dimension()), "lower --T or --N");
  Vector<T> x = Vector<T>::Constant(dimension(), start);
  x.head(b.tokens() * b.tokens()) = training_.start.reshaped();
  const Matrix<T>& given = training_.attention_start;
  if (given.size() == 0) return x;
  Index next = b.tokens() * b.tokens();
  for (Index k = 0; k < b.tokens(); ++k) {
    Index e = b.first[static_cast<std::size_t>(k)];
    const Index end = b.first[static_cast<std::size_t>(k + 1)];
    Index rest = -1;  // a position off the list
    for (Index t = 0; t < b.context; ++t) {
      if (e < end && b.position[static_cast<std::size_t>(e)] == t) {
        x[next++] = given(t, k);
        ++e;
      } else {
        rest = t;
      }
    }
    x[next++] = rest < 0 ? T(0) : given(rest, k);
  }
  return x;
}

template <class T>
std::vector<std::string> PopulationFlow<T>::columns() const {
  return observable_names();
}

template <class T>
std::vector<std::string> PopulationFlow<T>::state_names() const {
  const Bigrams<T>& b = training_.bigrams;
  std::vector<std::string> names = value_names(b.tokens());
  const char* const symbol = training_.softmax ? "w" : "a";
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      names.push_back(fmt::format("{}_{}_{}", symbol, k, b.position[static_cast<std::size_t>(e)]));
    }
    names.push_back(fmt::format("{}_{}_rest", symbol, k));
  }
  return names;
}

template <class T>
typename PopulationFlow<T>::ConstBlock PopulationFlow<T>::values(const Vector<T>& x) const {
  const Index n = training_.bigrams.tokens();
  return {x.data(), n, n};
}

template <class T>
void PopulationFlow<T>::attend(const Vector<T>& x) const {
  const Bigrams<T>& b = training_.bigrams;
  const auto stored = x.tail(attention_.size());
  if (!training_.softmax) {
    attention_ = stored;
    return;
  }
  if constexpr (Transcendental<T>) {
    using std::exp;
    for (Index k = 0; k < b.tokens(); ++k) {
      const Index begin = b.first[static_cast<std::size_t>(k)] + k;
      const Index count = b.support(k);
      T shift(0);
      if constexpr (Ordered<T>) {
        shift = stored[begin];
        for (Index i = 1; i <= count; ++i) {
          if (shift < stored[begin + i]) shift = stored[begin + i];
        }
      }
      T total(0);
      for (Index i = 0; i <= count; ++i) {
        attention_[begin + i] = exp(T(stored[begin + i] - shift));
        const T times = i < count ? T(1) : T(static_cast<int>(b.context - count));
        total = total + times * attention_[begin + i];
      }
      for (Index i = 0; i <= count; ++i) attention_[begin + i] = attention_[begin + i] / total;
    }
  }
}

template <class T>
void PopulationFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  const Bigrams<T>& b = training_.bigrams;
  const Vector<T>& mu = b.stationary;
  const Index n = b.tokens();
  const T share = T(1) / T(static_cast<int>(b.context));
  const ConstBlock v = values(x);
  attend(x);
  const auto [product, square] = products_.of(v, b);
  mean_value_.noalias() = v * mu;
  const T mean_product = mean_value_.dot(mean_next_);
  const T mean_square = mean_value_.squaredNorm();
  T overlap(0);      // c
  T size(0);         // d
  T mass_mean(0);    // sum mu_k S_k
  T mass_square(0);  // sum mu_k S_k^2
  auto da = dx.tail(attention_.size());
  for (Index k = 0; k < n; ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    const Index count = b.support(k);
    const T rest(static_cast<int>(b.context - count));
    T own_overlap(0);
    T own_size(0);
    T mass(0);
    for (Index i = 0; i < count; ++i) {
      const T& a = attention_[begin + k + i];
      mass = mass + a;
      own_overlap = own_overlap + b.law[begin + i] * a;
      own_size = own_size + a * a;
    }
    const T& m = attention_[begin + k + count];
    own_size = own_size + rest * m * m;
    mass = mass + rest * m;
    mass_mean = mass_mean + mu[k] * mass;
    mass_square = mass_square + mu[k] * mass * mass;
    overlap = overlap + mu[k] * own_overlap;
    size = size + mu[k] * own_size;
    // What the softmax subtracts: a.(<V,P> q - <V,V> a).
    const T along = product * own_overlap - square * own_size;
    for (Index i = 0; i <= count; ++i) {
      const T& a = attention_[begin + k + i];
      const T q = i < count ? b.law[begin + i] : T(0);
      T rate(0);
      if (training_.softmax) {
        rate = a * (product * q - square * a - along);
      } else if (training_.project) {
        rate = product * (q - share) - square * (a - mass * share);
      } else {
        rate = product * q - square * a + mean_product - mass * mean_square;
      }
      da[begin + k + i] = training_.attention_rate * rate;
    }
  }
  for (Index k = 0; k < n; ++k) {
    for (Index i = 0; i < n; ++i) {
      T rate = overlap * (b.transition(i, k) - mean_next_[i]) - size * (v(i, k) - mean_value_[i]);
      if (!training_.project) {
        rate = rate + mass_mean * mean_next_[i] - mass_square * mean_value_[i];
      }
      dx[k * n + i] = rate;
    }
  }
}

template <class T>
AttentionSums<T> PopulationFlow<T>::sums_of(Index token) const {
  const Bigrams<T>& b = training_.bigrams;
  const Index begin = b.first[static_cast<std::size_t>(token)] + token;
  const Index count = b.support(token);
  const T rest(static_cast<int>(b.context - count));
  const T& m = attention_[begin + count];
  return attention_sums<T>(attention_.segment(begin, count), law_of(b, token), rest * m,
                           rest * m * m);
}

template <class T>
std::vector<AttentionSums<T>> PopulationFlow<T>::sums(const Vector<T>& x) const {
  attend(x);
  std::vector<AttentionSums<T>> found;
  for (Index k = 0; k < training_.bigrams.tokens(); ++k) found.push_back(sums_of(k));
  return found;
}

template <class T>
T PopulationFlow<T>::loss(const Vector<T>& x) const {
  const ConstBlock v = values(x);
  return expected_loss<T>(training_.bigrams, v, products_.of(v, training_.bigrams), sums(x));
}

template <class T>
void PopulationFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  write_row(observable_table<T>(),
            read_observables<T>(training_.bigrams, values(x), products_, sums(x), transition_size_,
                                context_size_),
            row);
}

template <class T>
std::string PopulationFlow<T>::divergence(const Vector<T>& x, double step, Index batch) const {
  if constexpr (std::is_same_v<T, double>) {
    const Bigrams<T>& b = training_.bigrams;
    double size = 0;
    attend(x);
    for (Index k = 0; k < b.tokens(); ++k) size += b.stationary[k] * sums_of(k).size;
    const ConstBlock v = values(x);
    return divergence_of(v.squaredNorm(), size, products_.of(v, b).square, step,
                         training_.attention_rate, batch);
  } else {
    return {};
  }
}

template class PopulationFlow<double>;
template class PopulationFlow<Real>;
template class PopulationFlow<Rational>;
template class PopulationFlow<Expression>;

}  // namespace popgrad::scb
