// Theorem    topic.value                             Status  proved in source (Theorem 2)
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 2; minimum norm derived here
// Statement  under uniform attention W_V is optimal iff its block sums are [t = topic(i)]/a + u_i
// and
//            W_i0 = -(b/a + u_i s)/p0; a vanishing l2 penalty picks u = -(1/a)(s b/p0^2 +
//            1/v)/(s^2/p0^2
//            + T/v), equal within blocks; a penalty lambda has W = c' (C + lambda I)^{-1}
// Hypotheses H1 squared loss, long documents; H2 p0 > 0
// Check      gradient 2 (W C - c') = 0 in fractions on members with random rows; inertia of C,
// whose
//            signs are those of the Hessian; derivative of the norm along the family; distance to
//            the penalised optimum as lambda -> 0
// Controls   the diagonal member claimed of least norm; column 0 without u s
// Uses       closed forms

#include <fmt/format.h>

#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/exact_inertia.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Index topics = 4;
constexpr Index active = 2;
constexpr Index words = 3;

// A row of its own u for every word, its block sums spread at random within the blocks.
Matrix<Rational> random_member(const TopicLaw<Rational>& law, std::uint64_t seed, bool no_pull) {
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

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  result.parameters = sizes(topics, active, words);
  const auto law = law_of<Rational>(topics, active, words);
  const Matrix<Rational> moment = second_moment(law);
  const Matrix<Rational> cross = cross_moment(law);
  bool zero = true;
  for (std::uint64_t k = 0; k < 5; ++k) {
    const Matrix<Rational> w = random_member(law, setting.seed + k, variant == "no-pull");
    zero = zero && (w * moment - cross.transpose()).cwiseAbs().maxCoeff() == 0;
  }
  result.hypotheses.push_back({"p0 > 0", law.mask() > 0 ? Truth::yes : Truth::no,
                               fmt::format("p0 = {}", to_text(law.mask()))});
  result.evidence.push_back(identity(EvidenceKind::exact, "gradient on five random members is 0",
                                     zero ? Truth::yes : Truth::no));
  const SignCount signs = exact_inertia(moment);
  result.evidence.push_back(
      identity(EvidenceKind::exact, "the Hessian 2 C x I is positive semidefinite, rank T a row",
               signs.negative == 0 && signs.positive == topics ? Truth::yes : Truth::no,
               fmt::format("C: {} positive, {} zero, {} negative", signs.positive, signs.zero,
                           signs.negative)));
  const bool diagonal = variant == "diagonal";
  const BlockValue<Rational> least = diagonal ? diagonal_value(law) : minimum_norm_value(law);
  // Half the derivative of the norm of a row: in u, and in a spread inside the own block.
  const Rational v(static_cast<int>(words));
  const Rational s = law.kept() / v + Rational(static_cast<int>(topics)) * law.stray();
  const Rational in_u = -least.mask * s / law.mask() + (least.diagonal + (v - 1) * least.same) / v +
                        Rational(static_cast<int>(topics - 1)) * least.other;
  const Rational in_spread = least.diagonal - least.same;
  result.evidence.push_back(identity(
      EvidenceKind::exact, "the norm is stationary on the family at the minimum-norm member",
      in_u == 0 && in_spread == 0 ? Truth::yes : Truth::no));
  if (variant == "no-pull") return result;
  const Rational some = Rational(1) / 40;
  const Matrix<Rational> penalised = expand(law, penalised_value(law, some));
  result.evidence.push_back(identity(
      EvidenceKind::exact, "W (C + lambda I) = c' at lambda = 1/40",
      (penalised * moment + some * penalised - cross.transpose()).cwiseAbs().maxCoeff() == 0
          ? Truth::yes
          : Truth::no));
  // Distances are O(lambda): exact numbers, rounded at the end.
  std::vector<double> lambdas, distances;
  for (const int power : {6, 7, 8}) {
    Rational lambda(1);
    for (int i = 0; i < power; ++i) lambda /= 10;
    const Matrix<Rational> apart = expand(law, penalised_value(law, lambda)) - expand(law, least);
    lambdas.push_back(to_double(lambda));
    distances.push_back(std::sqrt(to_double(Rational(apart.squaredNorm()))));
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "order in lambda of the distance to the minimum norm, from 1",
      std::fabs(log_log_slope(lambdas, distances) - 1), 0.02, "the next order is lambda over 1e-3",
      fmt::format("|W(1e-8) - W| = {:.2e}", distances.back())));
  return result;
}

}  // namespace

Statement value() {
  return {.id = "topic.value",
          .claim = "best W_V under uniform attention, its minimum-norm limit and its l2 form",
          .paper = "arXiv 2303.04245, Theorem 2",
          .status = "proved in source",
          .hypotheses = {"squared loss, long documents", "p0 > 0"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"diagonal", "the diagonal member claimed of least norm"},
                       {"no-pull", "column 0 without u s"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
