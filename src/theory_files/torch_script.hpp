#pragma once
/// The training that a theory file describes, as a PyTorch script.

#include <cstdint>
#include <string>

#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::theory_files {

/// A script without other imports than PyTorch: it draws batches from the laws, trains by SGD and writes a log that
/// `compare --with` reads, with a row for each logged step of each run. Starts that are drawn are those of `seed`, as
/// numbers. Throws InputError for what PyTorch cannot do, and where nothing can be logged.
std::string torch_script(const SampleLoss& loss, const Parameters& given, std::uint64_t seed);

}  // namespace popgrad::theory_files
