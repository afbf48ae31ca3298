#pragma once
/// What is said of recorded runs: row by row and as wholes, on paper and in JSON.

#include <string>
#include <vector>

#include "commands/exit_status.hpp"
#include "commands/whole_runs.hpp"
#include "judging/cross_check.hpp"

namespace popgrad::cli {

struct Judgement {
  CrossCheck rows;
  WholeRunTests whole;            ///< none if no number that fluctuates was logged
  std::vector<FittedFault> fits;  ///< where something departs
  double level = 0;               ///< probability of a false alarm, of all tests together
  double recorded_runs = 0;
  bool predicted = false;  ///< by the predicted law of a run, not by an ensemble of sampled ones
  double batch = 0;        ///< that the runs are said to have
  std::string
      contradiction;  ///< of --eta and the learning rates that the clock was made of; or empty

  [[nodiscard]] bool consistent() const;
  /// Nothing departs, but neither would it with a learning rate that is a tenth off.
  [[nodiscard]] bool blind() const;
  [[nodiscard]] ExitStatus status() const;
};

/// Tables and verdict; `rung` is what the runs are judged against, e.g. "MODEL sgd".
void print_judgement(const Judgement& judgement, const std::string& rung);

/// `verdict`: consistent | inconclusive | departs; then level, bounds, a table a run, estimates.
Record as_record(const Judgement& judgement);

}  // namespace popgrad::cli
