#pragma once
/// Mean and variance of observables over the law of a state: its covariance C and third cumulants K.
///
/// With y = W'd/sigma along the principal axes of C an observable is taken as a quadratic,
///   q(y) = h(m) + sum_k a_k y_k + sum_kl b_kl y_k y_l/2
///   E q = h(m) + sum_k b_kk/2
///   Var q = sum_k a_k^2 + sum_kl b_kl^2/2 + sum_klm a_k b_lm K_klm
/// through nodes, with b_kl, k != l, along the 32 largest axes. What pairs of draws find of h in addition to q (higher
/// derivatives, kinks, jumps) is added to q's (a control variate), or, where q is far from h, the draws are
/// taken by themselves. Draws have the third cumulants K:
///   y = A z + K (zz' - 1)/6,   z normal,  A A' = 1 - K K'/18

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "fluctuations/step_law.hpp"
#include "fluctuations/third_cumulants.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "scalars/linear_algebra.hpp"

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

/// Deviations of a conserved observable with this mean: a square root of a covariance, or a second difference, has
/// half the digits.
inline double rounding_of_deviation(double mean) { return 1e-7 * (std::fabs(mean) + 1e-3); }

class ObservableReadings {
 public:
  explicit ObservableReadings(AnyRung<double> rung)
      : rung_(std::move(rung)), count_(static_cast<Index>(rung_.observables.columns.size())) {}

  struct Readings {
    Vector<double> center, mean, variance;
    Vector<double> of_third;  ///< of the variance, by third cumulants
    /// Standard error of the variance by draws; infinite where nodes show a jump that no draw crosses.
    Vector<double> error;
  };

  /// To first order in the covariance with this root (n x n): slopes make the variance, second derivatives shift
  /// the mean. Cost 2 n + 1 observations.
  [[nodiscard]] Readings tangent(const Vector<double>& x, const Matrix<double>& root,
                                 double t) const {
    const Vector<double> zero = Vector<double>::Zero(count_);
    Readings found{observed(rung_, x, t), {}, zero, zero, zero};
    found.mean = found.center;
    for (Index k = 0; k < root.cols(); ++k) {
      const Vector<double> column = root.col(k);
      const double norm = column.norm();
      if (!(norm > 0)) continue;
      const double reach = short_step / norm;
      const Vector<double> ahead = observed(rung_, x + reach * column, t);
      const Vector<double> behind = observed(rung_, x - reach * column, t);
      found.variance += ((ahead - behind) / (2 * reach)).cwiseAbs2();
      found.mean += (ahead + behind - 2 * found.center) / (2 * reach * reach);
    }
    return found;
  }

  /// Over the law of this covariance (n x n) and these third cumulants; empty: none. Cost 2 n + 2 r^2 observations,
  /// and 1024 to 8192 of draws, until what these add to a variance is known to 1/100 of it.
  [[nodiscard]] Readings read(const Vector<double>& x, const Matrix<double>& covariance,
                              const ThirdCumulants& third, double t) const {
    const Whitened law = whitened(covariance, third);
    const Quadratics quadratics = quadratics_of(x, law, t);
    Readings found{quadratics.center,
                   quadratics.center,
                   quadratics.slopes.rowwise().squaredNorm(),
                   {},
                   Vector<double>::Zero(count_)};
    const Index n = x.size(), r = law.full;
    found.mean += quadratics.own_bends.rowwise().sum() / 2;
    found.variance += quadratics.own_bends.leftCols(n - r).rowwise().squaredNorm() / 2;
    found.variance += quadratics.bends.rowwise().squaredNorm() / 2;
    const Vector<double> skewed =
        (quadratics.slopes.rightCols(r) * law.skews).cwiseProduct(quadratics.bends).rowwise().sum();
    found.variance += skewed;
    found.of_third =
        (quadratics.slopes * law.added).cwiseProduct(quadratics.slopes).rowwise().sum() + skewed;
    add_drawn(x, law, quadratics, t, found);
    found.variance = found.variance.cwiseMax(0.0);
    return found;
  }

