#pragma once
/// Gradients on generic symbols and by differences, to set against the code that training runs.

#include <functional>
#include <type_traits>

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/identity.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::checks {

/// Two classes of generic laws and weights that share one token of three.
TrainingInstance<Expression> generic_training();
/// One class of a generic law on two tokens, the first of which is its query and its next token.
TrainingInstance<Expression> generic_class_with_query();

/// Are the derivatives of the objective, minus the loss of the flow, times its rates what `field`
/// is at generic x?
template <class F>
Truth derivatives_are(const F& flow, const Vector<Expression>& x, const Vector<Expression>& field) {
  const Expression objective = -flow.loss(x);
  const Vector<Expression> learning_rates = flow.rates();
  Matrix<Expression> defects(x.size(), 1);
  for (Index i = 0; i < x.size(); ++i) {
    const Expression slope = objective.diff(GiNaC::ex_to<GiNaC::symbol>(x[i]));
    defects(i, 0) = learning_rates[i] * slope - field[i];
  }
  return vanishes(defects);
}

/// Sums of the rows of Y, then of Z, of a field.
template <class T>
Vector<T> row_sums(const Layout& layout, const Vector<T>& field) {
  const Index rows = layout.rows();
  Vector<T> sums = Vector<T>::Constant(rows + layout.queries(), T(0));
  for (Index i = 0; i < rows * layout.columns(); ++i) {
    const auto column = static_cast<std::size_t>(i % layout.columns());
    T& sum = sums[i / layout.columns()];
    sum = sum + T(static_cast<int>(layout.multiplicity[column])) * field[i];
  }
  for (Index q = 0; q < layout.queries(); ++q) {
    const auto at = static_cast<std::size_t>(q);
    for (Index p = layout.pair_first[at]; p < layout.pair_first[at + 1]; ++p) {
      sums[rows + q] = sums[rows + q] + field[rows * layout.columns() + p];
    }
  }
  return sums;
}

/// Random classes of two queries in unequal shares, three distinct tokens a class, M = 25, a column
/// of Y for every token.
TrainingInstance<double> random_training(std::uint64_t seed, Index classes, Index common,
                                         double common_weight);

/// Every sequence of these many contextual tokens as a class of its own, by its frequencies.
SequenceClasses<double> sequences_of(const SequenceClasses<double>& classes, Index length);

/// Tokens that each component of a state stands for: columns of Y may be shared.
Vector<double> tokens_of_components(const Layout& layout);

/// d/dh of the objective, minus the loss, at x + h direction and h = 0: central differences of two
/// widths, extrapolated. For double and Real.
template <class T>
Quantity slope_along(const PopulationFlow<T>& flow, const Vector<T>& x, const Vector<T>& direction);
/// The same of any loss that is a sum of `terms` terms.
template <class T>
Quantity slope_along(const std::type_identity_t<std::function<T(const Vector<T>&)>>& loss,
                     double terms, const Vector<T>& x, const Vector<T>& direction);

}  // namespace popgrad::scan_snap::checks
