#pragma once
/// What theories hold, as `popgrad list` prints it: models with rungs, observables, parameters and
/// regimes, statements with hypotheses, controls and knobs, and figures.

#include <string>
#include <string_view>
#include <vector>

#include "popgrad/evidence/theory.hpp"

namespace popgrad {

/// A line a model, and how to ask for more.
std::string overview_text(Theories theories);
/// The names of a theory, a line of at most 110 characters each.
std::string contents_text(const Theory& theory);
/// One rung, observable, regime, parameter or figure; a rung with its observables and parameters. Throws
/// InputError with the nearest name.
std::string entry_text(const Theory& theory, const std::string& name);
/// Everything.
std::string catalogue_text(Theories theories);
/// {"version", "models": [{"name", "paper", "rungs", "observables", "parameters", "regimes",
/// "statements", "figures", "errata"}]}.
std::string catalogue_json(Theories theories);

/// The lines that are not empty, each behind the indent.
std::string indented(std::string_view text, std::string_view indent);
/// One statement as declared: claim and clauses, theorem, hypotheses, controls, knobs.
std::string statement_text(const Statement& statement);
/// "no rival named", or why the statement has none.
std::string no_rival_text(const Statement& statement);

/// flow, descent, random, closed-form or moments.
std::string name_of(RungKind kind);

/// `entropy_0` as `entropy_N`: class by class names would fill pages.
std::string column_pattern(const std::string& name);
/// The observables of a rung at its defaults, each pattern once.
std::vector<std::string> column_patterns(const Model& model, const RungInfo& rung);

}  // namespace popgrad
