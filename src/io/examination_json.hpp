#pragma once
/// Hypotheses and evidence of an examination as JSON.

#include <vector>

#include "base/json_fwd.hpp"
#include "popgrad/evidence/examination.hpp"

namespace popgrad {

/// {"hypotheses": [...], "evidence": [...]}, as in the JSON of verdicts.
Json examination_json(const Examination& examination);
/// With measured, allowed and margin.
Json evidence_json(const Evidence& item);
/// A list.
Json evidence_json(const std::vector<Evidence>& evidence);
/// {"name", "what", "fits"}.
Json rival_json(const Rival& rival);

}  // namespace popgrad
