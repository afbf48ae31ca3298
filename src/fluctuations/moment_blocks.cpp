#include "fluctuations/moment_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "popgrad/base/stop.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {
namespace {

Propagator combined(double a, const Propagator& p, double b, const Propagator& q) {
  return {a * p.power + b * q.power, a * p.noise + b * q.noise, a * p.shift + b * q.shift};
}

Vector<double> deviations_along(const Matrix<double>& axes, const Matrix<double>& covariance) {
  return (axes.transpose() * covariance * axes).diagonal().cwiseMax(0.0).cwiseSqrt();
}

// 1 over deviations; those of less than some part of the largest do not count.
Vector<double> scale_of(const Matrix<double>& covariance) {
  constexpr double least = 1e-4;
  const auto variances = covariance.diagonal().cwiseMax(0.0).array();
  return (variances + least * least * variances.maxCoeff()).rsqrt();
}

// How much of a deviation the one covariance is off from the other.
double relative_change(const Matrix<double>& from, const Matrix<double>& to) {
  if (to.isZero(0)) return 0;
  const Matrix<double> change = to - from;
  if (!change.allFinite()) return std::numeric_limits<double>::infinity();
  const Vector<double> scale = scale_of(to);
  return (scale.asDiagonal() * change * scale.asDiagonal()).cwiseAbs().maxCoeff() / 2;
}

Propagator none(const Propagator& like) { return combined(0, like, 0, like); }

// Numbers of a path that are kept.
constexpr std::uint64_t most_numbers = std::uint64_t{1} << 22U;
constexpr std::uint64_t most_steps = std::uint64_t{1} << 14U;

}  // namespace

StepsOfBlock::StepsOfBlock(const Propagator& at_first)
    : first_(at_first), slope_(none(at_first)), bend_(none(at_first)) {}

StepsOfBlock::StepsOfBlock(const Propagator& at_first, const Propagator& later, double number)
    : first_(at_first),
      slope_(combined(1 / number, later, -1 / number, at_first)),
      bend_(none(at_first)) {}

StepsOfBlock::StepsOfBlock(const Propagator& at_first, const Propagator& middle,
                           const Propagator& last, double length)
    : first_(at_first) {
  const Propagator ends = combined(1, at_first, 1, last);
  bend_ = combined(2 / (length * length), ends, -4 / (length * length), middle);
  const Propagator to_last = combined(1 / length, last, -1 / length, at_first);
  slope_ = combined(1, to_last, -length, bend_);
}

void StepsOfBlock::apply(std::uint64_t count, Matrix<double>& covariance,
                         Vector<double>& mean) const {
  const auto use = [&](const Propagator& moved) {
    covariance = congruent(moved.power, covariance) + moved.noise;
    mean = moved.power * mean + moved.shift;
  };
  // What powers of both halves cost as well.
  constexpr std::uint64_t one_by_one = 10;
  if (count <= one_by_one) {
    for (std::uint64_t step = 0; step < count; ++step) {
      const auto k = static_cast<double>(step);
      use(combined(1, combined(1, first_, k, slope_), k * k, bend_));
    }
    return;
  }
  const auto j = static_cast<double>(count);
  // Mean of k and k^2 over k < j; their slopes over these k.
  const Propagator average =
      combined(1, combined(1, first_, (j - 1) / 2, slope_), (j - 1) * (2 * j - 1) / 6, bend_);
  const Propagator slope = combined(1, slope_, j - 1, bend_);
  const std::uint64_t half = count / 2;
  const double moment = (j * j - 1) / 6;
  use(repeated(combined(1, average, -moment / static_cast<double>(half), slope), half));
  use(repeated(combined(1, average, moment / static_cast<double>(count - half), slope),
               count - half));
}

