#pragma once
/// A small instance of joma with label noise, and what its samples can be.

#include <cmath>
#include <functional>

#include "theorems/joma/rungs/population_flow.hpp"

namespace joma_of_three_classes {

using namespace popgrad;
using namespace popgrad::joma;

inline constexpr double noise = 0.35;

inline ClassInstance<double> instance_of(Attention attention, Index length,
                                         double label_noise = noise) {
  ClassInstance<double> instance;
  instance.token_law = Matrix<double>{{0.5, 0.1, 0.2}, {0.3, 0.6, 0.1}, {0.2, 0.3, 0.7}};
  instance.class_law = Vector<double>{{0.5, 0.2, 0.3}};
  instance.weights =
      Matrix<double>{{0.6, -0.3, 0.2}, {-0.4, 0.7, 0.1}, {0.3, 0.2, -0.5}, {0.1, -0.2, 0.4}};
  instance.logits = Vector<double>{{0.4, -0.3, 0.2}};
  instance.attention = attention;
  instance.temperature = 0.8;
  instance.length = length;
  instance.label_noise = label_noise;
  return instance;
}

inline double chance_of_label(Index c, Index y) { return (c == y ? 1 - noise : 0.0) + noise / 3; }

/// The field where every sample has the label y and shows x: that of a clean law.
inline Vector<double> direction_of(const ClassInstance<double>& instance,
                                   const Vector<double>& state, Index y, const Vector<double>& x) {
  ClassInstance<double> one = instance;
  one.label_noise = 0;
  one.token_law.col(y) = x;
  one.class_law = Vector<double>::Unit(3, y);
  Vector<double> direction(state.size());
  PopulationFlow<double>(one).rhs(state, direction, 0.0);
  return direction;
}

/// Frequencies of `length` tokens of three, with their probability; the law itself for length 0.
inline void for_each_x(const Vector<double>& law, Index length,
                       const std::function<void(const Vector<double>&, double)>& visit) {
  if (length == 0) {
    visit(law, 1);
    return;
  }
  for (Index a = 0; a <= length; ++a) {
    for (Index b = 0; a + b <= length; ++b) {
      const Vector<double> counts{{double(a), double(b), double(length - a - b)}};
      double chance = std::tgamma(double(length) + 1);
      for (Index l = 0; l < 3; ++l) {
        chance *= std::pow(law[l], counts[l]) / std::tgamma(counts[l] + 1);
      }
      visit(counts / double(length), chance);
    }
  }
}

}  // namespace joma_of_three_classes
