#include "solving/extrapolation.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "solving/algebra.hpp"
#include "solving/double_sketch.hpp"
#include "solving/grid_points.hpp"
#include "solving/quintic_step.hpp"
#include "solving/two_ended_stepper.hpp"

namespace popgrad::solving {

namespace {

/// The cheapest number for some 2000 digits.
constexpr int most_columns = 1200;
/// Columns that may follow the last of the former step before a step is given up.
constexpr int columns_ahead = 3;
/// Digits of the points that only show where something happens.
constexpr int digits_of_sketch = 12;
/// The same of points that come with the columns: their estimate is of the order below.
constexpr int digits_of_grid_points = 10;
/// Where these are farther apart than this part of the step, points are put between them; a step of
/// few columns is shorter beside what happens in it.
constexpr int parts_of_step = 12;
constexpr int parts_of_short_step = 8;
constexpr int columns_of_short_step = 12;
/// Where a polynomial of degree five follows the step; turns between its places show as a bend.
constexpr int parts_of_smooth_step = 2;
/// Signs of rates need some digits of the change of the state, however small that is beside the state.
constexpr double part_of_change = 1e-4;
/// Smallest change, as a part of the state, that sketches in double have so many digits of.
constexpr double least_change_in_double = 1e-7;
/// Part of the tolerance that the next step is to need; how much it may grow and shrink, and must shrink
/// when it is tried again.
const double log_safety = std::log(0.1);
const double log_growth = std::log(10.0);
const double log_shrinkage = std::log(0.2);
const double log_retry = std::log(0.8);

int substeps(int column) { return 2 * column; }

double evaluations(int columns) { return static_cast<double>(columns) * (columns + 1) + 2; }

double decimal_logarithm(const Real& x) { return to_double(log10(x)); }

/// The cheapest order is about 1.2 times the digits, two a column.
int largest_column(const Real& tolerance) {
  const double digits = std::max(0.0, -decimal_logarithm(tolerance));
  return std::clamp(static_cast<int>(std::ceil(0.6 * digits)) + 4, 6, most_columns);
}

/// Digits to compute in so that what extrapolation loses (see the header) is below the tolerance.
unsigned digits_within(const Real& tolerance) {
  const double wanted = std::max(0.0, -decimal_logarithm(tolerance));
  return std::max(digits(),
                  static_cast<unsigned>(std::ceil(wanted + 0.3 * largest_column(tolerance))) + 3);
}

/// One attempt at a step: the columns made so far, and the logarithms of their errors over the
/// tolerance.
struct Columns {
  std::vector<Vector<Real>> row, former_row;  // of the triangle of extrapolations
  std::vector<double> log_error;              // of column j, at j - 1; 0 for the first
  int count = 0;
};

/// ln of the error over the tolerance in column k: measured, or on a line through the last columns. Errors
/// fall at least as fast as that, for entire solutions faster.
double predicted_error(const Columns& columns, int k) {
  const int j = columns.count;
  const auto error = [&](int i) { return columns.log_error[static_cast<std::size_t>(i) - 1]; };
  if (k <= j) return error(k);
  // Two columns tell one error: a ratio of neighbours that is typical of a cautious step.
  double slope = -1;
  if (j >= 4) {
    slope = (error(j) - error(j - 2)) / 2;
  } else if (j == 3) {
    slope = error(3) - error(2);
  }
  return error(j) + slope * (k - j);
}

class Extrapolation final : public TwoEndedStepper<Real> {
 public:
  Extrapolation(Field<Real> field, const Tolerances<Real>& tolerances)
      : TwoEndedStepper<Real>(std::move(field)),
        tolerances_(tolerances),
        in_double_(field_.in_double),
        most_(largest_column(tolerances.relative)),
        target_(most_),
        digits_within_(digits_within(tolerances.relative)) {}

  void start(const Vector<Real>& x, const Real& t, const Real& step) override {
    const DigitsScope within(digits_within_);
    // A sum has the digits of the longer operand, and a copy those of what is copied.
    TwoEndedStepper<Real>::start(x + Vector<Real>::Zero(x.size()), t + Real(0), step + Real(0));
    target_ = most_;
    known_.clear();
    sketched_.clear();
    inside_.clear();
    grid_.clear();
  }

  bool try_step(const Real& largest) override {
    const DigitsScope within(digits_within_);
    const bool cut = largest < step_;
    const Real step = cut ? largest + Real(0) : step_;
    columns_.count = 0;
    columns_.log_error.clear();
    grid_.clear();
    const int limit = std::min(most_, target_ + columns_ahead);
    Attempt attempt = Attempt::open;
    while (attempt == Attempt::open) {
      // The caller asks as well; a step in thousands of digits can take minutes.
      if (stops_ && (omp_get_level() == 0 && stop_asked())) return false;
      add_column(step);
      attempt = judge(limit);
    }
    const bool again = rejected_;
    rejected_ = attempt != Attempt::converged;
    if (attempt == Attempt::infinite) {
      step_ = step / 4;
      return false;
    }
    if (attempt == Attempt::hopeless) {
      step_ = step * exp(Real(std::clamp(change_of_step(target_), log_shrinkage, log_retry)));
      return false;
    }
    // Where a longer step has just failed the error does not say by how much this one may grow.
    const double change = choose_order();
    const Real next = step * exp(Real(again ? std::min(0.0, change) : change));
    // A step cut short to meet an end must not make the next one small.
    if (!cut || next > step_) step_ = next;
    x_old_ = columns_.row.back();
    const Real end = t_ + step;
    if (!ends_there_ || step < largest) field_.rhs(x_old_, slope_old_, end);
    accept(end);
    known_.clear();
    sketched_.clear();
    inside_.clear();
    quintic_.clear();
    in_double_.clear();
    return true;
  }

