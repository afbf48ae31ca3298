/// The columns of topic, from theory/topic.md, on whole matrices and every document.

#include <cmath>

#include "laws/columns.hpp"
#include "theorems/topic/tests/law.hpp"

namespace popgrad::laws {
namespace {

// Averages over words i, and words j of the same topic or of others.
struct Averages {
  double diagonal = 0, same = 0, other = 0;
};

Averages averages(const TopicWorld& w, const Matrix<double>& m) {
  double count_same = 0, count_other = 0;
  Averages sum;
  for (Index i = 1; i < w.vocabulary(); ++i) {
    sum.diagonal += m(i, i) / static_cast<double>(w.vocabulary() - 1);
    for (Index j = 1; j < w.vocabulary(); ++j) {
      if (i == j) continue;
      const bool same = w.topic_of(i) == w.topic_of(j);
      (same ? sum.same : sum.other) += m(i, j);
      (same ? count_same : count_other) += 1;
    }
  }
  if (count_same > 0) sum.same /= count_same;
  sum.other /= count_other;
  return sum;
}

// Attention over uniform attention, of words in documents of their topic.
Averages attention_by_kind(const TopicWorld& w, const Matrix<double>& logits) {
  Averages mean;
  double cases = 0;
  for (const std::vector<bool>& in : documents(w)) {
    Vector<double> frequency(w.vocabulary());
    const auto words = static_cast<double>(w.topics * w.words);
    frequency[0] = w.masked * (1 - w.correct - w.random);
    for (Index j = 1; j < w.vocabulary(); ++j) {
      const bool here = in[static_cast<std::size_t>(w.topic_of(j))];
      const double word = here ? 1 / static_cast<double>(w.active * w.words) : 0.0;
      frequency[j] = (1 - w.masked) * word + w.masked * (w.correct * word + w.random / words);
    }
    for (Index i = 1; i < w.vocabulary(); ++i) {
      if (!in[static_cast<std::size_t>(w.topic_of(i))]) continue;
      double partition = 0, same = 0, same_share = 0, other = 0, other_share = 0;
      for (Index j = 0; j < w.vocabulary(); ++j) {
        partition += frequency[j] * std::exp(logits(j, i));
      }
      for (Index j = 1; j < w.vocabulary(); ++j) {
        const double a = frequency[j] * std::exp(logits(j, i)) / partition;
        if (j == i) {
          mean.diagonal += a / frequency[j];
        } else if (w.topic_of(j) == w.topic_of(i)) {
          same += a;
          same_share += frequency[j];
        } else {
          other += a;
          other_share += frequency[j];
        }
      }
      if (same_share > 0) mean.same += same / same_share;
      if (other_share > 0) mean.other += other / other_share;
      cases += 1;
    }
  }
  return {mean.diagonal / cases, mean.same / cases, mean.other / cases};
}

}  // namespace

Columns topic_columns(const Case& made, const AnyRung<double>& rung, const Point& at) {
  const TopicWorld w = topic_world(made.parameters);
  const std::string& name = made.rung.name;
  const bool symmetric = name == "symmetric" || name == "block-reduced" || name == "optimum";
  Columns columns;
  WholeLayer layer;
  if (symmetric) {
    layer = symmetric_layer(made, rung, at.x);
    const std::map<std::string, double> now = by_name(rung, at.x);
    const double other = layer.logits(1, 1 + w.words);
    columns["alpha"] = std::exp(layer.logits(1, 1) - other);
    // With one word a topic there is no pair that beta could weigh.
    const double pair = w.words > 1           ? layer.logits(1, 2)
                        : name == "symmetric" ? 0.0
                        : name == "optimum"   ? std::log(now.at("same"))
                                              : now.at("ln_beta");
    columns["beta"] = std::exp(pair - other);
    if (name == "symmetric") {
      const auto words = static_cast<double>(w.vocabulary() - 1);
      columns["mask_weight"] = std::exp(layer.logits(0, 1) - other);
      columns["norm_W_K"] = std::sqrt(now.at("K_00") + words * now.at("K_diagonal"));
      columns["norm_W_Q"] = std::sqrt(now.at("Q_00") + words * now.at("Q_diagonal"));
    }
    columns["loss"] = enumerated_loss(w, layer);
    columns["norm_W_V"] = layer.value.norm();
  } else if (!by_name(rung, at.x).contains("W_V_0_0")) {
    return columns;  // the law asks for a new rung's
  } else {
    const Weights weights = weights_of(made, rung, at.x);
    layer = layer_of(weights);
    columns["norm_W_V"] = weights.values.norm();
    columns["norm_W_K"] = weights.keys.norm();
    columns["norm_W_Q"] = weights.queries.norm();
    columns["loss"] = enumerated_loss(w, layer) +
                      made.parameters.number<double>("lambda", "0") * weights.values.squaredNorm();
    const Matrix<double> gram =
        weights.embedding.size() > 0
            ? Matrix<double>(weights.embedding.transpose() * weights.embedding)
            : Matrix<double>(Matrix<double>::Identity(w.vocabulary(), w.vocabulary()));
    const Averages embedding = averages(w, gram);
    columns["gram_diagonal"] = embedding.diagonal;
    columns["gram_same_topic"] = embedding.same;
    columns["gram_other_topic"] = embedding.other;
  }
  const Averages value = averages(w, layer.value);
  columns["value_diagonal"] = value.diagonal;
  columns["value_same_topic"] = value.same;
  columns["value_other_topic"] = value.other;
  const Averages attention = attention_by_kind(w, layer.logits);
  columns["attention_same_word"] = attention.diagonal;
  columns["attention_same_topic"] = attention.same;
  columns["attention_other_topic"] = attention.other;
  return columns;
}

}  // namespace popgrad::laws
