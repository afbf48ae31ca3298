#pragma once
/// One step of the mean and the covariance of SGD, at two orders: see popgrad/moments_rung.hpp.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "popgrad/linear_algebra.hpp"
#include "popgrad/random.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/sampled_draws.hpp"

namespace popgrad {

/// Of a standard deviation, or of a variance: where two orders differ by more, neither is to be used.
inline constexpr double tolerated_second_order = 0.5;
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

class MomentSteps {
  // The parts of a state.
  template <class State>
  [[nodiscard]] auto mean(State& state) const {
    return state.segment(0, n_);
  }
  template <class State>
  [[nodiscard]] auto factor(State& state) const {
    return state.segment(n_, n_ * n_).reshaped(n_, n_);
  }
  template <class State>
  [[nodiscard]] auto path(State& state) const {
    return state.segment(n_ + n_ * n_, n_);
  }
  template <class State>
  [[nodiscard]] auto shift(State& state) const {
    return state.segment(2 * n_ + n_ * n_, n_);
  }
  template <class State>
  [[nodiscard]] auto first_factor(State& state) const {
    return state.segment(3 * n_ + n_ * n_, n_ * n_).reshaped(n_, n_);
  }

 public:
  explicit MomentSteps(AnyRung<double> rung) : rung_(std::move(rung)), n_(rung_.dimension) {
    columns_ = static_cast<Index>(rung_.columns.size());
  }

  [[nodiscard]] Index dimension() const { return 3 * n_ + 2 * n_ * n_; }

  [[nodiscard]] Vector<double> initial() const {
    Vector<double> state = Vector<double>::Zero(dimension());
    mean(state) = rung_.initial;
    path(state) = rung_.initial;
    return state;
  }

  [[nodiscard]] std::vector<std::string> columns() const {
    std::vector<std::string> names = rung_.columns;
    for (const std::string& name : rung_.columns) names.push_back(name + "_sd");
    names.emplace_back("second_order");
    if (draws_are_sampled(rung_)) names.emplace_back("sampling");
    return names;
  }

  [[nodiscard]] std::vector<std::string> state_names() const {
    std::vector<std::string> names;
    const auto vector = [&](const std::string& of) {
      for (const std::string& name : rung_.state_names) names.push_back(of + name);
    };
    const auto factor = [&](const std::string& of) {
      for (Index k = 0; k < n_; ++k) {
        for (const std::string& name : rung_.state_names) {
          names.push_back(fmt::format("{}{}_{}", of, name, k));
        }
      }
    };
    vector("");
    factor("factor_");
    vector("descent_");
    vector("shift_");
    factor("first_order_factor_");
    return names;
  }

  void step(Vector<double>& state, double eta, Index batch) {
    const Vector<double> m = mean(state);
    const Vector<double> x = path(state);
    const Vector<double> s = shift(state);
    field(x, at_);
    Vector<double> drift = transport(x, at_, first_factor(state), Nodes::tangent, eta);
    first_factor(state) = with_draws(x, eta, batch);
    path(state) += eta * at_;
    const double length = s.norm();
    if (length > 0) {
      const double h = short_step / length;
      field(x + h * s, ahead_);
      field(x - h * s, behind_);
      drift += (ahead_ - behind_) / (2 * h);
    }
    shift(state) += eta * drift;
    field(m, at_);
    const Vector<double> curved = transport(m, at_, factor(state), Nodes::gauss, eta);
    Matrix<double> covariance = moved_ * moved_.transpose();
    if (batch > 0) {
      const Vector<double> apart = factor(state) * signs_at(m);
      const double half = eta * eta / (2 * static_cast<double>(batch));
      covariance += half * draw_covariance(m + apart);
      covariance += half * draw_covariance(m - apart);
    }
    factor(state) = square_root(covariance);
    mean(state) += eta * (at_ + curved);
  }

  [[nodiscard]] double second_order(const Vector<double>& state) const {
    const double variance = factor(state).squaredNorm();
    const double first = first_factor(state).squaredNorm();
    if (!(variance > 0) || !(first > 0)) return 0;
    const double moved = (mean(state) - path(state) - shift(state)).norm() / std::sqrt(variance);
    // Third moments, which neither order carries, change the variance by so much.
    const double skewed = shift(state).squaredNorm() / first;
    return std::max({moved, skewed, std::fabs(variance - first) / std::min(variance, first)});
  }

  [[nodiscard]] std::string divergence(const Vector<double>& state, double eta, Index batch) const {
    const double ratio = second_order(state);
    if (!(ratio <= tolerated_second_order)) {
      return fmt::format(
          "the prediction ends here: first and second order differ by {:.2g} of a standard "
          "deviation or of the variance, more than {:g}; lower --eta {:g} or raise --batch {}, or "
          "take an ensemble: the rung sgd with --runs 200",
          ratio, tolerated_second_order, eta, batch);
    }
    return rung_.divergence ? rung_.divergence(mean(state), eta, batch) : std::string();
  }