  void at(const Real& t, Vector<Real>& x) override {
    const DigitsScope within(digits_within_);
    from_nearest(t, tolerances_, known_, x);
  }

  void sketch_at(const Real& t, Vector<Real>& x) override {
    const DigitsScope within(digits_within_);
    if (quintic_.fits()) {
      quintic_.at(t, x);
      return;
    }
    if (in_double_.at(t, x)) return;
    const Real least = pow(Real(10), -digits_of_sketch);
    from_nearest(t, {std::max(tolerances_.relative, least), std::max(tolerances_.absolute, least)},
                 sketched_, x);
  }

  void keep_inside() override { keeps_grid_ = true; }

  [[nodiscard]] std::span<const Real> inside() override {
    if (!inside_.empty()) return inside_;
    const DigitsScope within(digits_within_);
    const Real width = t_ - t_old_;
    sketched_ = {{t_old_, x_old_, slope_old_}, {t_, x_, slope_}};
    // Near a steady state rates are as small as what is left to go, so it is that they are measured
    // by.
    const Real change = width * std::max(norm_inf(slope_), norm_inf(slope_old_));
    if (smooth(change)) {
      for (int i = 1; i < parts_of_smooth_step; ++i) {
        inside_.push_back(t_old_ + width * i / parts_of_smooth_step);
      }
      return inside_;
    }
    const Real allowed = change * pow(Real(10), -digits_of_grid_points);
    for (GridPoints::Point& point : grid_.extrapolate(allowed)) {
      inside_.push_back(t_old_ + width * point.share);
      sketched_.push_back({inside_.back(), std::move(point.x), {}});
    }
    const bool is_short = columns_.count <= columns_of_short_step;
    const int most_parts = is_short ? parts_of_short_step : parts_of_step;
    std::vector<Real> marks{t_old_};
    marks.insert(marks.end(), inside_.begin(), inside_.end());
    marks.push_back(t_);
    for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
      const Real gap = marks[k + 1] - marks[k];
      const int parts =
          static_cast<int>(std::ceil(to_double(Real(most_parts * gap / width)) - 1e-6));
      for (int i = 1; i < parts; ++i) inside_.push_back(marks[k] + gap * i / parts);
    }
    std::sort(inside_.begin(), inside_.end());
    return inside_;
  }

 private:
  [[nodiscard]] Real tolerance_of(const Real& a, const Real& b) const {
    return tolerances_.absolute + tolerances_.relative * std::max(Real(abs(a)), Real(abs(b)));
  }

  enum class Attempt { open, converged, hopeless, infinite };

  [[nodiscard]] Attempt judge(int limit) const {
    const int j = columns_.count;
    const double error = columns_.log_error.back();
    if (error == std::numeric_limits<double>::infinity()) return Attempt::infinite;
    if (j >= 2 && error <= 0) return Attempt::converged;
    if (j >= limit) return Attempt::hopeless;
    // The first columns of a good step may be far from the ratio of the later ones.
    if (j >= 4 && 4 * j >= 3 * limit && predicted_error(columns_, limit) > 0)
      return Attempt::hopeless;
    return Attempt::open;
  }

  // The midpoint rule over `step` in substeps(j), with Gragg's smoothing at the end; then the next row
  // of the triangle.
  void add_column(const Real& step) {
    Columns& c = columns_;
    const int j = ++c.count;
    const auto at = static_cast<std::size_t>(j) - 1;
    const Real h = step / substeps(j);
    const Real two_h = h * 2;
    Vector<Real> before = x_;
    Vector<Real> now = x_ + slope_ * h;
    Vector<Real> slope(x_.size());
    for (int i = 1; i < substeps(j); ++i) {
      field_.rhs(now, slope, t_ + h * i);
      before += slope * two_h;
      before.swap(now);
      // `now` is the state after i + 1 substeps.
      if (i % 2 == 1 && keeps_grid_) grid_.add(j, i + 1, now);
    }
    field_.rhs(now, slope, t_ + step);
    c.former_row.swap(c.row);
    c.row.clear();
    c.row.emplace_back((now + before + slope * h) / Real(2));
    for (int i = 1; i < j; ++i) {
      const Vector<Real>& left = c.row.back();
      const Vector<Real>& above = c.former_row[static_cast<std::size_t>(i) - 1];
      const Real ratio = Real(substeps(j)) / substeps(j - i);
      c.row.emplace_back(left + (left - above) / Real(ratio * ratio - 1));
    }
    c.log_error.push_back(j >= 2 ? log_error_of(c.row[at], c.row[at - 1]) : 0);
  }