void StepsOfBlock::apply_to_mean(std::uint64_t count, Vector<double>& mean) const {
  for (std::uint64_t step = 0; step < count; ++step) {
    const auto k = static_cast<double>(step);
    const Vector<double> bent = bend_.power * mean + bend_.shift;
    const Vector<double> sloped = slope_.power * mean + slope_.shift;
    mean = first_.power * mean + first_.shift + k * (sloped + k * bent);
  }
}

MomentBlocks::MomentBlocks(AnyRung<double> rung, std::uint64_t longest, Prepare prepare)
    : law_(std::move(rung)),
      longest_(longest),
      prepare_(std::move(prepare)),
      of_third_(Propagator{}),
      orders_{StepsOfBlock(Propagator{}), StepsOfBlock(Propagator{})} {}

std::uint64_t MomentBlocks::longest_here() const {
  const auto n = static_cast<std::uint64_t>(law_.size());
  const std::uint64_t kept = std::bit_floor(std::max<std::uint64_t>(2, most_numbers / n));
  return std::min({longest_, kept, most_steps});
}

bool MomentBlocks::by_sums() const {
  // As many evaluations as the derivatives of the law take.
  constexpr Index most_axes = 64;
  return law_.size() > most_axes && law_.has_jacobian();
}

Vector<double> MomentBlocks::Bends::drift(const Matrix<double>& covariance) const {
  if (axes.size() == 0) {
    const double now = covariance.trace();
    return trace > 0 ? Vector<double>(now / trace * mean) : mean;
  }
  const Vector<double> variances =
      (axes.transpose() * covariance).cwiseProduct(axes.transpose()).rowwise().sum();
  return along * variances;
}

MomentBlocks::Derivatives MomentBlocks::derivatives(const Vector<double>& x,
                                                    const Vector<double>& center,
                                                    const Matrix<double>& covariance, Nodes nodes,
                                                    std::uint64_t number) {
  const Index n = law_.size();
  Derivatives made;
  if (by_sums()) {
    const Matrix<double> root = square_root(covariance);
    made.bends.mean = law_.drift(x, center, root, nodes, number);
    made.bends.trace = covariance.trace();
    if (nodes == Nodes::tangent) {
      made.jacobian = law_.jacobian(x);
    } else {
      const Vector<double> apart = root * random_signs(n, number);
      made.jacobian = (law_.jacobian(x + apart) + law_.jacobian(x - apart)) / 2;
    }
    return made;
  }
  const PrincipalAxes principal = principal_axes(covariance);
  made.bends.axes = principal.vectors;
  made.bends.along.resize(n, n);
  Matrix<double> slopes(n, n);
  for (Index k = 0; k < n; ++k) {
    const double deviation = std::sqrt(std::max(0.0, principal.values[k]));
    const double reach =
        nodes == Nodes::gauss ? std::max(short_step, std::sqrt(3.0) * deviation) : short_step;
    const StepLaw::Second along = law_.along(x, principal.vectors.col(k), center, reach);
    made.bends.along.col(k) = along.bend;
    slopes.col(k) = along.slope;
  }
  made.jacobian = slopes * principal.vectors.transpose();
  return made;
}

Matrix<double> MomentBlocks::third_axes(const Bends& bends, const Matrix<double>& covariance) {
  if (bends.axes.cols() > 0 && !covariance.isZero(0)) return bends.axes;
  return principal_axes(covariance).vectors;
}

// From nodes a covariance of a draw is a sum over all of them, and is wanted at two points of every axis.
bool MomentBlocks::has_thirds() const {
  return law_.size() <= most_third_axes && steps_.batch > 0 &&
         !law_.rung().draws.known_from_nodes();
}

StepSize MomentBlocks::step_size() const { return {steps_.eta, static_cast<double>(steps_.batch)}; }

