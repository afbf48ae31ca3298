#include "theorems/topic/checks/trained_parts.hpp"

#include "popgrad/judging/compare.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/checks/bayes_rule.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/trained_embedding.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"

namespace popgrad::topic::checks {

Training attention_alone(const TopicLaw<double>& law, std::uint64_t seed) {
  Training made;
  made.law = law;
  made.key_width = law.vocabulary();
  made.start = ValueStart::block;
  made.value = diagonal_value(law);
  made.train_value = false;
  made.seed = seed;
  return made;
}

Training both_parts(const TopicLaw<double>& law, std::uint64_t seed) {
  Training made = attention_alone(law, seed);
  made.embedding_width = law.vocabulary();
  made.embedding = Matrix<double>::Identity(law.vocabulary(), law.vocabulary());
  made.train_value = true;
  return made;
}

namespace {

// The end of a descent; part next order: by how much a number varied over the second half of the steps.
struct TrainedParts {
  Quantity loss;
  // Mean attention of a word on a key of its topic, its own word among them, and of other topics;
  // uniform attention: 1.
  Quantity same_topic, other_topic;
};

Trajectory<double> trained(const AnyRung<double>& rung, std::uint64_t steps,
                           std::vector<std::uint64_t> saved) {
  WalkRequest request;
  request.step_size = 0.02;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = steps;
  request.save_steps = std::move(saved);
  return walk(rung, rung.initial, request).front();
}

Quantity ended(const std::vector<double>& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  return {numbers.back(), {ErrorPart::next_order(high - low)}};
}

// Steps of training, doubled until over their second half the loss varies by less than `at_rest` of
// the gain that is asked for: rare tokens are attended late.
constexpr std::uint64_t least_steps = 1500;
constexpr std::uint64_t most_steps = 48'000;
constexpr double at_rest = 1e-5;

TrainedParts train_parts(const Training& training, double gain) {
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  // Once, and after it has come to rest twice more in a confirmation.
  std::size_t times_to_rest = falling_parameters(1, 2, 1).size();
  const auto v = static_cast<double>(training.law.words);
  TrainedParts end;
  for (std::uint64_t steps = least_steps; times_to_rest > 0 && steps <= most_steps; steps *= 2) {
    std::vector<std::uint64_t> saved;
    for (std::uint64_t k = 8; k <= 16; ++k) saved.push_back(steps * k / 16);
    const Trajectory<double> run = trained(rung, steps, std::move(saved));
    std::vector<double> same_topic = curve(run, "attention_same_topic");
    std::ranges::transform(curve(run, "attention_same_word"), same_topic, same_topic.begin(),
                           [v](double word, double topic) { return (word + (v - 1) * topic) / v; });
    end = {ended(curve(run, "loss")), ended(same_topic),
           ended(curve(run, "attention_other_topic"))};
    if (end.loss.error("next order") <= at_rest * gain) --times_to_rest;
  }
  return end;
}

}  // namespace

void judge_trained_embedding(const TopicLaw<double>& law, Index width, double gap,
                             std::uint64_t seed, Examination& it) {
  const TrainedEmbedding trained = train_embedding(law, width, 0, seed);
  const double topics = bayes_loss(law, Known::topics);
  it.judge(Comparison{
      .what = "loss of embeddings trained alone",
      .measured = {Quantity(topics + trained.excess, {ErrorPart::next_order(trained.falling),
                                                      ErrorPart::rounding(2, topics)})},
      .predicted = {topics},
      .scale = {gap},
      .mistakes = {predicts("token-used", topics - 0.1 * gap)}});
  const auto v = static_cast<double>(law.words);
  std::vector<Quantity> larger;
  for (const Quantity& sums : trained.gaps) larger.push_back(sums * Quantity(1 / v));
  it.judge(Comparison{.what = "mean inner product inside a topic less that with another topic",
                      .measured = larger,
                      .predicted = {1 / (law.kept() * v)},
                      .mistakes = {predicts_times("tenth-more", 1.1)}});
}

void judge_trained_attention(const TopicLaw<double>& law, double gap, std::uint64_t seed,
                             Examination& it) {
  const double least = bayes_loss(law, Known::topics_and_token);
  const double bound = own_word_excess(law, 1 - law.kept());
  const TrainedParts attention = train_parts(attention_alone(law, seed), gap);
  it.judge(Comparison{.what = "loss of attention trained alone at most the bound",
                      .measured = {attention.loss},
                      .relation = Relation::at_most,
                      .predicted = {least + bound},
                      .scale = {gap}});
  it.judge(Comparison{.what = "attention trained alone: other topics less than the same topic",
                      .measured = {attention.other_topic},
                      .relation = Relation::below,
                      .predicted = {attention.same_topic}});
  // At no time below, at rest or not.
  const AnyRung<double> both = forget_type(PopulationFlow(both_parts(law, seed)));
  const std::uint64_t steps = 2 * least_steps;
  it.judge(Comparison{.what = "Bayes loss below that of both, trained",
                      .measured = {least},
                      .relation = Relation::below,
                      .predicted = {curve(trained(both, steps, {steps}), "loss").back()}});
}

}  // namespace popgrad::topic::checks
