#pragma once
/// Rung noisy: population descent plus Gaussian noise, attention dense.
///
/// x + eta (field + sigma/sqrt(B) noise), see noise.hpp. State as in the rung sgd.
/// Cost of a step N T normals and O(N T + N^3). Memory O(N T + N^2).

#include <span>
#include <string>
#include <vector>

#include "popgrad/scb/noise.hpp"
#include "popgrad/scb/sequence_sgd.hpp"

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
  void sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream, Index batch) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const {
    expected_.observe(x, t, row);
  }

 private:
  SequenceSgd<double> expected_;
  NoiseLevels levels_;
  double transition_size_, context_size_;
};

}  // namespace popgrad::scb
