#pragma once
/// Mean and standard deviation of the observables of SGD in states too large for a covariance.
///
/// To first order about descent, x <- x + eta f(x), with J, Sigma and B as in
/// popgrad/fluctuations/prediction.hpp, an observable h after k steps has
///   Var h = eta^2/B sum_{j<k} l_{j+1}' Sigma(x_j) l_{j+1}
///   l_k   = grad h(x_k),  l_j = (I + eta J(x_j))' l_{j+1}
///   E h   = h + grad h.s + 1/2 E h''(d, d)
///   d    <- (I + eta J) d + eta/sqrt(B) (direction of one draw - f)
///   s    <- (I + eta J) s + eta/2 E f''(d, d)
/// f = -P grad L with P the diagonal of the learning rates makes J = -P L'', so that n = P l is
/// carried by J itself: n_j = (I + eta J) n_{j+1}. That J P is symmetric is tested along random
/// directions near the start.
///
/// The sum is over at most 64 blocks of steps, in each of which J and Sigma are those of its
/// middle, cut where a factor (I + eta J)^m is not near 1; blocks of one step are exact. E is over
/// 16 runs of d, which leaves an error of a third of the shift of the mean. `second_order` is the
/// largest of
///   |s|^2 / E|d|^2
///   E|f''(d, d)/2|^2 / E|J d|^2
///   |E tr Sigma(x + d) - tr Sigma(x)| / tr Sigma(x), by draws
/// and above 1/2 the prediction ends. X and X_sd are not numbers where it is above 1/5 or X is
/// shifted by more than half of X_sd. A saved law is x, s and the d. Cost of a step 35 evaluations of f and 16 draws; of a row 2 n
/// observations, k steps of descent, and for an observable and block some 4 evaluations and a product
/// with Sigma. Memory 64 n, n times the observables, and the names of a saved law. Derived here.

#include <string>

#include "popgrad/fluctuations/prediction.hpp"

namespace popgrad {

/// Numbers of a state that the gradients of observables are taken for, by differences.
inline constexpr Index largest_with_adjoint = 100'000;

/// Of the plain steps of `sgd`, which draws and knows its law of one draw. `where` names it in
/// errors. Throws InputError if f is no such gradient or the state is larger.
Prediction predict_by_adjoints(const AnyRung<double>& sgd, const std::string& where);

}  // namespace popgrad
