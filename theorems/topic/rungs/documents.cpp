#include "theorems/topic/rungs/documents.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace popgrad::topic {

double positions_of_law(const Training& training) {
  const TopicLaw<double>& law = training.law;
  const auto own = static_cast<double>(law.active * law.words);
  const auto words = static_cast<double>(law.topics * law.words);
  return subset_count(law.topics, law.active) *
         (training.label_noise > 0 ? own + words * (words + 1) : own * (words + 2));
}

DocumentLaw document_law(const Training& training) {
  const TopicLaw<double>& law = training.law;
  const double any_label = training.label_noise / static_cast<double>(law.topics * law.words);
  DocumentLaw made;
  made.draws.length = training.document;
  const auto all = subsets(law.topics, law.active);
  const double word_share = 1 / static_cast<double>(law.active * law.words);
  const double random_share = law.random / static_cast<double>(law.topics * law.words);
  for (const std::vector<Index>& subset : all) {
    std::vector<Position> positions;
    std::vector<double> chances;
    const auto add = [&](Position position, double chance) {
      if (!(chance > 0)) return;
      positions.push_back(position);
      chances.push_back(word_share * chance);
    };
    // Of selected positions by word and token, where labels may be others.
    Matrix<double> selected;
    if (any_label > 0) selected.setZero(law.vocabulary(), law.vocabulary());
    const auto select = [&](Index shown, Index word, double chance) {
      if (any_label > 0) {
        selected(word, shown) += chance;
      } else {
        add({shown, word}, chance);
      }
    };
    for (const Index topic : subset) {
      for (Index word = 1 + topic * law.words; word <= (topic + 1) * law.words; ++word) {
        add({word, -1}, 1 - law.masked);
        select(word, word, law.masked * (law.correct + random_share));
        select(0, word, law.masked * law.hidden());
        for (Index shown = 1; shown < law.vocabulary(); ++shown) {
          if (shown != word) select(shown, word, law.masked * random_share);
        }
      }
    }
    for (Index shown = 0; shown < selected.cols(); ++shown) {
      const double replaced = any_label * selected.col(shown).sum();
      for (Index label = 1; label < selected.rows(); ++label) {
        add({shown, label}, (1 - training.label_noise) * selected(label, shown) + replaced);
      }
    }
    made.draws.classes.push_back(
        {1 / static_cast<double>(all.size()),
         Eigen::Map<const Vector<double>>(chances.data(), std::ssize(chances))});
    made.positions.push_back(std::move(positions));
  }
  return made;
}

DocumentLoss::DocumentLoss(const Training& training)
    : training_(training),
      counts_(static_cast<std::size_t>(training.law.vocabulary()), 0.0),
      pull_(training.law.vocabulary()) {
  present_.reserve(counts_.size());
  selected_.reserve(static_cast<std::size_t>(training.document + training.longer));
}

void DocumentLoss::draw_words(Stream& stream) {
  const TopicLaw<double>& law = training_.law;
  if (!training_.corpus.empty()) {
    words_ = training_.corpus[stream.index(static_cast<std::uint32_t>(training_.corpus.size()))];
    return;
  }
  Index length = training_.document;
  if (training_.longer > 0) {
    length += static_cast<Index>(stream.index(static_cast<std::uint32_t>(training_.longer + 1)));
  }
  words_.resize(static_cast<std::size_t>(length));
  if (training_.documents == DocumentKind::lda) {
    // With its Dirichlet law integrated out the topic of a token is new, with odds of
    // concentration times T to the number of tokens before, or that of one of these.
    const double fresh = training_.concentration * static_cast<double>(law.topics);
    for (std::size_t n = 0; n < words_.size(); ++n) {
      const double before = static_cast<double>(n);
      const Index topic =
          n == 0 || stream.uniform() * (fresh + before) < fresh
              ? static_cast<Index>(stream.index(static_cast<std::uint32_t>(law.topics)))
              : law.topic_of(words_[stream.index(static_cast<std::uint32_t>(n))]);
      words_[n] = 1 + topic * law.words +
                  static_cast<Index>(stream.index(static_cast<std::uint32_t>(law.words)));
    }
    return;
  }
  // Floyd's sampling of the topics.
  topics_.clear();
  for (Index j = law.topics - law.active; j < law.topics; ++j) {
    const auto t = static_cast<Index>(stream.index(static_cast<std::uint32_t>(j + 1)));
    topics_.push_back(std::find(topics_.begin(), topics_.end(), t) == topics_.end() ? t : j);
  }
  const auto choices = static_cast<std::uint32_t>(law.active * law.words);
  for (Index& word : words_) {
    const auto drawn = static_cast<Index>(stream.index(choices));
    word = 1 + topics_[static_cast<std::size_t>(drawn / law.words)] * law.words + drawn % law.words;
  }
}

void DocumentLoss::draw(Stream& stream) {
  const TopicLaw<double>& law = training_.law;
  draw_words(stream);
  masked_ = words_;
  selected_.clear();
  for (const Index token : present_) counts_[static_cast<std::size_t>(token)] = 0;
  present_.clear();
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (stream.uniform() < law.masked) {
      const double kind = stream.uniform();
      if (kind >= law.correct) {
        masked_[i] = kind < law.correct + law.random
                         ? 1 + static_cast<Index>(
                                   stream.index(static_cast<std::uint32_t>(law.topics * law.words)))
                         : 0;
      }
      selected_.push_back({masked_[i], words_[i]});
    }
    if (counts_[static_cast<std::size_t>(masked_[i])]++ == 0) present_.push_back(masked_[i]);
  }
  length_ = static_cast<double>(words_.size());
  sort_selected();
}

