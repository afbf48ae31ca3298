#include "popgrad/judging/compare.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/second_stage.hpp"
#include "theorems/topic/checks/trained_embedding.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks::either_alone {
namespace {

Statement sheet{.id = "topic.either-alone",
                .paper = "arXiv 2303.04245, either part alone suffices",
                .status = "observed in source (either part suffices); the losses derived here",
                .about = "training on the expected loss",
                .theorem = R"(
Of a selected position in a long document the losses of Bayes' rule are, from the topics of the
document only and from the token at the position as well,
  L_T = 1 - 1/(tau v)
  L_B = L_T (1 - p_c c),  c = p_c/(p_c + p_r tau/T).
Embeddings by themselves end at L_T. From a small start the inner products of two words are on average
  1/(a v),  a = 1 - (1 - p_c) p_m,
larger inside a topic; from a large one only if the own word is counted.
The attention layer by itself, on one-hot embeddings, has L_T under uniform attention already, by the W_V of
topic.value; attention takes it below, never below L_B. On the W_V of least norm, which has a block a
topic, other words of the topic, like the own word, come to the weight g/v where other topics have 1,
g at the least loss over g and the weight of [MASK]. Trained with W_V, attention is larger to other
words of the topic than to other topics, too. On the diagonal W_V it copies: the own word gains,
other words of the topic have less than other topics (topic.attention-diagonal), and attention is
larger inside a topic only if the own word is counted.)",
                .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
                .false_version = "copying",
                .reads = "optimum"};

const Clause of_embeddings =
    sheet.clause("embeddings by themselves end at the Bayes loss of topics");
const Clause inner_products =
    sheet.clause("inner products with other words of the topic the larger");
const Clause of_attention =
    sheet.clause("the attention layer by itself between it and that of topics and token");
const Clause attended = sheet.clause("other words of the topic attended to more than other topics");
const Clause copied = sheet.clause(
    "on a diagonal `W_V` attention copies the own word, and they are attended to less");

const Hypothesis some_kept = sheet.assume("`p_c > 0`");
const Hypothesis squared =
    sheet.assume(by_construction("squared loss", "all losses here are squared"));
const Hypothesis infinite =
    sheet.assume(by_construction("infinitely long documents", "expectations are over them"));
const Hypothesis several_topics =
    sheet.assume({"`tau >= 2`", Basis::evaluated,
                  "at `tau = 1` the losses stand, and attention inside the topic is the smaller"});
const Hypothesis several_words =
    sheet.assume({"`v >= 2`", Basis::evaluated, "else a topic has no other words"});
const Hypothesis wide = sheet.assume(
    {"embeddings of at least `T v + 1` dimensions", Basis::evaluated,
     "the loss is convex in `E = W_E' W_E`; `W_E` with as many dimensions as words, [MASK] among "
     "them, "
     "is invertible or lacks rank where it rests, so that every minimum in `W_E` is one in `E`. "
     "Narrower ones may rest elsewhere, from a large start: `T + 2` dimensions, from entries of "
     "0.3, "
     "end at 0.9133 for `L_T = 0.9`, `T = 6`, `tau = 2`, `v = 5`, seeds 1, 2, 3, 5"});
const Hypothesis small_start = sheet.assume(
    {"`W_E` starts small", Basis::evaluated,
     "the flow lets what `W_E` has of differences within a topic fall only, and it may keep them: "
     "they make `|W_E e_i|^2` larger and the inner products with other words smaller"});

const Control own_topics =
    sheet.control("own-topics", "a replaced position always of the document's topics");
const Control token_used =
    sheet.control("token-used", "embeddings use a tenth of the information in the token");
const Control tenth_more = sheet.control(
    "tenth-more", "inner products and attention to other words a tenth larger inside a topic");

const Rival copying = sheet.rival(
    "copying", "attention learns to copy the own word, as it does on the diagonal `W_V`",
    "own weight");
const Rival uniform = sheet.rival(
    "uniform-attention", "the start: `W_V` carries the topics, attention adds nothing to them");

