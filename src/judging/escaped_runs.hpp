#pragma once
/// Runs that leave all others: where one run of some ten or a hundred takes another way, the mean and deviation over all of
/// them describe neither way.
///
/// Over own and recorded runs together, and in units of 1.4826 times the median distance from the median of a row (the
/// standard deviation of a normal law): the k runs that reach furthest have escaped if each of them reaches more than 8, and more than
/// twice as far as any other run; k is at most a tenth of all. The rule is the same in any order of the runs. Under
/// one law, recorded runs that have not escaped are therefore exchangeable with own ones that have not, and are judged by
/// these without more false alarms; how many of the escaped runs are recorded ones is of the hypergeometric law.

#include <vector>

#include "popgrad/judging/judgement.hpp"
#include "popgrad/judging/recorded_run.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

struct Escapes {
  std::vector<bool> own;  ///< of each run of the ensemble, whether it has escaped
  EscapedRuns found;      ///< means of several recorded runs are left out
};

/// The ensemble is saved at the times of the recorded runs. Numbers that fluctuate by less than `resolution`, relative
/// to the largest of their column, or than their last digit are left out. More recorded ones than `chance` allows
/// depart. Cost O(runs rows columns).
Escapes escapes(const std::vector<RecordedRun>& recorded,
                const std::vector<Trajectory<double>>& ensemble, double resolution, double chance);

}  // namespace popgrad
