#pragma once
/// The state of the rung moments, step by step: see popgrad/fluctuations/moments_rung.hpp and moment_blocks.hpp.
///
/// A state is the law where its block began, at two orders, and how many steps of the block have been
/// taken since; the block is made again from that where it is not at hand.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fluctuations/moment_blocks.hpp"
#include "fluctuations/observable_readings.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {

/// Of a standard deviation, or of a variance: where two orders differ by more, neither is to be used.
inline constexpr double tolerated_second_order = 0.5;

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

  // eta, batch, steps so far, those in the block, and the length of that; where none of the block has been
  // taken, the length to try.
  template <class State>
  [[nodiscard]] auto counters(State& state) const {
    return state.tail(5);
  }

 public:
  explicit MomentSteps(AnyRung<double> rung, std::uint64_t longest,
                       const MomentBlocks::Prepare& prepare)
      : rung_(std::move(rung)),
        n_(rung_.dimension),
        columns_(static_cast<Index>(rung_.columns.size())),
        readings_(rung_),
        blocks_(rung_, longest, prepare) {}

  [[nodiscard]] Index dimension() const { return 3 * n_ + 2 * n_ * n_ + 5; }

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
    names.insert(names.end(), {"eta", "batch", "steps", "steps_in_block", "block"});
    return names;
  }

  void step(Vector<double>& state, double eta, Index batch) {
    auto count = counters(state);
    if (!within(state)) {
      if (count[3] > 0) {
        need_block(state);
      } else {
        const MomentLaw begin = law_of(state);
        const MomentBlocks::Steps steps{eta, batch, number(count[2]), number(count[4])};
        blocks_.make(begin, steps, false);
        count << eta, static_cast<double>(batch), count[2], 0,
            static_cast<double>(blocks_.length());
      }
    }
    count[2] += 1;
    count[3] += 1;
    if (count[3] < count[4]) return;
    put(blocks_.after(blocks_.length()), state);
    count[3] = 0;
    count[4] = static_cast<double>(blocks_.next_length());
  }

  /// Does the next step but count?
  [[nodiscard]] bool within(const Vector<double>& state) const {
    const auto count = counters(state);
    return count[3] > 0 && count[3] + 1 < count[4];
  }

  /// The same law with no step of a block taken.
  [[nodiscard]] Vector<double> settled(const Vector<double>& state) {
    Vector<double> made = state;
    if (counters(state)[3] > 0) {
      put(law_now(state), made);
      counters(made).tail(2).setZero();
    }
    return made;
  }

  [[nodiscard]] double second_order(const Vector<double>& state) {
    return second_order(glance(state));
  }

  [[nodiscard]] std::string divergence(const Vector<double>& state, double eta, Index batch) {
    const MomentBlocks::Glance now = glance(state);
    const double ratio = second_order(now);
    if (!(ratio <= tolerated_second_order)) {
      return fmt::format(
          "the prediction ends here: first and second order differ by {:.2g} of a standard "
          "deviation or of the variance, more than {:g}; lower --eta {:g} or raise --batch {}, or "
          "take an ensemble: the rung sgd with --runs 200",
          ratio, tolerated_second_order, eta, batch);
    }
    return rung_.divergence ? rung_.divergence(now.path + now.gap, eta, batch) : std::string();
  }

  void observe(const Vector<double>& state, double t, std::span<double> row) {
    const MomentLaw law = law_now(state);
    const Vector<double> m = law.path + law.gap;
    const Vector<double>& s = law.shift;
    using Readings = ObservableReadings::Readings;
    const Readings second = readings_.read(m, square_root(law.second), Nodes::gauss, t);
    Readings first = readings_.read(law.path, square_root(law.first), Nodes::tangent, t);
    const double length = s.norm();
    if (length > 0) {
      const double h = short_step / length;
      first.mean +=
          (observed(rung_, law.path + h * s, t) - observed(rung_, law.path - h * s, t)) / (2 * h);
    }
    const bool sampled = draws_are_sampled(rung_);
    const double sampling = sampled ? sampling_at(m, t) : 0;
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
    row[static_cast<std::size_t>(2 * columns_)] = second_order(glance_of(law));
    if (sampled) row[static_cast<std::size_t>(2 * columns_ + 1)] = sampling;
  }

  /// A state of these parts, in the order of moments_rung.hpp.
  [[nodiscard]] Vector<double> assemble(const Vector<double>& m, const Matrix<double>& root,
                                        const Vector<double>& x, const Vector<double>& s,
                                        const Matrix<double>& first_root) const {
    Vector<double> state = Vector<double>::Zero(dimension());
    mean(state) = m;
    factor(state) = root;
    path(state) = x;
    shift(state) = s;
    first_factor(state) = first_root;
    return state;
  }

 private:
  static std::uint64_t number(double count) { return static_cast<std::uint64_t>(count); }

  [[nodiscard]] MomentLaw law_of(const Vector<double>& state) const {
    return {path(state), shift(state), mean(state) - path(state),
            first_factor(state) * first_factor(state).transpose(),
            factor(state) * factor(state).transpose()};
  }

  void put(const MomentLaw& law, Vector<double>& state) const {
    mean(state) = law.path + law.gap;
    factor(state) = square_root(law.second);
    path(state) = law.path;
    shift(state) = law.shift;
    first_factor(state) = square_root(law.first);
  }

  // Leaves the block that the state is in.
  void need_block(const Vector<double>& state) {
    const auto count = counters(state);
    const MomentBlocks::Steps steps{count[0], static_cast<Index>(count[1]),
                                    number(count[2] - count[3]), number(count[4])};
    if (!blocks_.is(path(state), shift(state), steps)) blocks_.make(law_of(state), steps, true);
  }

  [[nodiscard]] MomentLaw law_now(const Vector<double>& state) {
    const auto count = counters(state);
    if (!(count[3] > 0)) return law_of(state);
    need_block(state);
    return blocks_.after(number(count[3]));
  }

  static MomentBlocks::Glance glance_of(const MomentLaw& law) {
    return {law.path, law.shift, law.gap, law.first.trace(), law.second.trace()};
  }

  [[nodiscard]] MomentBlocks::Glance glance(const Vector<double>& state) {
    const auto count = counters(state);
    if (!(count[3] > 0)) {
      return {path(state), shift(state), mean(state) - path(state),
              first_factor(state).squaredNorm(), factor(state).squaredNorm()};
    }
    need_block(state);
    return blocks_.glance(number(count[3]));
  }

  static double second_order(const MomentBlocks::Glance& now) {
    if (!(now.second > 0) || !(now.first > 0)) return 0;
    const double moved = (now.gap - now.shift).norm() / std::sqrt(now.second);
    // Third moments, which neither order carries, change the variance by so much.
    const double skewed = now.shift.squaredNorm() / now.first;
    return std::max(
        {moved, skewed, std::fabs(now.second - now.first) / std::min(now.second, now.first)});
  }

  // Of deviations, by the nodes that the law of one draw is known from: along all observables.
  [[nodiscard]] double sampling_at(const Vector<double>& x, double t) const {
    return sampling_error(rung_, x, observable_gradients(rung_, x, t, short_step));
  }

  AnyRung<double> rung_;
  Index n_ = 0, columns_ = 0;
  ObservableReadings readings_;
  MomentBlocks blocks_;
};

}  // namespace popgrad