const Knob absent = sheet.knob(absent_knob(1, 3, 2));
const Knob active = sheet.knob(active_knob(2, 3, 2));
const Knob words = sheet.knob(words_knob(2, 4, 3));
// Relaxation takes times of order 1/a^2.
const Knob selecting = sheet.knob(masking_knob(0.02, 0.6));
const Knob few_kept = sheet.knob(keeping_knob(0.01, 0.6));
const Knob few_replaced = sheet.knob(replacing_knob(0.001, 0.5));
const Knob missing = sheet.knob(
    whole_knob("missing-dimensions", "by how many embeddings have less than T v + 1", 1, 23, 0)
        .breaking(wide));
const Knob embedding_start_knob = sheet.knob(
    linear_knob("embedding-start", "deviation of the entries of W_E at first", 0.3, 1, 0.01)
        .breaking(small_start));

// L_B with c = p_c/(p_c + p_r): replaced positions taken for words of the document's topics.
double mistaken_bayes_loss(const TopicLaw<double>& law) {
  const double c = law.correct / (law.correct + law.random);
  return bayes_loss(law, Known::topics) * (1 - law.correct * c);
}

// Only embeddings, by the flow. `gap`: L_T - L_B, the gain from the token. `left`: what the start may
// leave in the inner products.
void judge_embeddings(const TrainedEmbedding& trained, const TopicLaw<double>& law, double gap,
                      double left, Examination& it) {
  const double topics = bayes_loss(law, Known::topics);
  const Quantity loss(topics + trained.excess,
                      {ErrorPart::next_order(trained.falling), ErrorPart::rounding(2, topics)});
  it.judge(of_embeddings, equal("loss where only embeddings are trained", loss, topics)
                              .in_units_of(gap)
                              .unless(token_used, topics - 0.1 * gap));
  Quantity larger = trained.others;
  larger.add(ErrorPart::next_order(left));
  it.judge(inner_products,
           equal("mean inner product of two words of a topic less that of words of two", larger,
                 1 / (law.kept() * static_cast<double>(law.words)))
               .unless(tenth_more, times(1.1)));
}

// Steps of Adam at 0.02 on the expected loss, saved over their second half.
Trajectory<double> trained(const Training& training, std::uint64_t steps) {
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  WalkRequest request;
  request.step_size = 0.02;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = steps;
  for (std::uint64_t k = 8; k <= 16; ++k) request.save_steps.push_back(steps * k / 16);
  return walk(rung, rung.initial, request).front();
}

// The end of training. Parts next order: by how much it varied over the second half of the steps, and,
// where changes fall, what their geometric series would add.
Quantity ended(const std::vector<double>& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  Quantity end(numbers.back(), {ErrorPart::next_order(high - low)});
  const double middle = numbers[numbers.size() / 2];
  const double before = std::fabs(middle - numbers.front());
  const double change = std::fabs(end.value() - middle);
  if (change < before) end.add(ErrorPart::next_order(change * change / (before - change)));
  return end;
}

constexpr std::uint64_t least_steps = 1500;

// Steps are doubled until over their second half the loss varies by less than 1e-5 of the gain that
// is asked for: rare tokens are attended late.
Trajectory<double> trained_to_rest(const Training& training, double gain) {
  // Once, and after it has come to rest twice more in a confirmation.
  std::size_t times_to_rest = falling_parameters(1, 2, 1).size();
  Trajectory<double> run;
  for (std::uint64_t steps = least_steps; times_to_rest > 0 && steps <= 48'000; steps *= 2) {
    run = trained(training, steps);
    if (ended(curve(run, "loss")).error() <= 1e-5 * gain) --times_to_rest;
  }
  return run;
}

// What attention trained on one-hot embeddings ends with: its loss, and the weights of the own word and
// of other words of the topic over that of words of other topics.
struct Attention {
  Quantity loss, own, others;
  explicit Attention(const Trajectory<double>& run) : loss(ended(curve(run, "loss"))) {
    const Quantity apart = ended(curve(run, "attention_other_topic"));
    own = ended(curve(run, "attention_same_word")) / apart;
    others = ended(curve(run, "attention_same_topic")) / apart;
  }
};