  // ln max |a - b| / tolerance; infinite where it is not a number.
  [[nodiscard]] double log_error_of(const Vector<Real>& a, const Vector<Real>& b) const {
    Real largest(0);
    for (Index i = 0; i < a.size(); ++i) {
      const Real error = abs(a[i] - b[i]) / tolerance_of(x_[i], a[i]);
      if (!(error <= largest)) largest = error;
      if (error != error) return std::numeric_limits<double>::infinity();
    }
    if (!(largest < infinity<Real>())) return std::numeric_limits<double>::infinity();
    const Real least = pow(Real(10), -static_cast<int>(digits_within_));
    return decimal_logarithm(std::max(largest, least)) * std::log(10.0);
  }

  // ln of the factor to a step that needs k columns.
  [[nodiscard]] double change_of_step(int k) const {
    return (log_safety - predicted_error(columns_, k)) / (2 * k - 1);
  }

  // The number of columns with the fewest evaluations a unit of time becomes the target; returns ln of
  // the change of the step that goes with it.
  double choose_order() {
    double best = std::numeric_limits<double>::infinity();
    double change = 0;
    for (int k = 3; k <= std::min(most_, columns_.count + columns_ahead); ++k) {
      const double cost = std::log(evaluations(k)) - change_of_step(k);
      if (cost < best) {
        best = cost;
        change = change_of_step(k);
        target_ = k;
      }
    }
    return std::clamp(change, log_shrinkage, log_growth);
  }

  // --- inside the step ---

  // Chooses how the last step, in which the state changes by so much, is sketched: in double, by a polynomial
  // (true), or in digits.
  [[nodiscard]] bool smooth(const Real& change) {
    const Real size = std::max(norm_inf(x_old_), norm_inf(x_));
    if (change >= size * least_change_in_double) {
      in_double_.begin(x_old_, t_old_, t_);
      return false;
    }
    const Real allowed =
        std::min(Real(change * part_of_change),
                 Real(tolerances_.absolute + size * pow(Real(10), -digits_of_sketch)));
    return quintic_.fit(field_, {t_old_, x_old_, slope_old_}, {t_, x_, slope_}, allowed);
  }

  struct Point {
    Real t;
    Vector<Real> x, slope;  // the slope where it is known
  };

  // For one way to one end, at which the slope is not asked for.
  void start_from(const Point& point, const Real& t, const Real& step, bool backwards) {
    if (point.slope.size() == 0) {
      start(point.x, t, step);
    } else {
      place(point.x + Vector<Real>::Zero(point.x.size()), t + Real(0), step + Real(0));
      slope_ = point.slope + Vector<Real>::Zero(point.x.size());
      if (backwards) slope_ = -slope_;
      slope_old_ = slope_;
    }
    ends_there_ = true;
  }

  // From the nearest point of `known`, which t is added to: a short way takes few columns.
  void from_nearest(const Real& t, const Tolerances<Real>& tolerances, std::vector<Point>& known,
                    Vector<Real>& x) const {
    if (known.empty()) known = {{t_old_, x_old_, slope_old_}, {t_, x_, slope_}};
    const Point* nearest = &known.front();
    for (const Point& point : known) {
      if (abs(point.t - t) < abs(nearest->t - t)) nearest = &point;
    }
    if (nearest->t == t) {
      x = nearest->x;
      return;
    }
    const Real from = nearest->t;
    const bool backwards = t < from;
    Field<Real> field = field_;
    field.in_double = nullptr;
    if (backwards) {
      field.rhs = [this, &from](const Vector<Real>& state, Vector<Real>& slope, const Real& gone) {
        field_.rhs(state, slope, from - gone);
        slope = -slope;
      };
    }
    const Real distance = abs(t - from);
    Extrapolation inner(std::move(field), tolerances);
    inner.stops_ = false;
    inner.start_from(*nearest, backwards ? Real(0) : from, distance, backwards);
    const Real end = backwards ? distance : t;
    while (inner.t() < end && inner.next_step() > machine_epsilon<Real>() * abs(end)) {
      inner.try_step(end - inner.t());
    }
    x = inner.x();
    known.push_back({t, x, {}});
  }

  Tolerances<Real> tolerances_;
  DoubleSketch in_double_;
  QuinticStep quintic_;
  int most_;
  int target_;
  unsigned digits_within_;
  bool rejected_ = false;  // the last attempt
  bool stops_ = true;      // within a step, on request
  Columns columns_;
  std::vector<Point> known_, sketched_;  // of the last step, its ends among them
  bool keeps_grid_ = false;
  bool ends_there_ = false;  // at the end of a step that is as long as it may be
  GridPoints grid_;
  std::vector<Real> inside_;
};

}  // namespace

template <>
std::unique_ptr<Stepper<Real>> make_bulirsch_stoer(const Field<Real>& field,
                                                   const Tolerances<Real>& tolerances) {
  return std::make_unique<Extrapolation>(field, tolerances);
}

}  // namespace popgrad::solving
