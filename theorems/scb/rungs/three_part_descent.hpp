#pragma once
/// Rungs sgd and noisy under the three-part algorithm, or that of transfer, attention dense.
///
/// The direction is that of sampled sequences, or the expected one plus Gaussian noise (noise.hpp);
/// in part 2 the noise of attention is not projected, as its mean would couple the zeros.
/// State: as in the rung sgd, then the part and the steps taken in it.
/// Cost of a step that of the direction and O(N T); memory O(N T + N^2).

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "theorems/scb/rungs/noisy_descent.hpp"
#include "theorems/scb/rungs/schedule.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb {

class ThreePartDescent final {
 public:
  using Scalar = double;

  /// Linear attention, projected; throws InputError otherwise. No levels: sampled sequences.
  ThreePartDescent(Training<double> training, Schedule schedule,
                   std::optional<NoiseLevels> levels = std::nullopt);

  [[nodiscard]] Index dimension() const { return sampled_.dimension() + 2; }
  [[nodiscard]] Vector<double> initial() const;
  /// Those of the rung, then `part` and `nonzeros`, the number of nonzero entries of A.
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// The expected direction of the part that the state is in, before any threshold.
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const;
  /// One step of the schedule in place; `step` is eta_1. Batch 0: the expectation.
  void sample_step(Vector<double>& x, double step, Stream& stream, Index batch) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<double>& x, double step, Index batch) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const;

 private:
  [[nodiscard]] double attention_coefficient(const Vector<double>& x) const;
  /// V of a state, by columns.
  [[nodiscard]] Eigen::Ref<Vector<double>> values(Vector<double>& x) const;
  /// a^k of a state.
  [[nodiscard]] Eigen::Map<Matrix<double>> attention(Vector<double>& x) const;
  void begin_l1(Vector<double>& x) const;
  void l1_step(Vector<double>& x, Stream& stream, Index batch) const;
  void normalise(Vector<double>& x) const;

  SequenceSgd<double> sampled_;
  std::optional<NoisyDescent> noisy_;
  std::optional<NoiseLevels> levels_;
  Schedule schedule_;
  double transition_size_, context_size_;
  double goal_;  ///< alpha_A at which part 1 ends
  // Scratch.
  mutable Vector<double> direction_, values_, z_;
  mutable ValueNoise noise_;
};

}  // namespace popgrad::scb
