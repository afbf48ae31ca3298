#include "theorems/topic/document_moments.hpp"

#include <cmath>

#include "popgrad/linear_algebra.hpp"
#include "popgrad/order.hpp"
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

double law_sum(const TopicLaw<double>& law) {
  return law.kept() / static_cast<double>(law.words) +
         static_cast<double>(law.topics) * law.stray();
}

LeastNorm least_norm(const TopicLaw<double>& law, double inverse_length) {
  const DocumentMoments moments = document_moments(law, inverse_length);
  const PrincipalAxes axes = principal_axes(moments.second);
  const Index size = axes.values.size();
  const Index rank = inverse_length == 0 ? law.topics : size;
  Matrix<double> inverse = Matrix<double>::Zero(size, size);
  for (Index k = size - rank; k < size; ++k) {
    inverse += axes.vectors.col(k) * axes.vectors.col(k).transpose() / axes.values[k];
  }
  const Matrix<double> value = moments.cross.transpose() * inverse;
  const double condition = axes.values[size - 1] / axes.values[size - rank];
  // Entries of the inverse are known to a share of its norm, not of their own size.
  const double terms = moments.cross.colwise().norm().maxCoeff() / axes.values[size - rank];
  // In the eigenpairs, and in the products.
  const ErrorPart rounding = ErrorPart::rounding(2 * static_cast<double>(size) * condition, terms);
  const auto entry = [&](Index i, Index j) { return Quantity(value(i, j), {rounding}); };
  const auto block = [&](Index i, Index t) {
    return Quantity(value.row(i).segment(1 + t * law.words, law.words).sum(),
                    {rounding.times(static_cast<double>(law.words))});
  };
  LeastNorm made;
  for (Index i = 1; i < size; ++i) {
    const Index own = law.topic_of(i);
    for (Index t = 0; t < law.topics; ++t) {
      if (t != own) made.gaps.push_back(block(i, own) - block(i, t));
    }
    made.masks.push_back(entry(i, 0));
    const Quantity u = block(i, own) - Quantity(1 / law.kept());
    made.pulled.push_back((Quantity(-law.stray() / law.kept()) - u * Quantity(law_sum(law))) *
                          Quantity(1 / law.mask()));
  }
  made.entries = {entry(1, 0), entry(1, 1), entry(1, law.words + 1)};
  return made;
}

Quantity order_in_penalty(const TopicLaw<Rational>& law) {
  const Vector<double> spectrum = symmetric_eigenvalues<double>(second_moment(law).cast<double>());
  const Matrix<Rational> least = expand(law, minimum_norm_value(law));
  const auto distance = [&](double lambda) -> Quantity {
    const Matrix<Rational> apart = expand(law, penalised_value(law, Rational(lambda))) - least;
    return std::sqrt(to_double(Rational(apart.squaredNorm())));
  };
  return order_of(distance, 4e-4 * spectrum[spectrum.size() - law.topics], 2, 3);
}

}  // namespace popgrad::theorems::topic
