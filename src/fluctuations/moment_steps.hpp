#pragma once
/// The law of runs, step by step: see popgrad/fluctuations/prediction.hpp and moment_blocks.hpp.

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
#include "popgrad/fluctuations/prediction.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {

/// Of a standard deviation, or of a variance: where two orders differ by more, neither is to be used.
inline constexpr double tolerated_second_order = 0.5;

/// Of the same: from here on means and deviations are left out (measured: popgrad/fluctuations/prediction.hpp).
inline constexpr double largest_second_order = 0.2;
/// Of a deviation: where third cumulants change one by more it is left out (measured as well).
inline constexpr double largest_of_third = 0.08;
/// Of a variance, of the draws that read it: two standard errors are 2 in 100 of a deviation.
inline constexpr double largest_error = 0.02;

/// Columns of a prediction for `sgd`.
inline std::vector<std::string> columns_of_moments(const AnyRung<double>& sgd) {
  std::vector<std::string> names = sgd.observables.columns;
  for (const std::string& name : sgd.observables.columns) names.push_back(name + "_sd");
  names.emplace_back("second_order");
  if (sgd.draws.known_from_nodes()) names.emplace_back("sampling");
  return names;
}

/// Of the numbers of a saved law.
inline std::vector<std::string> names_of_law(const AnyRung<double>& sgd) {
  std::vector<std::string> names;
  const auto vector = [&](const std::string& of) {
    for (const std::string& name : sgd.state_names) names.push_back(of + name);
  };
  const auto factor = [&](const std::string& of) {
    for (Index k = 0; k < sgd.dimension; ++k) {
      for (const std::string& name : sgd.state_names) {
        names.push_back(fmt::format("{}{}_{}", of, name, k));
      }
    }
  };
  vector("");
  factor("factor_");
  vector("descent_");
  vector("shift_");
  factor("first_order_factor_");
  const Index r = sgd.dimension;
  if (r > most_third_axes) return names;
  for (Index k = 0; k < r; ++k) vector(fmt::format("axis_{}_", k));
  for (Index i = 0; i < r; ++i) {
    for (Index j = i; j < r; ++j) {
      for (Index k = j; k < r; ++k) names.push_back(fmt::format("third_{}_{}_{}", i, j, k));
    }
  }
  factor("of_third_");
  return names;
}

/// Rounded as a saved law is, by its mean and by square roots, which have no negative variances.
inline MomentLaw rounded(MomentLaw law) {
  law.gap = law.mean() - law.path;
  for (Matrix<double>* const covariance : {&law.first, &law.second}) {
    const Matrix<double> root = square_root(*covariance);
    *covariance = root * root.transpose();
  }
  return law;
}

/// The steps of a prediction, as walking::single_run takes them.
class MomentSteps {
 public:
  /// The law where a block begins, the steps before that, and how many of it have been taken since.
  struct State {
    MomentLaw law;
    std::uint64_t begun = 0, in_block = 0;
    [[nodiscard]] Index size() const {
      const Index n = law.path.size();
      return n * (3 + 2 * n) + ThirdCumulants::packed_size(n);
    }
  };

  MomentSteps(FollowedSteps followed, std::uint64_t longest, const WalkRequest& request)
      : followed_(std::move(followed)),
        request_(request),
        n_(sgd().dimension),
        columns_(static_cast<Index>(sgd().observables.columns.size())),
        readings_(sgd()),
        blocks_(sgd(), longest, followed_.prepare) {}

  [[nodiscard]] std::vector<std::string> columns() const { return columns_of_moments(sgd()); }

  [[nodiscard]] State initial() const { return {MomentLaw::of_state(sgd().initial)}; }

  bool step(State& state, State& last, std::uint64_t number) {
    if (state.in_block == 0) {
      state.begun = number;
      blocks_.make(state.law, {request_.step_size, request_.batch, number, blocks_.next_length()});
    }
    if (state.in_block + 1 < blocks_.length()) {
      ++state.in_block;
      return true;
    }
    last = state;
    state = {rounded(blocks_.after(blocks_.length()))};
    return state.law.is_finite();
  }

  [[nodiscard]] std::string divergence(const State& state) const {
    const MomentBlocks::Glance now = glance(state);
    const double ratio = second_order(now);
    if (!(ratio <= tolerated_second_order)) {
      return fmt::format(
          "the prediction ends here: first and second order differ by {:.2g} of a standard "
          "deviation or of the variance, more than {:g}; lower --eta {:g} or raise --batch {}, or "
          "take an ensemble: the rung sgd with --runs 200",
          ratio, tolerated_second_order, request_.step_size, request_.batch);
    }
    return sgd().divergence
               ? sgd().divergence(now.path + now.gap, request_.step_size, request_.batch)
               : std::string();
  }

