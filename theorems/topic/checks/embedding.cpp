#include "theorems/topic/checks/exact_inertia.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/random_member.hpp"
#include "theorems/topic/checks/trained_embedding.hpp"

namespace popgrad::topic::checks::embedding {
namespace {

Statement sheet{.id = "topic.embedding",
                .paper = "arXiv 2303.04245, Theorem 1",
                .status = "sign proved in source, value 1/a and the family derived here",
                .about = "the flow of the embeddings",
                .theorem = R"(
With uniform attention, W_V = I, squared loss and long documents, embeddings of least loss have, for
E = W_E' W_E and every other topic t, the own word counted,
  sum_{l in topic(i)} E_il - sum_{l in t} E_il = 1/a,  a = 1 - (1 - p_c) p_m.
The family with block sums and column 0
  sum_{j in t} E_ij = [t = topic(i)]/a + u_i
  E_i0              = -(b/a + u_i s)/p0,  b = p_m p_r/(T v),  s = a/v + T b
is stationary, and of least loss. From a small start the inner products of two words are on average
1/(a v) larger inside a topic; from a large one they need not be, as the own word may make all of the
difference.)",
                .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
                .false_version = "any-start",
                .reads = "optimum"};

const Clause add_up =
    sheet.clause("best embeddings: same-topic less other-topic inner products add up to `1/a`");
const Clause products = sheet.clause("from a small start those with other words are the larger");
const Clause family = sheet.clause("a family of `E` is stationary");
const Clause of_rank_topics = sheet.clause("one of it has rank `T`");

const Hypothesis wide = sheet.assume("embedding dimension at least `T`");
const Hypothesis uniform = sheet.assume("uniform attention");
const Hypothesis several_words =
    sheet.assume({"`v >= 2`", Basis::evaluated, "else a topic has no other words"});
const Hypothesis at_minimum =
    sheet.assume({"the minimum, not a saddle", Basis::evaluated, "`W_E = 0` is a saddle"});
const Hypothesis small_start = sheet.assume(
    {"`W_E` starts small, for other words", Basis::evaluated,
     "what `W_E` has at first of differences within a topic may stay, and makes the square of each "
     "embedding larger and the inner products with other words smaller"});

const Control nothing_kept = sheet.control("nothing-kept", "`1 - p_m` in place of `a`");
const Control tenth_more = sheet.control("tenth-more", "a gap 10 % too large");
const Control no_member = sheet.control("no-member", "one entry off by 1/10");
const Control any_start =
    sheet.control("any-start", "the same from entries of 0.3: the topic counts, not the start");
const Control larger_rank = sheet.control("rank", "a rank of `T + 1`");
const Rival own_word = sheet.rival(
    "own-word", "only the inner product of a word with itself is larger", "the square of a word");

const Knob absent = sheet.knob(absent_knob(1, 2, 2));
const Knob active = sheet.knob(active_knob(1, 3, 2));
const Knob words = sheet.knob(words_knob(2, 4, 3));
// Relaxation takes times of order 1/a^2.
const Knob selecting = sheet.knob(masking_knob(0.02, 0.6));
const Knob any_keeping = sheet.knob(keeping);
const Knob any_replacing = sheet.knob(replacing);
const Knob missing =
    sheet.knob(whole_knob("missing-dimensions",
                          "by how many the dimension of the embeddings is below T", 1, 3, 0)
                   .breaking(wide));
const Knob attention =
    sheet.knob(logarithmic_knob("attention-entries",
                                "deviation of the entries of W_K and W_Q, one row each", 0.01, 3, 0)
                   .breaking(uniform));

const Knob start_knob = sheet.knob(
    linear_knob("embedding-start", "deviation of the entries of W_E at first", 0.3, 1, 0.01)
        .breaking(small_start));

void judge_family(const TopicLaw<Rational>& law, std::uint64_t seed, Examination& it) {
  const auto stationary = [&](const Rational& error) {
    return gram_is_stationary(law, seed, error);
  };
  it.judge(family, identity("`E C - c'` on members of the family: the gradient is 0",
                            [&] { return stationary(0); })
                       .of_kind(EvidenceKind::exact)
                       .unless(no_member, [&] { return stationary(Rational(1) / 10); }));
  // The member whose row 0 is 0.
  const Rational s = law.kept() / Rational(law.words) + Rational(law.topics) * law.stray();
  const Rational u = -law.stray() / (law.kept() * s);
  const SignCount signs = exact_inertia(random_gram(law, u, false, seed));
  it.judge(of_rank_topics,
           identity("the member with zero row 0 is positive semidefinite of rank `T`",
                    [&] { return semidefinite_of_rank(signs, law.topics); })
               .of_kind(EvidenceKind::exact)
               .unless(larger_rank, [&] { return semidefinite_of_rank(signs, law.topics + 1); }));
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
  it.require(wide, static_cast<double>(width - law.topics),
             fmt::format("{} of {}", width, law.topics));
  const double entries = setting.value(attention);
  it.require(uniform, -entries, fmt::format("entries of size {:g}", entries));
  const bool others = it.require(several_words, static_cast<double>(law.words - 2),
                                 fmt::format("`v = {}`", law.words));
  judge_family(law, setting.seed, it);
  const TrainedEmbedding trained = train_embedding(rounded(law), width, entries, setting.seed);
  it.require(
      at_minimum, trained.falling - trained.excess,
      fmt::format("the loss is {:.1e} above the least, and fell by {:.1e} in the second half",
                  trained.excess, trained.falling));
  it.judge(add_up, equal("trained embeddings: own block sum less those of other topics",
                         trained.gaps, 1 / to_double(law.kept()))
                       .unless(nothing_kept, 1 / (1 - to_double(law.masked)))
                       .unless(tenth_more, times(1.1)));
  if (!others) return;
  const auto v = static_cast<double>(law.words);
  const double size = setting.value(start_knob);
  const double predicted = 1 / (to_double(law.kept()) * v);
  const double left = kept_of_start(rounded(law), width, setting.seed, size) / (v - 1);
  it.require(small_start, noticed_share - left / predicted,
             fmt::format("they may miss {:.3g} of `1/(a v)`", left / predicted));
  Quantity larger = train_embedding(rounded(law), width, entries, setting.seed, size).others;
  larger.add(ErrorPart::next_order(left));
  it.judge(products, equal("trained from a small start: mean inner product of two words of a topic "
                           "less that of words of two",
                           larger, predicted)
                         .unless(tenth_more, times(1.1))
                         .unless(any_start, [&] { return trained.others; })
                         .against(own_word, 0));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::embedding