void DocumentLoss::replace_labels(Stream& stream) {
  const auto words = static_cast<std::uint32_t>(training_.law.topics * training_.law.words);
  for (Selected& position : selected_) {
    const bool replaced = stream.uniform() < training_.label_noise;
    const auto label = 1 + static_cast<Index>(stream.index(words));
    if (replaced) position.word = label;
  }
}

void DocumentLoss::sort_selected() {
  std::sort(selected_.begin(), selected_.end(), [](const Selected& a, const Selected& b) {
    return std::pair(a.shown, a.word) < std::pair(b.shown, b.word);
  });
}

void DocumentLoss::take(std::span<const Position> positions, const Vector<double>& frequencies) {
  selected_.clear();
  for (const Index token : present_) counts_[static_cast<std::size_t>(token)] = 0;
  present_.clear();
  length_ = 1;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double frequency = frequencies[static_cast<Index>(i)];
    if (frequency == 0) continue;
    const auto& [shown, word] = positions[i];
    if (counts_[static_cast<std::size_t>(shown)] == 0) present_.push_back(shown);
    counts_[static_cast<std::size_t>(shown)] += frequency;
    if (word >= 0) selected_.push_back({shown, word, frequency});
  }
  sort_selected();
}

double DocumentLoss::add_gradient(const Effective& now, double weight, Matrix<double>& dvalue,
                                  Matrix<double>& dlogits) const {
  return add_gradient(now, weight, present_, counts_, dvalue, dlogits);
}

double DocumentLoss::add_gradient(const Effective& now, double weight,
                                  const Vector<double>& frequencies, Matrix<double>& dvalue,
                                  Matrix<double>& dlogits) const {
  std::vector<Index> tokens;
  for (Index token = 0; token < frequencies.size(); ++token) {
    if (frequencies[token] > 0) tokens.push_back(token);
  }
  const std::span<const double> counts(frequencies.data(), counts_.size());
  return add_gradient(now, weight, tokens, counts, dvalue, dlogits);
}

double DocumentLoss::add_gradient(const Effective& now, double weight,
                                  std::span<const Index> present, std::span<const double> counts,
                                  Matrix<double>& dvalue, Matrix<double>& dlogits) const {
  const double share = weight / (training_.law.masked * length_);
  const auto keys = static_cast<Index>(present.size());
  double loss = 0;
  for (std::size_t begin = 0; begin < selected_.size();) {
    const Index query = selected_[begin].shown;
    std::size_t end = begin;
    double mass = 0;
    for (; end < selected_.size() && selected_[end].shown == query; ++end) {
      mass += selected_[end].count;
    }
    double top = -HUGE_VAL;
    for (const Index j : present) top = std::max(top, now.logits(j, query));
    double z = 0;
    out_.setZero(now.value.rows());
    for (Index k = 0; k < keys; ++k) {
      const Index j = present[static_cast<std::size_t>(k)];
      pull_[k] = counts[static_cast<std::size_t>(j)] * std::exp(now.logits(j, query) - top);
      z += pull_[k];
      out_ += pull_[k] * now.value.col(j);
    }
    out_ /= z;
    if (training_.loss == LossKind::squared) {
      slope_ = 2 * mass * out_;
      loss += share * mass * (out_.squaredNorm() + 1);
      for (std::size_t i = begin; i < end; ++i) {
        slope_[selected_[i].word] -= 2 * selected_[i].count;
        loss -= 2 * share * selected_[i].count * out_[selected_[i].word];
      }
    } else {
      const double highest = out_.maxCoeff();
      slope_ = (out_.array() - highest).exp();
      const double sum = slope_.sum();
      slope_ *= mass / sum;
      loss += share * mass * (highest + std::log(sum));
      for (std::size_t i = begin; i < end; ++i) {
        slope_[selected_[i].word] -= selected_[i].count;
        loss -= share * selected_[i].count * out_[selected_[i].word];
      }
    }
    slope_ *= share;
    const double along = slope_.dot(out_);
    for (Index k = 0; k < keys; ++k) {
      const Index j = present[static_cast<std::size_t>(k)];
      const double a = pull_[k] / z;
      dlogits(j, query) += a * (slope_.dot(now.value.col(j)) - along);
      dvalue.col(j) += a * slope_;
    }
    begin = end;
  }
  return loss;
}

Vector<double> DocumentLoss::frequencies() const {
  return Eigen::Map<const Vector<double>>(counts_.data(), static_cast<Index>(counts_.size())) /
         length_;
}

void DocumentLoss::add_attention(const Effective& now, std::array<double, 3>& sums,
                                 std::array<double, 3>& counts) const {
  const TopicLaw<double>& law = training_.law;
  for (const Index query : present_) {
    if (query == 0) continue;
    double z = 0;
    for (const Index j : present_) {
      z += counts_[static_cast<std::size_t>(j)] * std::exp(now.logits(j, query));
    }
    const double queries = counts_[static_cast<std::size_t>(query)];
    for (const Index j : present_) {
      if (j == 0) continue;
      const std::size_t kind = j == query ? 0 : law.topic_of(j) == law.topic_of(query) ? 1 : 2;
      const double pairs = queries * counts_[static_cast<std::size_t>(j)];
      sums[kind] += pairs * length_ * std::exp(now.logits(j, query)) / z;
      counts[kind] += pairs;
    }
  }
}

}  // namespace popgrad::topic
