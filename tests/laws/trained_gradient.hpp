#pragma once
/// Derivatives of what a rung is trained on, by differences of the loss that it reports, which
/// knows of neither label noise nor the temperature of scan-snap.

#include "laws/gradient.hpp"

namespace popgrad::laws {

/// The case with every law of tokens under the label of another class: class y has what class
/// y + shift (modulo the classes) had. Of joma with X, scan-snap with P.
Case relabelled(const Case& made, Index shift);

/// `loss_gradient`, where every label is replaced with the probability label_noise by one drawn
/// uniformly, which is the mean over all shifts of labels, and attention is softmax(z/temperature).
/// All NaN with label noise where the laws are not given.
Gradient trained_gradient(const Case& made, const AnyRung<double>& rung, const Point& at,
                          Index most, double step);

}  // namespace popgrad::laws
