#pragma once
/// What the three invariant statements share.

#include <algorithm>
#include <cmath>
#include <vector>

#include "popgrad/joma/population_flow.hpp"
#include "popgrad/scalar/expression.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::joma {

/// A generic finite sample set over symbols, run through the code that every rung runs.
struct SymbolicTraining {
  Vector<Expression> unknowns;  ///< v by columns, then z
  Vector<Expression> rates;     ///< their time derivatives, from joint_direction
  Matrix<Expression> v, dv;     ///< contextual rows only
  Vector<Expression> z, dz, weight;
  Matrix<Expression> b, pulled;
  Expression temperature;
};

/// `tokens`, `units`, `samples` generic; g_k phi' of every sample is a symbol of its own, which
/// stands for any activation, loss and output layer.
SymbolicTraining symbolic_training(popgrad::joma::Attention attention, Index tokens, Index units,
                                   Index samples, bool normalise);

inline constexpr Knob attention_temperature{.name = "temperature",
                                            .meaning = "temperature T of the attention",
                                            .low = 0.25,
                                            .high = 4,
                                            .usual = 0.5,
                                            .spacing = Spacing::logarithmic};
inline constexpr Knob hidden_units{.name = "units",
                                   .meaning = "hidden units K under the output layer",
                                   .low = 1,
                                   .high = 30,
                                   .usual = 20,
                                   .spacing = Spacing::whole};
inline constexpr Knob overlap{.name = "overlap",
                              .meaning = "root mean square cosine between embeddings",
                              .low = 1e-4,
                              .high = 0.5,
                              .usual = 0,
                              .spacing = Spacing::logarithmic,
                              .breaks = "orthonormal embeddings"};
inline constexpr Knob normalisation{.name = "normalisation",
                                    .meaning = "share s of |f| in f / (1 - s + s |f|)",
                                    .low = 1e-4,
                                    .high = 1,
                                    .usual = 0,
                                    .spacing = Spacing::logarithmic,
                                    .breaks = "f is not l2-normalised"};

/// How `count` embeddings lie and how far f is normalised, as the two knobs say; what is broken is
/// told in `result`.
popgrad::joma::FeatureMap<double> feature_map(const Setting& setting, Index count,
                                              Examination& result);

/// Residual and size of what is conserved along a run.
struct Drift {
  double largest = 0;  ///< max over saved times of the column `invariant_residual`
  double size = 0;     ///< max over saved times and tokens of |z|, of z^2 for linear attention
};

/// Along the population flow.
Drift drift_along_flow(const popgrad::joma::ClassInstance<double>& instance, double end,
                       double tolerance);

/// The residual after full-batch descent of the given step to the given time.
double drift_along_descent(const popgrad::joma::ClassInstance<double>& instance, double end,
                           double step);

/// Slope of ln(drift) against ln(step) over the steps.
double order_of_drift(const popgrad::joma::ClassInstance<double>& instance, double end,
                      const std::vector<double>& steps);

/// Drift along the flow for two activations, and its order in the step of descent; weights and
/// logits begin at `enlarged` times the authors'.
void examine_drift(const Setting& setting, popgrad::joma::Attention attention, bool normalised,
                   double enlarged, Examination& result);

}  // namespace popgrad::theorems::joma
