#pragma once
/// The fast decoder while features rest, as two statements measure it.

#include "popgrad/scan_snap/instance.hpp"
#include "popgrad/scan_snap/layout.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

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
  /// Roundings that the inverse makes of one.
  [[nodiscard]] double operations() const;
  /// F X (X: K x C), row by row, as the state of a rung holds Y; part "rounding".
  [[nodiscard]] std::vector<Quantity> table(const Matrix<double>& x) const;
};

/// "features at rest", "F has full rank", "Y(0) = 0": the hypotheses of a solve that ends with
/// logits no larger than `moved`.
void require_rest(const TrainingInstance<double>& training, const Features& at, double moved,
                  Examination& it);
/// Their texts.
std::vector<DeclaredHypothesis> rest_hypotheses();

}  // namespace popgrad::theorems::scan_snap
