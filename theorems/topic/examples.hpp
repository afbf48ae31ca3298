#pragma once
/// Laws and solves that several statements on topics share.

#include "popgrad/record.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/topic/law.hpp"

namespace popgrad::theorems::topic {

/// p_m = 0.15, p_c = p_r = 0.1, as in the paper.
template <class T>
popgrad::topic::TopicLaw<T> law_of(Index topics, Index active, Index words) {
  return {topics, active, words, T(T(3) / T(20)), T(T(1) / T(10)), T(T(1) / T(10))};
}

inline Record sizes(Index topics, Index active, Index words) {
  return {{"T", topics}, {"tau", active}, {"v", words}};
}

/// Tolerances at which flows are followed here; events are not looked for.
inline SolveRequest<double> tight_request(double end, std::size_t saves) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, saves);
  request.relative_tolerance = 1e-9;
  request.absolute_tolerance = 1e-12;
  request.find_events = false;
  request.find_blow_up = false;
  return request;
}

}  // namespace popgrad::theorems::topic
