#pragma once
/// Counts of this process's heap, for benchmarks that state what they allocate (glibc only).

#include <cstddef>

namespace popgrad::bench {

/// Calls of malloc and its kin so far, operator new and Eigen included.
std::size_t allocations();
/// Bytes in use.
std::size_t bytes_in_use();
/// The most bytes in use since the last call of forget_peak().
std::size_t peak_bytes();
void forget_peak();

}  // namespace popgrad::bench
