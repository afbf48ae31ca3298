#include "theorems/topic/checks/random_member.hpp"

#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

Matrix<Rational> random_value(const TopicLaw<Rational>& law, std::uint64_t seed, bool no_pull) {
  const Index size = law.vocabulary();
  const Rational v(static_cast<int>(law.words));
  const Rational a = law.kept();
  const Rational s = a / v + Rational(static_cast<int>(law.topics)) * law.stray();
  Matrix<Rational> w = Matrix<Rational>::Constant(size, size, Rational(0));
  Stream stream(seed, 0, 0);
  const auto random = [&] { return Rational(static_cast<int>(stream.index(15)) - 7) / 4; };
  for (Index i = 1; i < size; ++i) {
    const Rational u = random();
    w(i, 0) = -(law.stray() / a + (no_pull ? Rational(0) : Rational(u * s))) / law.mask();
    for (Index t = 0; t < law.topics; ++t) {
      auto block = w.row(i).segment(1 + t * law.words, law.words);
      for (Index j = 0; j < law.words; ++j) block[j] = random();
      const Rational sum = (t == law.topic_of(i) ? Rational(1 / a) : Rational(0)) + u;
      block[0] += sum - block.sum();
    }
  }
  return w;
}

Matrix<Rational> random_gram(const TopicLaw<Rational>& law, const Rational& u, bool disturbed,
                             std::uint64_t seed) {
  Matrix<Rational> e = expand(law, member(law, u, Rational(0)));
  const Rational a = law.kept();
  const Rational v(static_cast<int>(law.words));
  const Rational s = a / v + Rational(static_cast<int>(law.topics)) * law.stray();
  // Row 0 maps every document to 0, and is column 0 by symmetry.
  const Rational u0 = -(s * v * u + v * law.stray() / a) / law.mask();
  for (Index j = 1; j < e.cols(); ++j) e(0, j) = e(j, 0);
  e(0, 0) = -u0 * s / law.mask();
  if (!disturbed) return e;
  Stream stream(seed, 0, 0);
  for (Index t = 0; t < law.topics; ++t) {
    // (x_i x_j) with sum x = 0: symmetric, positive semidefinite.
    Vector<Rational> x(law.words);
    for (Rational& value : x) value = Rational(static_cast<int>(stream.index(9)) - 4) / 5;
    x.array() -= Rational(x.sum() / v);
    e.block(1 + t * law.words, 1 + t * law.words, law.words, law.words) += x * x.transpose();
  }
  return e;
}

Truth is_optimal(const TopicLaw<Rational>& law, const Matrix<Rational>& value,
                 const Rational& lambda) {
  const Matrix<Rational> field =
      value * second_moment(law) + lambda * value - cross_moment(law).transpose();
  return field.cwiseAbs().maxCoeff() == 0 ? Truth::yes : Truth::no;
}

Truth gram_is_stationary(const TopicLaw<Rational>& law, std::uint64_t seed, const Rational& error) {
  for (const Rational& u : {Rational(0), Rational(-2) / 7, Rational(-1) / 3}) {
    for (const bool disturbed : {false, true}) {
      Matrix<Rational> e = random_gram(law, u, disturbed, seed);
      e(1, 2) = e(2, 1) = e(1, 2) + error;
      if (is_optimal(law, e, 0) == Truth::no) return Truth::no;
    }
  }
  return Truth::yes;
}

}  // namespace popgrad::topic::checks
