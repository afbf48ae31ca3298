#include "theorems/topic/trained_parts.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "popgrad/refinement.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/topic/bayes_loss.hpp"
#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "popgrad/walk.hpp"
#include "theorems/topic/bayes_rule.hpp"
#include "theorems/topic/trained_embedding.hpp"

namespace popgrad::theorems::topic {

using namespace popgrad::topic;

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

// The end of a descent, as numbers of its matrices.
struct TrainedParts {
  Quantity loss;  // part next order: by how much it varied over the second half of the steps
  // Mean attention of a word on a key of its topic, its own word among them, and of other topics;
  // uniform attention: 1.
  double same_topic = 1, other_topic = 1;
};

// Steps of training, doubled until over their second half the loss varies by less than `at_rest` of
// the gain that is asked for: rare tokens are attended late.
constexpr std::uint64_t least_steps = 1500;
constexpr std::uint64_t most_steps = 48'000;
constexpr double at_rest = 1e-5;

TrainedParts train_parts(const Training& training, double gain) {
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  const auto column_of = [&](std::string_view name) {
    const auto column = std::find(rung.columns.begin(), rung.columns.end(), name);
    return static_cast<std::size_t>(column - rung.columns.begin());
  };
  WalkRequest request;
  request.step_size = 0.02;
  request.optimiser.rule = Optimiser::Rule::adam;
  // Once, and after it has come to rest twice more in a confirmation.
  std::size_t times_to_rest = falling_parameters(1, 2, 1).size();
  TrainedParts end;
  std::vector<double> row;
  for (request.steps = least_steps; times_to_rest > 0 && request.steps <= most_steps;
       request.steps *= 2) {
    request.save_steps.clear();
    for (std::uint64_t k = 8; k <= 16; ++k) request.save_steps.push_back(request.steps * k / 16);
    const Trajectory<double> run = walk(rung, rung.initial, request).front();
    std::vector<double> losses;
    for (const auto& saved : run.rows) losses.push_back(saved[column_of("loss")]);
    const auto [low, high] = std::ranges::minmax(losses);
    end.loss = Quantity(losses.back(), {ErrorPart::next_order(high - low)});
    if (high - low <= at_rest * gain) --times_to_rest;
    row = run.rows.back();
  }
  const auto observed = [&](std::string_view name) { return row[column_of(name)]; };
  const auto v = static_cast<double>(training.law.words);
  end.same_topic =
      (observed("attention_same_word") + (v - 1) * observed("attention_same_topic")) / v;
  end.other_topic = observed("attention_other_topic");
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
  const TrainedParts both =
      train_parts(both_parts(law, seed), std::numeric_limits<double>::infinity());
  it.judge(Comparison{.what = "Bayes loss below those of attention and of both, trained",
                      .measured = {least, least},
                      .relation = Relation::below,
                      .predicted = {attention.loss.value(), both.loss.value()},
                      .places = {"attention", "both"}});
}

}  // namespace popgrad::theorems::topic
