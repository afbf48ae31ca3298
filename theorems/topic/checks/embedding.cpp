// Theorem    topic.embedding
// Status     sign proved in source (Theorem 1), value 1/a and the family derived here
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

#include "theorems/topic/checks/exact_inertia.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/random_member.hpp"
#include "theorems/topic/checks/trained_embedding.hpp"

namespace popgrad::topic::checks::embedding {
namespace {

constexpr Knob absent = absent_knob(1, 2, 2);
constexpr Knob active = active_knob(1, 3, 2);
constexpr Knob words = words_knob(1, 4, 3);
// Relaxation takes times of order 1/a^2.
constexpr Knob selecting = masking_knob(0.02, 0.6);
constexpr Knob missing =
    whole_knob("missing-dimensions", "by how many the dimension of the embeddings is below T", 1, 3,
               0)
        .breaking("embedding dimension at least T");
constexpr Knob attention =
    logarithmic_knob("attention-entries", "deviation of the entries of W_K and W_Q, one row each",
                     0.01, 3, 0)
        .breaking("uniform attention");

void judge_family(const TopicLaw<Rational>& law, std::uint64_t seed, Examination& it) {
  it.judge(Identity{.kind = EvidenceKind::exact,
                    .what = "E C - c' on members of the family: the gradient is 0",
                    .holds = [&] { return gram_is_stationary(law, seed, 0); },
                    .mistakes = {{"no-member", [&] {
                                    return gram_is_stationary(law, seed, Rational(1) / 10);
                                  }}}});
  // The member whose row 0 is 0.
  const Rational s = law.kept() / Rational(law.words) + Rational(law.topics) * law.stray();
  const Rational u = -law.stray() / (law.kept() * s);
  const SignCount signs = exact_inertia(random_gram(law, u, false, seed));
  it.judge(Identity{
      .kind = EvidenceKind::exact,
      .what = "the member with zero row 0 is positive semidefinite of rank T",
      .holds = [&] { return semidefinite_of_rank(signs, law.topics); },
      .mistakes = {{"rank", [&] { return semidefinite_of_rank(signs, law.topics + 1); }}}});
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const Index below = setting.count(missing);
  const auto width_of = [&](const TopicLaw<Rational>& own) {
    return below == 0 ? own.topics + 2 : std::max<Index>(1, own.topics - below);
  };
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words),
                                [&](const TopicLaw<Rational>& own) {
                                  return Record{{"d_e", width_of(own)}};
                                });
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const Index width = width_of(law);
  it.require("embedding dimension at least T", static_cast<double>(width - law.topics),
             fmt::format("{} of {}", width, law.topics));
  const double entries = setting.value(attention);
  it.require("uniform attention", -entries, fmt::format("entries of size {:g}", entries));
  judge_family(law, setting.seed, it);
  const TrainedEmbedding trained = train_embedding(rounded(law), width, entries, setting.seed);
  it.require(
      "the minimum, not a saddle", trained.falling - trained.excess,
      fmt::format("the loss is {:.1e} above the least, and fell by {:.1e} in the second half",
                  trained.excess, trained.falling));
  it.judge(Comparison{.what = "trained embeddings: own block sum less those of other topics",
                      .measured = trained.gaps,
                      .predicted = {1 / to_double(law.kept())},
                      .mistakes = {predicts("nothing-kept", 1 / (1 - to_double(law.masked))),
                                   predicts_times("tenth-more", 1.1)}});
}

}  // namespace

Statement statement() {
  return {.id = "topic.embedding",
          .claim = "best embeddings: same-topic less other-topic inner products add up to 1/a",
          .paper = "arXiv 2303.04245, Theorem 1",
          .status = "sign proved in source",
          .hypotheses = {"embedding dimension at least T", "uniform attention",
                         "the minimum, not a saddle"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"nothing-kept", "1 - p_m in place of a"},
                       {"tenth-more", "a gap 10 % too large"},
                       {"no-member", "one entry off by 1/10"},
                       {"rank", "a rank of T + 1"}},
          .knobs = {absent, active, words, selecting, keeping, replacing, missing, attention},
          .reads = "optimum",
          .examine = examine};
}

}  // namespace popgrad::topic::checks::embedding