// E Sigma by the rule of three points along the axes, and its slopes.
Matrix<double> MomentBlocks::mean_noise(const Vector<double>& x, const Matrix<double>& covariance,
                                        Curvature& curvature) {
  const Matrix<double>& axes = curvature.axes;
  const Index r = axes.cols();
  const Matrix<double> at_x = law_.draw_covariance(x);
  Matrix<double> mean = at_x;
  const Vector<double> deviations = deviations_along(axes, covariance);
  curvature.noise_slopes.resize(r * r, r);
  for (Index k = 0; k < r; ++k) {
    const double reach = std::max(short_step, std::sqrt(3.0) * deviations[k]);
    const Vector<double> off = reach * axes.col(k);
    const Matrix<double> ahead = law_.draw_covariance(x + off);
    const Matrix<double> behind = law_.draw_covariance(x - off);
    curvature.noise_slopes.col(k) =
        (axes.transpose() * (ahead - behind) * axes / (2 * reach)).reshaped();
    const double share = deviations[k] / reach;
    mean += share * share / 2 * (ahead + behind - 2 * at_x);
  }
  return mean;
}

// Second derivatives of the direction and third cumulants of a draw.
void MomentBlocks::bend(const Vector<double>& x, const Matrix<double>& covariance,
                        std::uint64_t number, Curvature& curvature) {
  const Index n = law_.size();
  const Matrix<double>& axes = curvature.axes;
  const Index r = axes.cols();
  const Vector<double> deviations = deviations_along(axes, covariance);
  const double least = std::max(short_step, 1e-3 * deviations.maxCoeff());
  Matrix<double> steps(n, r);
  for (Index k = 0; k < r; ++k) {
    steps.col(k) = std::max(least, std::sqrt(1.5) * deviations[k]) * axes.col(k);
  }
  Vector<double> center(n), ahead(n), behind(n);
  law_.field(x, center);
  const auto second = [&](const Vector<double>& off) -> Vector<double> {
    law_.field(x + off, ahead);
    law_.field(x - off, behind);
    return ahead + behind - 2 * center;
  };
  Matrix<double> own(n, r);
  for (Index k = 0; k < r; ++k) own.col(k) = second(std::sqrt(2.0) * steps.col(k)) / 2;
  curvature.bends.resize(n, r * r);
  for (Index k = 0; k < r; ++k) {
    const double size = steps.col(k).norm();
    curvature.bends.col(k + r * k) = own.col(k) / (size * size);
    for (Index l = 0; l < k; ++l) {
      curvature.bends.col(k + r * l) = curvature.bends.col(l + r * k) =
          (second(steps.col(k) + steps.col(l)) - own.col(k) - own.col(l)) /
          (2 * size * steps.col(l).norm());
    }
  }
  curvature.of_draw = Matrix<double>::Zero(r, r * r);
  if (!law_.rung().draws.sample) return;
  constexpr Index draws = 1024;
  constexpr std::uint32_t stream_of_draws = 0xFFFFFFF6U;
  Matrix<double> seen(n, draws);
  for (Index k = 0; k < draws; ++k) {
    Stream stream(static_cast<std::uint64_t>(k), stream_of_draws, number);
    law_.rung().draws.sample(x, ahead, stream, 1);
    seen.col(k) = ahead;
  }
  curvature.of_draw = third_of_samples(axes.transpose() * seen);
}

