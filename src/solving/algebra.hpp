#pragma once
/// Eigen vectors as Odeint states, for any scalar.
///
/// Odeint's own algebras either need a type that it can map to a value (not MPFR floats) or make a
/// temporary for every operation. Here each operation is one pass over the operands.

#include <boost/numeric/odeint/util/is_resizeable.hpp>
#include <boost/numeric/odeint/util/resize.hpp>
#include <boost/numeric/odeint/util/same_size.hpp>
#include <concepts>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/wide.hpp"

namespace boost::numeric::odeint {

template <class T>
struct is_resizeable<popgrad::Vector<T>> : boost::true_type {};

template <class T>
struct same_size_impl<popgrad::Vector<T>, popgrad::Vector<T>> {
  static bool same_size(const popgrad::Vector<T>& a, const popgrad::Vector<T>& b) {
    return a.size() == b.size();
  }
};

template <class T>
struct resize_impl<popgrad::Vector<T>, popgrad::Vector<T>> {
  static void resize(popgrad::Vector<T>& a, const popgrad::Vector<T>& b) { a.resize(b.size()); }
};

}  // namespace boost::numeric::odeint

namespace popgrad::solving {

/// Infinity in the scalar's own type.
template <class T>
T infinity() {
  return std::numeric_limits<T>::infinity();
}

/// max |x_i|; infinite if any entry is not a number, so that a step into NaN counts as rejected.
template <class T>
T norm_inf(const Vector<T>& x) {
  using std::abs;
  T largest(0);
  for (Index i = 0; i < x.size(); ++i) {
    const T size = abs(x[i]);
    if (!(size <= largest)) {
      if (size != size) return infinity<T>();
      largest = size;
    }
  }
  return largest;
}

/// The same for doubles, many entries at a time (src/solving/algebra_double.cpp).
double norm_inf(const Vector<double>& x);

/// The algebra concept of Odeint: for_eachN(state_1, ..., state_N, operation).
struct VectorAlgebra {
  template <class... A>
  static void each(A&&... a) {
    auto arguments = std::forward_as_tuple(a...);
    constexpr std::size_t states = sizeof...(A) - 1;
    const Index n = std::get<0>(arguments).size();
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      each_entry(n, std::get<states>(arguments), std::get<k>(arguments).data()...);
    }
    (std::make_index_sequence<states>{});
  }
  // By value, as coefficients that a state might overlap would be read anew for every entry; and
  // entry i is made of entries i only, so that there is nothing to wait for.
  template <class Operation, class... Entry>
  static void each_entry(Index n, Operation operation, Entry*... entry) {
    for (Index i = 0; i < n; ++i) operation(entry[i]...);
  }
  template <class Operation, class... Entry>
  requires(std::same_as<std::remove_const_t<Entry>, double>&&...) static void each_entry(
      Index n, Operation operation, Entry*... entry) {
    if (wide::takes_wide_template()) return each_entry_wide(n, operation, entry...);
#pragma omp simd
    for (Index i = 0; i < n; ++i) operation(entry[i]...);
  }
  template <class Operation, class... Entry>
  POPGRAD_WIDE_TEMPLATE static void each_entry_wide(Index n, Operation operation, Entry*... entry) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) operation(entry[i]...);
  }
  // One name a number of operands, as the concept asks.
  template <class... A>
  static void for_each1(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each2(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each3(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each4(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each5(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each6(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each7(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each8(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each9(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each10(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each11(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each12(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each13(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each14(A&&... a) {
    each(a...);
  }
  template <class... A>
  static void for_each15(A&&... a) {
    each(a...);
  }

  template <class T>
  static T norm_inf(const Vector<T>& x) {
    return solving::norm_inf(x);
  }
};

}  // namespace popgrad::solving
