#pragma once
/// What the JoMA rungs share: names of states, entropy events.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "popgrad/rungs/event.hpp"
#include "popgrad/rungs/observable.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/rungs/stable_rank.hpp"

namespace popgrad::joma {

/// `v_l` for one unit, `v_l_k` for several; `query_k` for the row of the query token.
inline void add_weight_names(Index tokens, Index units, bool query,
                             std::vector<std::string>& names) {
  for (Index k = 0; k < units; ++k) {
    for (Index l = 0; l < tokens; ++l) {
      names.push_back(units == 1 ? fmt::format("v_{}", l) : fmt::format("v_{}_{}", l, k));
    }
    if (query) names.push_back(fmt::format("query_{}", k));
  }
}

inline void add_logit_names(Index tokens, std::vector<std::string>& names) {
  for (Index l = 0; l < tokens; ++l) names.push_back(fmt::format("z_{}", l));
}

/// What the rungs of one layer show at a state.
template <class T>
struct Readings {
  using Scalar = T;
  T attention_entropy{};
  T invariant_residual{}, invariant_residual_relative{}, normalised_correlation{};  ///< with z
  T stable_rank{};
  T loss{};           ///< of training
  T largest_delta{};  ///< without z
};

template <class T>
Observable<Readings<T>> stable_rank_observable() {
  return {{"stable_rank", "`|V|_F^2/|V|_2^2`; 0 at `V = 0`", "[1, `min(M_C, K)`]",
           "directions in use; 1 for one unit"},
          &Readings<T>::stable_rank};
}

/// Of the rungs that carry z: entropy, the invariant of Theorem 1, stable rank.
template <class T>
std::vector<Observable<Readings<T>>> invariant_table() {
  using R = Readings<T>;
  return {{{"attention_entropy", "entropy of `softmax(z/T)`", "[0, `ln M_C`] nats",
            "spread of attention at equal frequencies, for every kind of attention"},
           &R::attention_entropy},
          {{"invariant_residual", "`max_l |R_l - R_l(0)|`", "`>= 0`", "departure from Theorem 1"},
           &R::invariant_residual},
          {{"invariant_residual_relative",
            "`|R - R(0)|_2 / |z|_2` (linear attention: `|z^2|_2`); 0 at `z = 0`", "`>= 0`",
            "the same, in units of the logits"},
           &R::invariant_residual_relative},
          {{"normalised_correlation",
            "Pearson correlation over tokens of `z` and `z - R + R(0)` (linear attention: of `z^2` "
            "and `z^2 "
            "- R + R(0)`); 0 if one is constant",
            "[-1, 1]", "agreement in direction, blind to size"},
           &R::normalised_correlation},
          stable_rank_observable<T>()};
}

/// Stable rank for numbers; 0 for symbols, whose printed equations have no use for it.
template <class T>
T stable_rank_of(const Matrix<T>& v) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Real>) {
    return stable_rank<T>(v);
  } else {
    return T(0);
  }
}

/// Scalars that trajectories are computed in, and so have events.
template <class T>
inline constexpr bool is_solved = std::is_same_v<T, double> || std::is_same_v<T, Real>;

/// Events of the attention entropy; `rate` is dH/dt, `entropy` is H, both at a state.
template <class T>
std::vector<EventFinder<T>> entropy_events(
    const std::function<T(const Vector<T>&, const T&)>& rate,
    const std::function<T(const Vector<T>&, const T&)>& entropy) {
  return {{"entropy-minimum", "attention_entropy", EventKind::minimum, rate, entropy},
          {"entropy-maximum", "attention_entropy", EventKind::maximum, rate, entropy}};
}

/// dH/dt of H = softmax_entropy(logits) for given logits and their rates.
template <class T>
T entropy_rate(const Vector<T>& logits, const Vector<T>& rates) {
  Vector<Dual<T>> moving(logits.size());
  for (Index l = 0; l < logits.size(); ++l) moving[l] = Dual<T>(logits[l], rates[l]);
  return softmax_entropy(moving).slope;
}

}  // namespace popgrad::joma
