#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::same_topic_attention {
namespace {

Statement sheet{.id = "topic.same-topic-attention",
                .paper = "arXiv 2303.04245, experiments on synthetic data",
                .status = "observed in source; with the own word set apart here",
                .about = "SGD with Adam on sampled documents",
                .theorem = R"(
SGD on sampled documents, for squared loss and cross entropy, in the mean over words and runs. As
attention forms, when the logits of a query are first 1 apart, other words of the topic of the query get
more attention than words of other topics where W_V is trained, or frozen with blocks; with blocks they
do to the end. On a frozen diagonal W_V they get less. The topic with the own word counted ends with more
on each W_V; where W_V is trained on the squared loss other words may lose their lead by then, as W_V
comes to copy. Embeddings trained from a start of 0.1 have larger inner products with other words of the
topic than with words of other topics.)",
                .reaches = {EvidenceKind::statistical},
                .false_version = "every-value",
                .reads = "sgd"};

const Clause attended = sheet.clause(
    "in SGD with Adam, as attention forms, other words of the topic get more than other topics, "
    "`W_V` "
    "trained or in blocks");
const Clause copied = sheet.clause("less on a diagonal `W_V`");
const Clause own_counted = sheet.clause("the topic with the own word ends with more on each");
const Clause products = sheet.clause("inner products of embeddings with other words larger");

const Hypothesis several_topics = sheet.assume("`tau >= 2`");
const Hypothesis several_words =
    sheet.assume({"`v >= 2`", Basis::evaluated, "else a topic has no other words"});
const Hypothesis past_stage_two = sheet.assume("training past stage 2");

const Control interleaved = sheet.control(
    "interleaved", "the words of one place in every topic taken for a topic, nothing else changed");
const Control every_value = sheet.control(
    "every-value", "other words of the topic get more on every `W_V`, the diagonal one as well");
const Rival copying = sheet.rival(
    "copying", "attention learns to copy the own word only, as it does on the diagonal `W_V`",
    "own weight");

const Knob topics = sheet.knob(topics_knob(4, 10, 5));
const Knob active = sheet.knob(active_knob(2, 3, 2));
const Knob words = sheet.knob(words_knob(2, 10, 4));
const Knob document_length =
    sheet.knob(whole_knob("document-length", "N, tokens of a document", 64, 256, 128));
const Knob training_steps = sheet.knob(
    logarithmic_knob("training-steps", "steps of Adam at a learning rate of 0.01", 1, 20, 1000)
        .breaking(past_stage_two));
const Knob loss_knob = sheet.knob(
    whole_knob("cross-entropy", "1: cross entropy in place of the squared loss", 0, 1, 0));

// The paper's settings: W_V trained, frozen with blocks, frozen diagonal; only embeddings. Law, loss,
// length of documents, temperature, label noise and seed are those of `given`.
struct Trainings {
  Training whole, blocks, diagonal, embedded;
};

Trainings trainings(const Training& given) {
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
  Trainings made{base, base, base, base};
  for (Training* frozen : {&made.blocks, &made.diagonal}) {
    frozen->start = ValueStart::block;
    frozen->train_value = false;
  }
  made.blocks.value = minimum_norm_value(given.law);
  made.diagonal.value = diagonal_value(given.law);
  made.embedded.embedding_width = std::max<Index>(12, given.law.topics + 2);
  made.embedded.start = ValueStart::identity;
  made.embedded.train_value = made.embedded.train_attention = false;
  made.embedded.scale = 0.1;
  return made;
}

// Of the words (Tv square), a run: attention of column on row over its mean, or inner products.
using Pairs = std::vector<Matrix<double>>;

// Runs of SGD with Adam.
struct Trained {
  std::uint64_t forming = 0;  // the step from which on logits are `apart`; 0: none
  double apart = 0;           // logits of a query from least to largest at the end, in the mean
  Pairs formed, ended;        // then, and at the end
};

// Logits of a query are as far apart, in the mean over queries and runs, where attention has formed.
constexpr double of_order_one = 1;

Matrix<double> logits_of_words(const Layout& layout, const Vector<double>& x) {
  const Index all = layout.vocabulary - 1;
  return effective(layout, x).logits.bottomRightCorner(all, all);
}

double mean_apart(const Matrix<double>& logits) {
  return (logits.colwise().maxCoeff() - logits.colwise().minCoeff()).mean();
}

Matrix<double> pairs_of(const Layout& layout, const Vector<double>& x) {
  if (layout.embedded) {
    const ConstView e(x.data() + layout.embedding() + layout.width, layout.width,
                      layout.vocabulary - 1);
    return e.transpose() * e;
  }
  Matrix<double> pairs = logits_of_words(layout, x).array().exp();
  for (auto query : pairs.colwise()) query /= query.mean();
  return pairs;
}