void MomentBlocks::add_thirds(Node& first, Node& middle, Node& last) {
  const Matrix<double>& axes = middle.curvature.axes;
  if (middle.curvature.bends.size() == 0) {
    bend(middle_.mean(), middle_.second, steps_.first + steps_.length / 2, middle.curvature);
  }
  const auto length = static_cast<double>(steps_.length);
  const std::array<Node*, 3> nodes{&first, &middle, &last};
  const std::array<const MomentLaw*, 3> laws{&begin_, &middle_, &end_};
  std::array<Curvature, 3> curvatures;
  std::array<Matrix<double>, 3> sources;
  for (std::size_t i = 0; i < 3; ++i) {
    curvatures[i] = middle.curvature;
    curvatures[i].noise_slopes = nodes[i]->curvature.slopes_along(axes);
    sources[i] = third_source(curvatures[i], nodes[i]->second.power, laws[i]->second, step_size());
  }
  third_begin_ = begin_.third.along(axes);
  const std::uint64_t half = steps_.length / 2;
  const auto moved = [&](const Matrix<double>& third, std::uint64_t from, std::uint64_t count) {
    // Mean of k and k^2 over these steps.
    const auto a = static_cast<double>(from), h = static_cast<double>(count);
    const double t = (a + (h - 1) / 2) / length;
    const double t2 = (a * a + a * (h - 1) + (h - 1) * (2 * h - 1) / 6) / (length * length);
    const double of_first = 1 - 3 * t + 2 * t2, of_middle = 4 * (t - t2), of_last = 2 * t2 - t;
    const Matrix<double> power = of_first * first.second.power + of_middle * middle.second.power +
                                 of_last * last.second.power;
    return third_after(axes.transpose() * power * axes,
                       of_first * sources[0] + of_middle * sources[1] + of_last * sources[2], third,
                       count);
  };
  middle_.third = {axes, moved(third_begin_, 0, half), begin_.third.added};
  end_.third = {axes, moved(middle_.third.values, half, steps_.length - half), begin_.third.added};
  const std::array<const Matrix<double>*, 3> thirds{&third_begin_, &middle_.third.values,
                                                    &end_.third.values};
  const Vector<double> nothing = Vector<double>::Zero(law_.size());
  std::array<Propagator, 3> effects;
  for (std::size_t i = 0; i < 3; ++i) {
    const Matrix<double>& power = nodes[i]->second.power;
    effects[i] = {power,
                  third_effect(curvatures[i], power, laws[i]->second, *thirds[i], step_size()),
                  nothing};
    nodes[i]->second.noise = nodes[i]->noise + effects[i].noise;
  }
  of_third_ = StepsOfBlock(effects[0], effects[1], effects[2], length);
  Vector<double> mean = nothing;
  of_third_.apply(half, middle_.third.added, mean);
  of_third_.apply(steps_.length, end_.third.added, mean);
}

ThirdCumulants MomentBlocks::third_after_steps(std::uint64_t count) const {
  const double t = static_cast<double>(count) / static_cast<double>(steps_.length);
  ThirdCumulants made{end_.third.axes,
                      (1 - t) * (1 - 2 * t) * third_begin_ +
                          4 * t * (1 - t) * middle_.third.values +
                          t * (2 * t - 1) * end_.third.values,
                      begin_.third.added};
  Vector<double> mean = Vector<double>::Zero(law_.size());
  of_third_.apply(count, made.added, mean);
  return made;
}

MomentBlocks::Node MomentBlocks::node_at(const MomentLaw& law, std::uint64_t number) {
  const Index n = law_.size();
  const double eta = steps_.eta;
  const double noise = steps_.batch > 0 ? eta * eta / static_cast<double>(steps_.batch) : 0.0;
  const Matrix<double> identity = Matrix<double>::Identity(n, n);
  Node node;
  Vector<double> at_path(n), at_mean(n);
  law_.field(law.path, at_path);
  Derivatives made = derivatives(law.path, at_path, law.first, Nodes::tangent, number);
  node.first.power = identity + eta * made.jacobian;
  node.first.noise = Matrix<double>::Zero(n, n);
  if (noise > 0) node.first.noise = noise * law_.draw_covariance(law.path);
  node.first_bends = std::move(made.bends);
  const bool apart = law.second.trace() > 0;
  if (!apart && law.gap.isZero(0)) {
    node.second = node.first;
    node.second_bends = node.first_bends;
    node.rest = Vector<double>::Zero(n);
  } else {
    const Vector<double> mean = law.path + law.gap;
    law_.field(mean, at_mean);
    made = derivatives(mean, at_mean, law.second, Nodes::gauss, number);
    node.second.power = identity + eta * made.jacobian;
    node.second.noise = Matrix<double>::Zero(n, n);
    if (noise > 0) {
      if (has_thirds()) {
        node.curvature.axes = third_axes(made.bends, law.second);
        node.second.noise = noise * mean_noise(mean, law.second, node.curvature);
      } else {
        const Vector<double> off = square_root(law.second) * random_signs(n, number);
        node.second.noise = noise * law_.draw_covariance(mean + off, mean - off);
      }
    }
    node.second_bends = std::move(made.bends);
    node.rest = at_mean - at_path - made.jacobian * law.gap;
  }
  if (has_thirds() && node.curvature.axes.size() == 0) {
    node.curvature.axes = third_axes(node.second_bends, node.second.noise);
    mean_noise(law.path, law.second, node.curvature);
  }
  node.noise = node.second.noise;
  refresh(node, law);
  return node;
}

