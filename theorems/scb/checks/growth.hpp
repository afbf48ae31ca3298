#pragma once
/// The reduced flow on its way from 0: the three sizes that it depends on, and how it is solved.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/instance_record.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks {

inline constexpr Hypothesis zero_start{"from scratch"};
inline constexpr Hypothesis many_growth_times{"`T` large"};

struct Sizes {
  double transition = 0;  ///< K_P
  double context = 0;     ///< K_Q
  double positions = 0;   ///< T
  Vector<double> start = Vector<double>::Zero(3);

  [[nodiscard]] double rate() const { return growth_rate(transition, context, positions); }
  /// Time at which alpha_A alpha_V = z, up to O(1/T) within the logarithm:
  ///   ln[z/(1-z) 4 T^2 rate^3/K_P]/(2 rate)
  [[nodiscard]] double time_to(double z) const {
    const double grown = 4 * positions * positions * std::pow(rate(), 3) / transition;
    return std::log(z / (1 - z) * grown) / (2 * rate());
  }
  /// 2 exp(-rate t) at that time: by how much of itself the product misses pure growth; infinite
  /// where nothing grows.
  [[nodiscard]] double leftover(double z) const {
    if (!(rate() > 0)) return std::numeric_limits<double>::infinity();
    return std::sqrt((1 - z) / z * transition / std::pow(rate(), 3)) / positions;
  }
  /// Time from half way, at which what alpha_A alpha_V misses 1 by, falling at 2 rate, is less than
  /// the rounding of the 1/T that the drift keeps up.
  [[nodiscard]] double time_to_settle() const {
    return std::log(positions / std::numeric_limits<double>::epsilon()) / (2 * rate());
  }
  [[nodiscard]] Sizes longer(double factor) const {
    return {transition, context, factor * positions, start};
  }
};

/// Of an instance; V(0) = mu 1' and A(0) = 1/T make the start 0, without the rounding of products.
inline Sizes sizes_of(const Training<double>& training) {
  const Bigrams<double>& b = training.bigrams;
  // Rounding may leave K_P below 0 where all columns of P are equal.
  Sizes sizes{std::max(0.0, transition_size(b)), context_size(b), static_cast<double>(b.context),
              ReducedFlow<double>(training).initial()};
  const Vector<double> ones = Vector<double>::Ones(b.tokens());
  if (training.attention_start.size() == 0 &&
      training.start == Matrix<double>(b.stationary * ones.transpose())) {
    sizes.start.setZero();
  }
  return sizes;
}

/// An instance of these sizes that begins at mu 1':
///   P   = c I + (1 - c) 11'/N,                   K_P = c^2 (1 - 1/N)
///   q^k = (w, r, ..., r) on Q positions,         K_Q = w^2 + (Q - 1) r^2
/// for the smallest Q, and an N that leaves c < 1.
inline Training<double> training_of(const Sizes& sizes) {
  const auto n = static_cast<Index>(std::ceil(1 / (1 - sizes.transition))) + 1;
  const auto support = static_cast<Index>(std::ceil(1 / sizes.context));
  const auto all = static_cast<double>(n);
  const auto looked_at = static_cast<double>(support);
  const double kept = std::sqrt(sizes.transition / (1 - 1 / all));
  const double beyond = std::max(0.0, looked_at * sizes.context - 1);
  const double most = (1 + std::sqrt((looked_at - 1) * beyond)) / looked_at;
  Training<double> made;
  Bigrams<double>& b = made.bigrams;
  b.transition = Matrix<double>::Constant(n, n, (1 - kept) / all);
  b.transition.diagonal().array() += kept;
  b.stationary = Vector<double>::Constant(n, 1 / all);
  b.context = std::llround(sizes.positions);
  b.first = {0};
  b.law.resize(n * support);
  for (Index k = 0; k < n; ++k) {
    for (Index i = 0; i < support; ++i) {
      b.position.push_back(i);
      b.law[k * support + i] = i == 0 ? most : (1 - most) / (looked_at - 1);
    }
    b.first.push_back(b.entries());
  }
  made.start = b.stationary * Vector<double>::Ones(n).transpose();
  return made;
}

/// From knobs. A head start lies in a drawn direction of the half plane that grows; `unit` is its
/// unit in sqrt(K_P) alpha_V and sqrt(K_Q) alpha_A.
inline Sizes drawn_sizes(const Setting& setting, double length, double head_start,
                         const std::function<double(const Sizes&)>& unit) {
  Sizes sizes{setting.value(transition_size_knob), setting.value(context_size_knob), 0};
  const double growth = std::sqrt(sizes.transition * sizes.context);
  sizes.positions = length_at(setting.value(short_context), growth, length);
  if (head_start > 0) {
    Stream stream(setting.seed, 0, 0);
    const double angle = std::numbers::pi * (stream.uniform() - 0.25);
    const double size = head_start * unit(sizes);
    sizes.start[0] = size * std::cos(angle) / std::sqrt(sizes.transition);
    sizes.start[1] = size * std::sin(angle) / std::sqrt(sizes.context);
  }
  return sizes;
}

/// Of the user's instance, else of a drawn one. Knobs that leave the hypotheses ask for what no
/// instance has: a start off the family, a context shorter than the support of its law.
inline Sizes examined_sizes(const Setting& setting, double length, double head_start,
                            const std::function<double(const Sizes&)>& unit) {
  const auto read = scb::training<double>;
  const Sizes drawn = drawn_sizes(setting, length, head_start, unit);
  const bool has_instance = drawn.start.isZero(0) && drawn.positions * drawn.context > 2;
  if (setting.instance == nullptr && !has_instance) {
    hand_over_none("sizes and a start that are outside the hypotheses are not in an instance file");
    return drawn;
  }
  return sizes_of(examined(setting, read, [&] { return training_of(drawn); }));
}

inline Record parameters_of(const Sizes& sizes, const Setting& setting) {
  return {{"K_P", sizes.transition},
          {"K_Q", sizes.context},
          {"T", sizes.positions},
          {"start", sizes.start.norm()},
          {"seed", setting.seed}};
}

/// `from scratch`, up to the rounding of the products that make alpha_V(0) and w(0); and `T large`:
/// the share that the formulas leave out is not one that has to be noticed.
inline void require_growth(const Sizes& sizes, double left_out, Examination& it) {
  const double start = sizes.start.norm();
  it.require(zero_start, ErrorPart::rounding(10, 1 / sizes.transition).size() - start,
             fmt::format("a start of size {:.3g}", start));
  it.require(many_growth_times, noticed_share - left_out,
             fmt::format("left out {:.3g}, allowed {:.3g}", left_out, noticed_share));
}

/// Rung reduced in T alpha_V, T alpha_A, T w: of order one at first, however long the context.
template <class T = double>
AnyRung<T> per_length(const Sizes& sizes) {
  const T positions(sizes.positions);
  const ReducedFlow<T> flow(T(sizes.transition), T(sizes.context), positions, T(0), T(0), T(0));
  AnyRung<T> rung = forget_type(flow);
  rung.initial = positions * sizes.start.cast<T>();
  rung.field.jacobian = nullptr;
  rung.field.value = [flow, positions](const Vector<T>& x, Vector<T>& dx, const T& t) {
    flow.rhs(x / positions, dx, t);
    dx *= positions;
  };
  return rung;
}

}  // namespace popgrad::scb::checks
