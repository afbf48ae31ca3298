#include "popgrad/topic/sampled_documents.hpp"

#include <algorithm>

#include "popgrad/random.hpp"

namespace popgrad::topic {
namespace {

constexpr Index documents_of_a_set = 2000;
constexpr std::uint32_t stream_of_documents = 0xFFFFFFD8U;
constexpr std::uint32_t stream_of_labels = 0xFFFFFFD6U;

// The name of each word where topics and the words of each move on by s.
std::vector<Index> moved_on(const TopicLaw<double>& law, Index s) {
  std::vector<Index> names{0};
  for (Index topic = 0; topic < law.topics; ++topic) {
    for (Index word = 0; word < law.words; ++word) {
      names.push_back(1 + (topic + s) % law.topics * law.words + (word + s) % law.words);
    }
  }
  return names;
}

}  // namespace

SampledDocuments::SampledDocuments(const Training& training) : training_(training) {
  const TopicLaw<double>& law = training_.law;
  std::vector<std::vector<Index>> names;
  for (Index s = 0; s < law.topics; ++s) names.push_back(moved_on(law, s));
  const auto drawn = static_cast<std::uint64_t>((documents_of_a_set + law.topics - 1) / law.topics);
  for (std::uint32_t set = 0; set < 2; ++set) {
    std::vector<DocumentLoss>& documents = sets_.emplace_back();
    for (std::uint64_t i = 0; i < drawn; ++i) {
      DocumentLoss first(training_);
      Stream stream(0, stream_of_documents + set, i);
      first.draw(stream);
      Stream labels(0, stream_of_labels + set, i);
      if (training_.label_noise > 0) first.replace_labels(labels);
      for (const std::vector<Index>& own : names) {
        documents.push_back(first);
        documents.back().rename(own);
      }
    }
  }
}

Matrix<double> SampledDocuments::covariance_of_set(const Effective& now,
                                                   const Matrix<double>& vectors,
                                                   std::size_t set) const {
  const Index size = training_.law.vocabulary();
  const Index square = size * size;
  const std::vector<DocumentLoss>& documents = sets_[set];
  const double share = 1 / static_cast<double>(documents.size());
  Vector<double> mean = Vector<double>::Zero(2 * square);
  Matrix<double> dvalue = Matrix<double>::Zero(size, size);
  Matrix<double> dlogits = dvalue;
  if (vectors.cols() > square) {
    // All of it (2 V^2 square), some documents at a time.
    constexpr Index together = 128;
    Matrix<double> whole = Matrix<double>::Zero(2 * square, 2 * square);
    Matrix<double> gradients(2 * square, together);
    Index filled = 0;
    const auto add = [&] {
      whole.selfadjointView<Eigen::Lower>().rankUpdate(gradients.leftCols(filled), share);
      mean += share * gradients.leftCols(filled).rowwise().sum();
      filled = 0;
    };
    for (const DocumentLoss& document : documents) {
      dvalue.setZero();
      dlogits.setZero();
      document.add_gradient(now, 1, dvalue, dlogits);
      gradients.col(filled).head(square) = dvalue.reshaped();
      gradients.col(filled).tail(square) = dlogits.reshaped();
      if (++filled == together) add();
    }
    if (filled > 0) add();
    whole.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1);
    return whole.selfadjointView<Eigen::Lower>() * vectors;
  }
  Matrix<double> images = Matrix<double>::Zero(2 * square, vectors.cols());
  Vector<double> seen(vectors.cols()), sum = Vector<double>::Zero(vectors.cols());
  for (const DocumentLoss& document : documents) {
    document.add_gradient(now, 1, dvalue, dlogits);
    // A column a word that the document shows.
    seen.setZero();
    for (const Index word : document.present()) {
      seen.noalias() += vectors.middleRows(word * size, size).transpose() * dvalue.col(word);
      if (dlogits.col(word).isZero(0)) continue;
      seen.noalias() +=
          vectors.middleRows(square + word * size, size).transpose() * dlogits.col(word);
    }
    for (const Index word : document.present()) {
      images.middleRows(word * size, size).noalias() +=
          dvalue.col(word) * (share * seen).transpose();
      mean.segment(word * size, size) += share * dvalue.col(word);
      dvalue.col(word).setZero();
      if (dlogits.col(word).isZero(0)) continue;
      images.middleRows(square + word * size, size).noalias() +=
          dlogits.col(word) * (share * seen).transpose();
      mean.segment(square + word * size, size) += share * dlogits.col(word);
      dlogits.col(word).setZero();
    }
    sum += share * seen;
  }
  images.noalias() -= mean * sum.transpose();
  return images;
}

Matrix<double> SampledDocuments::covariance(const Effective& now, const Matrix<double>& vectors,
                                            SampledDraws::Part part) const {
  if (part == SampledDraws::Part::first) return covariance_of_set(now, vectors, 0);
  if (part == SampledDraws::Part::second) return covariance_of_set(now, vectors, 1);
  return (covariance_of_set(now, vectors, 0) + covariance_of_set(now, vectors, 1)) / 2;
}

}  // namespace popgrad::topic