  void observe(const Vector<double>& state, double t, std::span<double> row) {
    const Readings second = read(mean(state), factor(state), Nodes::gauss, t);
    Readings first = read(path(state), first_factor(state), Nodes::tangent, t);
    const Vector<double> s = shift(state);
    const double length = s.norm();
    if (length > 0) {
      const double h = short_step / length;
      first.mean += (observed(path(state) + h * s, t) - observed(path(state) - h * s, t)) / (2 * h);
    }
    const bool sampled = draws_are_sampled(rung_);
    const double sampling = sampled ? sampling_at(mean(state), t) : 0;
    for (Index k = 0; k < columns_; ++k) {
      const double deviation = std::sqrt(second.variance[k]);
      const double other = std::sqrt(first.variance[k]);
      // Of what is conserved: a square root of a covariance knows half the digits.
      const double rounding = 1e-7 * (std::fabs(second.mean[k]) + 1e-3);
      const double allowed = tolerated_second_order * std::min(deviation, other) + rounding;
      const bool agree = std::fabs(second.mean[k] - first.mean[k]) <= allowed &&
                         std::fabs(deviation - other) + sampling * deviation <= allowed &&
                         std::fabs(first.mean[k] - first.center[k]) <= allowed;
      row[static_cast<std::size_t>(k)] = second.mean[k];
      row[static_cast<std::size_t>(columns_ + k)] =
          agree ? deviation : std::numeric_limits<double>::quiet_NaN();
    }
    row[static_cast<std::size_t>(2 * columns_)] = second_order(state);
    if (sampled) row[static_cast<std::size_t>(2 * columns_ + 1)] = sampling;
  }

  [[nodiscard]] Index size() const { return n_; }

  /// A state of these parts, in the order of moments_rung.hpp.
  [[nodiscard]] Vector<double> assemble(const Vector<double>& m, const Matrix<double>& root,
                                        const Vector<double>& x, const Vector<double>& s,
                                        const Matrix<double>& first_root) const {
    Vector<double> state(dimension());
    mean(state) = m;
    factor(state) = root;
    path(state) = x;
    shift(state) = s;
    first_factor(state) = first_root;
    return state;
  }

  /// E of a draw.
  void field(const Vector<double>& x, Vector<double>& dx) {
    dx.resize(n_);
    if (rung_.draw_mean) {
      rung_.draw_mean(x, dx);
    } else {
      rung_.rhs(x, dx, 0.0);
    }
  }

  /// Leaves (I + eta J) times the columns in moved_; returns half the sum of second derivatives along
  /// them, the drift.
  template <class Factor>
  Vector<double> transport(const Vector<double>& x, const Vector<double>& center,
                           const Factor& columns, Nodes nodes, double eta) {
    Vector<double> drift = Vector<double>::Zero(n_);
    moved_ = columns;
    if (const SampledLaw* const law = sampled_law(rung_); law != nullptr && law->jacobian) {
      return transport_by_jacobian(*law, x, center, columns, nodes, eta);
    }
    for (Index k = 0; k < n_; ++k) {
      const Vector<double> column = columns.col(k);
      const double norm = column.norm();
      if (!(norm > 0)) continue;
      const double reach = reach_of(nodes, norm);
      field(x + reach * column, ahead_);
      field(x - reach * column, behind_);
      moved_.col(k) += eta / (2 * reach) * (ahead_ - behind_);
      drift += (ahead_ + behind_ - 2 * center) / (2 * reach * reach);
    }
    return drift;
  }

  /// Of the mean direction, (n x n), from central differences or as the law of one draw has it.
  [[nodiscard]] Matrix<double> jacobian(const Vector<double>& x) {
    if (const SampledLaw* const law = sampled_law(rung_); law != nullptr && law->jacobian) {
      Matrix<double> made;
      law->jacobian(x, made);
      return made;
    }
    field(x, at_);
    const Vector<double> center = at_;
    const Matrix<double> identity = Matrix<double>::Identity(n_, n_);
    transport(x, center, identity, Nodes::tangent, 1.0);
    return moved_ - identity;
  }

  /// Covariance of one draw, (n x n).
  [[nodiscard]] const Matrix<double>& draw_covariance(const Vector<double>& x) {
    rung_.draw_covariance(x, Matrix<double>::Identity(n_, n_), spread_);
    return spread_;
  }

 private:
  // Of deviations, by the nodes that the law of one draw is known from: along all observables.
  [[nodiscard]] double sampling_at(Vector<double> x, double t) const {
    Matrix<double> gradients(n_, columns_);
    for (Index i = 0; i < n_; ++i) {
      const double own = x[i];
      x[i] = own + short_step;
      const Vector<double> ahead = observed(x, t);
      x[i] = own - short_step;
      gradients.row(i) = ((ahead - observed(x, t)) / (2 * short_step)).transpose();
      x[i] = own;
    }
    return sampling_error(rung_, x, gradients);
  }