 private:
  // Along the principal axes, the largest last.
  struct Whitened {
    Matrix<double> units;     // W sigma, (n x n)
    Matrix<double> skews;     // K of y along the last `full` axes, (full x full^2)
    Matrix<double> straight;  // A along these
    Matrix<double> added;     // the part of 1 that is of third cumulants, (n x n)
    Index full = 0;
  };
  [[nodiscard]] static Whitened whitened(const Matrix<double>& covariance,
                                         const ThirdCumulants& third) {
    const PrincipalAxes<double> principal = principal_axes(covariance);
    const Vector<double> deviations = principal.values.cwiseMax(0.0).cwiseSqrt();
    const Index n = covariance.rows();
    Whitened made{principal.vectors * deviations.asDiagonal(),
                  {},
                  {},
                  Matrix<double>::Zero(n, n),
                  std::min(n, most_third_axes)};
    const Index r = made.full;
    made.skews = Matrix<double>::Zero(r, r * r);
    made.straight = Matrix<double>::Identity(r, r);
    if (third.values.size() == 0 || third.values.isZero(0)) return made;
    // Axes that hardly fluctuate are rounding.
    constexpr double least = 1e-6;
    const double smallest = least * deviations.maxCoeff();
    Vector<double> scales = deviations;
    for (double& scale : scales) scale = scale > smallest ? 1 / scale : 0;
    const Matrix<double> whiten = scales.asDiagonal() * principal.vectors.transpose();
    made.added = whiten * third.added * whiten.transpose();
    made.skews = cubed(whiten.bottomRows(r) * third.axes, third.values);
    Matrix<double> curved = made.skews * made.skews.transpose() / 18;
    // Beyond, the draws have a part of the third cumulants.
    constexpr double most = 0.5;
    const double largest = symmetric_eigenvalues<double>(curved).maxCoeff();
    if (largest > most) {
      made.skews *= std::sqrt(most / largest);
      curved *= most / largest;
    }
    made.straight = square_root(Matrix<double>::Identity(r, r) - curved);
    return made;
  }

  struct Quadratics {
    Vector<double> center;
    Matrix<double> slopes, own_bends;  // a and b_kk, (observables x n)
    Matrix<double> bends;              // b along the last axes, (observables x full^2)
  };
  [[nodiscard]] Quadratics quadratics_of(const Vector<double>& x, const Whitened& law,
                                         double t) const {
    const Index n = x.size(), r = law.full;
    Quadratics made{observed(rung_, x, t), Matrix<double>::Zero(count_, n),
                    Matrix<double>::Zero(count_, n), Matrix<double>::Zero(count_, r * r)};
    const double reach = std::sqrt(3.0), reach_of_two = std::sqrt(1.5);
    for (Index k = 0; k < n; ++k) {
      const Vector<double> unit = law.units.col(k);
      if (unit.isZero(0)) continue;
      const Vector<double> ahead = observed(rung_, x + reach * unit, t);
      const Vector<double> behind = observed(rung_, x - reach * unit, t);
      made.slopes.col(k) = (ahead - behind) / (2 * reach);
      made.own_bends.col(k) = (ahead + behind - 2 * made.center) / (reach * reach);
      const Index own = k - (n - r);
      if (own < 0) continue;
      made.bends.col(own + r * own) = made.own_bends.col(k);
      for (Index l = 0; l < own; ++l) {
        const Vector<double> sum = reach_of_two * (unit + law.units.col(n - r + l));
        const Vector<double> difference = reach_of_two * (unit - law.units.col(n - r + l));
        made.bends.col(own + r * l) =
            (observed(rung_, x + sum, t) + observed(rung_, x - sum, t) -
             observed(rung_, x + difference, t) - observed(rung_, x - difference, t)) /
            (4 * reach_of_two * reach_of_two);
        made.bends.col(l + r * own) = made.bends.col(own + r * l);
      }
    }
    return made;
  }

  // Halves of sums and differences of pairs, (observables x pairs), of h and of q.
  struct Draws {
    Matrix<double> odd, even, odd_of_quadratics, even_of_quadratics;
  };

