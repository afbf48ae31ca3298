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
//            random entries inside blocks; inertia of E; embeddings trained by the flow, all gaps
// Controls   1 - p_m in place of a; a gap 10 % too large; one entry off by 1/10; a rank of T + 1
// Uses       rung flow with trained embeddings

#include <fmt/format.h>

#include <cmath>

#include "popgrad/solved.hpp"
#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/exact_inertia.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/random_member.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob absent = absent_knob(1, 2, 2);
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

Truth stationary(const TopicLaw<Rational>& law, std::uint64_t seed, const Rational& error) {
  const Matrix<Rational> moment = second_moment(law);
  const Matrix<Rational> cross = cross_moment(law).transpose();
  for (const Rational& u : {Rational(0), Rational(-2) / 7, Rational(-1) / 3}) {
    for (const bool disturbed : {false, true}) {
      Matrix<Rational> e = random_gram(law, u, disturbed, seed);
      e(1, 2) = e(2, 1) = e(1, 2) + error;
      const Matrix<Rational> field = e * moment - cross;
      if (field.cwiseAbs().maxCoeff() != 0) return Truth::no;
    }
  }
  return Truth::yes;
}

void judge_family(const TopicLaw<Rational>& law, std::uint64_t seed, Examination& it) {
  it.judge(Identity{
      .kind = EvidenceKind::exact,
      .what = "E C - c' on members of the family: the gradient is 0",
      .holds = [&] { return stationary(law, seed, 0); },
      .mistakes = {{"no-member", [&] { return stationary(law, seed, Rational(1) / 10); }}}});
  // The member whose row 0 is 0.
  const Rational s = law.kept() / Rational(law.words) + Rational(law.topics) * law.stray();
  const Rational u = -law.stray() / (law.kept() * s);
  const SignCount signs = exact_inertia(random_gram(law, u, false, seed));
  const auto rank_is = [&](Index rank) {
    return signs.negative == 0 && signs.positive == rank ? Truth::yes : Truth::no;
  };
  it.judge(Identity{.kind = EvidenceKind::exact,
                    .what = "the member with zero row 0 is positive semidefinite of rank T",
                    .holds = [&] { return rank_is(law.topics); },
                    .mistakes = {{"rank", [&] { return rank_is(law.topics + 1); }}}});
}

// Own block sum less that of another topic, for every row and topic, at the end of training; what is
// left of the relaxation is no more than it was in the second half.
std::vector<Quantity> trained_gaps(const PopulationFlow& flow, const Solved& run) {
  const TopicLaw<double>& law = flow.training().law;
  std::vector<Quantity> gaps;
  for (Index i = 1; i < law.vocabulary(); ++i) {
    for (Index t = 0; t < law.topics; ++t) {
      if (t == law.topic_of(i)) continue;
      const auto gap = [&](const Vector<double>& x) {
        const ConstView w(x.data() + flow.layout().embedding(), flow.layout().width,
                          flow.layout().vocabulary);
        const auto block = [&](Index of) {
          return w.col(i).dot(w.middleCols(1 + of * law.words, law.words).rowwise().sum());
        };
        return block(law.topic_of(i)) - block(t);
      };
      gaps.push_back(run.at(1, gap));
      gaps.back().add(ErrorPart::next_order(gap(run.state(1)) - gap(run.state(0))));
    }
  }
  return gaps;
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words));
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  Training training;
  training.law = rounded(law);
  const Index below = setting.count(missing);
  training.embedding_width = below == 0 ? law.topics + 2 : std::max<Index>(1, law.topics - below);
  training.key_width = 1;
  training.scale = 0.3;
  training.start = ValueStart::identity;
  training.train_value = training.train_attention = false;
  training.seed = setting.seed;
  it.require("embedding dimension at least T",
             static_cast<double>(training.embedding_width - law.topics),
             fmt::format("{} of {}", training.embedding_width, law.topics));
  const double entries = setting.value(attention);
  it.require("uniform attention", -entries, fmt::format("entries of size {:g}", entries));
  judge_family(law, setting.seed, it);
  const PopulationFlow flow(training);
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  rung.initial.head(flow.layout().values()) *= entries / training.scale;
  // Relaxation times go as those of W_V under uniform attention.
  const double end = 30 / value_rate(training.law);
  const Solved run(rung, {end / 2, end}, 1e-9);
  const auto loss = [&](const Vector<double>& x) { return flow.loss(x); };
  const double least = 1 - 1 / static_cast<double>(law.active * law.words);
  const Quantity falling = run.at(0, loss) - run.at(1, loss);
  const Quantity excess = run.at(1, loss) - Quantity(least);
  it.require(
      "the minimum, not a saddle",
      Quantity(falling.value() + falling.error() + excess.error() - excess.value()),
      fmt::format("the loss is {:.1e} above the least, and fell by {:.1e} in the second half",
                  excess.value(), falling.value()));
  const double a = to_double(law.kept());
  it.judge(Comparison{.what = "trained embeddings: own block sum less those of other topics",
                      .measured = trained_gaps(flow, run),
                      .predicted = {1 / a},
                      .mistakes = {predicts("nothing-kept", 1 / (1 - training.law.masked)),
                                   predicts_times("tenth-more", 1.1)}});
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
          .controls = {{"nothing-kept", "1 - p_m in place of a"},
                       {"tenth-more", "a gap 10 % too large"},
                       {"no-member", "one entry off by 1/10"},
                       {"rank", "a rank of T + 1"}},
          .knobs = {absent, active, words, selecting, keeping, replacing, missing, attention},
          .reads = "flow",
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
