#pragma once
/// Rung noisy: population descent plus Gaussian noise, attention dense.
///
/// x + eta (field + sigma/sqrt(B) noise), see noise.hpp, taken as noisy_step.hpp says. State as in the
/// rung sgd. Memory that of the state and O(N^2).

#include <span>
#include <string>
#include <vector>

#include "theorems/scb/rungs/gaussian_noise.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/noisy_step.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb {

class NoisyDescent final {
 public:
  using Scalar = double;

  /// Linear attention only; throws InputError otherwise.
  NoisyDescent(Training<double> training, NoiseLevels levels);

  [[nodiscard]] Index dimension() const { return expected_.dimension(); }
  [[nodiscard]] Vector<double> initial() const { return expected_.initial(); }
  [[nodiscard]] std::vector<std::string> columns() const { return expected_.columns(); }
  [[nodiscard]] std::vector<std::string> state_names() const { return expected_.state_names(); }
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const {
    expected_.rhs(x, dx, t);
  }
  /// The same law as sample_step, plainly: field, then noise; draws of its own.
  void sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream, Index batch) const;
  /// Covariance of the noise of one sample. Cost O(N T + N^2) a column.
  void draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                       Matrix<double>& images) const;
  /// One step of size eta in place. Batch 0: no noise. Numbers behind the state stay as they are.
  void sample_step(Vector<double>& x, double eta, Stream& stream, Index batch) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<double>& x, double step, Index batch) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const {
    expected_.observe(x, t, row);
  }

 private:
  SequenceSgd<double> expected_;
  NoiseLevels levels_;
  double transition_size_, context_size_;
  ValueProducts<double> products_;
  mutable NoisyStep step_;
  mutable ValueNoise noise_;
};

}  // namespace popgrad::scb
