#pragma once
#include <functional>
#include <string>
#include <vector>

#include "popgrad/evidence/theory.hpp"

namespace popgrad::cli {

/// Statements of the theories whose id matches any of the patterns (`MODEL.*`), in the order of the
/// list; all of them if there is no pattern. InputError, in the name of `command`, for a pattern that
/// matches none.
std::vector<const Statement*> matching_statements(Theories theories, const std::string& command,
                                                  const std::vector<std::string>& patterns);

/// Whether the id of a statement is the pattern, or of its form.
bool matches(const std::string& pattern, const std::string& id);

// Examples for helps and errors, of the theories that the program has.

/// "MODEL (see 'popgrad list')".
std::string example_model(Theories theories);
/// "MODEL RUNG", of a flow.
std::string example_rung(Theories theories);
/// "MODEL FINER COARSER", neighbours that are solved.
std::string example_rungs(Theories theories);
/// "MODEL.SUBJECT", of the first statement that is `fit`.
std::string example_statement(
    Theories theories,
    const std::function<bool(const Statement&)>& fit = [](const Statement&) { return true; });
/// "'MODEL.*'".
std::string example_statements(Theories theories);

}  // namespace popgrad::cli
