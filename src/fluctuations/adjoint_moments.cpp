#include "popgrad/fluctuations/adjoint_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fluctuations/moment_steps.hpp"
#include "fluctuations/observable_readings.hpp"
#include "fluctuations/step_law.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "walks/walk_runs.hpp"

namespace popgrad {
namespace {

constexpr Index tangents = 16;
constexpr std::uint64_t most_blocks = 64;
/// Of a block, eta |J n| m/|n|: what the fourth power of it neglects is below 1e-4.
constexpr double longest_piece = 0.25;
constexpr std::uint32_t stream_of_tangents = 0xFFFFFFF4U;
constexpr std::uint32_t stream_of_noise = 0xFFFFFFF3U;

/// Of the numbers of a saved law.
std::vector<std::string> names_of_tangents(const AnyRung<double>& sgd) {
  std::vector<std::string> names = sgd.state_names;
  for (const std::string& name : sgd.state_names) names.push_back("shift_" + name);
  for (Index r = 0; r < tangents; ++r) {
    for (const std::string& name : sgd.state_names) {
      names.push_back(fmt::format("tangent_{}_{}", name, r));
    }
  }
  return names;
}

/// The steps of a prediction, as walking::single_run takes them.
class AdjointSteps {
 public:
  struct State {
    Vector<double> x, shift;
    Matrix<double> tangents;  ///< the d
    std::uint64_t steps = 0;
    [[nodiscard]] Index size() const { return x.size() + shift.size() + tangents.size(); }
    [[nodiscard]] bool is_finite() const {
      return x.allFinite() && shift.allFinite() && tangents.allFinite();
    }
  };

  AdjointSteps(const AnyRung<double>& sgd, const WalkRequest& request)
      : law_(sgd), request_(request), n_(sgd.dimension) {
    columns_ = static_cast<Index>(sgd.observables.columns.size());
    rates_ =
        sgd.field.rates.size() > 0 ? sgd.field.rates : Vector<double>(Vector<double>::Ones(n_));
  }

  [[nodiscard]] std::vector<std::string> columns() const { return columns_of_moments(sgd()); }

  [[nodiscard]] State initial() const {
    return {sgd().initial, Vector<double>::Zero(n_), Matrix<double>::Zero(n_, tangents)};
  }

  bool step(State& state, State& last, std::uint64_t number) {
    const bool checked = walking::is_checked(request_, number, state.size());
    if (checked) last = state;
    const double eta = request_.step_size;
    const Vector<double> center = field(state.x);
    Vector<double> drift = Vector<double>::Zero(n_);
    Vector<double> draw(n_);
    for (Index r = 0; r < tangents; ++r) {
      auto tangent = state.tangents.col(r);
      const StepLaw::Second second = along(state.x, tangent, center);
      drift += second.bend / tangents;
      tangent += eta * second.slope;
      if (request_.batch == 0) continue;
      Stream stream(static_cast<std::uint64_t>(r), stream_of_tangents, number);
      sgd().draws.sample(state.x, draw, stream, 1);
      tangent += eta / std::sqrt(static_cast<double>(request_.batch)) * (draw - center);
    }
    state.shift += eta * (slope(state.x, state.shift) + drift);
    state.x += eta * center;
    state.steps = number + 1;
    return !checked || state.is_finite();
  }

  [[nodiscard]] std::string divergence(const State& state) {
    const double ratio = second_order(state);
    if (!(ratio <= tolerated_second_order)) {
      return fmt::format(
          "the prediction ends here: what first order leaves out is {:.2g} of the variance, more "
          "than {:g}; lower --eta {:g} or raise --batch {}, or take an ensemble: the rung sgd with "
          "--runs 200",
          ratio, tolerated_second_order, request_.step_size, request_.batch);
    }
    return sgd().divergence ? sgd().divergence(state.x, request_.step_size, request_.batch)
                            : std::string();
  }

