#pragma once
/// Rung noisy with its attention in single precision: half of the memory and of the traffic.
///
/// The law and the steps of noisy_step.hpp, from the same words of the stream as in double. V, all sums
/// over columns and the observables are doubles; an entry of A, its change in a step and its normal are
/// floats. Without noise a step leaves every entry within 2^-22 of its size of the step in double;
/// changes below 2^-25 of an entry are lost, which noise above that averages out. sum a^k stays at 1
/// to 2^-24 sum |a_t|.

#include <span>
#include <string>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "popgrad/walks/any_walk.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/noisy_step.hpp"

namespace popgrad::scb {

struct SingleState {
  Matrix<double> values;    ///< V (N x N)
  Matrix<float> attention;  ///< A (T x N)

  [[nodiscard]] Index size() const { return values.size() + attention.size(); }
  [[nodiscard]] bool allFinite() const { return values.allFinite() && attention.allFinite(); }
  /// V by columns, then A by columns, as in the rung sgd; exact.
  [[nodiscard]] Vector<double> in_double() const;
};

class SingleDescent final {
 public:
  using State = SingleState;

  /// Linear attention only; throws InputError otherwise.
  SingleDescent(Training<double> training, NoiseLevels levels);

  /// A(0) rounded to floats.
  [[nodiscard]] SingleState initial() const;
  /// Of a state as `SingleState::in_double` gives it.
  [[nodiscard]] SingleState from_double(const Vector<double>& x) const;
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// One step of size eta in place. Batch 0: no noise.
  void sample_step(SingleState& x, double eta, Stream& stream, Index batch) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const SingleState& x, double step, Index batch) const;
  void observe(const SingleState& x, double t, std::span<double> row) const;

 private:
  Training<double> training_;
  NoiseLevels levels_;
  double transition_size_, context_size_;
  mutable NoisyStep<float> step_;
};

/// Its walks. Throws InputError as the constructor does.
AnyWalk single_walk(Training<double> training, NoiseLevels levels);

}  // namespace popgrad::scb
