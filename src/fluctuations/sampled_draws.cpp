#include "popgrad/fluctuations/sampled_draws.hpp"

#include <algorithm>
#include <cmath>

#include "popgrad/rungs/rung.hpp"

namespace popgrad {

bool SampledDraws::has(const DrawLaw& law) {
  return law.length > 0 && !law.classes.empty() &&
         std::all_of(law.classes.begin(), law.classes.end(),
                     [&](const DrawClass& one) { return has_draw_nodes(one.tokens, law.length); });
}

namespace {

DrawNodes every_count(const Vector<double>& tokens, Index length) {
  std::vector<double> numbers;
  std::vector<double> chances;
  visit_counts(tokens, length, [&](const Vector<double>& frequencies, double chance) {
    numbers.insert(numbers.end(), frequencies.begin(), frequencies.end());
    chances.push_back(chance);
  });
  const auto count = std::ssize(chances);
  // A polynomial of this degree takes any values at the counts.
  return {Eigen::Map<const Matrix<double>>(numbers.data(), tokens.size(), count),
          Eigen::Map<const Vector<double>>(chances.data(), count), static_cast<int>(length)};
}

}  // namespace

SampledDraws::SampledDraws(const DrawLaw& law, Index dimension,
                           std::vector<std::vector<Index>> moved, Index labels, Set set)
    : moved_(std::move(moved)), dimension_(dimension), labels_(labels) {
  for (std::size_t c = 0; c < law.classes.size(); ++c) {
    const DrawClass& one = law.classes[c];
    probabilities_.push_back(one.probability);
    if (c % static_cast<std::size_t>(labels) != 0) continue;
    if (set == Set::counts) {
      nodes_.push_back({every_count(one.tokens, law.length)});
      continue;
    }
    const std::size_t which = nodes_.size();
    const DrawNodes first = draw_nodes(one.tokens, law.length, which, 0);
    const DrawNodes second = draw_nodes(one.tokens, law.length, which, 1);
    DrawNodes both;
    both.frequencies.resize(first.frequencies.rows(),
                            first.frequencies.cols() + second.frequencies.cols());
    both.frequencies << first.frequencies, second.frequencies;
    both.weights.resize(both.frequencies.cols());
    both.weights << first.weights / 2, second.weights / 2;
    nodes_.push_back({first, second, both});
  }
}

const DrawNodes& SampledDraws::set_of(Index cls, NodeSet nodes) const {
  const std::vector<DrawNodes>& sets = nodes_[static_cast<std::size_t>(cls / labels_)];
  return sets[std::min(sets.size() - 1, static_cast<std::size_t>(nodes))];
}

Index SampledDraws::nodes() const {
  Index sum = 0;
  for (Index c = 0; c < std::ssize(probabilities_); ++c)
    sum += set_of(c, NodeSet::both).weights.size();
  return sum;
}

template <class Made, class SumOf, class Add>
void SampledDraws::each_class(const SumOf& sum_of, const Add& add) const {
  Made made;
  for (Index c = 0; c < std::ssize(probabilities_); ++c) {
    const DrawNodes& set = set_of(c, NodeSet::both);
    sum_of(c, set.frequencies, set.weights, made);
    add(moved_[static_cast<std::size_t>(c)], probabilities_[static_cast<std::size_t>(c)], made);
  }
}

Vector<double> SampledDraws::mean(const SumOfSamples& sum_of) const {
  Vector<double> sum = Vector<double>::Zero(dimension_);
  each_class<Vector<double>>(
      sum_of, [&](const std::vector<Index>& rows, double share, const Vector<double>& made) {
        sum(rows) += share * made;
      });
  return sum;
}

Matrix<double> SampledDraws::mean_matrix(const SumOfMatrices& sum_of) const {
  Matrix<double> sum = Matrix<double>::Zero(dimension_, dimension_);
  each_class<Matrix<double>>(
      sum_of, [&](const std::vector<Index>& rows, double share, const Matrix<double>& made) {
        sum(rows, rows) += share * made;
      });
  return sum;
}

Matrix<double> SampledDraws::covariance(const DirectionsOfSamples& directions,
                                        const Matrix<double>& vectors, NodeSet nodes) const {
  Matrix<double> images = Matrix<double>::Zero(dimension_, vectors.cols());
  // Within classes, then between their means.
  Matrix<double> directed;
  const auto classes = std::ssize(probabilities_);
  Matrix<double> means = Matrix<double>::Zero(dimension_, classes);
  for (Index c = 0; c < classes; ++c) {
    const DrawNodes& set = set_of(c, nodes);
    directions(c, set.frequencies, directed);
    const std::vector<Index>& rows = moved_[static_cast<std::size_t>(c)];
    const Vector<double> mean = directed * set.weights;
    means(rows, c) = mean;
    const Vector<double> roots =
        (probabilities_[static_cast<std::size_t>(c)] * set.weights).cwiseSqrt();
    const Matrix<double> factor = (directed.colwise() - mean) * roots.asDiagonal();
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

double sampling_error(const AnyRung<double>& rung, const Vector<double>& x,
                      const Matrix<double>& columns) {
  if (!rung.draws.known_from_nodes()) return 0;
  Matrix<double> first, second;
  rung.draws.covariance_of_nodes(x, columns, NodeSet::first, first);
  rung.draws.covariance_of_nodes(x, columns, NodeSet::second, second);
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