void MomentBlocks::refresh(Node& node, const MomentLaw& law) const {
  node.first.shift = steps_.eta * node.first_bends.drift(law.first);
  node.second.shift = steps_.eta * (node.rest + node.second_bends.drift(law.second));
}

void MomentBlocks::walk_to(std::uint64_t count) {
  if (path_.cols() <= static_cast<Index>(count)) {
    path_.conservativeResize(law_.size(), static_cast<Index>(count) + 1);
  }
  Vector<double> x = path_.col(static_cast<Index>(walked_));
  for (; walked_ < count; ++walked_) {
    law_.field(x, direction_);
    x += steps_.eta * direction_;
    path_.col(static_cast<Index>(walked_) + 1) = x;
  }
}

MomentLaw MomentBlocks::moved(const StepsOfBlock& first, const StepsOfBlock& second,
                              std::uint64_t count) const {
  MomentLaw law = begin_;
  law.path = path_.col(static_cast<Index>(count));
  first.apply(count, law.first, law.shift);
  second.apply(count, law.second, law.gap);
  return law;
}

void MomentBlocks::interpolate(const Node& begin, const Node& middle, const Node& last) {
  const auto length = static_cast<double>(steps_.length);
  orders_ = {StepsOfBlock(begin.first, middle.first, last.first, length),
             StepsOfBlock(begin.second, middle.second, last.second, length)};
}

// With D the third divided difference of M, the remainder D k (k - L/2) (k - L) has the sum L^4/64 D
// over half a block, and 0 over a whole one.
double MomentBlocks::error_of(const Propagator& begin, const Propagator& middle,
                              const Propagator& last, const Propagator& before,
                              const Matrix<double>& covariance, const Vector<double>& mean,
                              Counted counted) const {
  const auto length = static_cast<double>(steps_.length);
  // Without a step before: as if the second difference were new at every block.
  double weight = length / 48;
  Propagator off = combined(1, combined(1, begin, 1, last), -2, middle);
  if (has_before_) {
    // The quadratic through the steps -p, 0 and L/2, taken on to L.
    const double p = static_cast<double>(before_.steps.length) / 2;
    const double h = length / 2;
    const Propagator earlier = combined(2 * h * h / (p * (p + h)), before, -(2 * h + p) / p, begin);
    off = combined(1, combined(1, last, -2 * (2 * h + p) / (h + p), middle), -1, earlier);
    weight = length * length / (32 * (length + p));
  }
  if (!counted.noise) off.noise.setZero();
  if (!counted.shift) off.shift.setZero();
  const Matrix<double> moved = off.power * covariance;
  const Matrix<double> change = weight * (moved + moved.transpose() + off.noise);
  const Vector<double> change_of_mean = weight * (off.power * mean + off.shift);
  if (covariance.isZero(0)) return 0;
  if (!change.allFinite() || !change_of_mean.allFinite()) {
    return std::numeric_limits<double>::infinity();
  }
  const Vector<double> scale = scale_of(covariance);
  return std::max((scale.asDiagonal() * change * scale.asDiagonal()).cwiseAbs().maxCoeff() / 2,
                  scale.cwiseProduct(change_of_mean).cwiseAbs().maxCoeff());
}

