#include "theorems/scb/rungs/three_part_descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/observables.hpp"

namespace popgrad::scb {

ThreePartDescent::ThreePartDescent(Training<double> training, Schedule schedule,
                                   std::optional<NoiseLevels> levels)
    : sampled_(std::move(training)),
      levels_(std::move(levels)),
      schedule_(schedule),
      transition_size_(scb::transition_size(sampled_.training().bigrams)),
      context_size_(scb::context_size(sampled_.training().bigrams)),
      goal_(boost_goal(schedule_, sampled_.training())) {
  if (sampled_.training().softmax || !sampled_.training().project) {
    reject("scb", sampled_.training().softmax ? "--attention" : "--no-project", "as given",
           fmt::format("does not go with --algorithm {}, which is for linear attention, projected",
                       schedule_.transfer ? "transfer" : "three-part"));
  }
  if (levels_) noisy_.emplace(sampled_.training(), *levels_);
}

Vector<double> ThreePartDescent::initial() const {
  Vector<double> x(dimension());
  x.head(sampled_.dimension()) = sampled_.initial();
  set_part(x, Part::boost);
  return x;
}

std::vector<std::string> ThreePartDescent::columns() const {
  return names_of(observables_in_parts());
}

std::vector<std::string> ThreePartDescent::state_names() const {
  return with_part_states(sampled_.state_names());
}

Eigen::Map<Matrix<double>> ThreePartDescent::attention(Vector<double>& x) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  return {x.data() + b.tokens() * b.tokens(), b.context, b.tokens()};
}

// Part 1 keeps every S_k at 1.
double ThreePartDescent::attention_coefficient(const Vector<double>& x) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const double share = 1 / static_cast<double>(b.context);
  const double* const a = x.data() + b.tokens() * b.tokens();
  double alpha = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    double overlap = 0;
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      overlap += b.law[e] * a[k * b.context + b.position[static_cast<std::size_t>(e)]];
    }
    alpha += b.stationary[k] * (overlap - share);
  }
  return alpha / (context_size_ - share);
}

void ThreePartDescent::rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const {
  sampled_.rhs(x, dx, t);
  dx.tail(2).setZero();
  if (schedule_.transfer && part_of(x) == Part::boost) values(dx).setZero();
}

Eigen::Ref<Vector<double>> ThreePartDescent::values(Vector<double>& x) const {
  const Index n = sampled_.training().bigrams.tokens();
  return x.head(n * n);
}

void ThreePartDescent::sample_step(Vector<double>& x, double step, Stream& stream,
                                   Index batch) const {
  direction_.resize(x.size());
  switch (part_of(x)) {
    case Part::normalised:
      return;
    case Part::l1:
      l1_step(x, stream, batch);
      if (count_step(x) == schedule_.l1_steps) normalise(x);
      return;
    case Part::boost:
      break;
  }
  if (noisy_) {
    if (schedule_.transfer) values_ = values(x);
    noisy_->sample_step(x, step, stream, batch);
    if (schedule_.transfer) values(x) = values_;
  } else {
    if (batch == 0) {
      sampled_.rhs(x, direction_, 0.0);
    } else {
      sampled_.sample_rhs(x, direction_, stream, batch);
    }
    direction_.tail(2).setZero();
    if (schedule_.transfer) values(direction_).setZero();
    x += step * direction_;
  }
  if (count_step(x) == schedule_.boost_steps || attention_coefficient(x) >= goal_) {
    begin_l1(x);
  }
}

void ThreePartDescent::begin_l1(Vector<double>& x) const {
  auto a = attention(x);
  for (Index k = 0; k < a.cols(); ++k) {
    a.col(k) = (a.col(k).array() < schedule_.threshold).select(0.0, a.col(k));
    const double kept = a.col(k).sum();
    if (kept > 0) a.col(k) /= kept;
  }
  set_part(x, Part::l1);
}

void ThreePartDescent::l1_step(Vector<double>& x, Stream& stream, Index batch) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Index n = b.tokens();
  const double rate = sampled_.training().attention_rate;
  const double step = schedule_.l1_step;
  auto a = attention(x);
  NoiseScale scale;
  if (batch > 0 && !levels_) {
    sampled_.sample_rhs(x, direction_, stream, batch);
  } else {
    sampled_.rhs(x, direction_, 0.0);
    if (batch > 0) {
      const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
      const double size = a.colwise().squaredNorm() * b.stationary;
      scale = noise_scale(levels_->shape, batch, size, covariance_product(v, v, b.stationary),
                          transition_size_, context_size_);
      Eigen::Map<Matrix<double>> dv(direction_.data(), n, n);
      noise_.draw(b, stream);
      for (Index k = 0; k < n; ++k) dv.col(k) += scale.value * levels_->value * noise_.column(k);
    }
  }
  const auto da = attention(direction_);
  const double threshold = step * rate * schedule_.l1_weight;
  z_.setZero(b.context);
  for (Index k = 0; k < n; ++k) {
    const double noise = levels_ ? step * rate * scale.attention * levels_->attention[k] : 0.0;
    if (noise > 0) stream.normals({z_.data(), static_cast<std::size_t>(z_.size())});
    for (Index t = 0; t < b.context; ++t) {
      a(t, k) = soft_threshold(a(t, k) + step * da(t, k) + noise * z_[t], threshold);
    }
  }
  x.head(n * n) += step * direction_.head(n * n);
}

void ThreePartDescent::normalise(Vector<double>& x) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Index n = b.tokens();
  auto a = attention(x);
  const double mass = a.colwise().sum().dot(b.stationary);
  for (Index k = 0; k < n; ++k) {
    const double own = a.col(k).sum();
    if (own != 0) a.col(k) /= own;
  }
  Eigen::Map<Matrix<double>> v(x.data(), n, n);
  v = (mass * (v.colwise() - b.stationary)).colwise() + b.stationary;
  set_part(x, Part::normalised);
}

void ThreePartDescent::observe(const Vector<double>& x, const double& t,
                               std::span<double> row) const {
  sampled_.observe(x, t, row.first(row.size() - 2));
  const Bigrams<double>& b = sampled_.training().bigrams;
  const double* const a = x.data() + b.tokens() * b.tokens();
  row[row.size() - 2] = static_cast<double>(part_of(x));
  row[row.size() - 1] = static_cast<double>(
      std::count_if(a, a + b.tokens() * b.context, [](double v) { return v != 0; }));
}

std::string ThreePartDescent::divergence(const Vector<double>& x, double step, Index batch) const {
  if (!schedule_.transfer || part_of(x) != Part::boost) {
    return sampled_.divergence(x, step, batch);
  }
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  const Eigen::Map<const Matrix<double>> a(x.data() + n * n, b.context, n);
  return divergence_while_values_stay(v.squaredNorm(), a.colwise().squaredNorm() * b.stationary,
                                      b.context, covariance_product(v, v, b.stationary), step,
                                      sampled_.training().attention_rate, batch);
}

}  // namespace popgrad::scb
