#include "popgrad/scb/population_flow.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/scalar/expression.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scalar/real.hpp"

namespace popgrad::scb {

template <class T>
PopulationFlow<T>::PopulationFlow(Training<T> training)
    : training_(std::move(training)),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)) {
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
  Vector<T> x = Vector<T>::Constant(dimension(), start);
  x.head(b.tokens() * b.tokens()) = training_.start.reshaped();
  return x;
}

template <class T>
std::vector<std::string> PopulationFlow<T>::columns() const {
  return {"alpha_V", "alpha_A",           "dist_P",           "dist_Q", "loss",
          "S_mean",  "dist_P_normalised", "dist_Q_normalised"};
}

template <class T>
std::vector<std::string> PopulationFlow<T>::state_names() const {
  const Bigrams<T>& b = training_.bigrams;
  std::vector<std::string> names;
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index i = 0; i < b.tokens(); ++i) names.push_back(fmt::format("V_{}_{}", i, k));
  }
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
  const T product = covariance_product(v, b.transition, mu);  // <V, P>
  const T square = covariance_product(v, v, mu);              // <V, V>
  const Vector<T> mean_value = v * mu;
  const Vector<T> mean_next = b.transition * mu;
  const T mean_product = mean_value.dot(mean_next);
  const T mean_square = mean_value.squaredNorm();
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
      T rate = overlap * (b.transition(i, k) - mean_next[i]) - size * (v(i, k) - mean_value[i]);
      if (!training_.project) rate = rate + mass_mean * mean_next[i] - mass_square * mean_value[i];
      dx[k * n + i] = rate;
    }
  }
}

template <class T>
T PopulationFlow<T>::value_coefficient(const Vector<T>& x) const {
  const Bigrams<T>& b = training_.bigrams;
  return covariance_product(values(x), b.transition, b.stationary) / transition_size_;
}

template <class T>
T PopulationFlow<T>::attention_coefficient(const Vector<T>& x) const {
  const Bigrams<T>& b = training_.bigrams;
  const T share = T(1) / T(static_cast<int>(b.context));
  attend(x);
  T sum(0);
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    const Index count = b.support(k);
    T own(0);
    T mass = T(static_cast<int>(b.context - count)) * attention_[begin + k + count];
    for (Index i = 0; i < count; ++i) {
      own = own + attention_[begin + k + i] * b.law[begin + i];
      mass = mass + attention_[begin + k + i];
    }
    // (a - S/T).(q - 1/T) = a.q - S/T
    sum = sum + b.stationary[k] * (own - mass * share);
  }
  return sum / (context_size_ - share);
}

template <class T>
T PopulationFlow<T>::loss(const Vector<T>& x) const {
  const Bigrams<T>& b = training_.bigrams;
  const Vector<T>& mu = b.stationary;
  const ConstBlock v = values(x);
  attend(x);
  const T product = covariance_product(v, b.transition, mu);
  const T square = covariance_product(v, v, mu);
  const Vector<T> mean_value = v * mu;
  const Vector<T> mean_next = b.transition * mu;
  T sum = T(1) / T(2);
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    const Index count = b.support(k);
    const T rest(static_cast<int>(b.context - count));
    const T& m = attention_[begin + k + count];
    T overlap(0);
    T size = rest * m * m;
    T mass = rest * m;
    for (Index i = 0; i < count; ++i) {
      const T& a = attention_[begin + k + i];
      overlap = overlap + b.law[begin + i] * a;
      size = size + a * a;
      mass = mass + a;
    }
    sum = sum + mu[k] * (-overlap * product - mass * mean_value.dot(mean_next) +
                         (size * square + mass * mass * mean_value.squaredNorm()) / T(2));
  }
  return sum;
}

template <class T>
void PopulationFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  const Bigrams<T>& b = training_.bigrams;
  const Vector<T>& mu = b.stationary;
  row[0] = value_coefficient(x);
  row[1] = attention_coefficient(x);
  row[4] = loss(x);
  if constexpr (Ordered<T> && Transcendental<T>) {
    using std::sqrt;
    attend(x);
    T distance(0), scaled_distance(0), mass(0);
    for (Index k = 0; k < b.tokens(); ++k) {
      const Index begin = b.first[static_cast<std::size_t>(k)];
      const Index count = b.support(k);
      const T rest(static_cast<int>(b.context - count));
      const T& m = attention_[begin + k + count];
      T own_mass = rest * m;
      for (Index i = 0; i < count; ++i) own_mass = own_mass + attention_[begin + k + i];
      T own = rest * m * m;
      T scaled = rest * m * m / (own_mass * own_mass);
      for (Index i = 0; i < count; ++i) {
        const T gap = attention_[begin + k + i] - b.law[begin + i];
        const T scaled_gap = attention_[begin + k + i] / own_mass - b.law[begin + i];
        own = own + gap * gap;
        scaled = scaled + scaled_gap * scaled_gap;
      }
      distance = distance + mu[k] * own;
      scaled_distance = scaled_distance + mu[k] * scaled;
      mass = mass + mu[k] * own_mass;
    }
    const ConstBlock v = values(x);
    const Matrix<T> ground = mu * Vector<T>::Constant(b.tokens(), T(1)).transpose();
    row[2] = sqrt(stationary_square(Matrix<T>(v - b.transition), mu));
    row[3] = sqrt(distance);
    row[5] = mass;
    row[6] = sqrt(stationary_square(Matrix<T>(ground + (v - ground) * mass - b.transition), mu));
    row[7] = sqrt(scaled_distance);
  } else {
    for (const std::size_t i : {2U, 3U, 5U, 6U, 7U}) row[i] = T(0);
  }
}

template class PopulationFlow<double>;
template class PopulationFlow<Real>;
template class PopulationFlow<Rational>;
template class PopulationFlow<Expression>;

}  // namespace popgrad::scb