// Of the difference of orders, on the covariance over the block.
double MomentBlocks::contribution(const Node& node, const MomentLaw& law) const {
  const auto length = static_cast<double>(steps_.length);
  const Matrix<double> moved = (node.second.power - node.first.power) * law.second;
  return relative_change(law.second, law.second + length * (moved + moved.transpose() +
                                                            node.second.noise - node.first.noise));
}

void MomentBlocks::make(const MomentLaw& begin, const Steps& steps, bool fixed) {
  const bool goes_on = has_before_ && before_.steps.eta == steps.eta &&
                       before_.steps.batch == steps.batch &&
                       before_.steps.first + before_.steps.length == steps.first &&
                       before_.end.path == begin.path && before_.end.shift == begin.shift;
  has_before_ = goes_on;
  steps_ = steps;
  begin_ = begin;
  if (begin_.third.values.size() == 0) begin_.third = ThirdCumulants::none(law_.size());
  if (prepare_) prepare_(steps.eta, steps.batch);
  path_.resize(law_.size(), 1);
  path_.col(0) = begin.path;
  walked_ = 0;
  Node first = goes_on ? std::move(before_.last) : node_at(begin, steps.first);
  refresh(first, begin);
  if (longest_here() == 1) {
    steps_.length = next_length_ = 1;
    error_ = 0;
    walk_to(1);
    ThirdCumulants third = begin_.third;
    if (has_thirds()) {
      bend(begin.mean(), begin.second, steps.first, first.curvature);
      const Matrix<double>& axes = first.curvature.axes;
      const Matrix<double>& power = first.second.power;
      const Matrix<double> now = third.along(axes);
      const Matrix<double> effect =
          third_effect(first.curvature, power, begin.second, now, step_size());
      first.second.noise = first.noise + effect;
      third = {axes,
               cubed(axes.transpose() * power * axes, now) +
                   third_source(first.curvature, power, begin.second, step_size()),
               congruent(power, third.added) + effect};
    }
    orders_ = {StepsOfBlock(first.first), StepsOfBlock(first.second)};
    end_ = moved(orders_[0], orders_[1], 1);
    end_.third = std::move(third);
    middle_ = end_;
    has_before_ = false;
    return;
  }
  if (steps_.length == 0) {
    // Short beside the time in which deviations change, sums of squares being more than any.
    constexpr double part = 0.5;
    const double rate =
        (first.first.power - Matrix<double>::Identity(law_.size(), law_.size())).norm();
    const auto most = static_cast<double>(longest_here());
    // Of a walk that has diverged the rate is not a number.
    const double guess = std::isnan(rate) ? 2.0 : std::clamp(part / rate, 2.0, most);
    steps_.length = std::bit_floor(static_cast<std::uint64_t>(guess));
  }
  steps_.length = std::clamp<std::uint64_t>(steps_.length, 2, longest_here());
  Node middle, last;
  MomentLaw likely_last;
  bool has_last = false;
  for (;; steps_.length /= 2) {
    const std::uint64_t length = steps_.length;
    const auto half = static_cast<double>(length) / 2;
    walk_to(length);
    // What the middle will be, from the slope of the block before.
    std::array<StepsOfBlock, 2> likely{StepsOfBlock(first.first), StepsOfBlock(first.second)};
    if (goes_on) {
      const double p = static_cast<double>(before_.steps.length) / 2;
      likely = {StepsOfBlock(first.first, before_.middle, -p),
                StepsOfBlock(first.second, before_.middle_second, -p)};
    }
    const MomentLaw likely_middle = moved(likely[0], likely[1], length / 2);
    middle = node_at(likely_middle, steps_.first + length / 2);
    if (!has_last) {
      likely = {StepsOfBlock(first.first, middle.first, half),
                StepsOfBlock(first.second, middle.second, half)};
      likely_last = moved(likely[0], likely[1], length);
      last = node_at(likely_last, steps_.first + length);
    }
    // The law by all three, and the drifts by that law.
    interpolate(first, middle, last);
    middle_ = moved(orders_[0], orders_[1], length / 2);
    end_ = moved(orders_[0], orders_[1], length);
    if (has_thirds()) {
      add_thirds(first, middle, last);
      interpolate(first, middle, last);
      middle_.second = end_.second = begin_.second;
      middle_.gap = end_.gap = begin_.gap;
      orders_[1].apply(length / 2, middle_.second, middle_.gap);
      orders_[1].apply(length, end_.second, end_.gap);
    }
    refresh(middle, middle_);
    refresh(last, end_);
    interpolate(first, middle, last);
    const bool smooth = !by_sums();
    error_ = std::max(
        {error_of(first.first, middle.first, last.first, before_.middle, end_.first, end_.shift,
                  {true, smooth}),
         smooth ? error_of(first.second, middle.second, last.second, before_.middle_second,
                           end_.second, end_.gap, {false, true})
                : 0.0,
         // By as much is off what the covariance contributes to a step, its own being assumed.
         contribution(middle, middle_) * relative_change(likely_middle.second, middle_.second),
         contribution(last, end_) * relative_change(likely_last.second, end_.second)});
    if (fixed || length == 2 || error_ <= block_error) {
      // Drifts move the means alone.
      end_.shift = begin_.shift;
      end_.gap = begin_.gap;
      orders_[0].apply_to_mean(length, end_.shift);
      orders_[1].apply_to_mean(length, end_.gap);
      // The error goes with the fourth power of the length.
      next_length_ = length;
      if (error_ <= block_error / 24) next_length_ *= 2;
      if (error_ <= block_error / 400) next_length_ *= 2;
      break;
    }
    last = std::move(middle);
    likely_last = likely_middle;
    has_last = true;
  }
  before_ = {steps_, end_, middle.first, middle.second, std::move(last)};
  has_before_ = true;
}

