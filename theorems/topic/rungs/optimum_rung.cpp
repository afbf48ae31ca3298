#include "theorems/topic/rungs/optimum_rung.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/topic/rungs/block_flow.hpp"
#include "theorems/topic/rungs/block_observables.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic {
namespace {

// For diagonal W_V alpha < tau v/(1 - a), from its closed form without random words (p_r = 0), which
// lower it; beta < 1.
Minimum found_in_double(const TopicLaw<double>& law, const Landscape<double>& l, bool on_line) {
  if (on_line) return find_minimum_on_line(l);
  const double far = 3 * static_cast<double>(law.active * law.words) / (1 - law.kept());
  return find_minimum(l, {0, far, 0, far});
}

// Newton steps from a point to the digits of double: each doubles them. Weights that are held stay.
template <class T>
Vector<T> to_all_digits(const Landscape<T>& l, const Vector<T>& start, std::array<bool, 2> held) {
  Vector<T> x = start;
  Vector<T> step = Vector<T>::Constant(2, T(0));
  for (int i = 0; i < 10; ++i) {
    Vector<T> gradient = l.gradient(x[0], x[1]);
    Matrix<T> hessian = l.hessian(x[0], x[1]);
    for (Index k = 0; k < 2; ++k) {
      if (!held[static_cast<std::size_t>(k)]) continue;
      gradient[k] = hessian(0, 1) = hessian(1, 0) = T(0);
      hessian(k, k) = T(1);
    }
    step = solve_square<T>(hessian, gradient);
    x -= step;
  }
  constexpr double settled = 1e-6;
  for (Index k = 0; k < 2; ++k) {
    if (!(std::fabs(to_double(step[k])) <= settled * std::fabs(to_double(x[k])))) {
      throw Failure(fmt::format(
          "topic optimum: Newton steps from alpha = {:.6g}, beta = {:.6g} do not settle; 'popgrad "
          "landscape topic' encloses the minimum",
          to_double(start[0]), to_double(start[1])));
    }
    if (x[k] < T(0)) x[k] = T(0);
  }
  return x;
}

// Weights of the own word, of the others of its topic, and of other topics.
template <class T>
std::array<T, 3> best_weights(const TopicLaw<T>& law, const BlockValue<T>& value,
                              const Landscape<T>& l) {
  const bool on_line = law.words == 1 || value.diagonal == value.same;
  const TopicLaw<double> rounded = law.template cast<double>();
  const Minimum found =
      found_in_double(rounded, landscape(rounded, value.template cast<double>()), on_line);
  if (std::isinf(found.alpha)) return {T(1), T(1), T(0)};
  Vector<T> x(2);
  x << T(found.alpha), T(found.beta);
  x = to_all_digits(l, x, {found.alpha == 0, on_line || found.beta == 0});
  if (on_line) x.setConstant(T(x[0] / TopicLaw<T>::number(law.words)));
  return {x[0], x[1], T(1)};
}

}  // namespace

template <class T>
AnyRung<T> optimum_rung(const TopicLaw<T>& law, const BlockValue<T>& value) {
  const Landscape<T> made = landscape(law, value);
  if (made.gradient(T(1), T(1)).isZero(T(0)) && made.hessian(T(1), T(1)).isZero(T(0))) {
    throw InputError(
        "topic optimum: all attention has the same loss, as W_V is 0 or no word is a query (p_c = "
        "p_r = 0); take --value block or diagonal, and --p_c or --p_r above 0");
  }
  const std::array<T, 3> weights = best_weights(law, value, made);
  AnyRung<T> rung;
  rung.dimension = 7;
  rung.initial.resize(7);
  rung.initial << value.mask, value.diagonal, value.same, value.other, weights[0], weights[1],
      weights[2];
  rung.state_names = {"w_0", "d", "s", "u", "own", "same", "other"};
  rung.field.state_at = [state = rung.initial](const T&) { return state; };
  rung.observables.columns = names_of(BlockFlow<T>::observables());
  rung.observables.read = [law, made](const Vector<T>& x, const T& /*t*/, std::span<T> row) {
    const T loss = x[6] == T(0) ? loss_at_infinity(made) : made(x[4], x[5]);
    write_row(block_table<T>(), read_blocks(law, x, loss, {x[4], x[5], x[6], x[6]}), row);
  };
  rung.clone = [law, value] { return optimum_rung(law, value); };
  return rung;
}

template AnyRung<double> optimum_rung(const TopicLaw<double>&, const BlockValue<double>&);
template AnyRung<Real> optimum_rung(const TopicLaw<Real>&, const BlockValue<Real>&);

}  // namespace popgrad::topic
