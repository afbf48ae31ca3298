#pragma once
/// Other meanings of what was logged, by which runs that depart may agree with the rung: the usual slips in
/// what a column is in units of, and in when its rows are.

#include <string>
#include <vector>

#include "popgrad/judging/judgement.hpp"
#include "popgrad/judging/recorded_run.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

struct OtherReading {
  std::string words;              ///< "`loss` being in bits (--map loss=COLUMN*log(2))"
  std::vector<RecordedRun> runs;  ///< read that way
  /// Observable whose rows fluctuate independently of each other; empty: none is known to.
  std::string independent = {};
  SampledColumns columns =
      {};  ///< how columns of samples are made; which there are is for `runs` to say
};

/// What the readings are of.
struct ReadingRequest {
  const std::vector<RecordedRun>& recorded;          ///< at equal times, without their mean
  const std::vector<std::vector<double>>& expected;  ///< mean of each observable at each time
  const CrossCheck& rows;                            ///< of these runs
  const Model& model;
  const RungInfo& sampled;
  const Parameters& parameters;
  double learning_rate = 0, batch = 0;
  const SampledColumns& columns;  ///< as the runs are said to have them
};

/// Those that the numbers do not rule out at first sight, the most specific first: a factor where the ratio to what is
/// expected is nearly one such as log 2, 100, the batch or a count of the model; times that count steps; rows of
/// the step after or before their own; the loss or accuracy of the minibatch for that of the law or the reverse; averages
/// since the row before, moving averages and held-out draws taken for none, or the reverse. None of runs that diverged.
std::vector<OtherReading> other_readings(const ReadingRequest& request);

}  // namespace popgrad
