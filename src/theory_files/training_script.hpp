#pragma once
/// The training that a theory file describes, as a script of Python.

#include <cstdint>
#include <string>

#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::theory_files {

/// What computes: PyTorch, which makes the gradients itself, or NumPy with the gradients as formulas.
enum class Library { torch, numpy };

/// A script without other imports than the library: it draws batches from the laws, trains by SGD and writes a log that
/// `compare --with` reads, with a row for each logged step of each run. Starts that are drawn are those of `seed`, as
/// numbers. Throws InputError for what the library cannot do, and where nothing can be logged.
std::string training_script(const SampleLoss& loss, const Parameters& given, std::uint64_t seed,
                            Library library);

}  // namespace popgrad::theory_files
