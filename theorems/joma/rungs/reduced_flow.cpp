#include "theorems/joma/rungs/reduced_flow.hpp"

#include <memory>
#include <optional>

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/interval.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/joma/rungs/invariant.hpp"
#include "theorems/joma/rungs/rung_parts.hpp"

namespace popgrad::joma {

template <Transcendental T>
ReducedFlow<T>::ReducedFlow(ReducedInstance<T> instance) : instance_(std::move(instance)) {
  if (instance_.attention == Attention::linear) {
    offset_ = instance_.logits.cwiseProduct(instance_.logits) - squared_weights<T>(instance_.start);
  }
}

template <Transcendental T>
Vector<T> ReducedFlow<T>::initial() const {
  return instance_.start.reshaped();
}

namespace {

template <class T>
const std::vector<Observable<Readings<T>>>& reduced_table() {
  static const std::vector<Observable<Readings<T>>> table{
      {{"attention_entropy",
        "entropy of `softmax(sum_k v_k^2/tau)`, linear attention `softmax(sqrt(v^2 + c)/T)`",
        "[0, `ln M_C`] nats", "spread of attention at equal frequencies"},
       &Readings<T>::attention_entropy},
      stable_rank_observable<T>(),
      {{"largest_delta",
        "max over `l`, `k` of `|1 - v/mu|`; `attended`: `|1 - a v/mu|`, `a = exp(sum_k v_k^2/tau)`",
        "`>= 0`", "what the slowest token has left; only with `mu`"},
       &Readings<T>::largest_delta}};
  return table;
}

}  // namespace

template <Transcendental T>
std::vector<ObservableInfo> ReducedFlow<T>::observables() {
  return infos_of(reduced_table<T>());
}

template <Transcendental T>
std::vector<std::string> ReducedFlow<T>::columns() const {
  std::vector<std::string> names = names_of(observables());
  if (!instance_.nonlinear) names.pop_back();
  return names;
}

template <Transcendental T>
std::vector<std::string> ReducedFlow<T>::state_names() const {
  std::vector<std::string> names;
  add_weight_names(instance_.tokens(), instance_.units(), false, names);
  return names;
}

template <Transcendental T>
void ReducedFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  using std::exp, std::sqrt;
  const Index d = instance_.tokens();
  const Index units = instance_.units();
  gain_.resize(d);
  for (Index l = 0; l < d; ++l) {
    T squares(0);
    for (Index k = 0; k < units; ++k) squares = squares + x[l + k * d] * x[l + k * d];
    gain_[l] = squares;
  }
  if (instance_.attention == Attention::linear) {
    const T temperature = instance_.temperature();
    for (Index l = 0; l < d; ++l) gain_[l] = sqrt(T(gain_[l] + offset_[l])) / temperature;
  } else {
    T shift(0);
    if constexpr (Ordered<T>) {
      if (instance_.attention == Attention::softmax) shift = gain_.maxCoeff();
    }
    for (Index l = 0; l < d; ++l) gain_[l] = exp(T((gain_[l] - shift) / instance_.tau));
    if (instance_.attention == Attention::softmax) {
      const T total = gain_.sum();
      gain_ /= total;
    }
  }
  for (Index k = 0; k < units; ++k) {
    for (Index l = 0; l < d; ++l) {
      const Index i = l + k * d;
      T field = instance_.target(l, k);
      if (instance_.nonlinear) field = field - (instance_.attended ? T(gain_[l] * x[i]) : x[i]);
      dx[i] = field * gain_[l];
    }
  }
}

template <Transcendental T>
Vector<T> ReducedFlow<T>::attention_logits(const Vector<T>& x) const {
  using std::sqrt;
  const Eigen::Map<const Matrix<T>> v(x.data(), instance_.tokens(), instance_.units());
  Vector<T> logits = squared_weights<T>(v);
  if (instance_.attention == Attention::linear) {
    const T temperature = instance_.temperature();
    for (Index l = 0; l < logits.size(); ++l) {
      logits[l] = sqrt(T(logits[l] + offset_[l])) / temperature;
    }
  } else {
    logits /= instance_.tau;
  }
  return logits;
}

template <Transcendental T>
T ReducedFlow<T>::attention_entropy(const Vector<T>& x) const {
  return softmax_entropy(attention_logits(x));
}

template <Transcendental T>
void ReducedFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  Readings<T> read;
  read.attention_entropy = attention_entropy(x);
  read.stable_rank = stable_rank_of<T>(
      Eigen::Map<const Matrix<T>>(x.data(), instance_.tokens(), instance_.units()));
  read.largest_delta = T(0);
  if constexpr (Ordered<T>) {
    if (instance_.nonlinear) {
      using std::abs, std::exp;
      const Vector<T> logits = instance_.attended ? attention_logits(x) : Vector<T>();
      for (Index i = 0; i < x.size(); ++i) {
        const T reached = instance_.attended ? T(exp(T(logits[i % logits.size()])) * x[i]) : x[i];
        const T delta = abs(T(T(1) - reached / instance_.target.reshaped()[i]));
        if (read.largest_delta < delta) read.largest_delta = delta;
      }
    }
  }
  write_row(reduced_table<T>(), read, row);
}

template <Transcendental T>
std::vector<EventFinder<T>> ReducedFlow<T>::events() const {
  if constexpr (!is_solved<T>) {
    return {};
  } else {
    // One copy for all finders; what only they need is made when they are first asked.
    struct Shared {
      ReducedFlow flow;
      std::optional<ReducedFlow<Dual<T>>> dual;
      Vector<T> slope;
      Vector<Dual<T>> moving;
    };
    const auto shared = std::make_shared<Shared>(Shared{*this, {}, {}, {}});
    const auto rate = [shared](const Vector<T>& x, const T& t) -> T {
      if (!shared->dual) shared->dual = shared->flow.template cast<Dual<T>>();
      shared->slope.resize(x.size());
      shared->moving.resize(x.size());
      shared->flow.rhs(x, shared->slope, t);
      for (Index i = 0; i < x.size(); ++i) shared->moving[i] = Dual<T>(x[i], shared->slope[i]);
      return shared->dual->attention_entropy(shared->moving).slope;
    };
    return entropy_events<T>(rate, [shared](const Vector<T>& x, const T& /*t*/) -> T {
      return shared->flow.attention_entropy(x);
    });
  }
}

template class ReducedFlow<double>;
template class ReducedFlow<Real>;
template class ReducedFlow<Interval>;
template class ReducedFlow<Expression>;
template class ReducedFlow<Dual<double>>;

}  // namespace popgrad::joma
