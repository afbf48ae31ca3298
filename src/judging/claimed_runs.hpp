#pragma once
/// What recorded runs are said to be made with, and the settings in which a fault is looked for.

#include <string>
#include <vector>

#include "popgrad/base/range.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

struct ClaimedRuns {
  const Model& model;
  RungInfo sampled;  ///< random
  Parameters parameters;
  WalkRequest steps;  ///< of the recorded rows; `runs` of an ensemble
};

/// A setting in which a fault is looked for.
struct Suspect {
  enum class Kind { learning_rate, batch, momentum, parameter, choice };
  Kind kind = Kind::learning_rate;
  std::string name;
  double assumed = 0;
  bool asked_for = false;  ///< by name
  // Of a choice, which is 0 as said and 1 otherwise.
  std::string said{}, other{};
  Range possible = {};  ///< values allowed
  /// Of a parameter: runs take their steps with its value, and are observed as claimed.
  bool in_training_only = false;

  /// Whether the fault has one sign: a probability or a momentum of 0 is never less, and of two choices
  /// there is but one other.
  [[nodiscard]] bool one_sided() const;
  /// Whether the fault shows in how runs fluctuate about as much as in their mean.
  [[nodiscard]] bool changes_fluctuation() const {
    return kind == Kind::batch || kind == Kind::choice;
  }
  /// A name that no other suspect has.
  [[nodiscard]] std::string label() const {
    if (in_training_only) return name + " in training only";
    return kind == Kind::choice ? name + " " + other : name;
  }

  /// The value at which tests that are in units of this setting move by `size`: assumed + size; of the
  /// batch with 1/batch linear in size, as the variance of runs goes. Not finite where there is none.
  [[nodiscard]] double value_at(double size) const;
  /// The inverse.
  [[nodiscard]] double size_at(double value) const;
  /// d value_at / d size.
  [[nodiscard]] double slope_at(double size) const;
};

/// Learning rate, batch, label noise, temperature and the place of the query as far as the rung has them,
/// then momentum, numbers and choices of the rung that are named, or with `all` every number that is not 0.
/// A choice is a suspect for each value that was not said. Throws InputError for a name that is no setting
/// of the rung.
std::vector<Suspect> suspects(const ClaimedRuns& claimed, const std::vector<std::string>& named);

/// Momentum, whether it was claimed or not.
Suspect momentum_suspect(const ClaimedRuns& claimed);

Suspect batch_suspect(const ClaimedRuns& claimed);

/// What runs are made with.
struct RunSetting {
  WalkRequest steps;  ///< those of the recorded rows, whatever the learning rate
  Parameters parameters;
  double batch = 1;  ///< that of the steps before it was rounded to a whole number
};
/// As claimed, but for the suspect's value. Throws InputError for a batch that is not positive.
RunSetting setting_with(const ClaimedRuns& claimed, const Suspect& suspect, double value);

}  // namespace popgrad
