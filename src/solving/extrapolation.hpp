#pragma once
/// Extrapolated midpoint steps whose order grows with the digits that are asked for.
///
/// Column j takes a step H by n_j = 2 j midpoint steps, whose error is a series in 1/n_j^2, and k columns
/// are extrapolated to order 2 k (Gragg; Bulirsch, Stoer; Hairer, Norsett, Wanner, Solving ODEs I, II.9).
/// Odeint's stepper of the name stops at nine columns, whose steps for 50 digits are a hundredth of
/// what 28 columns take. From the errors of the columns come the number of them and the step that cost
/// the fewest evaluations a unit of time. Extrapolation loses some 0.27 digits a column (the sum of the
/// absolute weights), which are carried along in addition.
///
/// Steps are longer than any polynomial through their ends and midpoint could follow (some two radii of
/// convergence), so `at` goes on from the nearest point already known, by few columns if it is near;
/// `sketch_at` does the same to twelve digits where neither double (solve/double_sketch.hpp) nor a polynomial
/// (solve/quintic_step.hpp) gives them. Points that the columns pass themselves need no
/// evaluation (solve/grid_points.hpp); `inside` names these and few between them.
///
/// Cost of a step of k columns: k^2 + k + 1 evaluations, k^2/2 operations on states; memory 2 k states.

#include "popgrad/scalars/real.hpp"
#include "solving/stepper.hpp"

namespace popgrad::solving {

template <>
std::unique_ptr<Stepper<Real>> make_bulirsch_stoer(const Field<Real>& field,
                                                   const Tolerances<Real>& tolerances);

}  // namespace popgrad::solving