  // The same where the Jacobian costs less than n differences: with gauss nodes its mean at two points of
  // the fluctuations, and second derivatives along random sums of the columns, whose mean is the sum.
  template <class Factor>
  Vector<double> transport_by_jacobian(const SampledLaw& law, const Vector<double>& x,
                                       const Vector<double>& center, const Factor& columns,
                                       Nodes nodes, double eta) {
    constexpr std::uint64_t sums = 8;
    Vector<double> drift = Vector<double>::Zero(n_);
    Matrix<double> mean_jacobian, other;
    for (std::uint64_t k = 0; k < sums; ++k) {
      const Vector<double> apart = columns * signs_at(x, k);
      const double norm = apart.norm();
      if (!(norm > 0)) return drift;
      const double reach = nodes == Nodes::gauss ? 1.0 : short_step / norm;
      field(x + reach * apart, ahead_);
      field(x - reach * apart, behind_);
      drift += (ahead_ + behind_ - 2 * center) / (2 * reach * reach * static_cast<double>(sums));
      if (k > 0) continue;
      if (nodes == Nodes::gauss) {
        law.jacobian(x + apart, mean_jacobian);
        law.jacobian(x - apart, other);
        mean_jacobian = (mean_jacobian + other) / 2;
      } else {
        law.jacobian(x, mean_jacobian);
      }
    }
    moved_ += eta * mean_jacobian * columns;
    return drift;
  }

  // A square root of moved_ moved_' + eta^2/B Sigma(x).
  Matrix<double> with_draws(const Vector<double>& x, double eta, Index batch) {
    Matrix<double> covariance = moved_ * moved_.transpose();
    if (batch > 0) {
      covariance += eta * eta / static_cast<double>(batch) * draw_covariance(x);
    }
    return square_root(covariance);
  }

  // Random signs, the same wherever this point is reached again: m +- U signs has the mean m and, on
  // average over points, the covariance U U', so that E Sigma is met to second order.
  [[nodiscard]] Vector<double> signs_at(const Vector<double>& m, std::uint64_t which = 0) const {
    Stream stream(which, 1, std::bit_cast<std::uint64_t>(m.sum() + m.norm()));
    Vector<double> signs(n_);
    for (double& sign : signs) sign = stream.uniform() < 0.5 ? -1 : 1;
    return signs;
  }

  struct Readings {
    Vector<double> center, mean, variance;
  };

  [[nodiscard]] Vector<double> observed(const Vector<double>& x, double t) const {
    Vector<double> row(columns_);
    rung_.observe(x, t, {row.data(), static_cast<std::size_t>(columns_)});
    return row;
  }

  template <class Factor>
  [[nodiscard]] Readings read(const Vector<double>& x, const Factor& columns, Nodes nodes,
                              double t) const {
    const Vector<double> center = observed(x, t);
    Readings found{center, center, Vector<double>::Zero(columns_)};
    for (Index k = 0; k < n_; ++k) {
      const Vector<double> column = columns.col(k);
      const double norm = column.norm();
      if (!(norm > 0)) continue;
      const double reach = reach_of(nodes, norm);
      const Vector<double> ahead = observed(x + reach * column, t);
      const Vector<double> behind = observed(x - reach * column, t);
      const Vector<double> bend = (ahead + behind - 2 * center) / (reach * reach);
      found.mean += bend / 2;
      found.variance += ((ahead - behind) / (2 * reach)).cwiseAbs2();
      if (nodes == Nodes::gauss) found.variance += bend.cwiseAbs2() / 2;
    }
    if (nodes == Nodes::gauss) found.variance += variance_of_mixed_bends(x, columns, center, t);
    return found;
  }

  // What second derivatives H of an observable along two columns add to its variance,
  // 1/2 sum_{i != j} H_ij^2: half of half the variance of r'H r over random signs r.
  template <class Factor>
  [[nodiscard]] Vector<double> variance_of_mixed_bends(const Vector<double>& x,
                                                       const Factor& columns,
                                                       const Vector<double>& center,
                                                       double t) const {
    constexpr int draws = 16;
    Vector<double> sum = Vector<double>::Zero(columns_);
    Vector<double> squares = sum;
    for (std::uint64_t k = 0; k < draws; ++k) {
      Stream stream(0, 0, k);
      Vector<double> signs(n_);
      for (double& sign : signs) sign = stream.uniform() < 0.5 ? -1 : 1;
      const Vector<double> shift = columns * signs;
      if (!(shift.norm() > 0)) return sum;
      const Vector<double> bend = observed(x + shift, t) + observed(x - shift, t) - 2 * center;
      sum += bend;
      squares += bend.cwiseAbs2();
    }
    const Vector<double> variance = (squares - sum.cwiseAbs2() / draws) / (draws - 1);
    return variance.cwiseMax(0.0) / 4;
  }

  AnyRung<double> rung_;
  Index n_ = 0, columns_ = 0;
  Vector<double> at_, ahead_, behind_;
  Matrix<double> moved_, spread_;
};

}  // namespace popgrad
