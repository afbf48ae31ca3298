#pragma once
/// Mean and variance of observables over a normal law of the state.
///
/// Along each column u_k of a root of the covariance an observable is taken as a parabola,
///   q(y) = h(m) + sum_k (a_k y_k + b_k y_k^2/2),   y normal,
///   E q = h(m) + sum_k b_k/2,   Var q = sum_k (a_k^2 + b_k^2/2)
/// through nodes. Where pairs of normal draws +-y say that h has another mean or variance than that, as with
/// second derivatives along two columns or at a kink (a norm, an absolute value), what they find of h beside q,
/// on the same draws, is added to q's (a control variate).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "fluctuations/step_law.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

namespace popgrad {

/// All observables at x.
inline Vector<double> observed(const AnyRung<double>& rung, const Vector<double>& x, double t) {
  Vector<double> row(std::ssize(rung.observables.columns));
  rung.observables.read(x, t, {row.data(), rung.observables.columns.size()});
  return row;
}

/// Gradients of all observables at x, (n x observables), by central differences over +-`step` in each number:
/// third derivatives enter with its square, rounding with 1e-16 over it. Cost 2 n observations.
inline Matrix<double> observable_gradients(const AnyRung<double>& rung, Vector<double> x, double t,
                                           double step) {
  Matrix<double> found(x.size(), std::ssize(rung.observables.columns));
  for (Index i = 0; i < x.size(); ++i) {
    const double own = x[i];
    x[i] = own + step;
    const Vector<double> ahead = observed(rung, x, t);
    x[i] = own - step;
    found.row(i) = ((ahead - observed(rung, x, t)) / (2 * step)).transpose();
    x[i] = own;
  }
  return found;
}
/// Where gradients of observables, and nothing else, come from differences.
inline constexpr double gradient_step = 1e-4;

class ObservableReadings {
 public:
  explicit ObservableReadings(AnyRung<double> rung)
      : rung_(std::move(rung)), count_(static_cast<Index>(rung_.observables.columns.size())) {}

  struct Readings {
    Vector<double> center, mean, variance;
  };

  /// `root`: of the covariance, (n x n). With tangent nodes to first order in it: no bends in the variance, and
  /// no draws. Cost 2 n observations, or 2 n + 1024.
  [[nodiscard]] Readings read(const Vector<double>& x, const Matrix<double>& root, Nodes nodes,
                              double t) const {
    const Index n = root.cols();
    Parabolas parabolas{observed(rung_, x, t), Matrix<double>::Zero(count_, n),
                        Matrix<double>::Zero(count_, n)};
    const Vector<double>& center = parabolas.center;
    for (Index k = 0; k < n; ++k) {
      const Vector<double> column = root.col(k);
      const double norm = column.norm();
      if (!(norm > 0)) continue;
      const double reach = reach_of(nodes, norm);
      const Vector<double> ahead = observed(rung_, x + reach * column, t);
      const Vector<double> behind = observed(rung_, x - reach * column, t);
      parabolas.slopes.col(k) = (ahead - behind) / (2 * reach);
      parabolas.bends.col(k) = (ahead + behind - 2 * center) / (reach * reach);
    }
    Readings found{center, center + parabolas.bends.rowwise().sum() / 2,
                   parabolas.slopes.rowwise().squaredNorm()};
    if (nodes == Nodes::tangent) return found;
    found.variance += parabolas.bends.rowwise().squaredNorm() / 2;
    mend(x, root, t, parabolas, found);
    return found;
  }

 private:
  struct Parabolas {
    Vector<double> center;
    Matrix<double> slopes, bends;  // a and b, (observables x n)
  };

  // Adds to the reading of q what draws say of h beside it.
  void mend(const Vector<double>& x, const Matrix<double>& root, double t,
            const Parabolas& parabolas, Readings& found) const {
    const Draws draws = drawn(x, root, t, parabolas);
    for (Index i = 0; i < count_; ++i) {
      const Estimate mean = estimated(draws.even.row(i) - draws.even_of_parabolas.row(i));
      const Estimate variance =
          estimated(squares_of(draws.odd.row(i), draws.even.row(i)) -
                    squares_of(draws.odd_of_parabolas.row(i), draws.even_of_parabolas.row(i)));
      if (mean.is_other_than_zero()) found.mean[i] += mean.value;
      if (variance.is_other_than_zero()) {
        found.variance[i] = std::max(0.0, found.variance[i] + variance.value);
      }
    }
  }

  // Halves of sums and differences of pairs, (observables x pairs).
  struct Draws {
    Matrix<double> odd, even, odd_of_parabolas, even_of_parabolas;
  };
  [[nodiscard]] Draws drawn(const Vector<double>& x, const Matrix<double>& root, double t,
                            const Parabolas& parabolas) const {
    constexpr Index pairs = 512;
    constexpr std::uint32_t stream_of_draws = 0xFFFFFFF3U;
    Matrix<double> normals(root.cols(), pairs);
    Stream stream(0, stream_of_draws, 0);
    for (double& y : normals.reshaped()) y = stream.normal();
    const Matrix<double> off = root * normals;
    Draws made{Matrix<double>(count_, pairs), Matrix<double>(count_, pairs),
               parabolas.slopes * normals, parabolas.bends * normals.cwiseAbs2() / 2};
    made.even_of_parabolas.colwise() += parabolas.center;
    for (Index k = 0; k < pairs; ++k) {
      const Vector<double> ahead = observed(rung_, x + off.col(k), t);
      const Vector<double> behind = observed(rung_, x - off.col(k), t);
      made.odd.col(k) = (ahead - behind) / 2;
      made.even.col(k) = (ahead + behind) / 2;
    }
    return made;
  }

  // Whose mean is the variance.
  [[nodiscard]] static Vector<double> squares_of(const Vector<double>& odd,
                                                 const Vector<double>& even) {
    const auto pairs = static_cast<double>(even.size());
    return odd.array().square() + (even.array() - even.mean()).square() * (pairs / (pairs - 1));
  }

  struct Estimate {
    double value = 0, error = 0;
    // Of normal numbers 6 in 100 000 are as far from their mean.
    [[nodiscard]] bool is_other_than_zero() const { return std::fabs(value) > 4 * error; }
  };
  [[nodiscard]] static Estimate estimated(const Vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    const double mean = values.mean();
    return {mean, std::sqrt((values.array() - mean).square().sum() / (n * (n - 1)))};
  }

  AnyRung<double> rung_;
  Index count_ = 0;
};

}  // namespace popgrad
