#pragma once
/// A judgement of recorded runs on paper and as a record.

#include <string>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/judging/judgement.hpp"

namespace popgrad {

/// A line with the verdict, then the paragraph to read first: how many runs agree with or depart from
/// `rung` ("MODEL sgd"), and which changes would have been noticed or explain the departure.
std::string judgement_summary(const Judgement& judgement, const std::string& rung);
/// The settings; with `details` their tests, the fits, and every run and observable.
std::string judgement_text(const Judgement& judgement, bool details);
/// Which rung explains the runs best; empty without any.
std::string ladder_text(const std::vector<RungScore>& scores);
/// `verdict`: consistent | inconclusive | departs; then level, bounds, a table a run, estimates.
Record as_record(const Judgement& judgement);

}  // namespace popgrad
