#pragma once
/// Landscapes of theory files: the expected loss where two numbers set the states by formulas.

#include "popgrad/evidence/landscape.hpp"
#include "theory_files/theory_file.hpp"

namespace popgrad::theory_files {

/// Values are exact where the loss is rational and no law is sampled, else those in double. No certificate.
/// Throws InputError for a mistake in its formulas.
LossLandscape landscape_of(const TheoryFile& file, const FileLandscape& written);

}  // namespace popgrad::theory_files
