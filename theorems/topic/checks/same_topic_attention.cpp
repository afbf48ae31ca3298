// Theorem    topic.same-topic-attention
// Status     observed in source
// Source     Li, Li, Risteski, arXiv 2303.04245, experiments on synthetic data
// Statement  after SGD on sampled documents, words of one topic, the own word among them, get more
//            attention in the mean than words of other topics, and their embeddings have the larger
//            inner products; for squared loss and cross entropy, with W_V trained, or frozen
//            block-wise or diagonal
// Hypotheses H1 tau >= 2 topics a document; H2 training past stage 2
// Check      ensembles of SGD with Adam: mean over runs of what words of the same topic have less
//            what those of other topics have
// Controls   topics of the words interleaved; words of the next topic taken for those of the same
// Uses       rung sgd

#include "popgrad/walks/ensemble.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/trained_pairs.hpp"

namespace popgrad::topic::checks::same_topic_attention {
namespace {

constexpr Knob topics = topics_knob(4, 7, 5);
constexpr Knob active = active_knob(2, 3, 2);
constexpr Knob words = words_knob(2, 5, 4);
constexpr Knob length = whole_knob("document-length", "N, tokens of a document", 64, 256, 128);
constexpr Knob training_steps =
    logarithmic_knob("training-steps", "steps of Adam at a learning rate of 0.01", 1, 20, 1000)
        .breaking("training past stage 2");

constexpr Knob loss_knob =
    whole_knob("cross-entropy", "1: cross entropy in place of the squared loss", 0, 1, 0);

enum class Own { counts, left_out };
// Whether a query is about the topic of a key.
using SameTopic = std::function<bool(Index key, Index query)>;

// Mean over other topics less that over the same topic, with its interval over runs.
Quantity other_less_same(const std::vector<Matrix<double>>& runs, double false_alarm, Own own,
                         const SameTopic& same_topic) {
  Matrix<double> differences(std::ssize(runs), 1);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Matrix<double>& pairs = runs[r];
    double same = 0, other = 0, of_same = 0, of_other = 0;
    for (Index j = 0; j < pairs.cols(); ++j) {
      for (Index i = 0; i < pairs.rows(); ++i) {
        if (i == j && own == Own::left_out) continue;
        const bool one = same_topic(i, j);
        (one ? same : other) += pairs(i, j);
        (one ? of_same : of_other) += 1;
      }
    }
    differences(static_cast<Index>(r), 0) = other / of_other - same / of_same;
  }
  return sample_moments(differences, false_alarm).mean.front();
}

Training drawn_training(const Setting& setting) {
  Training drawn;
  drawn.law =
      rounded(law_at(setting, setting.count(topics), setting.count(active), setting.count(words)));
  drawn.document = setting.count(length);
  drawn.loss = setting.count(loss_knob) == 0 ? LossKind::squared : LossKind::cross_entropy;
  drawn.seed = setting.seed;
  return drawn;
}

void examine(const Setting& setting, Examination& it) {
  const Training given =
      examined(setting, topic::training, [&] { return drawn_training(setting); });
  const TopicLaw<double>& law = given.law;
  it.parameters = {{"T", law.topics},
                   {"tau", law.active},
                   {"v", law.words},
                   {"p_m", law.masked},
                   {"p_c", law.correct},
                   {"p_r", law.random},
                   {"N", given.document},
                   {"seed", setting.seed},
                   {"loss", given.loss == LossKind::squared ? "squared" : "cross-entropy"}};
  if (given.temperature != 1) it.parameters["temperature"] = given.temperature;
  if (given.label_noise > 0) it.parameters["label_noise"] = given.label_noise;
  it.require("tau >= 2", static_cast<double>(law.active - 2), fmt::format("tau = {}", law.active));
  const std::vector<TrainedCase> all = trained_cases(given);
  const double each = setting.false_alarm / static_cast<double>(all.size());
  double spread = HUGE_VAL;
  for (const TrainedCase& one : all) {
    const auto [runs, of_logits] =
        trained_pairs(one, static_cast<std::uint64_t>(setting.count(training_steps)), setting);
    if (!one.embedding) spread = std::min(spread, of_logits);
    // Of a word with itself the inner product is its norm; attention on it counts.
    const Own own = one.embedding ? Own::left_out : Own::counts;
    const auto measured = [each, own, &runs = runs](const SameTopic& same_topic) {
      return std::vector{other_less_same(runs, each, own, same_topic)};
    };
    const auto same = [v = law.words](Index i, Index j) { return i / v == j / v; };
    const auto interleaved = [t = law.topics](Index i, Index j) {
      return i != j && i % t == j % t;
    };
    const auto next = [v = law.words, t = law.topics](Index i, Index j) {
      return i / v == (j / v + 1) % t;
    };
    it.judge(Comparison{.kind = EvidenceKind::statistical,
                        .what = one.name + ": other topics less same topic",
                        .measured = measured(same),
                        .relation = Relation::below,
                        .predicted = {0.0},
                        .scale = {runs.front().diagonal().mean()},
                        .mistakes = {measures("interleaved", [&] { return measured(interleaved); }),
                                     measures("next-topic", [&] { return measured(next); })},
                        .detail = fmt::format("{} runs", runs.size())});
  }
  it.require(
      "training past stage 2", spread - 1,
      fmt::format("logits of a query {:.3g} apart at least, of order one from 1 on", spread));
}

}  // namespace

Statement statement() {
  return {.id = "topic.same-topic-attention",
          .claim = "after SGD same-topic attention and inner products exceed those of other topics",
          .paper = "arXiv 2303.04245, experiments",
          .status = "observed in source",
          .hypotheses = {"tau >= 2", "training past stage 2"},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"interleaved", "words w, w + T, w + 2 T, ... taken for a topic"},
                       {"next-topic", "words of the next topic taken for those of the same"}},
          .knobs = {topics, active, words, length, training_steps, loss_knob},
          .reads = "sgd",
          .examine = examine};
}

}  // namespace popgrad::topic::checks::same_topic_attention
