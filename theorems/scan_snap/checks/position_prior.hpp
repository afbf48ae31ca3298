#pragma once
/// A fixed bias z0 of the attention logits, and the prior of tokens that does the same.
///
///   prior(l|n) = P(l|n) exp(z0_ml)/sum_k P(k|n) exp(z0_mk),   m = psi(n)
/// Source: arXiv 2305.16380, Section 7.

#include "popgrad/scalars/scalar.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

/// Is the field of a class of generic P at z + z0 that of P exp(share z0) at z, with
///   share = numerator/denominator?
Truth symbolic_prior(int numerator, int denominator);

/// Training that begins at Z = z0 (pairs), so that z - z0 is what is learned. For double and Real, as
/// what follows.
template <class T>
TrainingInstance<T> with_bias(TrainingInstance<T> training, const Vector<T>& bias);
/// Training on the prior of z0 (pairs).
template <class T>
TrainingInstance<T> with_prior(TrainingInstance<T> training, const Vector<T>& bias);

}  // namespace popgrad::scan_snap::checks
