#pragma once
/// Normals in single precision, for states that hold their noise in floats.

#include <span>

#include "popgrad/scalars/random.hpp"

namespace popgrad {

/// Standard normals from the words that `Stream::normals` takes for as many doubles: the same numbers
/// to 6e-8 (4 r + 1/r), r the radius of the pair, at half of the time. Whole groups of 64 are taken.
/// u and the angle keep 24 bits, and u those of its octave: no |z| above 6.77, beyond which the law
/// has 1.3e-11; of 2^-25 of all pairs, where u rounds to 1, both numbers are 0.
void single_normals(Stream& stream, std::span<float> out);

}  // namespace popgrad
