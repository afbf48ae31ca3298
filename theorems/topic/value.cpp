// Theorem    topic.value
// Status     proved in source (Theorem 2)
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 2; minimum norm derived here
// Statement  under uniform attention W_V is optimal iff for numbers u_i its block sums and column 0
//            are, with s = a/v + T b,
//              sum_{j in t} W_ij = [t = topic(i)]/a + u_i
//              W_i0              = -(b/a + u_i s)/p0;
//            a vanishing l2 penalty picks entries equal within blocks and
//              u = -(1/a) (s b/p0^2 + 1/v)/(s^2/p0^2 + T/v);
//            a penalty lambda has
//              W = c' (C + lambda I)^{-1}
// Hypotheses H1 squared loss; H2 long documents; H3 p0 > 0
// Check      gradient 2 (W C - c') = 0 in fractions on members with random rows; inertia of C,
//            whose signs are those of the Hessian; derivative of the norm along the family;
//            distance to the penalised optimum as lambda -> 0
// Controls   the diagonal member claimed of least norm; column 0 without u s
// Uses       closed forms

#include <fmt/format.h>

#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/linear_algebra.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/exact_inertia.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob topics = topics_knob(3, 8, 4);
constexpr Knob active = active_knob(1, 5, 2);
constexpr Knob words = words_knob(1, 6, 3);
constexpr Knob penalty{.name = "penalty",
                       .meaning = "lambda, weight of |W_V|^2 in the loss",
                       .low = 1e-4,
                       .high = 10,
                       .usual = 0.025,
                       .spacing = Spacing::logarithmic};
constexpr Knob shortness{.name = "inverse-length",
                         .meaning = "1/N of documents of N tokens; 0: infinitely long",
                         .low = 1e-6,
                         .high = 0.25,
                         .usual = 0,
                         .spacing = Spacing::logarithmic,
                         .breaks = "long documents"};

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

// By how many decimals the least nonzero eigenvalue of C is below 1e-3.
int decimals_below(const Matrix<double>& moment, Index rank) {
  const Vector<double> values = symmetric_eigenvalues<double>(moment);
  return std::max(0, static_cast<int>(std::ceil(-3 - std::log10(values[values.size() - rank]))));
}

