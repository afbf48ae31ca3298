#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::same_topic_attention {
namespace {

Statement sheet{.id = "topic.same-topic-attention",
                .paper = "arXiv 2303.04245, experiments on synthetic data",
                .status = "observed in source",
                .about = "SGD with Adam on sampled documents",
                .theorem = R"(
After SGD on sampled documents, words of one topic, the own word among them, get more attention in the
mean than words of other topics, and their embeddings have the larger inner products; for squared loss
and cross entropy, with W_V trained, or frozen block-wise or diagonal. Means are over runs.)",
                .reaches = {EvidenceKind::statistical},
                .reads = "sgd"};

const Clause attention_larger =
    sheet.clause("after SGD with Adam same-topic attention exceeds that of other topics");
const Clause products_larger = sheet.clause("inner products of embeddings likewise");

const Hypothesis several_topics = sheet.assume("tau >= 2");
const Hypothesis past_stage_two = sheet.assume("training past stage 2");

const Control interleaved =
    sheet.control("interleaved", "words w, w + T, w + 2 T, ... taken for a topic");
const Control next_topic =
    sheet.control("next-topic", "words of the next topic taken for those of the same");

const Knob topics = sheet.knob(topics_knob(4, 7, 5));
const Knob active = sheet.knob(active_knob(2, 3, 2));
const Knob words = sheet.knob(words_knob(2, 5, 4));
const Knob document_length =
    sheet.knob(whole_knob("document-length", "N, tokens of a document", 64, 256, 128));
const Knob training_steps = sheet.knob(
    logarithmic_knob("training-steps", "steps of Adam at a learning rate of 0.01", 1, 20, 1000)
        .breaking(past_stage_two));
const Knob loss_knob = sheet.knob(
    whole_knob("cross-entropy", "1: cross entropy in place of the squared loss", 0, 1, 0));

struct TrainedCase {
  std::string name;
  Training training;
  bool embedding = false;  // of inner products of embeddings, not of attention
};

// The paper's settings: W_V trained, frozen block-wise, frozen diagonal; only embeddings. Law, loss,
// length of documents, temperature, label noise and seed are those of `given`.
std::vector<TrainedCase> trained_cases(const Training& given) {
  Training base;
  base.law = given.law;
  base.document = given.document;
  base.longer = given.longer;
  base.documents = given.documents;
  base.concentration = given.concentration;
  base.loss = given.loss;
  base.temperature = given.temperature;
  base.label_noise = given.label_noise;
  base.key_width = 20;
  base.seed = given.seed;
  Training block = base;
  block.start = ValueStart::block;
  block.train_value = false;
  block.value = minimum_norm_value(given.law);
  Training diagonal = block;
  diagonal.value = diagonal_value(given.law);
  Training embedded = base;
  embedded.embedding_width = 12;
  embedded.start = ValueStart::identity;
  embedded.train_value = embedded.train_attention = false;
  embedded.scale = 0.1;
  return {{"attention, W_V trained", base},
          {"attention, W_V block-wise", block},
          {"attention, W_V diagonal", diagonal},
          {"inner products", embedded, true}};
}

// Ends of runs of SGD with Adam.
struct TrainedPairs {
  // Of the words (Tv square), a run: attention of column on row over its mean, or inner products.
  std::vector<Matrix<double>> runs;
  // Logits of a query from least to largest, in the mean over queries and runs.
  double spread = 0;
};

TrainedPairs trained_pairs(const TrainedCase& one, std::uint64_t steps, const Setting& setting) {
  const PopulationFlow flow(one.training);
  const Layout& layout = flow.layout();
  AnyRung<double> rung = forget_type(PopulationFlow(flow));
  if (one.embedding) rung.initial.head(layout.values()).setZero();
  WalkRequest request;
  request.step_size = 0.01;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = 8;
  request.runs = 8;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  const Index all = layout.vocabulary - 1;
  TrainedPairs found;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    const Vector<double>& x = run.last_state;
    if (one.embedding) {
      const ConstView whole(x.data() + layout.embedding(), layout.width, layout.vocabulary);
      const Matrix<double> e = whole.rightCols(all);
      found.runs.emplace_back(e.transpose() * e);
      continue;
    }
    const Matrix<double> logits = effective(layout, x).logits.bottomRightCorner(all, all);
    const auto apart = logits.colwise().maxCoeff() - logits.colwise().minCoeff();
    found.spread += apart.mean() / static_cast<double>(request.runs);
    Matrix<double> pairs = logits.array().exp();
    for (auto query : pairs.colwise()) query /= query.mean();
    found.runs.push_back(pairs);
  }
  return found;
}

// Whether a query is about the topic of a key.
using SameTopic = std::function<bool(Index key, Index query)>;

// Mean over other topics less that over the same topic, with its interval over runs.
Quantity other_less_same(const std::vector<Matrix<double>>& runs, double false_alarm,
                         bool own_counts, const SameTopic& same_topic) {
  Matrix<double> differences(std::ssize(runs), 1);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Matrix<double>& pairs = runs[r];
    double same = 0, other = 0, of_same = 0, of_other = 0;
    for (Index j = 0; j < pairs.cols(); ++j) {
      for (Index i = 0; i < pairs.rows(); ++i) {
        if (i == j && !own_counts) continue;
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
  drawn.document = setting.count(document_length);
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
  it.require(several_topics, static_cast<double>(law.active - 2),
             fmt::format("tau = {}", law.active));
  const auto steps = static_cast<std::uint64_t>(setting.count(training_steps));
  const std::vector<TrainedCase> all = trained_cases(given);
  const double each = setting.false_alarm / static_cast<double>(all.size());
  double spread = HUGE_VAL;
  for (const TrainedCase& one : all) {
    const TrainedPairs trained = trained_pairs(one, steps, setting);
    if (!one.embedding) spread = std::min(spread, trained.spread);
    // Of a word with itself the inner product is its norm; attention on it counts.
    const auto measured = [&](const SameTopic& same_topic) {
      return other_less_same(trained.runs, each, !one.embedding, same_topic);
    };
    const auto in_topic = [v = law.words](Index i, Index j) { return i / v == j / v; };
    const auto in_turn = [t = law.topics](Index i, Index j) { return i != j && i % t == j % t; };
    const auto in_next = [v = law.words, t = law.topics](Index i, Index j) {
      return i / v == (j / v + 1) % t;
    };
    it.judge(one.embedding ? products_larger : attention_larger,
             below(one.name + ": other topics less same topic", measured(in_topic), 0)
                 .in_units_of(trained.runs.front().diagonal().mean())
                 .of_kind(EvidenceKind::statistical)
                 .with(fmt::format("{} runs", trained.runs.size()))
                 .unless(interleaved, [&] { return measured(in_turn); })
                 .unless(next_topic, [&] { return measured(in_next); }));
  }
  it.require(
      past_stage_two, spread - 1,
      fmt::format("logits of a query {:.3g} apart at least, of order one from 1 on", spread));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::same_topic_attention
