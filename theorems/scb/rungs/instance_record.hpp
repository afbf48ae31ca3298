#pragma once
/// An instance as `training` reads it from a file.

#include "popgrad/base/record.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

/// Memory O(N^2 + N Q), but O(T N) of an A(0) that is given.
Record record_of(const Training<double>& training);

}  // namespace popgrad::scb
