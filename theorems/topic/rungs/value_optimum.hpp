#pragma once
/// The best W_V under uniform attention, in closed form.
///
/// W must map the frequencies pt of a masked document to those of its words, for every subset of
/// topics; that fixes the block sums and column 0 up to numbers u_i:
///   sum_{j in t} W_ij = [t = topic(i)]/a + u_i
///   W_i0              = -(b/a + u_i s)/p0
///   s                 = a/v + T b
/// Source: arXiv 2303.04245, Theorems 1 and 2; the minimum-norm member in closed form and the
/// penalised optimum are derived here.

#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

/// A member of the family that permutations leave unchanged, for one u and the diagonal's share: entry
/// d = s' + spread, so that the block sum stays. Needs p0 > 0.
template <class T, class Count>
BlockValue<T> member(const TopicLaw<T, Count>& law, const T& u, const T& spread);
/// d = 1/a, all other words 0: theta = 1 of the mixture.
template <class T, class Count>
BlockValue<T> diagonal_value(const TopicLaw<T, Count>& law);
/// The limit of a vanishing l2 penalty:
///   d = s' = (1/a + u)/v
///   u'     = u/v
///   u      = -(1/a) (s b/p0^2 + 1/v)/(s^2/p0^2 + T/v)
template <class T, class Count>
BlockValue<T> minimum_norm_value(const TopicLaw<T, Count>& law);
/// (1 - theta) minimum norm + theta diagonal.
template <class T, class Count>
BlockValue<T> mixture_value(const TopicLaw<T, Count>& law, const T& theta);
/// Penalty lambda |W|^2, with the exact moments:
///   W = c' (C + lambda I)^{-1}
/// at lambda = 0 the limit, minimum_norm_value.
/// Solved on the three numbers that a row has, so the cost does not depend on the size.
template <class T>
BlockValue<T> penalised_value(const TopicLaw<T>& law, const T& lambda);

/// Loss of W under uniform attention, E |W pt - e_w|^2 per position, any W (Tv + 1 square).
/// Cost O(T (Tv)^2).
template <class T>
T uniform_loss(const TopicLaw<T>& law, const Matrix<T>& value);
/// The moments of the gradient 2 (W C - c') of uniform_loss (Tv + 1 square each):
///   C = E[pt pt']
///   c = E[pt p*']
template <class T>
Matrix<T> second_moment(const TopicLaw<T>& law);
template <class T>
Matrix<T> cross_moment(const TopicLaw<T>& law);

}  // namespace popgrad::topic
