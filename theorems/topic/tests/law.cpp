#include "theorems/topic/tests/law.hpp"

#include <cmath>

namespace popgrad::laws {
namespace {

// Attention of a query on every key at these frequencies.
Vector<double> attention(const Vector<double>& frequency, const Matrix<double>& logits,
                         Index query) {
  Vector<double> a(frequency.size());
  for (Index j = 0; j < a.size(); ++j) a[j] = frequency[j] * std::exp(logits(j, query));
  return a / a.sum();
}

}  // namespace

TopicWorld topic_world(const Parameters& p) {
  TopicWorld w;
  w.topics = p.count("T", 10, 2, 100);
  w.active = p.count("tau", 4, 1, 100);
  w.words = p.count("v", 10, 1, 100);
  w.masked = p.number<double>("p_m", "0.15");
  w.correct = p.number<double>("p_c", "0.1");
  w.random = p.number<double>("p_r", "0.1");
  w.label_noise = p.number<double>("label_noise", "0");
  w.cross_entropy = p.text("loss", "squared") == "cross-entropy";
  return w;
}

std::vector<std::vector<bool>> documents(const TopicWorld& w) {
  std::vector<std::vector<bool>> all;
  for (unsigned mask = 0; mask < (1U << static_cast<unsigned>(w.topics)); ++mask) {
    std::vector<bool> in;
    Index count = 0;
    for (Index t = 0; t < w.topics; ++t) {
      in.push_back(((mask >> static_cast<unsigned>(t)) & 1U) != 0);
      count += in.back() ? 1 : 0;
    }
    if (count == w.active) all.push_back(in);
  }
  return all;
}

double loss_of_output(const TopicWorld& w, const Vector<double>& out, Index target) {
  if (w.cross_entropy) {
    double partition = 0;
    for (const double o : out) partition += std::exp(o);
    return std::log(partition) - out[target];
  }
  double loss = 0;
  for (Index i = 0; i < out.size(); ++i) {
    const double miss = out[i] - (i == target ? 1.0 : 0.0);
    loss += miss * miss;
  }
  return loss;
}

double enumerated_loss(const TopicWorld& w, const WholeLayer& layer) {
  const std::vector<std::vector<bool>> all = documents(w);
  const auto words = static_cast<double>(w.topics * w.words);
  const auto own_words = static_cast<double>(w.active * w.words);
  const double hidden = 1 - w.correct - w.random;
  double loss = 0;
  for (const std::vector<bool>& in : all) {
    const auto here = [&](Index word) { return in[static_cast<std::size_t>(w.topic_of(word))]; };
    // Of an infinitely long document, after masking.
    Vector<double> frequency(w.vocabulary());
    frequency[0] = w.masked * hidden;
    for (Index j = 1; j < w.vocabulary(); ++j) {
      const double word = here(j) ? 1 / own_words : 0.0;
      frequency[j] = (1 - w.masked) * word + w.masked * (w.correct * word + w.random / words);
    }
    for (Index query = 0; query < w.vocabulary(); ++query) {
      const Vector<double> out = layer.value * attention(frequency, layer.logits, query);
      for (Index word = 1; word < w.vocabulary(); ++word) {
        if (!here(word)) continue;
        // Probability that a selected position held this word and shows this query.
        double probability = 0;
        if (query == 0) probability = hidden / own_words;
        if (query > 0) probability = w.random / words / own_words;
        if (query == word) probability += w.correct / own_words;
        if (probability == 0) continue;  // attention of a query that has no key is 0/0
        loss += probability * (1 - w.label_noise) * loss_of_output(w, out, word);
        for (Index label = 1; label < w.vocabulary() && w.label_noise > 0; ++label) {
          loss += probability * w.label_noise / words * loss_of_output(w, out, label);
        }
      }
    }
  }
  return loss / static_cast<double>(all.size());
}

Weights weights_of(const Case& made, const AnyRung<double>& rung, const Vector<double>& x) {
  const std::map<std::string, double> now = by_name(rung, x);
  const Index keys = made.parameters.count("d_a", 100, 1, 1000);
  const Index embedding = made.parameters.count("d_e", 0, 0, 1000);
  const Index vocabulary = topic_world(made.parameters).vocabulary();
  const Index width = embedding > 0 ? embedding : vocabulary;
  const auto matrix = [&](const std::string& name, Index rows, Index cols) {
    Matrix<double> m(rows, cols);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        m(i, j) = now.at(name + "_" + std::to_string(i) + "_" + std::to_string(j));
      }
    }
    return m;
  };
  Weights w{matrix("W_K", keys, width),
            matrix("W_Q", keys, width),
            matrix("W_V", width, width),
            {},
            made.parameters.number<double>("temperature", "1")};
  if (embedding > 0) w.embedding = matrix("W_E", width, vocabulary);
  return w;
}

WholeLayer layer_of(const Weights& w) {
  const double root = std::sqrt(static_cast<double>(w.keys.rows()));
  Matrix<double> logits = w.keys.transpose() * w.queries / (w.temperature * root);
  if (w.embedding.size() == 0) return {w.values, logits};
  return {w.embedding.transpose() * w.values * w.embedding,
          w.embedding.transpose() * logits * w.embedding};
}

WholeLayer symmetric_layer(const Case& made, const AnyRung<double>& rung, const Vector<double>& x) {
  const std::map<std::string, double> now = by_name(rung, x);
  const TopicWorld w = topic_world(made.parameters);
  const bool by_products = now.contains("S_00");
  // Of the own word (0), of others of its topic (1), of other topics and [MASK] (2).
  const auto log_weight = [&now](int kind) {
    if (now.contains("own")) {
      return std::log(now.at(kind == 0 ? "own" : kind == 1 ? "same" : "other"));
    }
    return kind == 2 ? 0.0 : now.at(kind == 0 ? "ln_alpha" : "ln_beta");
  };
  const double root = std::sqrt(static_cast<double>(made.parameters.count("d_a", 100, 1, 100'000)));
  WholeLayer layer;
  layer.value = layer.logits = Matrix<double>::Zero(w.vocabulary(), w.vocabulary());
  if (by_products) layer.logits(0, 0) = now.at("S_00") / root;
  for (Index i = 1; i < w.vocabulary(); ++i) {
    layer.value(i, 0) = now.at("w_0");
    layer.logits(0, i) = by_products ? now.at("S_0w") / root : log_weight(2);
    if (by_products) layer.logits(i, 0) = now.at("S_w0") / root;
    for (Index j = 1; j < w.vocabulary(); ++j) {
      const int kind = i == j ? 0 : w.topic_of(i) == w.topic_of(j) ? 1 : 2;
      layer.value(i, j) = now.at(kind == 0 ? "d" : kind == 1 ? "s" : "u");
      if (by_products) {
        layer.logits(i, j) = now.at(kind == 0   ? "S_diagonal"
                                    : kind == 1 ? "S_same"
                                                : "S_other") /
                             root;
      } else {
        layer.logits(i, j) = log_weight(kind);
      }
    }
  }
  return layer;
}

}  // namespace popgrad::laws