  void observe(const State& state, double t, std::span<double> row) {
    const Vector<double>& x = state.x;
    const Vector<double> center = observed(sgd(), x, t);
    Vector<double> shift = Vector<double>::Zero(columns_);
    const auto along = [&](const Vector<double>& direction, double of_slope, double of_bend) {
      const double norm = direction.norm();
      if (!(norm > 0)) return;
      const double h = short_step / norm;
      const Vector<double> ahead = observed(sgd(), x + h * direction, t);
      const Vector<double> behind = observed(sgd(), x - h * direction, t);
      shift += of_slope / (2 * h) * (ahead - behind);
      shift += of_bend / (2 * h * h) * (ahead + behind - 2 * center);
    };
    along(state.shift, 1, 0);
    for (Index r = 0; r < tangents; ++r) along(state.tangents.col(r), 0, 1.0 / tangents);
    const bool sampled = sgd().draws.known_from_nodes();
    const bool moved = state.steps > 0 && request_.batch > 0;
    Matrix<double> slopes;
    if (sampled || moved) slopes = observable_gradients(sgd(), x, t, gradient_step);
    const Vector<double> variance =
        moved ? variances(slopes, state.steps) : Vector<double>(Vector<double>::Zero(columns_));
    const double sampling = sampled ? sampling_error(sgd(), x, slopes) : 0;
    const double neglected = second_order(state);
    for (Index k = 0; k < columns_; ++k) {
      const double deviation = std::sqrt(variance[k]);
      const double rounding = rounding_of_deviation(center[k]);
      const double allowed = tolerated_second_order * deviation + rounding;
      const bool conserved = std::max(deviation, std::fabs(shift[k])) <= rounding;
      const bool within = neglected < largest_second_order || conserved;
      const auto known = [&](double left_out, double value) {
        return within && left_out <= allowed ? value : std::numeric_limits<double>::quiet_NaN();
      };
      row[static_cast<std::size_t>(k)] = known(std::fabs(shift[k]), center[k] + shift[k]);
      row[static_cast<std::size_t>(columns_ + k)] =
          known(std::fabs(shift[k]) + sampling * deviation, deviation);
    }
    row[static_cast<std::size_t>(2 * columns_)] = neglected;
    if (sampled) row[static_cast<std::size_t>(2 * columns_ + 1)] = sampling;
  }

  /// A law as files have it.
  [[nodiscard]] static Vector<double> in_double(const State& state) {
    Vector<double> numbers(state.size());
    numbers << state.x, state.shift, state.tangents.reshaped();
    return numbers;
  }
  [[nodiscard]] State state_of(const Vector<double>& numbers) const {
    return {numbers.head(n_), numbers.segment(n_, n_),
            numbers.tail(n_ * tangents).reshaped(n_, tangents), request_.start_step};
  }
  [[nodiscard]] static Vector<double> memory() { return {}; }

  // |u.K v - v.K u| over their size, K = P^{-1} J near the start: 0 for a gradient.
  [[nodiscard]] double asymmetry() {
    Stream stream(0, stream_of_tangents, 0);
    const auto direction = [&] {
      Vector<double> made(n_);
      for (double& value : made) value = stream.normal();
      return made;
    };
    constexpr double away = 0.1;
    const Vector<double> x = sgd().initial + away * direction();
    const Vector<double> u = direction(), v = direction();
    const Vector<double> ju = slope(x, u).cwiseQuotient(rates_);
    const Vector<double> jv = slope(x, v).cwiseQuotient(rates_);
    const double size = ju.norm() * v.norm() + jv.norm() * u.norm();
    return size > 0 ? std::fabs(v.dot(ju) - u.dot(jv)) * std::sqrt(static_cast<double>(n_)) / size
                    : 0.0;
  }

 private:
  [[nodiscard]] const AnyRung<double>& sgd() const { return law_.rung(); }

  [[nodiscard]] Vector<double> field(const Vector<double>& x) {
    Vector<double> dx;
    law_.field(x, dx);
    return dx;
  }
  [[nodiscard]] Vector<double> slope(const Vector<double>& x, const Vector<double>& direction) {
    return law_.slope(x, direction, short_reach(direction));
  }
  [[nodiscard]] StepLaw::Second along(const Vector<double>& x, const Vector<double>& direction,
                                      const Vector<double>& center) {
    return law_.along(x, direction, center, short_reach(direction));
  }

  [[nodiscard]] double second_order(const State& state) {
    const Vector<double>& x = state.x;
    const Vector<double> center = field(x);
    double size = 0, slopes = 0, bends = 0, noise = 0, change = 0;
    // The same draw at three states: of the trace of Sigma, the change alone is left to chance.
    Vector<double> draw(n_);
    const auto noise_at = [&](const Vector<double>& at, const Vector<double>& mean, Index r) {
      Stream stream(static_cast<std::uint64_t>(r), stream_of_noise, 0);
      sgd().draws.sample(at, draw, stream, 1);
      return (draw - mean).squaredNorm();
    };
    for (Index r = 0; r < tangents; ++r) {
      const auto tangent = state.tangents.col(r);
      const StepLaw::Second second = along(x, tangent, center);
      size += tangent.squaredNorm() / tangents;
      slopes += second.slope.squaredNorm();
      bends += second.bend.squaredNorm();
      if (!(tangent.squaredNorm() > 0)) continue;
      const Vector<double> ahead = x + tangent, behind = x - tangent;
      const double own = noise_at(x, center, r);
      noise += own;
      change += (noise_at(ahead, field(ahead), r) + noise_at(behind, field(behind), r)) / 2 - own;
    }
    const double shifted = size > 0 ? state.shift.squaredNorm() / size : 0.0;
    return std::max(
        {shifted, slopes > 0 ? bends / slopes : 0.0, noise > 0 ? std::fabs(change) / noise : 0.0});
  }