  void observe(const State& state, double t, std::span<double> row) const {
    const MomentLaw law = law_now(state);
    const Vector<double> m = law.mean();
    const Vector<double>& s = law.shift;
    using Readings = ObservableReadings::Readings;
    const Readings second = readings_.read(m, law.second, law.third, t);
    Readings first = readings_.tangent(law.path, square_root(law.first), t);
    const double length = s.norm();
    if (length > 0) {
      const double h = short_step / length;
      first.mean +=
          (observed(sgd(), law.path + h * s, t) - observed(sgd(), law.path - h * s, t)) / (2 * h);
    }
    const bool sampled = sgd().draws.known_from_nodes();
    const double sampling = sampled ? sampling_at(m, t) : 0;
    std::vector<Agreement> agreements;
    for (Index k = 0; k < columns_; ++k) {
      const double deviation = std::sqrt(second.variance[k]);
      const double other = std::sqrt(first.variance[k]);
      const double rounding = rounding_of_deviation(second.mean[k]);
      const double allowed = tolerated_second_order * std::min(deviation, other) + rounding;
      const bool means = std::fabs(second.mean[k] - first.mean[k]) <= allowed;
      const bool deviations =
          std::fabs(deviation - other) + sampling * deviation <= allowed &&
          std::fabs(first.mean[k] - first.center[k]) <= tolerated_second_order * other + rounding &&
          std::fabs(second.of_third[k]) <=
              2 * largest_of_third * second.variance[k] + rounding * rounding &&
          second.error[k] <= largest_error * second.variance[k] + rounding * rounding;
      agreements.push_back({means, deviations,
                            std::max({deviation, other, std::sqrt(second.error[k])}) <= rounding});
      row[static_cast<std::size_t>(k)] = second.mean[k];
      row[static_cast<std::size_t>(columns_ + k)] = deviation;
    }
    double& neglected = row[static_cast<std::size_t>(2 * columns_)];
    neglected = second_order(glance_of(law));
    if (sampled) row[static_cast<std::size_t>(2 * columns_ + 1)] = sampling;
    if (followed_.amend) followed_.amend(m, row);
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t k = 0; k < agreements.size(); ++k) {
      const Agreement& agree = agreements[k];
      const bool within = neglected < largest_second_order || agree.conserved;
      if (!within || !agree.means) row[k] = none;
      if (!within || !agree.means || !agree.deviations) row[agreements.size() + k] = none;
    }
  }

  /// A law as files have it.
  [[nodiscard]] Vector<double> in_double(const State& state) const {
    const MomentLaw law = law_now(state);
    Vector<double> numbers(state.size());
    const bool has_third = law.third.values.size() > 0;
    numbers.head(n_ * (3 + 2 * n_)) << law.mean(), square_root(law.second).reshaped(), law.path,
        law.shift, square_root(law.first).reshaped();
    numbers.tail(ThirdCumulants::packed_size(n_)) =
        (has_third ? law.third : ThirdCumulants::none(n_)).packed();
    return numbers;
  }
  [[nodiscard]] State state_of(const Vector<double>& numbers) const {
    const auto square = [&](Index begin) -> Matrix<double> {
      const auto root = numbers.segment(begin, n_ * n_).reshaped(n_, n_);
      return root * root.transpose();
    };
    const Index after = n_ + n_ * n_;
    const Vector<double> path = numbers.segment(after, n_);
    return {{path, numbers.segment(after + n_, n_), numbers.head(n_) - path, square(after + 2 * n_),
             square(n_),
             ThirdCumulants::unpacked(numbers.tail(ThirdCumulants::packed_size(n_)), n_)}};
  }
  [[nodiscard]] static Vector<double> memory() { return {}; }

 private:
  [[nodiscard]] const AnyRung<double>& sgd() const { return followed_.sgd; }

  // Of a block that has ended, the law where it began.
  [[nodiscard]] bool is_within(const State& state) const {
    return state.in_block > 0 && blocks_.first() == state.begun;
  }
  [[nodiscard]] MomentLaw law_now(const State& state) const {
    return is_within(state) ? blocks_.after(state.in_block) : state.law;
  }
  [[nodiscard]] MomentBlocks::Glance glance(const State& state) const {
    if (is_within(state)) return blocks_.glance(state.in_block);
    return glance_of(state.law);
  }
  static MomentBlocks::Glance glance_of(const MomentLaw& law) {
    const double of_third = law.third.added.size() > 0 ? law.third.added.trace() : 0.0;
    return {law.path, law.shift, law.gap, law.first.trace(), law.second.trace(), of_third};
  }

  static double second_order(const MomentBlocks::Glance& now) {
    if (!(now.second > 0) || !(now.first > 0)) return 0;
    const double moved = (now.gap - now.shift).norm() / std::sqrt(now.second);
    // Of the first order, by what third cumulants change a variance.
    const double skewed = now.shift.squaredNorm() / now.first;
    // Parts that cancel each other do not make the next order small.
    const double changed =
        std::fabs(now.second - now.of_third - now.first) + std::fabs(now.of_third);
    return std::max({moved, skewed, changed / std::min(now.second, now.first)});
  }

  // Of the orders of one observable.
  struct Agreement {
    bool means = false, deviations = false, conserved = false;
  };

  // Of deviations, by the nodes that the law of one draw is known from: along all observables.
  [[nodiscard]] double sampling_at(const Vector<double>& x, double t) const {
    return sampling_error(sgd(), x, observable_gradients(sgd(), x, t, short_step));
  }

  FollowedSteps followed_;
  const WalkRequest& request_;
  Index n_ = 0, columns_ = 0;
  ObservableReadings readings_;
  MomentBlocks blocks_;
};

}  // namespace popgrad
