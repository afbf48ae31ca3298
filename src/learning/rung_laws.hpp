#pragma once
/// Laws of motion of all rungs of a loss as formulas of one graph, in the time of the finest.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "learning/loss_rung.hpp"

namespace popgrad::learning {

/// A field, or next values.
struct RungLaw {
  std::vector<std::string> names;
  std::vector<Array> states, values;
  /// States of training at which the sampled field is taken, which then is variables "field of STATE" in `values`; empty
  /// where it is a formula.
  std::vector<Array> sampled_at;
};

class RungLaws {
 public:
  /// Throws InputError.
  RungLaws(const SampleLoss& loss, const Parameters& given);

  [[nodiscard]] LossArrays& arrays() { return arrays_; }
  [[nodiscard]] Array time() const { return arrays_.graph->variable(time_name, {}); }
  /// Minus the expected gradient, or its move, times the rates.
  const RungLaw& training();
  /// Of the rung that is finer than an own one: its field, or with `steps` its step.
  RungLaw finer(const OwnArrays& own, bool steps);
  /// Of the own rung at this place, given or derived; without values where it has only a closed form. Throws InputError
  /// where it is left out and does not follow from the map.
  RungLaw own(std::size_t place);

 private:
  std::string name_;
  LossArrays arrays_;
  std::optional<ExpectedLoss> expected_;
  std::optional<RungLaw> training_;
};

}  // namespace popgrad::learning