void judge_attention(const TopicLaw<double>& law, double gap, std::uint64_t seed, Examination& it) {
  Training training;
  training.law = law;
  training.key_width = law.vocabulary();
  training.seed = seed;
  const Attention layer(trained(training, 2 * least_steps));
  training.train_value = false;
  training.start = ValueStart::block;
  training.value = minimum_norm_value(law);
  Attention blocks(trained_to_rest(training, gap));
  const auto v = static_cast<double>(law.words);
  const double weight = best_with_mask(law, training.value).sum.value() / v;
  // The loss sees the sum over the topic only; what the start leaves between its words goes as sigma.
  blocks.others.add(ErrorPart::next_order((blocks.own - blocks.others).value() / v));
  training.value = diagonal_value(law);
  const Attention diagonal(trained_to_rest(training, gap));

  it.judge(of_attention,
           below("losses: Bayes of topics and token, the layer trained, Bayes of topics")
               .add("topics and token", bayes_loss(law, Known::topics_and_token), layer.loss)
               .add("topics", layer.loss, bayes_loss(law, Known::topics))
               .unless(own_topics, [&] {
                 return std::vector<Quantity>{mistaken_bayes_loss(law), layer.loss};
               }));
  it.judge(attended,
           below("weight of other topics below that of other words of the topic, layer trained", 1,
                 layer.others)
               .against(copying, diagonal.others));
  it.judge(attended, equal("that of other words of the topic, trained on a `W_V` of blocks",
                           blocks.others, weight)
                         .unless(tenth_more, times(1.1))
                         .against(uniform, 1));
  it.judge(
      copied,
      below("trained on the diagonal `W_V`: other words of the topic, other topics, the own word")
          .add("other words of the topic", diagonal.others, 1)
          .add("own word", 1, diagonal.own));
}

// Both W_V have the loss of topics before attention is trained.
void judge_start(const TopicLaw<Rational>& law, Examination& it) {
  it.judge(of_attention, identity("loss of uniform attention that of topics on either `W_V`", [&] {
                           const Rational one(1);
                           const Rational topics = bayes_loss(law, Known::topics);
                           const bool is =
                               landscape(law, diagonal_value(law))(one, one) == topics &&
                               landscape(law, minimum_norm_value(law))(one, one) == topics;
                           return is ? Truth::yes : Truth::no;
                         }).of_kind(EvidenceKind::exact));
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto width_of = [&](const TopicLaw<Rational>& own) {
    return std::max<Index>(1, own.vocabulary() - setting.count(missing));
  };
  const double size = setting.value(embedding_start_knob);
  const std::string start = fmt::format("W_E normal, deviation {:g}", size);
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words),
                                [&](const TopicLaw<Rational>& own) {
                                  return Record{{"d_e", width_of(own)}, {"start", start}};
                                });
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const bool kept = it.require_positive(some_kept, to_double(law.correct),
                                        fmt::format("`p_c = {}`", to_text(law.correct)));
  const bool several = it.require(several_topics, static_cast<double>(law.active - 2),
                                  fmt::format("`tau = {}`", law.active));
  const Index width = width_of(law);
  it.parameters["d_e"] = width;
  it.parameters["start"] = start;
  it.require(wide, static_cast<double>(width - law.vocabulary()),
             fmt::format("{} of {}", width, law.vocabulary()));
  const bool others = it.require(several_words, static_cast<double>(law.words - 2),
                                 fmt::format("`v = {}`", law.words));
  if (!kept || !several || !others) return;
  const TopicLaw<double> close = rounded(law);
  const auto v = static_cast<double>(law.words);
  const double left = kept_of_start(close, width, setting.seed, size) / (v - 1);
  it.require(small_start, noticed_share - left * close.kept() * v,
             fmt::format("inner products may miss {:.3g} of `1/(a v)`", left * close.kept() * v));
  const double gap = to_double(
      Rational(bayes_loss(law, Known::topics) - bayes_loss(law, Known::topics_and_token)));
  judge_embeddings(train_embedding(close, width, 0, setting.seed, size), close, gap, left, it);
  judge_start(law, it);
  judge_attention(close, gap, setting.seed, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::either_alone
