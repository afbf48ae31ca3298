#pragma once
/// The family of states that the population flow of sparse contextual bigrams stays on.
///
///   V   = mu 1' + alpha_V (P - mu 1') + W,  <W, P> = 0
///   a^k = 1/T + alpha_A (q^k - 1/T)

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "popgrad/scalars/identity.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks {

/// What alpha_V, alpha_A and W add to V = mu 1', A = 1/T in a state of the rung flow.
template <class T>
Vector<T> along_family(const Bigrams<T>& b, const T& alpha_V, const T& alpha_A,
                       const Matrix<T>& residual) {
  const Index n = b.tokens();
  const T share = T(1) / T(static_cast<int>(b.context));
  Vector<T> x(n * n + b.entries() + n);
  for (Index k = 0; k < n; ++k) {
    for (Index i = 0; i < n; ++i) {
      x[k * n + i] = alpha_V * (b.transition(i, k) - b.stationary[i]) + residual(i, k);
    }
    const Index begin = b.first[static_cast<std::size_t>(k)];
    for (Index e = begin; e < begin + b.support(k); ++e) {
      x[n * n + k + e] = alpha_A * (b.law[e] - share);
    }
    x[n * n + k + begin + b.support(k)] = -alpha_A * share;
  }
  return x;
}

/// W = V - mu 1' - alpha_V (P - mu 1').
template <class T>
Matrix<T> residual_of(const Bigrams<T>& b, const Matrix<T>& v, const T& alpha_V) {
  const Matrix<T> ground = b.stationary * Vector<T>::Constant(b.tokens(), T(1)).transpose();
  return v - ground - alpha_V * (b.transition - ground);
}

/// A matrix M (3 x 3) with 1'M = 0 and M mu = 0 from four numbers (2 x 2).
inline Matrix<Expression> centred(const Matrix<Expression>& free, const Vector<Expression>& mu) {
  Matrix<Expression> m(3, 3);
  for (Index i = 0; i < 2; ++i) {
    m(i, 0) = mu[2] * free(i, 0);
    m(i, 1) = mu[2] * free(i, 1);
    m(i, 2) = -free(i, 0) * mu[0] - free(i, 1) * mu[1];
  }
  for (Index k = 0; k < 3; ++k) m(2, k) = -m(0, k) - m(1, k);
  return m;
}

/// Times from early growth, from alpha_V(0) = `start`, to some growth times on the hyperbola.
inline std::vector<double> times_of_growth(const Training<double>& training, double start) {
  const Bigrams<double>& b = training.bigrams;
  const auto positions = static_cast<double>(b.context);
  const double rate = growth_rate(transition_size(b), context_size(b), positions);
  const double way = std::log1p(1 / (std::fabs(start) + 1 / positions));
  std::vector<double> times;
  for (const double share : {0.05, 0.1, 0.2, 0.4, 0.7, 1.0}) {
    times.push_back(share * (way + 4) / rate);
  }
  return times;
}

/// Three tokens, four positions, generic P and q with P mu = mu.
inline Training<Expression> generic_training() {
  Training<Expression> made;
  Bigrams<Expression>& b = made.bigrams;
  b.stationary = symbols("mu", 3);
  b.stationary[2] = 1 - b.stationary[0] - b.stationary[1];
  made.start = b.stationary * Vector<Expression>::Constant(3, 1).transpose();
  b.transition = made.start + centred(symbols("p", 2, 2), b.stationary);
  b.context = 4;
  b.first = {0, 2, 3, 4};
  b.position = {0, 2, 1, 3};
  b.law = Vector<Expression>::Constant(4, 1);
  b.law[0] = symbol("q");
  b.law[1] = 1 - b.law[0];
  return made;
}

/// The components of a function of the state, at every save point, all with the solver error of the
/// worst of them there: in one component the two solves may meet by accident.
inline std::vector<Quantity> components_of(
    const Solved& run, const std::function<Vector<double>(const Vector<double>&)>& of) {
  std::vector<Quantity> components;
  for (std::size_t save = 0; save < run.size(); ++save) {
    const std::size_t first = components.size();
    double worst = 0;
    for (Index i = 0; i < of(run.state(save)).size(); ++i) {
      components.push_back(run.at(save, [&](const Vector<double>& x) { return of(x)[i]; }));
      worst = std::max(worst, components.back().error("solver"));
    }
    for (std::size_t i = first; i < components.size(); ++i) {
      components[i].add(ErrorPart::solver(components[i].error("solver"), worst));
    }
  }
  return components;
}

/// What a mistake in a component of a state of the rung flow is relative to: the largest component
/// of V - mu 1', or of A - 1/T, at the same time. With the names of the components.
struct ComponentPlaces {
  std::vector<double> scales;
  std::vector<std::string> names;
};
inline ComponentPlaces places_of(const Solved& run, const std::vector<std::string>& state_names,
                                 const Vector<double>& ground, Index values) {
  ComponentPlaces places;
  for (std::size_t save = 0; save < run.size(); ++save) {
    const Vector<double> moved = (run.state(save) - ground).cwiseAbs();
    const double of_values = moved.head(values).maxCoeff();
    const double of_attention = moved.tail(moved.size() - values).maxCoeff();
    for (Index i = 0; i < moved.size(); ++i) {
      places.scales.push_back(i < values ? of_values : of_attention);
      places.names.push_back(state_names[static_cast<std::size_t>(i)] + ", " + run.places()[save]);
    }
  }
  return places;
}

}  // namespace popgrad::scb::checks
