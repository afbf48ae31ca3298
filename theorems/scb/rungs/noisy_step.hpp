#pragma once
/// The step of the rung noisy, on a dense attention matrix.
///
///   V    <- V + eta (c (P - mu 1') - d (V - mu 1') + level_V (I - 11'/N) Xi (I - mu 1'))
///   a^k  <- a^k + eta eta_A (<V,P> (q^k - 1/T) - <V,V> (a^k - 1/T)) + level_k (xi - mean of xi)
/// with c, d, <V,P>, <V,V> of the old state and levels as in noise.hpp.
///
/// One pass over A: xi comes in pieces, each a draw less its own mean and a mean drawn apart,
///   xi_t = z_t - mean of z over the piece + zeta/sqrt(n), t in a piece of n positions
/// which has the law of independent normals, as mean and deviations of normals are independent. The
/// means of all pieces are drawn first, so that the mean of xi is known before a column is read.
/// A column of up to one piece needs none.
///
/// What rounding leaves of sum a^k = 1 is taken off in the next step: the sum is 1 to the rounding of
/// the entries of one step, 2^-53 sum |a_t| at most.

#include <vector>

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theorems/scb/rungs/column_sums.hpp"
#include "theorems/scb/rungs/gaussian_noise.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/noise.hpp"

namespace popgrad::scb {

/// Positions of a piece: its normals stay in the first cache.
inline constexpr Index noise_piece = 1024;

/// What a step is of.
struct NoisyLaw {
  const Training<double>& training;
  const NoiseLevels& levels;
  double transition_size, context_size;  ///< K_P, K_Q
};

/// Steps along one run.
class NoisyStep {
 public:
  explicit NoisyStep(const Bigrams<double>& bigrams) : products_(bigrams) {}
  /// One step of size eta in place: V (N x N) and A (T x N), columns one behind the other. Batch 0:
  /// no noise. Cost N T normals, one pass over A and O(N^2). Columns are shared by the threads where
  /// runs are not; the result does not depend on them.
  void take(const NoisyLaw& law, Eigen::Map<Matrix<double>> v, double* columns, double eta,
            const Stream& stream, Index batch);

 private:
  /// V and the ends of every column are those of the last step: states that agree in them are taken to
  /// be the same.
  [[nodiscard]] bool is_marked(const Bigrams<double>& b, const Eigen::Map<Matrix<double>>& v,
                               const double* columns) const;
  void mark(const Bigrams<double>& b, const Eigen::Map<Matrix<double>>& v, const double* columns);

  // What the last step left.
  std::vector<ColumnSums> sums_;
  Matrix<double> marked_values_;
  std::vector<double> marked_ends_;
  ValueProducts<double> products_;
  // Scratch.
  ValueNoise value_noise_;
  Vector<double> mean_value_;  // V mu
  std::vector<double> means_;  // of the pieces of every column, one column behind the other
};

}  // namespace popgrad::scb