// What documents of N tokens make of the optimum: the largest relative error of the two equations
// that the theorem has for its rows.
//
// A selected position sees the other N - 1, each with the law mu of a masked token, and itself, of
// the law s of a selected one: its frequencies p have
//   N^2 E[p p'] = (N - 1) diag(mu) + (N - 1)(N - 2) mu mu' + (N - 1)(mu s' + s mu') + diag(s).
double miss_on_short_documents(const TopicLaw<double>& law, double inverse) {
  const Index size = law.vocabulary();
  const double others = 1 / inverse - 1;  // N - 1
  Matrix<double> moment = Matrix<double>::Zero(size, size);
  Matrix<double> cross = Matrix<double>::Zero(size, size);  // E[p e_w']
  const auto documents = subsets(law.topics, law.active);
  const auto share = 1 / static_cast<double>(law.active * law.words);
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
    const auto weight = 1 / static_cast<double>(documents.size());
    const Matrix<double> both = mu * s.transpose();
    moment += weight * inverse * inverse *
              (others * ((others - 1) * mu * mu.transpose() + both + both.transpose()) +
               Matrix<double>((others * mu + s).asDiagonal()));
    // Its own token is its word where that is kept, and of no word in particular otherwise.
    Vector<double> unkept = s;
    unkept.tail(size - 1) -= law.correct * word.tail(size - 1);
    cross += weight * inverse *
             ((others * mu + unkept) * word.transpose() +
              law.correct * Matrix<double>(word.asDiagonal()));
  }
  const Matrix<double> w = solve_symmetric<double>(moment, cross).transpose();
  const double a = law.kept();
  const double s =
      a / static_cast<double>(law.words) + static_cast<double>(law.topics) * law.stray();
  double worst = 0;
  for (Index i = 1; i < size; ++i) {
    const auto block = [&](Index t) {
      return w.row(i).segment(1 + t * law.words, law.words).sum();
    };
    const Index own = law.topic_of(i);
    const double u = block(own) - 1 / a;
    for (Index t = 0; t < law.topics; ++t) {
      if (t != own) worst = std::max(worst, std::fabs(block(t) - u) * a);
    }
    const double claimed = -(law.stray() / a + u * s) / law.mask();
    worst = std::max(worst, std::fabs(w(i, 0) - claimed) * law.mask() / (s / a));
  }
  return worst;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto law =
      law_at(setting, setting.count(topics), setting.count(active), setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  result.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, result)) return result;
  if (const double inverse = setting.value(shortness); inverse != 0) {
    result.hypotheses.push_back(
        {"long documents", Truth::no, fmt::format("{:.4g} tokens", 1 / inverse)});
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "equations of the rows at the optimum of short documents",
        miss_on_short_documents(rounded(law), inverse), setting.allow(1e-9), "an equality"));
    return result;
  }
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
               signs.negative == 0 && signs.positive == law.topics ? Truth::yes : Truth::no,
               fmt::format("C: {} positive, {} zero, {} negative", signs.positive, signs.zero,
                           signs.negative)));
  const bool diagonal = variant == "diagonal";
  const BlockValue<Rational> least = diagonal ? diagonal_value(law) : minimum_norm_value(law);
  // Half the derivative of the norm of a row: in u, and in a spread inside the own block.
  const Rational v(static_cast<int>(law.words));
  const Rational s = law.kept() / v + Rational(static_cast<int>(law.topics)) * law.stray();
  const Rational in_u = -least.mask * s / law.mask() + (least.diagonal + (v - 1) * least.same) / v +
                        Rational(static_cast<int>(law.topics - 1)) * least.other;
  const Rational in_spread = least.diagonal - least.same;
  result.evidence.push_back(identity(
      EvidenceKind::exact, "the norm is stationary on the family at the minimum-norm member",
      in_u == 0 && in_spread == 0 ? Truth::yes : Truth::no));
  if (variant == "no-pull") return result;
  const Rational some = decimal(setting.value(penalty));
  result.parameters["lambda"] = to_double(some);
  const Matrix<Rational> penalised = expand(law, penalised_value(law, some));
  result.evidence.push_back(identity(
      EvidenceKind::exact,
      some * 40 == 1 ? "W (C + lambda I) = c' at lambda = 1/40"
                     : "W (C + lambda I) = c' at the penalty lambda",
      (penalised * moment + some * penalised - cross.transpose()).cwiseAbs().maxCoeff() == 0
          ? Truth::yes
          : Truth::no));
  // Distances are O(lambda): exact numbers, rounded at the end.
  std::vector<double> lambdas, distances;
  const int further = decimals_below(moment.cast<double>(), law.topics);
  for (const int power : {6, 7, 8}) {
    Rational lambda(1);
    for (int i = 0; i < power + further; ++i) lambda /= 10;
    const Matrix<Rational> apart = expand(law, penalised_value(law, lambda)) - expand(law, least);
    lambdas.push_back(to_double(lambda));
    distances.push_back(std::sqrt(to_double(Rational(apart.squaredNorm()))));
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "order in lambda of the distance to the minimum norm, from 1",
      std::fabs(log_log_slope(lambdas, distances) - 1), 0.02, "the next order is lambda over 1e-3",
      fmt::format("|W(1e-{}) - W| = {:.2e}", 8 + further, distances.back())));
  return result;
}

}  // namespace

Statement value() {
  return {.id = "topic.value",
          .claim = "best W_V under uniform attention, its minimum-norm limit and its l2 form",
          .paper = "arXiv 2303.04245, Theorem 2",
          .status = "proved in source",
          .hypotheses = {"squared loss", "long documents", "p0 > 0"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"diagonal", "the diagonal member claimed of least norm"},
                       {"no-pull", "column 0 without u s"}},
          .knobs = {topics, active, words, masking, keeping, replacing, penalty, shortness},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
