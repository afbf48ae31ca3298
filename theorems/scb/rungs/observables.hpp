#pragma once
/// The observables that every rung with values and attention reports, from sums over positions.

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "theorems/scb/rungs/geometry.hpp"

namespace popgrad::scb {

/// What every rung shows at a state.
template <class T>
struct Readings {
  using Scalar = T;
  T alpha_V{0}, alpha_A{0};
  T dist_P{0}, dist_Q{0};  ///< 0 where a scalar has no roots
  T loss{0};
  T S_mean{0};
  T dist_P_normalised{0}, dist_Q_normalised{0};
};

template <class T>
const std::vector<Observable<Readings<T>>>& observable_table() {
  using R = Readings<T>;
  static const std::vector<Observable<R>> table{
      {{"alpha_V", "`<V, P> / K_P`", "real", "`V` along `P`: 0 at `mu 1'`, 1 at `P`"}, &R::alpha_V},
      {{"alpha_A", "`sum_k mu_k (q^k.a^k - S_k/T) / (K_Q - 1/T)`", "real",
        "A along `Q`: 0 at `1/T`, 1 at `Q`"},
       &R::alpha_A},
      {{"dist_P", "`|V - P|_mu`", "`>= 0`", "distance to `P`"}, &R::dist_P},
      {{"dist_Q", "`sqrt(sum_k mu_k |a^k - q^k|^2)`", "`>= 0`", "distance to `Q`"}, &R::dist_Q},
      {{"loss",
        "`1/2 + sum_k mu_k [-(q^k.a^k) <V,P> - S_k mu'V'P mu + (|a^k|^2 <V,V> + S_k^2 |V "
        "mu|^2)/2]`",
        "`>= 0`",
        "expected loss `L`, no samples; at `V = P`, `A = Q` it is `(1 - |mu|^2 - K_P K_Q)/2`"},
       &R::loss},
      {{"S_mean", "`sum_k mu_k S_k`", "real",
        "mass of attention: 1 from the usual start while projected, or softmax"},
       &R::S_mean},
      {{"dist_P_normalised", "`|mu 1' + S_mean (V - mu 1') - P|_mu`", "`>= 0`",
        "distance to `P` that part 3 would leave"},
       &R::dist_P_normalised},
      {{"dist_Q_normalised",
        "`sqrt(sum_k mu_k |a^k/S_k - q^k|^2)`, a token with `S_k = 0` as one position off the "
        "support, "
        "`1 "
        "+ |q^k|^2`",
        "`>= 0`", "the same for `Q`"},
       &R::dist_Q_normalised},
  };
  return table;
}

inline std::vector<ObservableInfo> observables() { return infos_of(observable_table<double>()); }

/// Those of training in three parts too.
inline std::vector<ObservableInfo> observables_in_parts() {
  std::vector<ObservableInfo> all = observables();
  const char* const when = "only with `--algorithm three-part` or transfer";
  all.push_back({"part", "1 boosting, 2 `l1` steps, 3 normalised", "1 to 3", when});
  all.push_back({"nonzeros", "entries of `A` that are not 0", "0 to `N T`", when});
  return all;
}

inline std::vector<std::string> observable_names() { return names_of(observables()); }

/// V_i_k by columns: the first names of every state.
inline std::vector<std::string> value_names(Index tokens) {
  std::vector<std::string> names;
  for (Index k = 0; k < tokens; ++k) {
    for (Index i = 0; i < tokens; ++i) names.push_back(fmt::format("V_{}_{}", i, k));
  }
  return names;
}

/// V_i_k and then a_k_t, or w_k_t: names of a state with dense attention.
template <class T>
std::vector<std::string> dense_state_names(const Bigrams<T>& b, std::string_view attention) {
  std::vector<std::string> names = value_names(b.tokens());
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index t = 0; t < b.context; ++t) names.push_back(fmt::format("{}_{}_{}", attention, k, t));
  }
  return names;
}

/// What the observables need of one a^k.
template <class T>
struct AttentionSums {
  T mass{0};        ///< S = sum_t a_t
  T overlap{0};     ///< q.a
  T size{0};        ///< |a|^2
  T gap{0};         ///< |a - q|^2
  T scaled_gap{0};  ///< |a/S - q|^2; for S = 0 that of a position off the support, 1 + |q|^2
};

/// From a^k on the support of q^k and the sum and the sum of squares of the rest. No difference of
/// large numbers: gaps are exact to rounding.
template <class T, class Support, class Law>
AttentionSums<T> attention_sums(const Support& support, const Law& law, const T& rest_mass,
                                const T& rest_size) {
  AttentionSums<T> sums;
  sums.mass = rest_mass;
  sums.size = rest_size;
  sums.gap = rest_size;
  for (Index i = 0; i < law.size(); ++i) {
    const T gap = support[i] - law[i];
    sums.mass = sums.mass + support[i];
    sums.overlap = sums.overlap + law[i] * support[i];
    sums.size = sums.size + support[i] * support[i];
    sums.gap = sums.gap + gap * gap;
  }
  if constexpr (Ordered<T>) {
    if (!(T(0) < sums.mass) && !(sums.mass < T(0))) {
      sums.scaled_gap = T(1) + law.dot(law);
      return sums;
    }
    sums.scaled_gap = rest_size / (sums.mass * sums.mass);
    for (Index i = 0; i < law.size(); ++i) {
      const T gap = support[i] / sums.mass - law[i];
      sums.scaled_gap = sums.scaled_gap + gap * gap;
    }
  }
  return sums;
}

