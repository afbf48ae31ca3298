#include "theorems/topic/checks/document_moments.hpp"

#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

namespace {

template <class T>
struct DocumentMoments {
  Matrix<T> second, cross;  // C, c
};

// A selected position sees the other N - 1, each with the law mu of a masked token, and itself, of
// the law s of a selected one: its frequencies p have
//   N^2 E[p p'] = (N - 1) diag(mu) + (N - 1)(N - 2) mu mu' + (N - 1)(mu s' + s mu') + diag(s).
template <class T>
DocumentMoments<T> document_moments(const TopicLaw<T>& law, double inverse_length) {
  if (inverse_length == 0) return {second_moment(law), cross_moment(law)};
  const Index size = law.vocabulary();
  const T inverse(inverse_length);
  const T others = T(1) / inverse - T(1);  // N - 1
  DocumentMoments<T> made{Matrix<T>::Zero(size, size), Matrix<T>::Zero(size, size)};
  const auto documents = subsets(law.topics, law.active);
  const T share = T(1) / TopicLaw<T>::number(law.active * law.words);
  const T weight = inverse / TopicLaw<T>::number(std::ssize(documents));
  for (const std::vector<Index>& document : documents) {
    Vector<T> mu = Vector<T>::Constant(size, law.frequency(false));
    Vector<T> s = Vector<T>::Constant(size, law.random / TopicLaw<T>::number(size - 1));
    Vector<T> word = Vector<T>::Zero(size);
    mu[0] = law.mask();
    s[0] = law.hidden();
    for (const Index t : document) {
      mu.segment(1 + t * law.words, law.words).setConstant(law.frequency(true));
      s.segment(1 + t * law.words, law.words).array() += T(law.correct * share);
      word.segment(1 + t * law.words, law.words).setConstant(share);
    }
    const Matrix<T> both = mu * s.transpose();
    made.second += T(weight * inverse) *
                   (others * (T(others - T(1)) * mu * mu.transpose() + both + both.transpose()) +
                    Matrix<T>((others * mu + s).asDiagonal()));
    // Its own token is its word where that is kept, and of no word in particular otherwise.
    Vector<T> unkept = s;
    unkept.tail(size - 1) -= law.correct * word.tail(size - 1);
    made.cross += weight * ((others * mu + unkept) * word.transpose() +
                            law.correct * Matrix<T>(word.asDiagonal()));
  }
  return made;
}

}  // namespace

template <class T>
LeastNorm least_norm(const TopicLaw<T>& law, double inverse_length) {
  const DocumentMoments<T> moments = document_moments(law, inverse_length);
  const PrincipalAxes axes = principal_axes(moments.second);
  const Index size = axes.values.size();
  const Index rank = inverse_length == 0 ? law.topics : size;
  Matrix<T> inverse = Matrix<T>::Zero(size, size);
  for (Index k = size - rank; k < size; ++k) {
    inverse += axes.vectors.col(k) * axes.vectors.col(k).transpose() / axes.values[k];
  }
  const Matrix<T> value = moments.cross.transpose() * inverse;
  const T condition = axes.values[size - 1] / axes.values[size - rank];
  // Entries of the inverse are known to a share of its norm, not of their own size.
  const T terms = moments.cross.colwise().norm().maxCoeff() / axes.values[size - rank];
  // In the eigenpairs, and in the products.
  const T rounding = TopicLaw<T>::number(2 * size) * condition * terms * machine_epsilon<T>();
  const auto read = [&](const T& number, const T& entries) {
    return Quantity(to_double(number), {ErrorPart::rounding_moved(to_double(T(entries * rounding)),
                                                                  1, to_double(number))});
  };
  const auto block = [&](Index i, Index t) {
    return value.row(i).segment(1 + t * law.words, law.words).sum();
  };
  const T words = TopicLaw<T>::number(law.words);
  const T s = law_sum(law);
  LeastNorm made;
  for (Index i = 1; i < size; ++i) {
    const Index own = law.topic_of(i);
    for (Index t = 0; t < law.topics; ++t) {
      if (t != own) made.gaps.push_back(read(block(i, own) - block(i, t), T(2) * words));
    }
    made.masks.push_back(read(value(i, 0), T(1)));
    const T u = block(i, own) - T(1) / law.kept();
    made.pulled.push_back(
        read(-(law.stray() / law.kept() + u * s) / law.mask(), words * s / law.mask()));
  }
  for (const Index j : {Index{0}, Index{1}, law.words + 1}) {
    made.entries.push_back(read(value(1, j), T(1)));
  }
  return made;
}

template LeastNorm least_norm(const TopicLaw<double>&, double);
template LeastNorm least_norm(const TopicLaw<Real>&, double);

Quantity order_in_penalty(const TopicLaw<Rational>& law) {
  const Vector<double> spectrum = symmetric_eigenvalues<double>(second_moment(law).cast<double>());
  const Matrix<Rational> least = expand(law, minimum_norm_value(law));
  const auto distance = [&](double lambda) -> Quantity {
    const Matrix<Rational> apart = expand(law, penalised_value(law, Rational(lambda))) - least;
    return std::sqrt(to_double(Rational(apart.squaredNorm())));
  };
  return order_of(distance, 4e-4 * spectrum[spectrum.size() - law.topics], 2, 3);
}

}  // namespace popgrad::topic::checks
