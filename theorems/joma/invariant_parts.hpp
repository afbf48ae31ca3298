#pragma once
/// What the three invariant statements share.

#include <algorithm>
#include <cmath>
#include <vector>

#include "popgrad/joma/population_flow.hpp"
#include "popgrad/scalar/expression.hpp"
#include "popgrad/solve.hpp"

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

/// max over saved times of the column `invariant_residual` along the population flow.
double drift_along_flow(const popgrad::joma::ClassInstance<double>& instance, double end,
                        double tolerance);

/// The same along full-batch descent of the given step to the given time.
double drift_along_descent(const popgrad::joma::ClassInstance<double>& instance, double end,
                           double step);

/// Slope of ln(drift) against ln(step) over the steps.
double order_of_drift(const popgrad::joma::ClassInstance<double>& instance, double end,
                      const std::vector<double>& steps);

}  // namespace popgrad::theorems::joma
