#pragma once
/// The instance that figures on sparse contextual bigrams train from scratch.

#include "popgrad/scb/instance.hpp"

namespace popgrad::report {

inline scb::Training<double> bigrams_from_scratch(Index tokens, Index context, Index support,
                                                  std::uint64_t seed) {
  scb::Training<double> training;
  training.bigrams = scb::random_bigrams(tokens, context, support, seed);
  training.start = training.bigrams.stationary * Vector<double>::Ones(tokens).transpose();
  return training;
}

}  // namespace popgrad::report
