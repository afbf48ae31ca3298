#pragma once
/// Laws of motion of all rungs of a loss as formulas of one graph, in the time of the finest.

#include <cstddef>
#include <cstdint>
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

/// Variables of the same shapes, along which formulas of these are derived.
std::vector<Array> directions_of(const std::vector<Array>& variables);

class RungLaws {
 public:
  /// `seed` draws what is fixed. Throws InputError.
  RungLaws(const SampleLoss& loss, const Parameters& given, std::uint64_t seed = 0);

  [[nodiscard]] LossArrays& arrays() { return arrays_; }
  [[nodiscard]] Array time() const { return arrays_.graph->variable(time_name, {}); }
  /// Minus the expected gradient, or its move, times the rates.
  const RungLaw& training();
  /// Of the rung that is finer than an own one: its field, or with `steps` its step; of sgd that of the mean gradient.
  RungLaw finer(const OwnArrays& own, bool steps);
  /// The map of an own rung after a step of the finer one, as formulas of its states: of sgd the mean over minibatches,
  ///
  ///   E m(x + eta d) = m + eta Dm D + eta^2 / 2 (E D^2 m[d_1, d_1] / batch + (1 - 1 / batch) D^2 m[D, D]),  D = E d_1,
  ///
  /// with d_1 the direction of one sample, for maps of degree 2 at most. Throws InputError for others.
  std::vector<Array> mapped_step(const OwnArrays& own);
  /// Of the own rung at this place, given or derived; without values where it has only a closed form. Throws InputError
  /// where it is left out and does not follow from the map. Of sgd, which moves the map at random, the mean of its step.
  RungLaw own(std::size_t place);

 private:
  // Of the three terms of a mean step, each one a state.
  struct MeanStep {
    std::vector<Array> slope, of_one, of_mean;
  };
  MeanStep mean_step(const OwnArrays& own);
  std::vector<Array> after(const std::vector<Array>& map, const MeanStep& step);
  std::vector<Array> closed(const OwnArrays& own, const std::vector<Array>& formulas,
                            const std::vector<Array>& states);

  std::string name_;
  LossArrays arrays_;
  std::optional<ExpectedLoss> expected_;
  std::optional<RungLaw> training_;
};

}  // namespace popgrad::learning
