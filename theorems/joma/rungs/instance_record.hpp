#pragma once
/// Instances as `class_instance` and `reduced_instance` read them from a file.

#include "popgrad/base/record.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma {

/// Embeddings have to be orthonormal, and f as it is or divided by its whole length: no name of a file
/// gives other ones.
Record record_of(const ClassInstance<double>& instance);
Record record_of(const ReducedInstance<double>& instance);

}  // namespace popgrad::joma
