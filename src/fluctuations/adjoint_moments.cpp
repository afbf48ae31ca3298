#include "popgrad/fluctuations/adjoint_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "fluctuations/moment_steps.hpp"
#include "fluctuations/observable_readings.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

namespace popgrad {
namespace {

constexpr Index tangents = 16;
constexpr std::uint64_t most_blocks = 64;
/// Of a block, eta |J n| m/|n|: what the fourth power of it neglects is below 1e-4.
constexpr double longest_piece = 0.25;
constexpr std::uint32_t stream_of_tangents = 0xFFFFFFF4U;
constexpr std::uint32_t stream_of_noise = 0xFFFFFFF3U;

class AdjointSteps {
 public:
  explicit AdjointSteps(AnyRung<double> sgd) : sgd_(std::move(sgd)), n_(sgd_.dimension) {
    columns_ = static_cast<Index>(sgd_.columns.size());
    rates_ = sgd_.rates.size() > 0 ? sgd_.rates : Vector<double>(Vector<double>::Ones(n_));
  }

  [[nodiscard]] Index dimension() const { return n_ * (2 + tangents) + 3; }

  [[nodiscard]] Vector<double> initial() const {
    Vector<double> state = Vector<double>::Zero(dimension());
    state.head(n_) = sgd_.initial;
    return state;
  }

  [[nodiscard]] std::vector<std::string> state_names() const {
    std::vector<std::string> names = sgd_.state_names;
    for (const std::string& name : sgd_.state_names) names.push_back("shift_" + name);
    for (Index r = 0; r < tangents; ++r) {
      for (const std::string& name : sgd_.state_names) {
        names.push_back(fmt::format("tangent_{}_{}", name, r));
      }
    }
    names.insert(names.end(), {"eta", "batch", "steps"});
    return names;
  }

  void step(Vector<double>& state, double eta, Index batch) {
    Vector<double> x = state.head(n_);
    const Vector<double> center = field(x);
    const auto count = static_cast<std::uint64_t>(state[dimension() - 1]);
    Vector<double> drift = Vector<double>::Zero(n_);
    Vector<double> draw(n_);
    for (Index r = 0; r < tangents; ++r) {
      auto tangent = state.segment(n_ * (2 + r), n_);
      const Second along = differences(x, tangent, center);
      drift += along.bend / tangents;
      tangent += eta * along.slope;
      if (batch == 0) continue;
      Stream stream(static_cast<std::uint64_t>(r), stream_of_tangents, count);
      sgd_.sample_rhs(x, draw, stream, 1);
      tangent += eta / std::sqrt(static_cast<double>(batch)) * (draw - center);
    }
    state.segment(n_, n_) += eta * (differences(x, state.segment(n_, n_), center).slope + drift);
    state.head(n_) += eta * center;
    state.tail(3) << eta, static_cast<double>(batch), static_cast<double>(count + 1);
  }

  [[nodiscard]] double second_order(const Vector<double>& state) {
    const Vector<double> x = state.head(n_);
    const Vector<double> center = field(x);
    double size = 0, slope = 0, bend = 0, noise = 0, change = 0;
    // The same draw at three states: of the trace of Sigma, the change alone is left to chance.
    Vector<double> draw(n_);
    const auto noise_at = [&](const Vector<double>& at, const Vector<double>& mean, Index r) {
      Stream stream(static_cast<std::uint64_t>(r), stream_of_noise, 0);
      sgd_.sample_rhs(at, draw, stream, 1);
      return (draw - mean).squaredNorm();
    };
    for (Index r = 0; r < tangents; ++r) {
      const auto tangent = state.segment(n_ * (2 + r), n_);
      const Second along = differences(x, tangent, center);
      size += tangent.squaredNorm() / tangents;
      slope += along.slope.squaredNorm();
      bend += along.bend.squaredNorm();
      if (!(tangent.squaredNorm() > 0)) continue;
      const Vector<double> ahead = x + tangent, behind = x - tangent;
      const double own = noise_at(x, center, r);
      noise += own;
      change += (noise_at(ahead, field(ahead), r) + noise_at(behind, field(behind), r)) / 2 - own;
    }
    const double shifted = size > 0 ? state.segment(n_, n_).squaredNorm() / size : 0.0;
    return std::max(
        {shifted, slope > 0 ? bend / slope : 0.0, noise > 0 ? std::fabs(change) / noise : 0.0});
  }

