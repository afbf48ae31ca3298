// Theorem    topic.embedding
// Status     proved in source (Theorem 1)
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 1
// Statement  with uniform attention, W_V = I, squared loss and long documents, embeddings of least
//            loss have, for E = W_E' W_E and every other topic t,
//              sum_{l in topic(i)} E_il - sum_{l in t} E_il = 1/a;
//            the family given in value_optimum.hpp is stationary, and of least loss
// Hypotheses H1 embedding dimension at least T; H2 uniform attention; H3 the minimum, not a
//            saddle (W_E = 0 is one)
// Check      E C - c' and hence the gradient of W_E are 0 in fractions on members of three u, with
//            random entries inside blocks; inertia of E; embeddings trained by the flow
// Controls   1 in place of 1/a; one entry, and so a block sum, off by 1/10
// Uses       rung flow with trained embeddings

#include <fmt/format.h>

#include <cmath>

#include "popgrad/random.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/exact_inertia.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob topics = topics_knob(3, 5, 4);
constexpr Knob active = active_knob(1, 3, 2);
constexpr Knob words = words_knob(1, 4, 3);
// Relaxation takes times of order 1/a^2.
constexpr Knob selecting = masking_knob(0.02, 0.6);
constexpr Knob missing{.name = "missing-dimensions",
                       .meaning = "by how many the dimension of the embeddings is below T",
                       .low = 1,
                       .high = 3,
                       .usual = 0,
                       .spacing = Spacing::whole,
                       .breaks = "embedding dimension at least T"};
constexpr Knob attention{.name = "attention-entries",
                         .meaning = "deviation of the entries of W_K and W_Q, one row each",
                         .low = 0.01,
                         .high = 3,
                         .usual = 0,
                         .spacing = Spacing::logarithmic,
                         .breaks = "uniform attention"};

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

struct Trained {
  double miss = 0;    // worst |gap - claimed| over rows and topics
  double excess = 0;  // of the loss over the least one
  std::string detail;
};

Trained trained(const Setting& setting, const TopicLaw<double>& law, double gap) {
  Training training;
  training.law = law;
  const Index below = setting.count(missing);
  training.embedding_width = below == 0 ? law.topics + 2 : std::max<Index>(1, law.topics - below);
  training.key_width = 1;
  training.scale = 0.3;
  training.start = ValueStart::identity;
  training.train_value = training.train_attention = false;
  if (setting.only_what_varies) training.seed = setting.seed;
  const PopulationFlow flow(training);
  AnyRung<double> rung = forget_type(PopulationFlow(flow));
  rung.initial.head(flow.layout().values()) *= setting.value(attention) / training.scale;
  // Relaxation times go as those of W_V under uniform attention.
  const double end = 3000 * (value_rate(law_of<double>(4, 2, 3)) / value_rate(law));
  SolveRequest<double> request = tight_request(setting.only_what_varies ? end / 3 : end, 2);
  if (setting.only_what_varies) request.step_budget = 20'000;  // undecided beyond
  const Trajectory<double> run = solve(rung, request);
  Trained made;
  made.miss = std::nan("");
  if (!run.outcome.usable()) return made;
  const ConstView w(run.last_state.data() + flow.layout().embedding(), flow.layout().width,
                    flow.layout().vocabulary);
  const Matrix<double> e = w.transpose() * w;
  made.miss = 0;
  for (Index i = 1; i < e.rows(); ++i) {
    const auto block = [&](Index t) {
      return e.row(i).segment(1 + t * law.words, law.words).sum();
    };
    const Index own = law.topic_of(i);
    for (Index t = 0; t < law.topics; ++t) {
      if (t != own) made.miss = std::max(made.miss, std::fabs(block(own) - block(t) - gap));
    }
  }
  const double least = 1 - 1 / static_cast<double>(law.active * law.words);
  made.excess = run.rows.back()[0] - least;
  made.detail = fmt::format("loss {:.9f}, least {:.9f}", run.rows.back()[0], least);
  return made;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto law =
      law_at(setting, setting.count(topics), setting.count(active), setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  result.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, result)) return result;
  const Matrix<Rational> moment = second_moment(law);
  const Matrix<Rational> cross = cross_moment(law);
  const Rational a = law.kept();
  const Rational s = a / Rational(static_cast<int>(law.words)) +
                     Rational(static_cast<int>(law.topics)) * law.stray();
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
          return Rational(e.row(i).segment(1 + t * law.words, law.words).sum());
        };
        const Index own = law.topic_of(i);
        for (Index t = 0; t < law.topics; ++t) {
          gaps = gaps && (t == own || block(own) - block(t) == gap);
        }
      }
    }
  }
  const Index below = setting.count(missing);
  result.hypotheses.push_back(
      {"embedding dimension at least T", below > 0 ? Truth::no : Truth::yes,
       fmt::format("{} of {}", below > 0 ? law.topics - below : law.topics + 2, law.topics)});
  const double entries = setting.value(attention);
  if (entries != 0) {
    result.hypotheses.push_back(
        {"uniform attention", Truth::no, fmt::format("entries of size {:g}", entries)});
  }
  result.evidence.push_back(identity(EvidenceKind::exact,
                                     "E C - c' on members of the family: the gradient is 0",
                                     stationary ? Truth::yes : Truth::no));
  result.evidence.push_back(identity(EvidenceKind::exact,
                                     "same topic less other topic is 1/a, every row and topic",
                                     gaps ? Truth::yes : Truth::no));
  const SignCount signs = exact_inertia(random_member(law, -law.stray() / (a * s), false, 1));
  result.evidence.push_back(
      identity(EvidenceKind::exact, "the member with zero row 0 is positive semidefinite of rank T",
               signs.negative == 0 && signs.positive == law.topics ? Truth::yes : Truth::no,
               fmt::format("{} positive, {} zero, {} negative", signs.positive, signs.zero,
                           signs.negative)));
  if (variant == "no-member") return result;
  const double gap = variant == "one" ? 1.0 : 1 / rounded(law).kept();
  const Trained found = trained(setting, rounded(law), gap);
  if (below == 0 && entries == 0) {
    // The gaps are linear in W, and the loss is quadratic: this much leaves 1e-5 of them.
    const bool least = found.excess <= 1e-10 * value_rate(rounded(law));
    result.hypotheses.push_back({"the minimum, not a saddle", least ? Truth::yes : Truth::undecided,
                                 fmt::format("the loss is {:.1e} above the least", found.excess)});
  }
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "trained embeddings: worst miss of 1/a over rows and topics",
              found.miss, gap * setting.allow(1e-4 / gap),
              "what is left after 3000 units of slow relaxation", found.detail));
  return result;
}

}  // namespace

Statement embedding() {
  return {.id = "topic.embedding",
          .claim = "best embeddings: same-topic less other-topic inner products add up to 1/a",
          .paper = "arXiv 2303.04245, Theorem 1",
          .status = "proved in source",
          .hypotheses = {"embedding dimension at least T", "uniform attention",
                         "the minimum, not a saddle"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"one", "1 in place of 1/a"}, {"no-member", "one entry off by 1/10"}},
          .knobs = {topics, active, words, selecting, keeping, replacing, missing, attention},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
