#pragma once
/// Errata with their hypotheses and evidence, as a list for people and as JSON.

#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

struct ExaminedErratum {
  const Erratum* erratum = nullptr;
  ErratumFinding found;
};
/// Examines them in their order; `errata` has to outlive what is returned.
std::vector<ExaminedErratum> examined_errata(const std::vector<Erratum>& errata);

/// A block an erratum: class, place, source, claim with its hypotheses, what is printed, what was
/// found, and the evidence.
std::string errata_text(const std::vector<ExaminedErratum>& all);
/// {"version", "errata": [{"name", "class", "place", "sources", ...}]}.
std::string errata_json(const std::vector<ExaminedErratum>& all);
/// "reviews and replies, authors' code".
std::string sources_of(const Erratum& erratum);
/// "B_n(0): shown: 0 against 0", with the error parts where a number was measured; of what the paper has,
/// "B_n(0): the paper's is refuted: ...".
std::string evidence_text(const Evidence& item, bool of_paper = false);

}  // namespace popgrad