  [[nodiscard]] std::string divergence(const Vector<double>& state, double eta, Index batch) {
    const double ratio = second_order(state);
    if (!(ratio <= tolerated_second_order)) {
      return fmt::format(
          "the prediction ends here: what first order leaves out is {:.2g} of the variance, more "
          "than {:g}; lower --eta {:g} or raise --batch {}, or take an ensemble: the rung sgd with "
          "--runs 200",
          ratio, tolerated_second_order, eta, batch);
    }
    return sgd_.divergence ? sgd_.divergence(state.head(n_), eta, batch) : std::string();
  }

  void observe(const Vector<double>& state, double t, std::span<double> row) {
    const Vector<double> x = state.head(n_);
    const Vector<double> center = observed(sgd_, x, t);
    Vector<double> shift = Vector<double>::Zero(columns_);
    const auto along = [&](const Vector<double>& direction, double of_slope, double of_bend) {
      const double norm = direction.norm();
      if (!(norm > 0)) return;
      const double h = short_step / norm;
      const Vector<double> ahead = observed(sgd_, x + h * direction, t);
      const Vector<double> behind = observed(sgd_, x - h * direction, t);
      shift += of_slope / (2 * h) * (ahead - behind);
      shift += of_bend / (2 * h * h) * (ahead + behind - 2 * center);
    };
    along(state.segment(n_, n_), 1, 0);
    for (Index r = 0; r < tangents; ++r) {
      along(state.segment(n_ * (2 + r), n_), 0, 1.0 / tangents);
    }
    const double eta = state[dimension() - 3];
    const auto batch = static_cast<Index>(state[dimension() - 2]);
    const auto count = static_cast<std::uint64_t>(state[dimension() - 1]);
    const bool sampled = draws_are_sampled(sgd_);
    const bool moved = count > 0 && batch > 0;
    Matrix<double> slopes;
    if (sampled || moved) slopes = observable_gradients(sgd_, x, t, gradient_step);
    const Vector<double> variance = moved ? variances(slopes, eta, batch, count)
                                          : Vector<double>(Vector<double>::Zero(columns_));
    const double sampling = sampled ? sampling_error(sgd_, x, slopes) : 0;
    for (Index k = 0; k < columns_; ++k) {
      const double deviation = std::sqrt(variance[k]);
      // A second difference of what is conserved is rounding.
      const double rounding = 1e-7 * (std::fabs(center[k]) + 1e-3);
      const bool small = std::fabs(shift[k]) + sampling * deviation <=
                         tolerated_second_order * deviation + rounding;
      row[static_cast<std::size_t>(k)] = center[k] + shift[k];
      row[static_cast<std::size_t>(columns_ + k)] =
          small ? deviation : std::numeric_limits<double>::quiet_NaN();
    }
    row[static_cast<std::size_t>(2 * columns_)] = second_order(state);
    if (sampled) row[static_cast<std::size_t>(2 * columns_ + 1)] = sampling;
  }

  // |u.K v - v.K u| over their size, K = P^{-1} J near the start: 0 for a gradient.
  [[nodiscard]] double asymmetry() {
    Stream stream(0, stream_of_tangents, 0);
    const auto direction = [&] {
      Vector<double> made(n_);
      for (double& value : made) value = stream.normal();
      return made;
    };
    constexpr double away = 0.1;
    const Vector<double> x = sgd_.initial + away * direction();
    const Vector<double> u = direction(), v = direction();
    const Vector<double> center = field(x);
    const Vector<double> ju = differences(x, u, center).slope.cwiseQuotient(rates_);
    const Vector<double> jv = differences(x, v, center).slope.cwiseQuotient(rates_);
    const double size = ju.norm() * v.norm() + jv.norm() * u.norm();
    return size > 0 ? std::fabs(v.dot(ju) - u.dot(jv)) * std::sqrt(static_cast<double>(n_)) / size
                    : 0.0;
  }

 private:
  struct Second {
    Vector<double> slope, bend;  ///< J d, f''(d, d)/2
  };

