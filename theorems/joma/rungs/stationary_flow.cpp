#include "theorems/joma/rungs/stationary_flow.hpp"

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/joma/rungs/invariant.hpp"
#include "theorems/joma/rungs/rung_parts.hpp"

namespace popgrad::joma {
namespace {

template <class T>
Vector<T> uniform_law(Index d) {
  return Vector<T>::Constant(d, T(1) / T(static_cast<int>(d)));
}

}  // namespace

template <Transcendental T>
StationaryFlow<T>::StationaryFlow(ReducedInstance<T> instance) : instance_(std::move(instance)) {
  invariant_at_start_ = invariant<T>(instance_.attention, instance_.start, instance_.logits,
                                     instance_.temperature(), uniform_law<T>(instance_.tokens()));
}

template <Transcendental T>
Index StationaryFlow<T>::dimension() const {
  return instance_.target.size() + instance_.tokens();
}

template <Transcendental T>
Vector<T> StationaryFlow<T>::initial() const {
  Vector<T> x(dimension());
  x.head(instance_.target.size()) = instance_.start.reshaped();
  x.tail(instance_.tokens()) = instance_.logits;
  return x;
}

template <Transcendental T>
std::vector<ObservableInfo> StationaryFlow<T>::observables() {
  return infos_of(invariant_table<T>());
}

template <Transcendental T>
std::vector<std::string> StationaryFlow<T>::columns() const {
  return names_of(observables());
}

template <Transcendental T>
std::vector<std::string> StationaryFlow<T>::state_names() const {
  std::vector<std::string> names;
  add_weight_names(instance_.tokens(), instance_.units(), false, names);
  add_logit_names(instance_.tokens(), names);
  return names;
}

template <Transcendental T>
void StationaryFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  using std::exp;
  const Index d = instance_.tokens();
  const Index units = instance_.units();
  const Index z = d * units;
  const T temperature = instance_.temperature();
  gain_.resize(d);
  if (instance_.attention == Attention::softmax) {
    T shift = x[z];
    if constexpr (Ordered<T>) {
      for (Index l = 1; l < d; ++l) {
        if (shift < x[z + l]) shift = x[z + l];
      }
    } else {
      shift = T(0);
    }
    for (Index l = 0; l < d; ++l) gain_[l] = exp(T((x[z + l] - shift) / temperature));
    const T total = gain_.sum();
    gain_ /= total;
  } else {
    for (Index l = 0; l < d; ++l) {
      gain_[l] = x[z + l] / temperature;
      if (instance_.attention == Attention::exp) gain_[l] = exp(T(gain_[l]));
    }
  }
  for (Index l = 0; l < d; ++l) dx[z + l] = T(0);
  for (Index k = 0; k < units; ++k) {
    T along(0);
    for (Index l = 0; l < d; ++l) {
      const Index i = l + k * d;
      const T force =
          instance_.nonlinear ? T(instance_.target(l, k) - x[i]) : instance_.target(l, k);
      dx[i] = force * gain_[l];
      along = along + x[i] * dx[i];
      // Linear attention pulls back through x, the others through b.
      dx[z + l] = dx[z + l] +
                  (instance_.attention == Attention::linear ? T(force * x[i]) : T(x[i] * dx[i]));
    }
    if (instance_.attention == Attention::softmax) {
      for (Index l = 0; l < d; ++l) dx[z + l] = dx[z + l] - gain_[l] * along;
    }
  }
  for (Index l = 0; l < d; ++l) dx[z + l] = dx[z + l] / temperature;
}

template <Transcendental T>
void StationaryFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  const Index d = instance_.tokens();
  const Eigen::Map<const Matrix<T>> v(x.data(), d, instance_.units());
  const Vector<T> z = x.tail(d);
  const Vector<T> mean = uniform_law<T>(d);
  const T temperature = instance_.temperature();
  Readings<T> read;
  read.attention_entropy = softmax_entropy(Vector<T>(z / temperature));
  const InvariantReading<T> reading =
      read_invariant<T>(instance_.attention, v, z, temperature, mean, invariant_at_start_);
  read.invariant_residual = reading.absolute;
  read.invariant_residual_relative = reading.relative;
  read.normalised_correlation = reading.correlation;
  read.stable_rank = stable_rank_of<T>(v);
  static const auto table = invariant_table<T>();
  write_row(table, read, row);
}

template <Transcendental T>
std::vector<EventFinder<T>> StationaryFlow<T>::events() const {
  if constexpr (!is_solved<T>) {
    return {};
  } else {
    const auto rate = [flow = *this, slope = Vector<T>(dimension())](const Vector<T>& x,
                                                                     const T& t) mutable -> T {
      flow.rhs(x, slope, t);
      const Index d = flow.instance_.tokens();
      const T temperature = flow.instance_.temperature();
      return entropy_rate<T>(x.tail(d) / temperature, slope.tail(d) / temperature);
    };
    return entropy_events<T>(rate, [flow = *this](const Vector<T>& x, const T& /*t*/) -> T {
      return softmax_entropy(
          Vector<T>(x.tail(flow.instance_.tokens()) / flow.instance_.temperature()));
    });
  }
}

template class StationaryFlow<double>;
template class StationaryFlow<Real>;
template class StationaryFlow<Expression>;
template class StationaryFlow<Dual<double>>;

}  // namespace popgrad::joma
