#pragma once
/// Recorded runs against a rung: do they follow it, which settings would explain them, and which faults
/// would have been seen. tests/recorded/README.md says how, and how well.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/judging/judgement.hpp"
#include "popgrad/judging/recorded_run.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

/// How the recorded runs are said to be made, and what is asked of them.
struct JudgeRequest {
  const Model& model;
  std::string rung = "sgd";  ///< that is judged
  Parameters parameters;     ///< of the data
  /// Learning rate, batch, optimiser, seed, threads, how columns of samples were made; steps, rows and whether such
  /// columns are there are those of the recorded runs.
  WalkRequest steps;
  std::uint32_t runs = 64;   ///< of an ensemble of ours, at least 3
  double level = 1e-3;       ///< probability that a run of the same law is found to depart
  double resolution = 1e-6;  ///< relative precision of the recorded numbers
  /// Settings that are doubted: eta, batch, momentum, names of parameters; `all` numbers. They have most of
  /// the level.
  std::vector<std::string> suspects = {};
  bool fresh_starts = false;  ///< every run of ours has a start of its own
  bool ensemble = false;      ///< of sampled runs, even where a prediction would do
  bool fit = true;            ///< of runs that depart, the settings that would explain them
  bool events = true;         ///< of the rung that is judged
  /// Method and tolerances of flows, for which these are 0 if the model's own are to be used.
  Method method = Method::automatic;
  double relative_tolerance = 0, absolute_tolerance = 0;
};

/// The rung whose runs fluctuate as the recorded ones should: `rung` itself, or the one that samples on its
/// ladder.
const RungInfo& sampled_rung(const Model& model, const RungInfo& rung);

/// Time that a part of a judgement took.
struct JudgingTime {
  std::string part;
  double seconds = 0;
};

/// Judges, and keeps what it was judged by.
class RunJudge {
 public:
  /// Called with the rows as the first runs of ours judge them, long before the rest is known.
  using OnRows = std::function<void(const CrossCheck&)>;
  /// `recorded` on the clock of the rungs, at equal times. `report` is called with the fraction done, and
  /// returns true to stop. Throws InputError for settings that the rung has not, Failure if runs of ours
  /// diverge, Stopped. Cost: a predicted law, or `steps.runs` runs; and a few for each setting that explains.
  RunJudge(JudgeRequest request, std::vector<RecordedRun> recorded,
           const std::function<bool(double)>& report, const OnRows& on_rows = {});
  ~RunJudge();
  RunJudge(const RunJudge&) = delete;
  RunJudge& operator=(const RunJudge&) = delete;

  [[nodiscard]] const Judgement& judgement() const;
  /// The recorded runs, then of several their mean.
  [[nodiscard]] const std::vector<RecordedRun>& recorded() const;
  /// That fluctuate as the recorded ones should: predicted, or sampled.
  [[nodiscard]] const std::vector<Trajectory<double>>& expected() const;
  [[nodiscard]] const std::vector<Trajectory<double>>& sampled() const;
  /// Of the rung that is judged, where it is not the sampled one.
  [[nodiscard]] const std::vector<Trajectory<double>>& own() const;
  /// What the judgement took, in the order in which it was made.
  [[nodiscard]] const std::vector<JudgingTime>& times() const;
  /// How well each rung of the ladder explains the runs, the best first; those before an interruption, which
  /// `interrupted` then says.
  [[nodiscard]] std::vector<RungScore> ladder(bool& interrupted) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace popgrad