MomentLaw MomentBlocks::after(std::uint64_t count) const {
  if (count == 0) return begin_;
  if (count == steps_.length) return end_;
  MomentLaw law = moved(orders_[0], orders_[1], count);
  if (has_thirds()) law.third = third_after_steps(count);
  return law;
}

MomentBlocks::Glance MomentBlocks::glance(std::uint64_t count) const {
  const double t = static_cast<double>(count) / static_cast<double>(steps_.length);
  const double of_begin = (1 - t) * (1 - 2 * t);
  const double of_middle = 4 * t * (1 - t);
  const double of_end = t * (2 * t - 1);
  const auto between = [&](const auto& begin, const auto& middle, const auto& end) {
    return (of_begin * begin + of_middle * middle + of_end * end);
  };
  return {
      path_.col(static_cast<Index>(count)),
      between(begin_.shift, middle_.shift, end_.shift),
      between(begin_.gap, middle_.gap, end_.gap),
      between(begin_.first.trace(), middle_.first.trace(), end_.first.trace()),
      between(begin_.second.trace(), middle_.second.trace(), end_.second.trace()),
      between(begin_.third.added.trace(), middle_.third.added.trace(), end_.third.added.trace())};
}

MomentLaw law_after(const AnyRung<double>& rung, double eta, Index batch, std::uint64_t steps) {
  MomentBlocks each(rung, 1, {});
  MomentLaw law = MomentLaw::of_state(rung.initial);
  for (std::uint64_t step = 0; step < steps; ++step) {
    throw_if_stopped();
    each.make(law, {eta, batch, step});
    law = each.after(1);
  }
  return law;
}

}  // namespace popgrad
