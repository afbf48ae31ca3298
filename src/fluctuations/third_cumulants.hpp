#pragma once
/// Third cumulants of the law of runs: the next order of its covariance.
///
/// With d the deviation of a state from its mean, K = E[d d d], H the mean of f'' and M = I + eta J the mean
/// Jacobian of a step, k the third cumulant of one draw, and sym the sum over the places of an index, a step does
///   C <- M C M' + (eta^2/B) E Sigma + (eta/2) sym (H K) M' + (eta^2/2) H C C H'
///   K <- M M M K + eta sym H (M C) (M C) + (eta^2/B) sym Sigma' (M C) + (eta^3/B^2) k
/// and an observable with gradient a and second derivatives b has sum a_i b_jk K_ijk more variance. All of K is of
/// the order C^2, so that of a covariance it changes a share of order eta/B; what is neglected is of that order
/// squared. K is kept along all principal axes W of C: along 32 of 38 (heavy ball) what it added to C was a third of
/// C, where it is small. Derived here.

#include <cstdint>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// Numbers of a state whose third cumulants are followed; second derivatives of observables are taken along as
/// many principal axes of any state.
inline constexpr Index most_third_axes = 32;

struct ThirdCumulants {
  Matrix<double> axes;    ///< W, orthonormal columns (n x n)
  Matrix<double> values;  ///< symmetric, K_ijk at (i, j + r k)
  Matrix<double> added;   ///< the part of C that is of them, (n x n)

  /// Zeros; of a larger state empty.
  [[nodiscard]] static ThirdCumulants none(Index n);
  /// W, K_ijk of i <= j <= k, and the part of C, one after the other; and back, for a state of n numbers.
  [[nodiscard]] Vector<double> packed() const;
  [[nodiscard]] static ThirdCumulants unpacked(const Vector<double>& numbers, Index n);
  [[nodiscard]] static Index packed_size(Index n);
  /// The same in the span of other axes.
  [[nodiscard]] Matrix<double> along(const Matrix<double>& other) const;
};

/// What third cumulants arise from, at one law.
struct Curvature {
  Matrix<double> axes;          ///< W (n x r)
  Matrix<double> bends;         ///< H along them, (n x r^2)
  Matrix<double> noise_slopes;  ///< W' (d Sigma/d w_k) W, at (i + r j, k)
  Matrix<double> of_draw;       ///< k, (r x r^2)

  /// `noise_slopes` along other axes.
  [[nodiscard]] Matrix<double> slopes_along(const Matrix<double>& other) const;
};

struct StepSize {
  double eta = 0, batch = 0;  ///< batch 0: no noise
};

/// What a step adds to K along the axes of `curvature`, at a covariance C (n x n) and M (n x n).
Matrix<double> third_source(const Curvature& curvature, const Matrix<double>& power,
                            const Matrix<double>& covariance, StepSize step);

/// What K, along the axes of `curvature`, and H add to the covariance in a step.
Matrix<double> third_effect(const Curvature& curvature, const Matrix<double>& power,
                            const Matrix<double>& covariance, const Matrix<double>& third,
                            StepSize step);

/// A A A K of a symmetric K (r x r^2), for A (s x r). Cost r^4.
Matrix<double> cubed(const Matrix<double>& a, const Matrix<double>& third);

/// After `count` equal steps K <- A A A K + source. Cost O(r^4 log(count)).
Matrix<double> third_after(Matrix<double> a, Matrix<double> source, const Matrix<double>& third,
                           std::uint64_t count);

/// Third cumulant of the columns of `samples` (r x count), (r x r^2).
Matrix<double> third_of_samples(const Matrix<double>& samples);

}  // namespace popgrad
