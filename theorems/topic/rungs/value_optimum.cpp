#include "theorems/topic/rungs/value_optimum.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/topic/rungs/moments.hpp"

namespace popgrad::topic {
namespace {

// a, by which W_V divides.
template <class T, class Count>
T kept_by(const TopicLaw<T, Count>& law) {
  const T a = law.kept();
  if constexpr (!std::is_same_v<T, Expression>) {
    if (!(T(0) < a)) {
      reject(
          "topic", "--p_c", to_text(law.correct),
          fmt::format("with --p_m {} keeps no word of a document, so that no W_V of least loss is "
                      "known; raise --p_c or lower --p_m",
                      to_text(law.masked)));
    }
  }
  return a;
}

}  // namespace

template <class T, class Count>
BlockValue<T> member(const TopicLaw<T, Count>& law, const T& u, const T& spread) {
  const T v = TopicLaw<T, Count>::number(law.words);
  const T a = kept_by(law);
  const T b = law.stray();
  const T s = a / v + TopicLaw<T, Count>::number(law.topics) * b;
  BlockValue<T> made;
  made.mask = -(b / a + u * s) / law.mask();
  made.same = (T(1) / a + u - spread) / v;
  made.diagonal = made.same + spread;
  made.other = u / v;
  return made;
}

template <class T, class Count>
BlockValue<T> diagonal_value(const TopicLaw<T, Count>& law) {
  return member(law, T(0), T(T(1) / kept_by(law)));
}

template <class T, class Count>
BlockValue<T> minimum_norm_value(const TopicLaw<T, Count>& law) {
  const T v = TopicLaw<T, Count>::number(law.words);
  const T topics = TopicLaw<T, Count>::number(law.topics);
  const T a = kept_by(law);
  const T b = law.stray();
  const T s = a / v + topics * b;
  const T square = law.mask() * law.mask();
  const T u = -(s * b / square + T(1) / v) / (s * s / square + topics / v) / a;
  return member(law, u, T(0));
}

template <class T, class Count>
BlockValue<T> mixture_value(const TopicLaw<T, Count>& law, const T& theta) {
  const BlockValue<T> block = minimum_norm_value(law);
  const BlockValue<T> diagonal = diagonal_value(law);
  const auto mix = [&](const T& from, const T& to) {
    return T((T(1) - theta) * from + theta * to);
  };
  return {mix(block.mask, diagonal.mask), mix(block.diagonal, diagonal.diagonal),
          mix(block.same, diagonal.same), mix(block.other, diagonal.other)};
}

template <class T>
BlockValue<T> penalised_value(const TopicLaw<T>& law, const T& lambda) {
  if (lambda == T(0)) return minimum_norm_value(law);
  // Row i of W (C + lambda I) = c' on rows (w0, same topic, other topic), with
  //   pt = (p0, pi_0 + Delta 1_t)
  //   p* = 1_topic(i)/(tau v)
  const auto n = [](Index count) { return TopicLaw<T>::number(count); };
  const T v = n(law.words);
  const T p0 = law.mask();
  const T b = law.stray();
  const T rise = law.kept() / n(law.active * law.words);  // Delta
  const T one = law.share();
  const T two = one * n(law.active - 1) / n(law.topics - 1);
  const T first = b + rise * one;                                     // E[pt_j]
  const T alike = b * b + T(2) * b * rise * one + rise * rise * one;  // E[pt_j pt_j'], one topic
  const T apart = b * b + T(2) * b * rise * one + rise * rise * two;  // different topics
  const T others = n(law.topics - 1);
  Matrix<T> system(3, 3);
  system << p0 * p0 + lambda, p0 * first * v, p0 * first * v * others,  //
      p0 * first, alike * v + lambda, apart * v * others,               //
      p0 * first, apart * v, alike * v + apart * v * T(others - T(1)) + lambda;
  Vector<T> right(3);
  const T target = T(1) / n(law.active * law.words);
  right << target * p0 * one, target * (b * one + rise * one), target * (b * one + rise * two);
  const Vector<T> row = solve_square<T>(system, right);
  return {row[0], row[1], row[1], row[2]};
}

namespace {

// f(x): x = 1 within a topic, the joint moment of two indicators otherwise.
template <class T>
T joint(const TopicLaw<T>& law, bool same_topic) {
  const T one = law.share();
  if (same_topic) return one;
  return one * TopicLaw<T>::number(law.active - 1) / TopicLaw<T>::number(law.topics - 1);
}

}  // namespace

template <class T>
Matrix<T> second_moment(const TopicLaw<T>& law) {
  const Index size = law.vocabulary();
  const T p0 = law.mask();
  const T b = law.stray();
  const T rise = law.kept() / TopicLaw<T>::number(law.active * law.words);
  const T first = b + rise * law.share();
  const T base = b * b + T(2) * b * rise * law.share();
  const T alike = base + rise * rise * joint(law, true);
  const T apart = base + rise * rise * joint(law, false);
  Matrix<T> moment(size, size);
  moment(0, 0) = p0 * p0;
  for (Index i = 1; i < size; ++i) {
    moment(0, i) = moment(i, 0) = p0 * first;
    for (Index j = 1; j < size; ++j) {
      moment(i, j) = law.topic_of(i) == law.topic_of(j) ? alike : apart;
    }
  }
  return moment;
}

template <class T>
Matrix<T> cross_moment(const TopicLaw<T>& law) {
  const Index size = law.vocabulary();
  const T target = T(1) / TopicLaw<T>::number(law.active * law.words);
  const T b = law.stray();
  const T rise = law.kept() * target;
  const T alike = target * (b * law.share() + rise * joint(law, true));
  const T apart = target * (b * law.share() + rise * joint(law, false));
  Matrix<T> moment = Matrix<T>::Constant(size, size, T(0));
  for (Index j = 1; j < size; ++j) {
    moment(0, j) = target * law.mask() * law.share();
    for (Index i = 1; i < size; ++i) {
      moment(i, j) = law.topic_of(i) == law.topic_of(j) ? alike : apart;
    }
  }
  return moment;
}

template <class T>
T uniform_loss(const TopicLaw<T>& law, const Matrix<T>& value) {
  // E |W pt|^2 - 2 E p*' W pt + 1.
  const Matrix<T> left = value * second_moment(law);
  const Matrix<T> cross = cross_moment(law);
  T sum(1);
  for (Index i = 0; i < value.rows(); ++i) {
    for (Index j = 0; j < value.cols(); ++j) {
      sum = sum + left(i, j) * value(i, j) - T(2) * value(i, j) * cross(j, i);
    }
  }
  return sum;
}

#define POPGRAD_INSTANTIATE(T)                                           \
  template BlockValue<T> member(const TopicLaw<T>&, const T&, const T&); \
  template BlockValue<T> diagonal_value(const TopicLaw<T>&);             \
  template BlockValue<T> minimum_norm_value(const TopicLaw<T>&);         \
  template BlockValue<T> mixture_value(const TopicLaw<T>&, const T&);    \
  template Matrix<T> second_moment(const TopicLaw<T>&);                  \
  template Matrix<T> cross_moment(const TopicLaw<T>&);                   \
  template T uniform_loss(const TopicLaw<T>&, const Matrix<T>&);
POPGRAD_INSTANTIATE(double)
POPGRAD_INSTANTIATE(Real)
POPGRAD_INSTANTIATE(Rational)
POPGRAD_INSTANTIATE(Expression)
#undef POPGRAD_INSTANTIATE
using SymbolicLaw = TopicLaw<Expression, Expression>;
template BlockValue<Expression> member(const SymbolicLaw&, const Expression&, const Expression&);
template BlockValue<Expression> diagonal_value(const SymbolicLaw&);
template BlockValue<Expression> minimum_norm_value(const SymbolicLaw&);
using UnboundedLaw = TopicLaw<Rational, Rational>;
template BlockValue<Rational> diagonal_value(const UnboundedLaw&);
template BlockValue<Rational> minimum_norm_value(const UnboundedLaw&);
template BlockValue<double> penalised_value(const TopicLaw<double>&, const double&);
template BlockValue<Real> penalised_value(const TopicLaw<Real>&, const Real&);
template BlockValue<Rational> penalised_value(const TopicLaw<Rational>&, const Rational&);

}  // namespace popgrad::topic
