#pragma once
/// What documents of N tokens add to the squared loss of infinitely long ones, to first order in 1/N.

#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

/// Adds `weight` times the gradients of N (loss of documents of N tokens - loss of infinitely long
/// ones) as N grows; without the variance of the outputs unless `of_variance`. Squared loss; with
/// `label_noise` as in Training. Cost O(C(T, tau) (Tv)^3).
void add_document_bias(const TopicLaw<double>& law, const Effective& now, bool of_variance,
                       double weight, Matrix<double>& dvalue, Matrix<double>& dlogits,
                       double label_noise = 0);

}  // namespace popgrad::topic
