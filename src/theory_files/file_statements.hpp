#pragma once
/// Statements of a theory file as those that commands examine.
///
/// Controls by program are mistakes in the prediction, in the constants and observables that it reads and in the law of
/// the rung that predicts, each of one node of a formula. Those that equal the prediction or each other at eight
/// instances are none, and are listed in `theorem`.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theory_files/theory_file.hpp"

namespace popgrad::theory_files {

/// Types what statements have, as statements_of does. Throws InputError likewise.
void check_statements(const TheoryFile& file);

/// Formulas are typed now, and mistakes of the program compared at eight instances: some hundred evaluations of the
/// prediction. Throws InputError for a mistake in an entry, as the room learning does (located).
std::vector<Statement> statements_of(const TheoryFile& file);

}  // namespace popgrad::theory_files
