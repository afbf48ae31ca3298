#pragma once
/// A theory file as equations: the law of motion of a rung, and the whole as a LaTeX document.

#include <string>
#include <vector>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/expression.hpp"
#include "theory_files/theory_file.hpp"

namespace popgrad::theory_files {

/// Lines: what each state of the rung moves by, after the parts that are needed more than once. `text` and `python` are
/// NumPy, `cpp` is for arrays that broadcast as NumPy's do. Throws InputError where there is no formula.
std::vector<std::string> equations_of(const SampleLoss& loss, const std::string& rung,
                                      const Parameters& given, Notation notation);

/// Parameters, law, states, loss, the field where it is a formula, and the rungs of its own.
std::string latex_document(const TheoryFile& file, const Parameters& given);

}  // namespace popgrad::theory_files