Trained trained(const Training& training, std::uint64_t steps, const Setting& setting) {
  const Layout layout(training);
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  if (layout.embedded) rung.initial.head(layout.values()).setZero();
  WalkRequest request;
  request.step_size = 0.01;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, 11);
  request.batch = 8;
  request.runs = 16;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  const auto runs = walk(rung, rung.initial, request);
  Trained found;
  const auto at_save = [&](std::size_t save) {
    Pairs pairs;
    for (const auto& run : runs) pairs.push_back(pairs_of(layout, run.states[save]));
    return pairs;
  };
  found.ended = at_save(request.save_steps.size() - 1);
  if (layout.embedded) return found;
  for (std::size_t save = 0; save < request.save_steps.size(); ++save) {
    found.apart = 0;
    for (const auto& run : runs) {
      found.apart += mean_apart(logits_of_words(layout, run.states[save])) / request.runs;
    }
    if (found.forming > 0 || found.apart < of_order_one) continue;
    found.forming = request.save_steps[save];
    found.formed = at_save(save);
  }
  return found;
}

// Whether a query is about the topic of a key.
using SameTopic = std::function<bool(Index key, Index query)>;

// Mean over other topics less that over the same topic, with its interval over runs.
Quantity other_less_same(const Pairs& runs, double false_alarm, bool own_counts,
                         const SameTopic& same_topic) {
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
             fmt::format("`tau = {}`", law.active));
  const bool others = it.require(several_words, static_cast<double>(law.words - 2),
                                 fmt::format("`v = {}`", law.words));
  if (!others) return;
  const auto steps = static_cast<std::uint64_t>(setting.count(training_steps));
  const Trainings all = trainings(given);
  const Trained whole = trained(all.whole, steps, setting);
  const Trained blocks = trained(all.blocks, steps, setting);
  const Trained diagonal = trained(all.diagonal, steps, setting);
  const Trained embedded = trained(all.embedded, steps, setting);
  const double apart = std::min({whole.apart, blocks.apart, diagonal.apart});
  const bool past = it.require(past_stage_two, apart - of_order_one,
                               fmt::format("logits of a query {:.3g} apart at least", apart));
  if (!past) return;
  constexpr int looks = 8;
  const SameTopic in_topic = [v = law.words](Index i, Index j) { return i / v == j / v; };
  const SameTopic in_turn = [v = law.words](Index i, Index j) { return i % v == j % v; };
  // Other topics less the topic.
  const auto lead = [&](const Pairs& pairs, bool own_counts, const SameTopic& same_topic) {
    return other_less_same(pairs, setting.false_alarm / looks, own_counts, same_topic);
  };
  const auto judge = [&](const Clause& clause, Comparison comparison) {
    it.judge(clause, comparison.of_kind(EvidenceKind::statistical)
                         .with(fmt::format("{} runs", whole.ended.size())));
  };
  // Of other words; attention is in units of uniform attention.
  const auto leads = [&](const SameTopic& same_topic) {
    return std::vector<Quantity>{lead(whole.formed, false, same_topic),
                                 lead(blocks.formed, false, same_topic),
                                 lead(blocks.ended, false, same_topic)};
  };
  judge(
      attended,
      below("attention: other topics less other words of the topic", leads(in_topic), 0)
          .at({fmt::format("`W_V` trained, step {}", whole.forming),
               fmt::format("`W_V` in blocks, step {}", blocks.forming), "`W_V` in blocks, the end"})
          .in_units_of(1)
          .unless(interleaved, [&] { return leads(in_turn); })
          .against(copying, [&] {
            const Quantity formed = lead(diagonal.formed, false, in_topic);
            return std::vector<Quantity>{formed, formed, lead(diagonal.ended, false, in_topic)};
          }));
  const Quantity on_diagonal = lead(diagonal.ended, false, in_topic);
  judge(copied,
        below("on the diagonal `W_V`: other words of the topic less other topics", -on_diagonal, 0)
            .in_units_of(1)
            .unless(every_value, [&] { return on_diagonal; }));
  it.report("`W_V` trained, at the end: other topics less other words of the topic",
            lead(whole.ended, false, in_topic).value());
  judge(own_counted, below("attention: other topics less the topic with the own word")
                         .add("`W_V` trained", lead(whole.ended, true, in_topic), 0)
                         .add("`W_V` in blocks", lead(blocks.ended, true, in_topic), 0)
                         .add("`W_V` diagonal", lead(diagonal.ended, true, in_topic), 0)
                         .in_units_of(1));
  judge(products, below("inner products: words of other topics less other words of the topic",
                        lead(embedded.ended, false, in_topic), 0)
                      .in_units_of(embedded.ended.front().diagonal().mean())
                      .unless(interleaved, [&] { return lead(embedded.ended, false, in_turn); }));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::same_topic_attention
