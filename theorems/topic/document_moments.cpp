#include "theorems/topic/document_moments.hpp"

#include "popgrad/linear_algebra.hpp"
#include "popgrad/topic/value_optimum.hpp"

namespace popgrad::theorems::topic {

using namespace popgrad::topic;

// A selected position sees the other N - 1, each with the law mu of a masked token, and itself, of
// the law s of a selected one: its frequencies p have
//   N^2 E[p p'] = (N - 1) diag(mu) + (N - 1)(N - 2) mu mu' + (N - 1)(mu s' + s mu') + diag(s).
DocumentMoments document_moments(const TopicLaw<double>& law, double inverse_length) {
  if (inverse_length == 0) return {second_moment(law), cross_moment(law)};
  const Index size = law.vocabulary();
  const double others = 1 / inverse_length - 1;  // N - 1
  DocumentMoments made{Matrix<double>::Zero(size, size), Matrix<double>::Zero(size, size)};
  const auto documents = subsets(law.topics, law.active);
  const auto share = 1 / static_cast<double>(law.active * law.words);
  const auto weight = inverse_length / static_cast<double>(documents.size());
  for (const std::vector<Index>& document : documents) {
    Vector<double> mu = Vector<double>::Constant(size, law.frequency(false));
    Vector<double> s = Vector<double>::Constant(size, law.random / static_cast<double>(size - 1));
    Vector<double> word = Vector<double>::Zero(size);
    mu[0] = law.mask();
    s[0] = law.hidden();
    for (const Index t : document) {
      mu.segment(1 + t * law.words, law.words).setConstant(law.frequency(true));
      s.segment(1 + t * law.words, law.words).array() += law.correct * share;
      word.segment(1 + t * law.words, law.words).setConstant(share);
    }
    const Matrix<double> both = mu * s.transpose();
    made.second += weight * inverse_length *
                   (others * ((others - 1) * mu * mu.transpose() + both + both.transpose()) +
                    Matrix<double>((others * mu + s).asDiagonal()));
    // Its own token is its word where that is kept, and of no word in particular otherwise.
    Vector<double> unkept = s;
    unkept.tail(size - 1) -= law.correct * word.tail(size - 1);
    made.cross += weight * ((others * mu + unkept) * word.transpose() +
                            law.correct * Matrix<double>(word.asDiagonal()));
  }
  return made;
}

LeastNorm least_norm(const DocumentMoments& moments, Index rank) {
  const PrincipalAxes axes = principal_axes(moments.second);
  const Index size = axes.values.size();
  Matrix<double> inverse = Matrix<double>::Zero(size, size);
  double least = axes.values.maxCoeff();
  const double largest = least;
  for (Index k = size - rank; k < size; ++k) {
    least = std::min(least, axes.values[k]);
    inverse += axes.vectors.col(k) * axes.vectors.col(k).transpose() / axes.values[k];
  }
  const Matrix<double> value = moments.cross.transpose() * inverse;
  const double operations = static_cast<double>(size) * largest / least;
  return {value, ErrorPart::rounding(operations, value.cwiseAbs().maxCoeff())};
}

}  // namespace popgrad::theorems::topic
