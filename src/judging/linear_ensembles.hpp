#pragma once
/// Linear runs (popgrad/fluctuations/linear_runs.hpp) of the steps that recorded runs are said to be made with, and of
/// these steps with one setting changed: made once, and kept for all that asks for them.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judging/claimed_runs.hpp"
#include "popgrad/fluctuations/linear_runs.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "runs/run.hpp"

namespace popgrad {

class LinearEnsembles {
 public:
  using Runs = std::vector<Trajectory<double>>;

  /// `fresh_starts`: runs start elsewhere each, so that there are none here. `claimed` has to live on.
  LinearEnsembles(const ClaimedRuns& claimed, bool fresh_starts)
      : claimed_(claimed), fresh_starts_(fresh_starts) {}

  /// Why there are none of runs with so many observables: the law of one draw is known of plain steps and
  /// of momentum alone, and neither the state nor the rows may be too many. Empty where there are.
  [[nodiscard]] std::string why_not(std::size_t observables) const;

  /// Makes `second_order_runs` as said to second order, the first 256 of them to first order, and as many
  /// with each suspect changed that can be, to second order: the shift by a batch differs by a fifth. Of
  /// suspects that change how runs fluctuate, `runs_of_a_law`, at most as many as said. The work is shared by
  /// --jobs threads and is the same for any number of them.
  void make(const std::vector<Suspect>& suspects, Index second_order_runs, Index runs_of_a_law,
            const Report& report);

  [[nodiscard]] const Runs& second() const { return second_; }
  [[nodiscard]] const Runs& first() const { return first_; }
  /// By the first draws of `second`, with the suspect at assumed + change_of(suspect); null where it has none.
  [[nodiscard]] const Runs* changed(const Suspect& suspect) const;
  /// Of other draws than any above; nothing where there are none. To first order at a third of the cost.
  [[nodiscard]] std::optional<Runs> with(const Suspect& suspect, double value, Index runs,
                                         LinearOrder order) const;

 private:
  /// The rung whose plain steps are those of this setting; with a state as long as that of the steps as
  /// said, or nothing, if they are to have the same draws.
  [[nodiscard]] std::optional<AnyRung<double>> rung_of(const RunSetting& setting,
                                                       bool same_draws) const;

  const ClaimedRuns& claimed_;
  bool fresh_starts_;
  Runs second_, first_;
  std::map<std::string, Runs> changed_;
};

/// A change of a setting that is small, yet far above rounding: a twentieth of it; of a choice all of it.
double change_of(const Suspect& suspect);

}  // namespace popgrad
