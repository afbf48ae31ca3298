#pragma once
/// An instance as `training_instance` reads it from a file; the seed of a uniform start is not in it.

#include "popgrad/base/record.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

/// Memory O(nnz(P) + K), but O(M^2) of starts that are given.
Record record_of(const TrainingInstance<double>& instance);

}  // namespace popgrad::scan_snap