  [[nodiscard]] Vector<double> field(const Vector<double>& x) {
    Vector<double> dx(n_);
    if (sgd_.draw_mean) {
      sgd_.draw_mean(x, dx);
    } else {
      sgd_.rhs(x, dx, 0.0);
    }
    return dx;
  }

  template <class Direction>
  [[nodiscard]] Second differences(const Vector<double>& x, const Direction& direction,
                                   const Vector<double>& center) {
    const double norm = direction.norm();
    if (!(norm > 0)) return {Vector<double>::Zero(n_), Vector<double>::Zero(n_)};
    const double h = short_step / norm;
    const Vector<double> ahead = field(x + h * direction);
    const Vector<double> behind = field(x - h * direction);
    return {(ahead - behind) / (2 * h), (ahead + behind - 2 * center) / (2 * h * h)};
  }

  // J times the columns.
  [[nodiscard]] Matrix<double> pushed(const Vector<double>& x, const Matrix<double>& columns) {
    Matrix<double> images(n_, columns.cols());
    for (Index k = 0; k < columns.cols(); ++k) {
      const double norm = columns.col(k).norm();
      if (!(norm > 0)) {
        images.col(k).setZero();
        continue;
      }
      const double h = short_step / norm;
      images.col(k) = (field(x + h * columns.col(k)) - field(x - h * columns.col(k))) / (2 * h);
    }
    return images;
  }

  // First and one past the last step of a block.
  static std::pair<std::uint64_t, std::uint64_t> ends(std::uint64_t block, std::uint64_t blocks,
                                                      std::uint64_t count) {
    return {block * count / blocks, (block + 1) * count / blocks};
  }

  // Of observables with these gradients.
  [[nodiscard]] Vector<double> variances(const Matrix<double>& slopes, double eta, Index batch,
                                         std::uint64_t count) {
    Vector<double> variance = Vector<double>::Zero(columns_);
    const std::uint64_t blocks = std::min(count, most_blocks);
    std::vector<Vector<double>> middles;
    Vector<double> x = sgd_.initial;
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
        left -= piece(middle, left, eta, batch, carried, variance);
      }
    }
    return variance;
  }

  // Carries the columns back over some of the steps that are left, and returns their number.
  std::uint64_t piece(const Vector<double>& x, std::uint64_t left, double eta, Index batch,
                      Matrix<double>& carried, Vector<double>& variance) {
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
    sgd_.draw_covariance(x, gradients, images);
    const double noise = m * eta * eta / static_cast<double>(batch);
    variance += noise * gradients.cwiseProduct(images).colwise().sum().transpose();
    carried = std::move(whole);
    return steps;
  }

  AnyRung<double> sgd_;
  Index n_, columns_ = 0;
  Vector<double> rates_;
};

}  // namespace

AnyRung<double> adjoint_moments_rung(const AnyRung<double>& sgd, const std::string& where) {
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
  const auto steps = std::make_shared<AdjointSteps>(sgd);
  // Errors of differences are below 1e-6.
  constexpr double rounding = 1e-4;
  if (!(steps->asymmetry() <= rounding)) {
    reject_size(
        "above 512 moments need the adjoint of the mean direction, and it is known only where "
        "that is the gradient of a loss times learning rates, which it is not here");
  }
  AnyRung<double> rung;
  rung.dimension = steps->dimension();
  rung.initial = steps->initial();
  rung.columns = sgd.columns;
  for (const std::string& name : sgd.columns) rung.columns.push_back(name + "_sd");
  rung.columns.emplace_back("second_order");
  if (draws_are_sampled(sgd)) rung.columns.emplace_back("sampling");
  rung.state_names = StateNames::made_by([steps] { return steps->state_names(); });
  rung.observe = [steps](const Vector<double>& x, const double& t, std::span<double> row) {
    steps->observe(x, t, row);
  };
  rung.sample_step = [steps](Vector<double>& x, double eta, Stream& /*stream*/, Index batch) {
    steps->step(x, eta, batch);
  };
  rung.divergence = [steps](const Vector<double>& x, double eta, Index batch) {
    return steps->divergence(x, eta, batch);
  };
  rung.clone = [sgd, where] {
    AnyRung<double> own = sgd.clone();
    own.initial = sgd.initial;
    return adjoint_moments_rung(own, where);
  };
  return rung;
}

}  // namespace popgrad