  // J times the columns.
  [[nodiscard]] Matrix<double> pushed(const Vector<double>& x, const Matrix<double>& columns) {
    Matrix<double> images(n_, columns.cols());
    for (Index k = 0; k < columns.cols(); ++k) images.col(k) = slope(x, columns.col(k));
    return images;
  }

  // First and one past the last step of a block.
  static std::pair<std::uint64_t, std::uint64_t> ends(std::uint64_t block, std::uint64_t blocks,
                                                      std::uint64_t count) {
    return {block * count / blocks, (block + 1) * count / blocks};
  }

  // Of observables with these gradients.
  [[nodiscard]] Vector<double> variances(const Matrix<double>& slopes, std::uint64_t count) {
    const double eta = request_.step_size;
    Vector<double> variance = Vector<double>::Zero(columns_);
    const std::uint64_t blocks = std::min(count, most_blocks);
    std::vector<Vector<double>> middles;
    Vector<double> x = sgd().initial;
    std::uint64_t step = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const auto [first, last] = ends(block, blocks, count);
      for (; step < first + (last - first) / 2; ++step) x += eta * field(x);
      middles.push_back(x);
    }
    Matrix<double> carried = rates_.asDiagonal() * slopes;
    for (std::uint64_t block = blocks; block-- > 0;) {
      const auto [first, last] = ends(block, blocks, count);
      const Vector<double>& middle = middles[static_cast<std::size_t>(block)];
      for (std::uint64_t left = last - first; left > 0;) {
        left -= piece(middle, left, carried, variance);
      }
    }
    return variance;
  }

  // Carries the columns back over some of the steps that are left, and returns their number.
  std::uint64_t piece(const Vector<double>& x, std::uint64_t left, Matrix<double>& carried,
                      Vector<double>& variance) {
    const double eta = request_.step_size;
    const Matrix<double> first = eta * pushed(x, carried);
    double rate = 0;
    for (Index k = 0; k < columns_; ++k) {
      const double size = carried.col(k).norm();
      if (size > 0) rate = std::max(rate, first.col(k).norm() / size);
    }
    const double longest = std::max(1.0, std::min(static_cast<double>(left), longest_piece / rate));
    const auto steps = static_cast<std::uint64_t>(longest);
    const auto m = static_cast<double>(steps);
    Matrix<double> whole = carried + m * first;
    Matrix<double> half = carried;
    if (steps > 1) {
      // (I + eta J)^m by its binomial series, to the middle of the sum over steps and to its end.
      const Matrix<double> second = eta * pushed(x, first);
      const Matrix<double> third = eta * pushed(x, second);
      whole += m * (m - 1) / 2 * second + m * (m - 1) * (m - 2) / 6 * third;
      const double p = (m - 1) / 2;
      half += p * first + p * (p - 1) / 2 * second + p * (p - 1) * (p - 2) / 6 * third;
    }
    const Matrix<double> gradients = rates_.cwiseInverse().asDiagonal() * half;
    Matrix<double> images;
    sgd().draws.covariance(x, gradients, images);
    const double noise = m * eta * eta / static_cast<double>(request_.batch);
    variance += noise * gradients.cwiseProduct(images).colwise().sum().transpose();
    carried = std::move(whole);
    return steps;
  }

  StepLaw law_;
  const WalkRequest& request_;
  Index n_, columns_ = 0;
  Vector<double> rates_;
};

}  // namespace

Prediction predict_by_adjoints(const AnyRung<double>& sgd, const std::string& where) {
  const auto reject_size = [&](const std::string& why) {
    throw InputError(
        fmt::format("{} moments: the state has {} numbers, {}; give a smaller instance, or take an "
                    "ensemble: the rung sgd with --runs 200",
                    where, sgd.dimension, why));
  };
  if (sgd.dimension > largest_with_adjoint) {
    reject_size(
        fmt::format("and gradients of observables are taken for {} at most", largest_with_adjoint));
  }
  const WalkRequest none;
  AdjointSteps steps(sgd, none);
  // Errors of differences are below 1e-6.
  constexpr double rounding = 1e-4;
  if (!(steps.asymmetry() <= rounding)) {
    reject_size(
        "above 512 moments need the adjoint of the mean direction, and it is known only where "
        "that is the gradient of a loss times learning rates, which it is not here");
  }
  return {columns_of_moments(sgd), StateNames::made_by([sgd] { return names_of_tangents(sgd); }),
          [sgd](const WalkRequest& request, const Vector<double>* from) {
            AnyRung<double> own = sgd.clone();
            own.initial = sgd.initial;
            AdjointSteps own_steps(own, request);
            return walking::one_run(
                own_steps, from ? own_steps.state_of(*from) : own_steps.initial(), request);
          }};
}

}  // namespace popgrad
