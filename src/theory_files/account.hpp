#pragma once
/// What follows from a theory file before anything of it runs: shapes, laws, how expectations are had, costs.

#include <string>

#include "theory_files/theory_file.hpp"

namespace popgrad::theory_files {

/// Lines for `popgrad check`. Cost: a few evaluations of the field, and the file typed again for every size.
/// Throws InputError for a mistake in the file.
std::string account_of(TheoryFile& file);

/// A file to begin with, which runs; `name` is that of its theory.
std::string skeleton(const std::string& name);

}  // namespace popgrad::theory_files
