#include "theorems/joma/rungs/latent_correlation.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace popgrad::joma {
namespace {

/// Deviations below this share of the root mean square are rounding of a constant.
constexpr double least_deviation = 1e-12;

}  // namespace

Matrix<double> latent_correlations(const Matrix<double>& units, const Matrix<double>& latents,
                                   const Vector<double>& probability) {
  const Vector<double> unit_mean = units * probability;
  const Vector<double> latent_mean = latents * probability;
  const Matrix<double> centred = units.colwise() - unit_mean;
  const Vector<double> deviation = (centred.cwiseAbs2() * probability).cwiseSqrt();
  const Vector<double> size = (units.cwiseAbs2() * probability).cwiseSqrt();
  Matrix<double> found =
      (latents.colwise() - latent_mean) * probability.asDiagonal() * centred.transpose();
  for (Index k = 0; k < units.rows(); ++k) {
    if (deviation[k] > least_deviation * size[k]) {
      found.col(k) /= deviation[k];
    } else {
      found.col(k).setZero();
    }
  }
  for (Index l = 0; l < latents.rows(); ++l) {
    const double variance = latent_mean[l] * (1 - latent_mean[l]);
    if (variance > least_deviation) {
      found.row(l) /= std::sqrt(variance);
    } else {
      found.row(l).setConstant(std::numeric_limits<double>::quiet_NaN());
    }
  }
  return found.cwiseAbs();
}

LatentScore latent_score(const Matrix<double>& correlations) {
  std::vector<Index> varying;
  for (Index l = 0; l < correlations.rows(); ++l) {
    if (!std::isnan(correlations(l, 0))) varying.push_back(l);
  }
  if (varying.empty()) return {};
  const auto count = static_cast<double>(varying.size());
  const Matrix<double> kept = correlations(varying, Eigen::all);
  return {kept.rowwise().maxCoeff().sum() / count, largest_assignment(kept) / count};
}

double largest_assignment(const Matrix<double>& value) {
  if (value.rows() > value.cols()) return largest_assignment(value.transpose());
  const Index n = value.rows();
  const Index m = value.cols();
  constexpr double unreached = std::numeric_limits<double>::infinity();
  // Costs are -value. Column 0 stands for the row that is being placed; others count from 1.
  std::vector<double> of_row(static_cast<std::size_t>(n) + 1, 0.0);
  std::vector<double> of_column(static_cast<std::size_t>(m) + 1, 0.0);
  std::vector<Index> row_of(of_column.size(), 0);
  for (Index row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::vector<double> slack(of_column.size(), unreached);
    std::vector<std::size_t> before(of_column.size(), 0);
    std::vector<bool> reached(of_column.size(), false);
    std::size_t at = 0;
    while (row_of[at] != 0) {
      reached[at] = true;
      const Index from = row_of[at];
      double step = unreached;
      std::size_t next = 0;
      for (std::size_t j = 1; j < of_column.size(); ++j) {
        if (reached[j]) continue;
        const double reduced = -value(from - 1, static_cast<Index>(j) - 1) -
                               of_row[static_cast<std::size_t>(from)] - of_column[j];
        if (reduced < slack[j]) {
          slack[j] = reduced;
          before[j] = at;
        }
        if (slack[j] < step) {
          step = slack[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j < of_column.size(); ++j) {
        if (reached[j]) {
          of_row[static_cast<std::size_t>(row_of[j])] += step;
          of_column[j] -= step;
        } else {
          slack[j] -= step;
        }
      }
      at = next;
    }
    while (at != 0) {
      row_of[at] = row_of[before[at]];
      at = before[at];
    }
  }
  double sum = 0;
  for (std::size_t j = 1; j < row_of.size(); ++j) {
    if (row_of[j] != 0) sum += value(row_of[j] - 1, static_cast<Index>(j) - 1);
  }
  return sum;
}

}  // namespace popgrad::joma
