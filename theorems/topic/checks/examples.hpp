#pragma once
/// Laws and solves that several statements on topics share.

#include "popgrad/base/record.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// p_m = 0.15, p_c = p_r = 0.1, as in the paper.
template <class T>
TopicLaw<T> law_of(Index topics, Index active, Index words) {
  return {topics, active, words, T(T(3) / T(20)), T(T(1) / T(10)), T(T(1) / T(10))};
}

inline Record sizes(Index topics, Index active, Index words) {
  return {{"T", topics}, {"tau", active}, {"v", words}};
}

}  // namespace popgrad::topic::checks
