#pragma once
/// What a rung knows of one of its plain steps: the mean direction of a draw, its derivatives, and the
/// covariance of a draw.

#include <cmath>
#include <cstdint>
#include <utility>

#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

namespace popgrad {

/// Length of a step for derivatives: third derivatives enter with its square, rounding in second
/// differences with 1e-16 over its square.
inline constexpr double short_step = 1e-3;

/// Along a column of a square root of the covariance: nodes at +- `reach` columns.
enum class Nodes {
  gauss,    ///< sqrt(3) columns: the Gauss-Hermite rule of three points
  tangent,  ///< near the middle: derivatives
};

inline double reach_of(Nodes nodes, double norm) {
  return nodes == Nodes::gauss ? std::sqrt(3.0) : short_step / norm;
}
/// Along a direction that may vanish.
inline double short_reach(const Vector<double>& direction) {
  const double norm = direction.norm();
  return norm > 0 ? short_step / norm : 1;
}

/// So that a square root of C times them is on average of covariance C. Those of another step of a run,
/// or of another `which`, are others.
inline Vector<double> random_signs(Index n, std::uint64_t step, std::uint64_t which = 0) {
  constexpr std::uint32_t stream_of_signs = 0xFFFFFFF2U;
  Stream stream(which, stream_of_signs, step);
  Vector<double> signs(n);
  for (double& sign : signs) sign = stream.uniform() < 0.5 ? -1 : 1;
  return signs;
}

class StepLaw {
 public:
  explicit StepLaw(AnyRung<double> rung) : rung_(std::move(rung)), n_(rung_.dimension) {}

  [[nodiscard]] const AnyRung<double>& rung() const { return rung_; }
  [[nodiscard]] Index size() const { return n_; }

  /// E of a draw.
  void field(const Vector<double>& x, Vector<double>& dx) {
    dx.resize(n_);
    if (rung_.draws.mean) {
      rung_.draws.mean(x, dx);
    } else {
      rung_.field.value(x, dx, 0.0);
    }
  }

  /// J d along a direction d, by differences over +- `reach` of it. Cost two evaluations.
  [[nodiscard]] Vector<double> slope(const Vector<double>& x, const Vector<double>& direction,
                                     double reach) {
    field(x + reach * direction, ahead_);
    field(x - reach * direction, behind_);
    return (ahead_ - behind_) / (2 * reach);
  }
  /// The same with f''(d, d)/2; `center` is f(x).
  struct Second {
    Vector<double> slope, bend;
  };
  [[nodiscard]] Second along(const Vector<double>& x, const Vector<double>& direction,
                             const Vector<double>& center, double reach) {
    Vector<double> first = slope(x, direction, reach);
    return {std::move(first), (ahead_ + behind_ - 2 * center) / (2 * reach * reach)};
  }

  /// Half the sum of second derivatives of the mean direction along the columns, the drift. Cost: two
  /// evaluations a column, or 16 along random sums of the columns, with the signs of this step of a run,
  /// where the law of a draw has a Jacobian.
  [[nodiscard]] Vector<double> drift(const Vector<double>& x, const Vector<double>& center,
                                     const Matrix<double>& columns, Nodes nodes,
                                     std::uint64_t number) {
    Vector<double> sum = Vector<double>::Zero(n_);
    if (has_jacobian()) return drift_along_sums(x, center, columns, nodes, number);
    for (Index k = 0; k < n_; ++k) {
      const Vector<double> column = columns.col(k);
      const double norm = column.norm();
      if (norm > 0) sum += along(x, column, center, reach_of(nodes, norm)).bend;
    }
    return sum;
  }

  /// Of the mean direction, (n x n), from central differences or as the law of one draw has it.
  [[nodiscard]] Matrix<double> jacobian(const Vector<double>& x) {
    Matrix<double> made;
    if (has_jacobian()) {
      rung_.draws.mean_jacobian(x, made);
      return made;
    }
    made.resize(n_, n_);
    for (Index k = 0; k < n_; ++k) {
      made.col(k) = slope(x, Vector<double>::Unit(n_, k), short_step);
    }
    return made;
  }

  /// Covariance of one draw, (n x n).
  [[nodiscard]] const Matrix<double>& draw_covariance(const Vector<double>& x) {
    rung_.draws.covariance(x, Matrix<double>::Identity(n_, n_), spread_);
    return spread_;
  }

  /// The mean of those at two points; where the law is known from samples, of each from others.
  [[nodiscard]] Matrix<double> draw_covariance(const Vector<double>& one,
                                               const Vector<double>& other) {
    if (!rung_.draws.known_from_nodes()) {
      Matrix<double> sum = draw_covariance(one);
      sum += draw_covariance(other);
      return sum / 2;
    }
    const Matrix<double> identity = Matrix<double>::Identity(n_, n_);
    Matrix<double> at_one, at_other;
    rung_.draws.covariance_of_nodes(one, identity, NodeSet::first, at_one);
    rung_.draws.covariance_of_nodes(other, identity, NodeSet::second, at_other);
    return (at_one + at_other) / 2;
  }

  /// Has the law of a draw a Jacobian that costs less than n differences?
  [[nodiscard]] bool has_jacobian() const { return static_cast<bool>(rung_.draws.mean_jacobian); }

 private:
  // Along random sums of the columns, whose mean is the sum over columns.
  [[nodiscard]] Vector<double> drift_along_sums(const Vector<double>& x,
                                                const Vector<double>& center,
                                                const Matrix<double>& columns, Nodes nodes,
                                                std::uint64_t number) {
    constexpr std::uint64_t sums = 8;
    Vector<double> sum = Vector<double>::Zero(n_);
    for (std::uint64_t k = 0; k < sums; ++k) {
      const Vector<double> apart = columns * random_signs(n_, number, k);
      const double norm = apart.norm();
      if (!(norm > 0)) return sum;
      const double reach = nodes == Nodes::gauss ? 1.0 : short_step / norm;
      sum += along(x, apart, center, reach).bend / static_cast<double>(sums);
    }
    return sum;
  }

  AnyRung<double> rung_;
  Index n_ = 0;
  Vector<double> ahead_, behind_;
  Matrix<double> spread_;
};

}  // namespace popgrad
