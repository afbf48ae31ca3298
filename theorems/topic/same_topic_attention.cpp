// Theorem    topic.same-topic-attention
// Status     observed in source
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 5 (experiments), Figures 1 and 2
// Statement  after SGD on sampled documents, words of one topic attend to each other more than to
//            others, and their embeddings have the larger inner products; for squared loss and
//            cross entropy, with W_V trained, or frozen block-wise or diagonal
// Hypotheses H1 tau >= 2 topics a document; H2 training past stage 2
// Check      ensembles of SGD with Adam: mean over runs less what other topics have, with its
//            Student interval, corrected for the eight settings
// Controls   topics of the words shuffled when attention is averaged; untrained matrices
// Uses       rung sgd

#include <fmt/format.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "popgrad/walk.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob topics = topics_knob(4, 7, 5);
constexpr Knob active = active_knob(2, 3, 2);
constexpr Knob words = words_knob(2, 5, 4);
constexpr Knob length{.name = "document-length",
                      .meaning = "N, tokens of a document",
                      .low = 64,
                      .high = 256,
                      .usual = 128,
                      .spacing = Spacing::whole};
constexpr Knob training_steps{.name = "training-steps",
                              .meaning = "steps of Adam at a learning rate of 0.01",
                              .low = 1,
                              .high = 1500,
                              .usual = 2500,
                              .spacing = Spacing::logarithmic,
                              .breaks = "training past stage 2"};

struct Case {
  std::string name;
  Training training;
  bool embedding = false;  // of inner products, not of attention
};

std::vector<Case> cases(const TopicLaw<double>& law, Index document, std::uint64_t seed) {
  std::vector<Case> all;
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    Training base;
    base.law = law;
    base.document = document;
    base.loss = loss;
    base.key_width = 20;
    base.seed = seed;
    const std::string name = loss == LossKind::squared ? "squared" : "cross entropy";
    all.push_back({name + ", W_V trained", base});
    Training frozen = base;
    frozen.start = ValueStart::block;
    frozen.train_value = false;
    frozen.value = minimum_norm_value(base.law);
    all.push_back({name + ", W_V block-wise", frozen});
    frozen.value = diagonal_value(base.law);
    all.push_back({name + ", W_V diagonal", frozen});
    Training embedded = base;
    embedded.embedding_width = 12;
    embedded.start = ValueStart::identity;
    embedded.train_value = embedded.train_attention = false;
    embedded.scale = 0.1;
    all.push_back({name + ", embeddings", embedded, true});
  }
  return all;
}

// Same topic less other topics, a run; attention over uniform, own word among its topic.
std::vector<double> gaps(const Case& one, const Setting& setting, std::uint32_t runs,
                         std::string_view variant) {
  const TopicLaw<double>& law = one.training.law;
  const PopulationFlow flow(one.training);
  AnyRung<double> rung = forget_type(PopulationFlow(flow));
  if (one.embedding) rung.initial.head(flow.layout().values()).setZero();
  WalkRequest request;
  request.step_size = 0.01;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps =
      variant == "untrained" ? 1 : static_cast<std::uint64_t>(setting.count(training_steps));
  request.save_steps = {request.steps};
  request.batch = 16;
  request.runs = runs;
  request.seed = setting.seed;
  request.jobs = setting.jobs;
  request.keep_states = true;
  std::vector<double> found;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    const Vector<double>& x = run.last_state;
    Matrix<double> pairs;
    if (one.embedding) {
      const ConstView e(x.data() + flow.layout().embedding(), flow.layout().width,
                        flow.layout().vocabulary);
      pairs = e.transpose() * e;
    } else {
      // Weights of words as keys, each query's over their mean.
      pairs = effective(flow.layout(), x).logits.array().exp();
      for (Index i = 1; i < pairs.cols(); ++i)
        pairs.col(i) /= pairs.col(i).tail(pairs.rows() - 1).mean();
    }
    double same = 0;
    double other = 0;
    for (Index i = 1; i < pairs.rows(); ++i) {
      for (Index j = 1; j < pairs.cols(); ++j) {
        // Inner products of a word with itself are its norm; attention on it counts.
        if (one.embedding && i == j) continue;
        const bool shuffled = variant == "shuffled";
        const auto topic_of = [&](Index w) {
          return shuffled ? (w - 1) % law.topics : law.topic_of(w);
        };
        (topic_of(i) == topic_of(j) && !(shuffled && i == j) ? same : other) += pairs(i, j);
      }
    }
    const auto n = static_cast<double>(law.topics * law.words);
    const auto in_topic =
        static_cast<double>(law.words) - (one.embedding || variant == "shuffled" ? 1 : 0);
    const double left = n - (one.embedding ? 1 : 0) - in_topic;
    found.push_back(same / (n * in_topic) - other / (n * left));
  }
  return found;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto law =
      law_at(setting, setting.count(topics), setting.count(active), setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  result.parameters["N"] = setting.count(length);
  result.parameters["seed"] = setting.seed;
  const std::uint32_t runs = setting.full ? 20 : 5;
  const bool search = setting.only_what_varies;
  std::vector<Case> all = cases(rounded(law), setting.count(length), setting.seed);
  if (search) all = {all[setting.seed % all.size()]};  // a point, a setting
  result.hypotheses.push_back({"tau >= 2", Truth::yes, fmt::format("tau = {}", law.active)});
  result.hypotheses.push_back({"training past stage 2",
                               setting.count(training_steps) >= 2500 ? Truth::yes : Truth::no,
                               fmt::format("{} steps", setting.count(training_steps))});
  const double t = boost::math::quantile(boost::math::students_t(runs - 1),
                                         1 - setting.false_alarm / static_cast<double>(all.size()));
  for (const Case& one : all) {
    const std::vector<double> found = gaps(one, setting, runs, variant);
    double mean = 0;
    for (const double gap : found) mean += gap / static_cast<double>(runs);
    double variance = 0;
    for (const double gap : found) variance += (gap - mean) * (gap - mean) / (runs - 1.0);
    const double half = t * std::sqrt(variance / runs);
    double low = mean - half;
    // A search is after a gap that is shown to be negative: one that is not shown says nothing.
    if (search && setting.slack == 0 && low < 0) low = mean + half < 0 ? mean + half : std::nan("");
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, one.name + ": minus the lower end of the gap", -low, 0,
        fmt::format("one-sided, {} settings at {:.0e} in all", all.size(), setting.false_alarm),
        fmt::format("same topic less other {:.4f} +- {:.4f}, {} runs", mean,
                    t * std::sqrt(variance / runs), runs)));
    if (!variant.empty() && result.evidence.back().verdict == Verdict::violated) break;
  }
  return result;
}

}  // namespace

Statement same_topic_attention() {
  return {.id = "topic.same-topic-attention",
          .claim = "after SGD same-topic attention and inner products exceed those of other topics",
          .paper = "arXiv 2303.04245, Section 5",
          .status = "observed in source",
          .hypotheses = {"tau >= 2", "training past stage 2"},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"shuffled", "topics of the words shuffled"},
                       {"untrained", "one step of training"}},
          .knobs = {topics, active, words, length, training_steps},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
