// Theorem    topic.embedding                         Status  proved in source (Theorem 1)
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 1
// Statement  with uniform attention and W_V = I, embeddings of least loss have
//            sum_{l in topic(i)} E_il - sum_{l in t} E_il = 1/a for E = W_E' W_E and every other
//            topic t; the family given in value_optimum.hpp is stationary, and of least loss
// Hypotheses H1 squared loss, long documents; H2 embeddings of dimension >= T; H3 the minimum, not
//            one of the saddles (W_E = 0 is one)
// Check      W C - c' and hence the gradient of W_E are 0 in fractions on members with random u_i
//            and random entries inside blocks; inertia of E; embeddings trained by the flow
// Controls   1 in place of 1/a; a block sum off by 1/10
// Uses       rung flow with trained embeddings

#include <fmt/format.h>

#include <cmath>

#include "popgrad/random.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/topic/population_flow.hpp"
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

// Symmetric, one u for all rows, blocks disturbed by matrices whose rows and columns add up to 0.
Matrix<Rational> random_member(const TopicLaw<Rational>& law, const Rational& u, bool disturbed,
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

double trained_miss(double gap, std::string& detail) {
  Training training;
  training.law = law_of<double>(topics, active, words);
  training.embedding_width = topics + 2;
  training.key_width = 1;
  training.scale = 0.3;
  training.start = ValueStart::identity;
  training.train_value = training.train_attention = false;
  const PopulationFlow flow(training);
  AnyRung<double> rung = forget_type(PopulationFlow(flow));
  rung.initial.head(flow.layout().values()).setZero();  // uniform attention
  const Trajectory<double> run = solve(rung, tight_request(3000, 2));
  if (!run.outcome.usable()) return std::nan("");
  const ConstView w(run.last_state.data() + flow.layout().embedding(), flow.layout().width,
                    flow.layout().vocabulary);
  const Matrix<double> e = w.transpose() * w;
  double worst = 0;
  for (Index i = 1; i < e.rows(); ++i) {
    const auto block = [&](Index t) { return e.row(i).segment(1 + t * words, words).sum(); };
    const Index own = training.law.topic_of(i);
    for (Index t = 0; t < topics; ++t) {
      if (t != own) worst = std::max(worst, std::fabs(block(own) - block(t) - gap));
    }
  }
  detail = fmt::format("loss {:.9f}, least {:.9f}", run.rows.back()[0],
                       1 - 1 / static_cast<double>(active * words));
  return worst;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  result.parameters = sizes(topics, active, words);
  const auto law = law_of<Rational>(topics, active, words);
  const Matrix<Rational> moment = second_moment(law);
  const Matrix<Rational> cross = cross_moment(law);
  const Rational a = law.kept();
  const Rational s =
      a / Rational(static_cast<int>(words)) + Rational(static_cast<int>(topics)) * law.stray();
  bool stationary = true;
  bool gaps = true;
  for (const Rational& u : {Rational(-law.stray() / (a * s)), Rational(-2) / 7, Rational(-1) / 3}) {
    for (const bool disturbed : {false, true}) {
      Matrix<Rational> e = random_member(law, u, disturbed, setting.seed);
      if (variant == "no-member") e(1, 2) = e(2, 1) = e(1, 2) + Rational(1) / 10;
      const Matrix<Rational> field = e * moment - cross.transpose();
      stationary = stationary && field.cwiseAbs().maxCoeff() == 0;
      const Rational gap = variant == "one" ? Rational(1) : Rational(1 / a);
      for (Index i = 1; i < e.rows(); ++i) {
        const auto block = [&](Index t) {
          return Rational(e.row(i).segment(1 + t * words, words).sum());
        };
        const Index own = law.topic_of(i);
        for (Index t = 0; t < topics; ++t) {
          gaps = gaps && (t == own || block(own) - block(t) == gap);
        }
      }
    }
  }
  result.hypotheses.push_back(
      {"embedding dimension at least T", Truth::yes, fmt::format("{} of {}", topics + 2, topics)});
  result.evidence.push_back(identity(EvidenceKind::exact,
                                     "E C - c' on members of the family: the gradient is 0",
                                     stationary ? Truth::yes : Truth::no));
  result.evidence.push_back(identity(EvidenceKind::exact,
                                     "same topic less other topic is 1/a, every row and topic",
                                     gaps ? Truth::yes : Truth::no));
  const SignCount signs = exact_inertia(random_member(law, -law.stray() / (a * s), false, 1));
  result.evidence.push_back(
      identity(EvidenceKind::exact, "the member with zero row 0 is positive semidefinite of rank T",
               signs.negative == 0 && signs.positive == topics ? Truth::yes : Truth::no,
               fmt::format("{} positive, {} zero, {} negative", signs.positive, signs.zero,
                           signs.negative)));
  if (variant == "no-member") return result;
  std::string detail;
  const double gap = variant == "one" ? 1.0 : 1 / law_of<double>(topics, active, words).kept();
  const double miss = trained_miss(gap, detail);
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "trained embeddings: worst miss of 1/a over rows and topics",
              miss, 1e-4, "what is left after 3000 units of slow relaxation", detail));
  return result;
}

}  // namespace

Statement embedding() {
  return {.id = "topic.embedding",
          .claim = "best embeddings: same-topic less other-topic inner products add up to 1/a",
          .paper = "arXiv 2303.04245, Theorem 1",
          .status = "proved in source",
          .hypotheses = {"embedding dimension at least T", "the minimum, not a saddle"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"one", "1 in place of 1/a"}, {"no-member", "one entry off by 1/10"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
