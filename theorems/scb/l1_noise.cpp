#include "theorems/scb/l1_noise.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "popgrad/scb/geometry.hpp"

namespace popgrad::theorems::scb {

using namespace popgrad::scb;

namespace {

constexpr int steps_taken = 8;

double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

// By the trapezoidal rule on |u| up to `reach`: smooth, and nothing is left beyond.
double soft_noise_at(double h, double rho, int steps, double spacing) {
  constexpr double reach = 12;
  const auto points = static_cast<Index>(reach / spacing) + 1;
  const Vector<double> u = Vector<double>::LinSpaced(points, 0, reach);
  Vector<double> weight = Vector<double>::Constant(points, reach / static_cast<double>(points - 1));
  weight[0] /= 2;
  Vector<double> from_zero(points);
  Matrix<double> kernel(points, points);
  for (Index i = 0; i < points; ++i) {
    from_zero[i] = 2 * density(u[i] + h);
    for (Index j = 0; j < points; ++j) {
      kernel(i, j) = weight[j] * (density(u[i] + h - rho * u[j]) + density(u[i] + h + rho * u[j]));
    }
  }
  Vector<double> law = Vector<double>::Zero(points);
  for (int i = 0; i < steps; ++i) {
    const double at_zero = 1 - weight.dot(law);
    law = kernel * law + at_zero * from_zero;
  }
  return (weight.array() * law.array() * u.array().square()).sum();
}

}  // namespace

Quantity soft_noise(double h, double rho, int steps) {
  constexpr double spacing = 0.1;
  const double fine = soft_noise_at(h, rho, steps, spacing / 2);
  return {fine, {ErrorPart::enclosure(fine - soft_noise_at(h, rho, steps, spacing))}};
}

L1Noise::L1Noise(const Bigrams<double>& bigrams, double weight)
    : bigrams_(bigrams),
      levels_(noise_at_solution(bigrams)),
      weight_(weight),
      transition_size_(transition_size(bigrams)),
      context_size_(context_size(bigrams)) {
  constexpr double share = 0.2;  // of the faster relaxation time
  step_ = share / (transition_size_ + context_size_);
  constexpr double long_context = 1e9;
  const LumpedThreePart quiet = rung(long_context);
  Vector<double> x = settled(quiet);
  square_ = square_of(x);
  Stream unused(0, 0, 0);
  for (int i = 0; i < steps_taken; ++i) quiet.sample_step(x, step_, unused, 0);
  later_square_ = square_of(x);
}

LumpedThreePart L1Noise::rung(double positions) const {
  Training<double> training;
  training.bigrams = bigrams_;
  training.bigrams.context = std::lround(positions);
  training.start = bigrams_.transition;
  // One step without noise, of V kept at P, takes A from 1/T to Q.
  Schedule schedule;
  schedule.transfer = true;
  schedule.boost_steps = 1;
  schedule.threshold = bigrams_.law.minCoeff() / 2;
  schedule.l1_step = step_;
  schedule.l1_weight = weight_;
  return {training, schedule, levels_};
}

Vector<double> L1Noise::settled(const LumpedThreePart& rung) const {
  constexpr double relaxations = 8;
  const auto steps = static_cast<std::uint64_t>(
      std::ceil(relaxations / (step_ * std::min(transition_size_, context_size_))));
  Vector<double> x = rung.initial();
  Stream unused(0, 0, 0);
  rung.sample_step(x, 1 / transition_size_, unused, 0);
  for (std::uint64_t i = 0; i < steps; ++i) rung.sample_step(x, step_, unused, 0);
  return x;
}

double L1Noise::square_of(const Vector<double>& x) const {
  const Index n = bigrams_.tokens();
  const Matrix<double> v = x.head(n * n).reshaped(n, n);
  return covariance_product(v, v, bigrams_.stationary);
}

Quantity L1Noise::at(double square, double positions, double batch) const {
  Quantity sum;
  for (Index k = 0; k < bigrams_.tokens(); ++k) {
    const double level = levels_.attention[k] * std::sqrt(square / transition_size_ / batch);
    const double many = positions - static_cast<double>(bigrams_.support(k));
    sum = sum + Quantity(bigrams_.stationary[k] * many * std::pow(step_ * level, 2)) *
                    soft_noise(weight_ / level, 1 - step_ * square, steps_taken);
  }
  return sum;
}

Quantity L1Noise::derived(double positions, double batch) const {
  // The noise of a step scales with <V,V> before it: the last one with that of a step ago.
  const double a_step = (later_square_ - square_) / steps_taken;
  const double last = later_square_ - a_step;
  Quantity sum = at(last, positions, batch);
  const Vector<double>& mu = bigrams_.stationary;
  const auto n = static_cast<double>(mu.size());
  // <W,W> that V gains during the steps, and the creep of <V,V> during as many as are remembered.
  const double coordinates = (n - 1) * (n - 2 + n * mu.squaredNorm());
  const double of_values = steps_taken * std::pow(step_ * levels_.value, 2) * coordinates / batch;
  const double rho = 1 - step_ * last;
  const double reach =
      weight_ / levels_.attention.maxCoeff() * std::sqrt(batch * transition_size_ / last);
  const double remembered =
      soft_noise(reach, rho, steps_taken).value() / soft_noise(reach, rho, 1).value();
  for (const double moved : {of_values, -a_step * remembered}) {
    sum.add(ErrorPart::next_order(at(last + moved, positions, batch).value() - sum.value()));
  }
  const double mean =
      transition_size_ * std::sqrt(batch) / levels_.attention.minCoeff() / positions;
  sum.add(ErrorPart::next_order(mean * sum.value()));
  return sum;
}

double L1Noise::batch_of(double reach) const {
  return std::pow(reach * levels_.attention.maxCoeff() / weight_, 2);
}

double L1Noise::batch_for(double positions, double square) const {
  double low = 0;  // ln B
  double high = 60;
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (at(later_square_, positions, std::exp(middle)).value() > square ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

Matrix<double> L1Noise::squares(double positions, Index batch, std::uint32_t runs,
                                std::uint32_t first_run, const Setting& setting) const {
  const Bigrams<double>& b = bigrams_;
  const LumpedThreePart rung = this->rung(positions);
  const Vector<double> start = settled(rung);
  Matrix<double> found = Matrix<double>::Zero(runs, 1);
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
#pragma omp parallel for schedule(dynamic, 1) num_threads(jobs)
  for (std::uint32_t run = 0; run < runs; ++run) {
    Vector<double> x = start;
    for (int i = 0; i < steps_taken; ++i) {
      Stream stream(setting.seed, first_run + run, static_cast<std::uint64_t>(i));
      rung.sample_step(x, step_, stream, batch);
    }
    // Of each token: its support, the value of the rest, how many are listed, these.
    Index at = b.tokens() * b.tokens();
    for (Index k = 0; k < b.tokens(); ++k) {
      at += b.support(k) + 1;
      const auto listed = static_cast<Index>(x[at]);
      found(run, 0) += b.stationary[k] * x.segment(at + 1, listed).squaredNorm();
      at += listed + 1;
    }
  }
  return found;
}

}  // namespace popgrad::theorems::scb
