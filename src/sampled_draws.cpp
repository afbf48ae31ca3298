#include "popgrad/sampled_draws.hpp"

#include <algorithm>
#include <cmath>

#include "popgrad/rung.hpp"

namespace popgrad {

bool SampledDraws::has(const DrawLaw& law) {
  return law.length > 0 && !law.classes.empty() &&
         std::all_of(law.classes.begin(), law.classes.end(),
                     [&](const DrawClass& one) { return has_draw_nodes(one.tokens, law.length); });
}

SampledDraws::SampledDraws(const DrawLaw& law, Index dimension,
                           std::vector<std::vector<Index>> moved, Index labels)
    : moved_(std::move(moved)), dimension_(dimension), labels_(labels) {
  for (std::size_t c = 0; c < law.classes.size(); ++c) {
    const DrawClass& one = law.classes[c];
    probabilities_.push_back(one.probability);
    if (c % static_cast<std::size_t>(labels) != 0) continue;
    const std::size_t which = nodes_.size();
    nodes_.push_back({draw_nodes(one.tokens, law.length, which, 0),
                      draw_nodes(one.tokens, law.length, which, 1)});
  }
}

Index SampledDraws::nodes() const {
  Index sum = 0;
  for (const std::vector<DrawNodes>& parts : nodes_) {
    for (const DrawNodes& part : parts) sum += labels_ * part.weights.size();
  }
  return sum;
}

SampledDraws::Moved SampledDraws::directions_of(Index cls, const DirectionsOfSamples& directions,
                                                Part part) const {
  const std::vector<DrawNodes>& parts = nodes_[static_cast<std::size_t>(cls / labels_)];
  Moved made;
  made.probability = probabilities_[static_cast<std::size_t>(cls)];
  const auto rows = std::ssize(moved_[static_cast<std::size_t>(cls)]);
  const Index first = part == Part::second ? 1 : 0;
  const Index last = part == Part::first ? 0 : 1;
  Index nodes = 0;
  for (Index h = first; h <= last; ++h) nodes += parts[static_cast<std::size_t>(h)].weights.size();
  made.directions.resize(rows, nodes);
  made.weights.resize(nodes);
  Index at = 0;
  Matrix<double> own;
  for (Index h = first; h <= last; ++h) {
    const DrawNodes& set = parts[static_cast<std::size_t>(h)];
    directions(cls, set.frequencies, own);
    const Index count = set.weights.size();
    made.directions.middleCols(at, count) = own;
    made.weights.segment(at, count) = set.weights / static_cast<double>(last - first + 1);
    at += count;
  }
  made.mean.noalias() = made.directions * made.weights;
  return made;
}

Vector<double> SampledDraws::mean(const SumOfSamples& sum_of) const {
  Vector<double> sum = Vector<double>::Zero(dimension_);
  Vector<double> made;
  for (Index c = 0; c < std::ssize(probabilities_); ++c) {
    const double share = probabilities_[static_cast<std::size_t>(c)] / 2;
    const std::vector<Index>& rows = moved_[static_cast<std::size_t>(c)];
    for (const DrawNodes& set : nodes_[static_cast<std::size_t>(c / labels_)]) {
      sum_of(c, set.frequencies, set.weights, made);
      sum(rows) += share * made;
    }
  }
  return sum;
}

Matrix<double> SampledDraws::mean_matrix(const SumOfMatrices& sum_of) const {
  Matrix<double> sum = Matrix<double>::Zero(dimension_, dimension_);
  Matrix<double> made;
  for (Index c = 0; c < std::ssize(probabilities_); ++c) {
    const double share = probabilities_[static_cast<std::size_t>(c)] / 2;
    const std::vector<Index>& rows = moved_[static_cast<std::size_t>(c)];
    for (const DrawNodes& set : nodes_[static_cast<std::size_t>(c / labels_)]) {
      sum_of(c, set.frequencies, set.weights, made);
      sum(rows, rows) += share * made;
    }
  }
  return sum;
}

Matrix<double> SampledDraws::covariance(const DirectionsOfSamples& directions,
                                        const Matrix<double>& vectors, Part part) const {
  Matrix<double> images = Matrix<double>::Zero(dimension_, vectors.cols());
  // Within classes, then between their means.
  const auto classes = std::ssize(probabilities_);
  Matrix<double> means = Matrix<double>::Zero(dimension_, classes);
  for (Index c = 0; c < classes; ++c) {
    Moved own = directions_of(c, directions, part);
    const std::vector<Index>& rows = moved_[static_cast<std::size_t>(c)];
    means(rows, c) = own.mean;
    own.directions.colwise() -= own.mean;
    const Vector<double> roots = (own.probability * own.weights).cwiseSqrt();
    const Matrix<double> factor = own.directions * roots.asDiagonal();
    const Matrix<double> seen = vectors(rows, Eigen::all);
    Matrix<double> image;
    if (vectors.cols() > std::ssize(rows) / 2) {
      Matrix<double> square = Matrix<double>::Zero(factor.rows(), factor.rows());
      square.selfadjointView<Eigen::Lower>().rankUpdate(factor);
      image = square.selfadjointView<Eigen::Lower>() * seen;
    } else {
      image = factor * (factor.transpose() * seen);
    }
    images(rows, Eigen::all) += image;
  }
  const Eigen::Map<const Vector<double>> shares(probabilities_.data(), classes);
  const Vector<double> mean = means * shares;
  means.colwise() -= mean;
  images += means * (shares.asDiagonal() * (means.transpose() * vectors));
  return images;
}

const SampledLaw* sampled_law(const AnyRung<double>& rung) {
  return rung.draw_covariance.target<SampledLaw>();
}

bool draws_are_sampled(const AnyRung<double>& rung) { return sampled_law(rung) != nullptr; }

double sampling_error(const AnyRung<double>& rung, const Vector<double>& x,
                      const Matrix<double>& columns) {
  const SampledLaw* const sampled = sampled_law(rung);
  if (sampled == nullptr) return 0;
  Matrix<double> first, second;
  sampled->covariance(x, columns, SampledDraws::Part::first, first);
  sampled->covariance(x, columns, SampledDraws::Part::second, second);
  double sum = 0;
  Index counted = 0;
  for (Index k = 0; k < columns.cols(); ++k) {
    const double one = columns.col(k).dot(first.col(k));
    const double other = columns.col(k).dot(second.col(k));
    if (!(one + other > 0)) continue;
    const double apart = (one - other) / (2 * (one + other));
    sum += apart * apart;
    ++counted;
  }
  return counted > 0 ? std::sqrt(sum / static_cast<double>(counted)) : 0;
}

}  // namespace popgrad