  // Adds to the reading of q what draws find of h in addition.
  void add_drawn(const Vector<double>& x, const Whitened& law, const Quadratics& quadratics,
                 double t, Readings& found) const {
    constexpr Index fewest = 512, most = 4096;
    constexpr double precise = 0.01;
    Draws draws;
    for (Index pairs = fewest;; pairs *= 2) {
      draw(x, law, quadratics, t, pairs, draws);
      Readings made = found;
      bool known = true;
      for (Index i = 0; i < count_; ++i) {
        const Vector<double> even = draws.even.row(i), even_of_q = draws.even_of_quadratics.row(i);
        const Vector<double> squares = squares_of(draws.odd.row(i), even);
        const Vector<double> squares_of_q = squares_of(draws.odd_of_quadratics.row(i), even_of_q);
        made.mean[i] = better(estimated(even), estimated(even - even_of_q), found.mean[i]).value;
        const Estimate variance =
            better(estimated(squares), estimated(squares - squares_of_q), found.variance[i]);
        made.variance[i] = variance.value;
        made.error[i] = variance.error;
        const double rounding = rounding_of_deviation(made.mean[i]);
        known =
            known && variance.error <= precise * std::fabs(variance.value) + rounding * rounding;
      }
      if (!known && pairs < most) continue;
      found = std::move(made);
      return;
    }
  }

  struct Estimate {
    double value = 0, error = 0;
  };
  [[nodiscard]] static Estimate estimated(const Vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    const double mean = values.mean();
    return {mean, std::sqrt((values.array() - mean).square().sum() / (n * (n - 1)))};
  }
  // The draws by themselves, where q is far from h, or what is known with their difference from q. Equal draws of
  // h where q varies have crossed no jump, however likely one is.
  [[nodiscard]] static Estimate better(const Estimate& drawn, const Estimate& difference,
                                       double known) {
    constexpr double unknown = std::numeric_limits<double>::infinity();
    if (drawn.error == 0 && difference.error > 0) return {drawn.value, unknown};
    if (drawn.error < difference.error) return drawn;
    return {known + difference.value, difference.error};
  }

  // Until as many pairs are drawn.
  void draw(const Vector<double>& x, const Whitened& law, const Quadratics& quadratics, double t,
            Index pairs, Draws& draws) const {
    constexpr std::uint32_t stream_of_draws = 0xFFFFFFF3U;
    const Index n = x.size(), r = law.full, before = draws.odd.cols();
    for (Matrix<double>* const part :
         {&draws.odd, &draws.even, &draws.odd_of_quadratics, &draws.even_of_quadratics}) {
      part->conservativeResize(count_, pairs);
    }
    Vector<double> straight(n), curved = Vector<double>::Zero(n);
    for (Index k = before; k < pairs; ++k) {
      Stream stream(0, stream_of_draws, static_cast<std::uint64_t>(k));
      for (double& y : straight) y = stream.normal();
      const Vector<double> last = straight.tail(r);
      const Matrix<double> square = last * last.transpose() - Matrix<double>::Identity(r, r);
      curved.tail(r) = law.skews * square.reshaped() / 6;
      straight.tail(r) = law.straight * last;
      const Vector<double> ahead = curved + straight, behind = curved - straight;
      const Vector<double> h_ahead = observed(rung_, x + law.units * ahead, t);
      const Vector<double> h_behind = observed(rung_, x + law.units * behind, t);
      draws.odd.col(k) = (h_ahead - h_behind) / 2;
      draws.even.col(k) = (h_ahead + h_behind) / 2;
      const Vector<double> q_ahead = quadratic_at(quadratics, ahead, r);
      const Vector<double> q_behind = quadratic_at(quadratics, behind, r);
      draws.odd_of_quadratics.col(k) = (q_ahead - q_behind) / 2;
      draws.even_of_quadratics.col(k) = (q_ahead + q_behind) / 2;
    }
  }

  [[nodiscard]] static Vector<double> quadratic_at(const Quadratics& quadratics,
                                                   const Vector<double>& y, Index r) {
    const Index rest = y.size() - r;
    const Matrix<double> square = y.tail(r) * y.tail(r).transpose();
    return quadratics.center + quadratics.slopes * y +
           quadratics.own_bends.leftCols(rest) * y.head(rest).cwiseAbs2() / 2 +
           quadratics.bends * square.reshaped() / 2;
  }

  // Whose mean is the variance.
  [[nodiscard]] static Vector<double> squares_of(const Vector<double>& odd,
                                                 const Vector<double>& even) {
    const auto pairs = static_cast<double>(even.size());
    return odd.array().square() + (even.array() - even.mean()).square() * (pairs / (pairs - 1));
  }

  AnyRung<double> rung_;
  Index count_ = 0;
};

}  // namespace popgrad
