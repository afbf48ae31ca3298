#pragma once
/// A flow written as a lambda, for tests of the solver.

#include <functional>
#include <string>

#include "popgrad/rungs/rung.hpp"

namespace popgrad::problems {

/// Observables are the components.
template <class T>
AnyRung<T> any_flow(const Vector<T>& initial, std::function<void(const Vector<T>&, Vector<T>&)> rhs,
                    std::function<void(const Vector<T>&, Matrix<T>&)> jacobian = nullptr) {
  AnyRung<T> rung;
  rung.dimension = initial.size();
  rung.initial = initial;
  for (Index i = 0; i < initial.size(); ++i) {
    rung.observables.columns.push_back("x_" + std::to_string(i));
  }
  rung.state_names = rung.observables.columns;
  rung.field.value = [rhs](const Vector<T>& x, Vector<T>& dx, const T&) { rhs(x, dx); };
  rung.observables.read = [](const Vector<T>& x, const T&, std::span<T> row) {
    for (Index i = 0; i < x.size(); ++i) row[static_cast<std::size_t>(i)] = x[i];
  };
  if (jacobian) {
    rung.field.jacobian = [jacobian](const Vector<T>& x, Matrix<T>& j, const T&) {
      j.setZero(x.size(), x.size());
      jacobian(x, j);
    };
  }
  return rung;
}

}  // namespace popgrad::problems
