#pragma once
/// A judgement of recorded runs on paper and as a record.

#include <string>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/judging/judgement.hpp"

namespace popgrad {

/// Tables and verdict; `rung` is what the runs are judged against, such as "MODEL sgd".
std::string judgement_text(const Judgement& judgement, const std::string& rung);
/// Which rung explains the runs best; empty without any.
std::string ladder_text(const std::vector<RungScore>& scores);
/// `verdict`: consistent | inconclusive | departs; then level, bounds, a table a run, estimates.
Record as_record(const Judgement& judgement);

}  // namespace popgrad
