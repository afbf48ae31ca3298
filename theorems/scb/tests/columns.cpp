/// The columns of scb from their definitions, on whole V and A; the loss by running through every
/// sequence, query, source and label.

#include <cmath>

#include "laws/columns.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/tests/law.hpp"

namespace popgrad::laws {
namespace {

double inner(const BigramLaw& b, const Matrix<double>& m, const Matrix<double>& l) {
  double sum = 0;
  for (Index i = 0; i < b.tokens(); ++i) {
    double both = 0, left = 0, right = 0;
    for (Index k = 0; k < b.tokens(); ++k) {
      both += b.mu[k] * m(i, k) * l(i, k);
      left += b.mu[k] * m(i, k);
      right += b.mu[k] * l(i, k);
    }
    sum += both - left * right;
  }
  return sum;
}

double distance(const BigramLaw& b, const Matrix<double>& left, const Matrix<double>& right) {
  double sum = 0;
  for (Index k = 0; k < b.tokens(); ++k)
    sum += b.mu[k] * (left.col(k) - right.col(k)).squaredNorm();
  return std::sqrt(sum);
}

// Any V and A with these coordinates: alpha_V, alpha_A, w = <W, W>.
Whole on_family(const BigramLaw& b, const Vector<double>& x) {
  const Index n = b.tokens();
  const Matrix<double> ground = b.mu * Vector<double>::Ones(n).transpose();
  const Matrix<double> target = b.kernel - ground;
  Whole made;
  made.values = ground + x[0] * target;
  // Rounding may leave a w of 0 below it.
  if (x[2] > 0) {
    // W with W mu = 0 and <W, P> = 0; columns need not sum to 0 for what is reported here.
    Matrix<double> rest = Matrix<double>::Zero(n, n);
    rest(0, 0) = 1;
    rest(1, 0) = 0.5;
    rest -= (rest * b.mu) * Vector<double>::Ones(n).transpose();
    rest -= inner(b, rest, target) / inner(b, target, target) * target;
    made.values += std::sqrt(x[2] / inner(b, rest, rest)) * rest;
  }
  const double share = 1.0 / static_cast<double>(b.positions());
  made.attention = Matrix<double>::Constant(b.positions(), n, share);
  made.attention += x[1] * (b.context - made.attention);
  return made;
}

}  // namespace

Columns scb_columns(const Case& made, const AnyRung<double>& rung, const Point& at) {
  const BigramLaw b = bigram_law(made);
  const std::string& name = made.rung.name;
  const bool family = name == "reduced" || name == "closed-form" || name == "hyperbola";
  const Whole now = family ? on_family(b, at.x) : whole(made, b, rung, at.x);
  const Index n = b.tokens();
  const auto positions = static_cast<double>(b.positions());
  Columns columns;
  columns["alpha_V"] = inner(b, now.values, b.kernel) / inner(b, b.kernel, b.kernel);
  double along = 0, size = 0, mean_mass = 0;
  Matrix<double> scaled = now.attention;
  double lost_square = 0;  // of tokens with S = 0
  for (Index k = 0; k < n; ++k) {
    const double mass = now.attention.col(k).sum();
    mean_mass += b.mu[k] * mass;
    for (Index t = 0; t < b.positions(); ++t) {
      const double q = b.context(t, k) - 1 / positions;
      along += b.mu[k] * (now.attention(t, k) - mass / positions) * q;
      size += b.mu[k] * q * q;
    }
    if (mass != 0) {
      scaled.col(k) /= mass;
    } else {
      scaled.col(k) = b.context.col(k);
      lost_square += b.mu[k] * (1 + b.context.col(k).squaredNorm());
    }
  }
  columns["alpha_A"] = along / size;
  columns["dist_P"] = distance(b, now.values, b.kernel);
  columns["dist_Q"] = distance(b, now.attention, b.context);
  columns["loss"] = enumerated_loss(b, now);
  columns["S_mean"] = mean_mass;
  Matrix<double> values = now.values;
  for (Index k = 0; k < n; ++k) {
    values.col(k) = b.mu + mean_mass * (now.values.col(k) - b.mu);
  }
  columns["dist_P_normalised"] = distance(b, values, b.kernel);
  columns["dist_Q_normalised"] =
      std::sqrt(std::pow(distance(b, scaled, b.context), 2) + lost_square);
  if (rung.observables.columns.back() == "nonzeros") {
    columns["part"] = at.x[at.x.size() - 2];
    columns["nonzeros"] = static_cast<double>((now.attention.array() != 0).count());
  }
  return columns;
}

}  // namespace popgrad::laws
