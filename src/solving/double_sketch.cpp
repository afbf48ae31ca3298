#include "solving/double_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "solving/algebra.hpp"

namespace popgrad::solving {
namespace {

// A digit below what a sketch has to have, which neighbouring ones share.
constexpr double sketch_tolerance = 1e-13;
// Of one way from a known point to the next time.
constexpr int most_attempts = 2000;

Vector<double> rounded(const Vector<Real>& x) {
  return x.unaryExpr([](const Real& value) { return to_double(value); });
}

}  // namespace

DoubleSketch::DoubleSketch(FieldInDouble field) : field_(std::move(field)) {
  if (!field_) return;
  Field<double> since_begin;
  since_begin.rhs = [this](const Vector<double>& x, Vector<double>& dx, const double& gone) {
    field_(x, dx, begin_ + gone);
  };
  stepper_ =
      make_bulirsch_stoer(since_begin, Tolerances<double>{sketch_tolerance, sketch_tolerance});
}

void DoubleSketch::begin(const Vector<Real>& x_old, const Real& t_old, const Real& t) {
  known_.clear();
  begun_ = false;
  if (!field_) return;
  t_old_ = t_old;
  begin_ = to_double(t_old);
  step_ = to_double(Real(t - t_old));
  known_.push_back({0, rounded(x_old)});
}

bool DoubleSketch::at(const Real& t, Vector<Real>& x) {
  if (known_.empty()) return false;
  const Point* const point = reach(to_double(Real(t - t_old_)));
  if (point == nullptr) {
    known_.clear();
    return false;
  }
  x = point->x.cast<Real>();
  return true;
}

const DoubleSketch::Point* DoubleSketch::reach(double gone) {
  const auto after = std::upper_bound(known_.begin(), known_.end(), gone,
                                      [](double a, const Point& b) { return a < b.gone; });
  const Point& before = *std::prev(after);
  if (before.gone == gone) return &before;
  // Places are asked for in their order: the steps go on, with an order and a length that suit.
  if (!begun_ || stepper_->t() != before.gone) {
    stepper_->start(before.x, before.gone, std::min(step_ / 20, gone - before.gone));
    begun_ = true;
  }
  for (int attempt = 0; stepper_->t() < gone; ++attempt) {
    if (attempt == most_attempts || !stepper_->x().allFinite()) return nullptr;
    const double left = gone - stepper_->t();
    stepper_->try_step(left);
    if (gone - stepper_->t() <= 1e-15 * gone) break;
  }
  if (!stepper_->x().allFinite()) return nullptr;
  stepper_->snap_time(gone);
  return &*known_.insert(after, {gone, stepper_->x()});
}

}  // namespace popgrad::solving
