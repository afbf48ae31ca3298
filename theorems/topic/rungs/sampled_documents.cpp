#include "theorems/topic/rungs/sampled_documents.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "popgrad/scalars/random.hpp"
#include "theorems/topic/rungs/linear_documents.hpp"

namespace popgrad::topic {
namespace {

constexpr std::uint64_t documents_of_a_set = 2000;
constexpr std::uint32_t stream_of_documents = 0xFFFFFFD8U;
constexpr std::uint32_t stream_of_labels = 0xFFFFFFD6U;

// Of documents with their gradients in columns.
class Covariance {
 public:
  // Of numbers so many, to be applied to these columns.
  Covariance(Index numbers, const Matrix<double>& vectors, double share)
      : vectors_(vectors),
        share_(share),
        mean_(Vector<double>::Zero(numbers)),
        whole_(2 * vectors.cols() > numbers) {
    sum_.setZero(numbers, whole_ ? numbers : vectors.cols());
  }

  void add(const Matrix<double>& gradients) {
    if (whole_) {
      sum_.selfadjointView<Eigen::Lower>().rankUpdate(gradients, share_);
    } else {
      sum_.noalias() += gradients * (share_ * (gradients.transpose() * vectors_));
    }
    mean_ += share_ * gradients.rowwise().sum();
  }

  [[nodiscard]] Matrix<double> images() const {
    Matrix<double> made = sum_;
    if (whole_) made = sum_.selfadjointView<Eigen::Lower>() * vectors_;
    made.noalias() -= mean_ * (mean_.transpose() * vectors_);
    return made;
  }

 private:
  const Matrix<double>& vectors_;
  double share_;
  Vector<double> mean_;
  bool whole_;  // is the matrix itself made, which is less work for many columns?
  Matrix<double> sum_;
};

}  // namespace

SampledDocuments::SampledDocuments(const Training& training)
    : training_(training), law_(document_law(training_)) {
  const TopicLaw<double>& law = training_.law;
  std::map<std::vector<Index>, std::size_t> classes;
  for (const std::vector<Index>& subset : subsets(law.topics, law.active)) {
    classes.emplace(subset, classes.size());
  }
  for (std::uint32_t set = 0; set < 2; ++set) {
    std::vector<Sampled>& documents = sets_.emplace_back();
    for (std::uint64_t i = 0; i < documents_of_a_set; ++i) {
      DocumentLoss document(training_);
      Stream stream(0, stream_of_documents + set, i);
      document.draw(stream);
      Stream labels(0, stream_of_labels + set, i);
      if (training_.label_noise > 0) document.replace_labels(labels);
      std::vector<Index> topics = document.topics();
      std::sort(topics.begin(), topics.end());
      documents.push_back({std::move(document), classes.at(topics)});
    }
  }
}

Matrix<double> SampledDocuments::difference_in_set(const Effective& now,
                                                   const LinearDocuments& linear,
                                                   const Matrix<double>& vectors,
                                                   const std::vector<Sampled>& documents) const {
  constexpr Index together = 500;
  const Index size = training_.law.vocabulary();
  const Index numbers = 2 * size * size;
  const double share = 1 / static_cast<double>(documents.size());
  Covariance of_gradients(numbers, vectors, share), of_linear = of_gradients;
  Matrix<double> gradients(numbers, together), to_first_order = gradients;
  Matrix<double> dvalue(size, size), dlogits(size, size);
  Vector<double> made;
  Index filled = 0;
  const auto add = [&] {
    of_gradients.add(gradients.leftCols(filled));
    of_linear.add(to_first_order.leftCols(filled));
    filled = 0;
  };
  for (const Sampled& sampled : documents) {
    dvalue.setZero();
    dlogits.setZero();
    sampled.document.add_gradient(now, 1, dvalue, dlogits);
    gradients.col(filled) << dvalue.reshaped(), dlogits.reshaped();
    linear.gradient(sampled.document, sampled.cls, made);
    to_first_order.col(filled) = made;
    if (++filled == together) add();
  }
  if (filled > 0) add();
  return of_gradients.images() - of_linear.images();
}

Matrix<double> SampledDocuments::covariance(const Effective& now, const Matrix<double>& vectors,
                                            NodeSet nodes) const {
  const LinearDocuments linear(training_, law_, now);
  const auto difference = [&](std::size_t set) {
    return difference_in_set(now, linear, vectors, sets_[set]);
  };
  const Matrix<double> known = linear.covariance(vectors);
  if (nodes == NodeSet::first) return known + difference(0);
  if (nodes == NodeSet::second) return known + difference(1);
  return known + (difference(0) + difference(1)) / 2;
}

}  // namespace popgrad::topic
