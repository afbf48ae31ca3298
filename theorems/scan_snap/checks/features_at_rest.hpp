#pragma once
/// The fast decoder while features rest, as two statements measure it.

#include <functional>
#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

/// Training on the classes of the user's instance, or on `drawn` ones at eta_Y = 1; eta_Z as
/// attention_rate_knob says, which is 0 for features at rest.
TrainingInstance<double> chosen_training(const Setting& setting,
                                         const std::function<SequenceClasses<double>()>& drawn);

/// Features at z = 0.
struct Features {
  Layout layout;
  Matrix<double> dense;     ///< F (rows of Y x K)
  Matrix<double> gram;      ///< I + E (K x K)
  Matrix<double> inverse;   ///< I - E'
  Vector<double> spectrum;  ///< of I + E, ascending

  explicit Features(const SequenceClasses<double>& classes);
  [[nodiscard]] Index classes() const { return gram.rows(); }
  /// Products in g of all classes, each rounded, times what the inverse makes of a rounding.
  [[nodiscard]] double operations() const;
  /// Coefficients (K x K) in F of g_n = Y (e_n - alpha_n), a column a class, at a state x that
  /// begins with Y.
  [[nodiscard]] Matrix<double> coefficients(const Vector<double>& x) const;
  /// Classes that share a token with another class.
  [[nodiscard]] std::vector<Index> overlapping() const;
  /// F X (X: K x C), row by row, as the state of a rung holds Y; part "rounding".
  [[nodiscard]] std::vector<Quantity> table(const Matrix<double>& x) const;
};

/// Numbers that are read off the state at a save point, each with its error.
std::vector<Quantity> read_off(const Solved& run, std::size_t save,
                               const std::function<Vector<double>(const Vector<double>&)>& reading);

inline constexpr Hypothesis features_rest{"features at rest"};
inline constexpr Hypothesis full_rank{"`F` has full rank"};
inline constexpr Hypothesis zero_start{"`Y(0) = 0`"};
/// Evaluates these for a solve that ends with logits no larger than `moved`.
void require_rest(const TrainingInstance<double>& training, const Features& at, double moved,
                  Examination& it);

inline constexpr Hypothesis equal_classes{"`P(n) = 1/K`, a next token of its own for each class"};
void require_uniform(const SequenceClasses<double>& classes, Examination& it);

}  // namespace popgrad::scan_snap::checks