/// q^k on its support.
template <class T>
auto law_of(const Bigrams<T>& b, Index token) {
  return b.law.segment(b.first[static_cast<std::size_t>(token)], b.support(token));
}

/// The same of a dense a^k (T), of any scalar. Cost T.
template <class T, class Column>
AttentionSums<T> sums_of_column(const Bigrams<T>& b, Index token, const Column& a) {
  const Index begin = b.first[static_cast<std::size_t>(token)];
  Vector<T> support(b.support(token));
  T mass(0), size(0);
  Index next = 0;
  for (Index t = 0; t < b.context; ++t) {
    const auto& entry = a[t];
    if (next < support.size() && b.position[static_cast<std::size_t>(begin + next)] == t) {
      support[next++] = T(entry);
      continue;
    }
    mass = mass + T(entry);
    size = size + T(entry) * T(entry);
  }
  return attention_sums<T>(support, law_of(b, token), mass, size);
}

/// alpha_A of the sums of all tokens.
template <class T>
T attention_coefficient(const Bigrams<T>& b, std::span<const AttentionSums<T>> attention,
                        const T& context_size) {
  const T share = T(1) / T(static_cast<int>(b.context));
  T alpha(0);
  for (Index k = 0; k < b.tokens(); ++k) {
    const AttentionSums<T>& own = attention[static_cast<std::size_t>(k)];
    alpha = alpha + b.stationary[k] * (own.overlap - own.mass * share);
  }
  return alpha / (context_size - share);
}

/// Expected loss 1/2 E |e_y - V X a^k|^2, from <V,P> and <V,V>. Cost O(N^2).
template <class T, class Values>
T expected_loss(const Bigrams<T>& b, const Values& v,
                const typename ValueProducts<T>::Pair& products,
                std::span<const AttentionSums<T>> attention) {
  const Vector<T>& mu = b.stationary;
  const auto& [product, square] = products;
  const Vector<T> mean_value = v * mu;
  const Vector<T> mean_next = b.transition * mu;
  const T mean_product = mean_value.dot(mean_next);
  const T mean_square = mean_value.squaredNorm();
  T loss = T(1) / T(2);
  for (Index k = 0; k < b.tokens(); ++k) {
    const AttentionSums<T>& own = attention[static_cast<std::size_t>(k)];
    loss = loss + mu[k] * (-own.overlap * product - own.mass * mean_product +
                           (own.size * square + own.mass * own.mass * mean_square) / T(2));
  }
  return loss;
}

/// `value_products` are those of the bigrams. Cost O(N^2).
template <class T, class Values>
Readings<T> read_observables(const Bigrams<T>& b, const Values& v,
                             const ValueProducts<T>& value_products,
                             std::span<const AttentionSums<T>> attention, const T& transition_size,
                             const T& context_size) {
  Readings<T> read;
  const Vector<T>& mu = b.stationary;
  const typename ValueProducts<T>::Pair products = value_products.of(v, b);
  read.alpha_V = products.product / transition_size;
  read.alpha_A = attention_coefficient(b, attention, context_size);
  read.loss = expected_loss(b, v, products, attention);
  T mass(0), gap(0), scaled_gap(0);
  for (Index k = 0; k < b.tokens(); ++k) {
    const AttentionSums<T>& own = attention[static_cast<std::size_t>(k)];
    mass = mass + mu[k] * own.mass;
    gap = gap + mu[k] * own.gap;
    scaled_gap = scaled_gap + mu[k] * own.scaled_gap;
  }
  read.S_mean = mass;
  if constexpr (Ordered<T> && Transcendental<T>) {
    using std::sqrt;
    T distance(0), scaled_distance(0);  // |V - P|_mu^2, and that of mu 1' + S (V - mu 1')
    for (Index k = 0; k < b.tokens(); ++k) {
      for (Index i = 0; i < b.tokens(); ++i) {
        const T off = v(i, k) - b.transition(i, k);
        const T scaled_off = mu[i] + (v(i, k) - mu[i]) * mass - b.transition(i, k);
        distance = distance + mu[k] * off * off;
        scaled_distance = scaled_distance + mu[k] * scaled_off * scaled_off;
      }
    }
    read.dist_P = sqrt(distance);
    read.dist_Q = sqrt(gap);
    read.dist_P_normalised = sqrt(scaled_distance);
    read.dist_Q_normalised = sqrt(scaled_gap);
  }
  return read;
}

}  // namespace popgrad::scb
