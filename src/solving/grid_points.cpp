#include "solving/grid_points.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace popgrad::solving {
namespace {

/// Beyond, a fraction is met by too few columns to be of use.
constexpr int largest_whole = 7;

// Extrapolates the states `first`, ..., m of columns that are multiples of one number.
Vector<Real> limit_of(const std::vector<Vector<Real>>& states, int first) {
  const int m = static_cast<int>(states.size());
  Vector<Real> x = Vector<Real>::Zero(states.front().size());
  for (int i = first; i <= m; ++i) {
    Real weight(1);
    for (int l = first; l <= m; ++l) {
      if (l != i) weight *= Real(i * i) / Real(i * i - l * l);
    }
    x += states[static_cast<std::size_t>(i) - 1] * weight;
  }
  return x;
}

}  // namespace

GridPoints::GridPoints() {
  for (int whole = 2; whole <= largest_whole; ++whole) {
    for (int part = 1; part < whole; ++part) {
      if (std::gcd(part, whole) == 1) fractions_.push_back({part, whole, {}});
    }
  }
  std::sort(fractions_.begin(), fractions_.end(), [](const Fraction& a, const Fraction& b) {
    return a.part * b.whole < b.part * a.whole;
  });
}

void GridPoints::clear() {
  for (Fraction& fraction : fractions_) fraction.states.clear();
}

void GridPoints::add(int column, int substep, const Vector<Real>& x) {
  for (Fraction& fraction : fractions_) {
    if (column % fraction.whole != 0) continue;
    if (substep == 2 * column / fraction.whole * fraction.part) fraction.states.push_back(x);
  }
}

std::vector<GridPoints::Point> GridPoints::extrapolate(const Real& tolerance) const {
  std::vector<Point> points;
  for (const Fraction& fraction : fractions_) {
    if (fraction.states.size() < 3) continue;
    Vector<Real> x = limit_of(fraction.states, 1);
    const Vector<Real> lower = limit_of(fraction.states, 2);
    bool close = true;
    for (Index i = 0; i < x.size(); ++i) {
      close = close && abs(Real(x[i] - lower[i])) <= tolerance;
    }
    if (close) points.push_back({Real(fraction.part) / fraction.whole, std::move(x)});
  }
  return points;
}

}  // namespace popgrad::solving
