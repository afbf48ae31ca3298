#include "judging/run_score.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace popgrad {

RunScore RunScore::of_means(Vector<double> weights) {
  RunScore made;
  made.weights_ = std::move(weights);
  return made;
}

RunScore RunScore::of_laws(Vector<double> weights, Vector<double> center, Matrix<double> form) {
  RunScore made;
  made.weights_ = std::move(weights);
  made.center_ = std::move(center);
  made.form_ = std::move(form);
  return made;
}

Vector<double> RunScore::of(const Matrix<double>& runs) const {
  if (!is_of_laws()) return runs.transpose() * weights_;
  const Matrix<double> off = runs.colwise() - center_;
  const Matrix<double> formed = form_ * off;
  return off.transpose() * weights_ + 0.5 * off.cwiseProduct(formed).colwise().sum().transpose();
}

LikelyRuns::LikelyRuns(const Matrix<double>& runs) : mean_(runs.rowwise().mean()) {
  if (runs.cols() < 2) throw std::invalid_argument("LikelyRuns: needs at least 2 runs");
  const Matrix<double> off = runs.colwise() - mean_;
  axes_ = principal_axes<double>(off * off.transpose() / static_cast<double>(runs.cols()));
  axes_.values = axes_.values.cwiseMax(0.0);
}

Matrix<double> LikelyRuns::along(const Matrix<double>& runs) const {
  const Matrix<double> off = runs.colwise() - mean_;
  return axes_.vectors.transpose() * off;
}

FaultShift::FaultShift(const LikelyRuns& likely, const Matrix<double>& without,
                       const Matrix<double>& with, double change, bool of_laws)
    : likely_(likely), change_(change) {
  if (without.cols() != with.cols()) {
    throw std::invalid_argument("FaultShift: needs as many runs with the fault as without");
  }
  if (with.cols() < 2) throw std::invalid_argument("FaultShift: needs at least 2 runs");
  const Matrix<double> before = likely.along(without);
  const Matrix<double> after = likely.along(with);
  const Index half = with.cols() / 2;
  const auto moments = [](const auto& runs) -> Matrix<double> {
    return runs * runs.transpose() / static_cast<double>(runs.cols());
  };
  shift_ = (after - before).leftCols(half).rowwise().mean();
  shift_of_others_ = (after - before).rightCols(with.cols() - half).rowwise().mean();
  if (!of_laws) return;
  spread_ = moments(after.leftCols(half)) - moments(before.leftCols(half));
  spread_of_others_ =
      moments(after.rightCols(with.cols() - half)) - moments(before.rightCols(with.cols() - half));
}

std::optional<RunScore> FaultShift::score(double lambda, ScoreKind kind,
                                          std::optional<double> of_squares) const {
  const auto& [values, axes] = likely_.axes();
  const Vector<double> weights = shift_.array() / (values.array() + lambda * values.mean()).eval();
  // What the change makes of the mean of the score, before it is in units.
  double moved = weights.dot(shift_of_others_);
  Matrix<double> form;
  if (kind != ScoreKind::means) {
    if (spread_.size() == 0) throw std::logic_error("FaultShift: D was not asked for");
    const Vector<double> inverse =
        (values.array() + of_squares.value_or(lambda) * values.mean()).inverse();
    if (kind == ScoreKind::stretch) {
      // By least squares in units of S: D = factor C.
      const Vector<double> share = inverse.cwiseProduct(values);
      const double factor =
          share.cwiseProduct(inverse).dot(spread_.diagonal()) / share.squaredNorm();
      form = (factor * share.cwiseProduct(inverse)).asDiagonal();
    } else {
      form = inverse.asDiagonal() * spread_ * inverse.asDiagonal();
    }
    moved += 0.5 * form.cwiseProduct(spread_of_others_).sum();
  }
  if (!(moved > 0) || !std::isfinite(moved)) return std::nullopt;
  const double unit = change_ / moved;
  Vector<double> in_rows = axes * (unit * weights);
  if (kind == ScoreKind::means) return RunScore::of_means(std::move(in_rows));
  return RunScore::of_laws(std::move(in_rows), likely_.mean(),
                           unit * (axes * form * axes.transpose()));
}

}  // namespace popgrad
