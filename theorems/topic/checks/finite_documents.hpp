#pragma once
/// The field on documents of N tokens, to first order in 1/N.
///
/// With frequencies p of the masked document, r_j = exp(s_jx)/sum_k p_k exp(s_kx) and
/// y = sum_j p_j r_j V_j, the loss of a selected position with token x and word w is |y - e_w|^2 on
/// an infinite document. Of N tokens x is one and the others are drawn: p is off by (e_x - p)/N in
/// the mean, with the covariance (diag p - p p')/N. As sum_j p_j r_j (V_j - y) = 0, the loss
/// changes in the mean by 1/N times
///   2 (y - e_w)'u + sum_j h_j |V_j - y|^2,  h_j = p_j r_j^2,
///   u = r_x (V_x - y) - sum_j h_j (V_j - y).
/// Derived here; squared loss, one-hot embeddings.

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks {

/// What the mean field on documents of N tokens has on top of that on infinite ones, times N, as N
/// grows. `of_variance` false leaves out sum_j h_j |V_j - y|^2, the variance of the output.
Vector<double> document_bias(const Training& training, const Vector<double>& x,
                             bool of_variance = true);

/// The flow of `training` with document_bias/N added to its field.
AnyRung<double> flow_of_documents(const Training& training, bool of_variance = true);

/// Where descent ends.
Vector<double> end_of_descent(const AnyRung<double>& rung, const WalkRequest& request);
/// (x - origin)'direction at the end of SGD in the mean over runs, as 1/B goes to 0: from ensembles
/// at B = 4 and 16. Parts: sampling, and the whole of the last correction as "next order".
Quantity mean_along(const AnyRung<double>& rung, WalkRequest request, const Vector<double>& origin,
                    const Vector<double>& direction, double false_alarm);

}  // namespace popgrad::topic::checks
