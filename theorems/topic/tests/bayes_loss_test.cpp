#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"

namespace bayes_loss_test {

using namespace popgrad;
using namespace popgrad::topic;

namespace {

// P(word, shown token | selected, the first tau topics), by definition.
double joint(const TopicLaw<double>& law, Index word, Index shown) {
  const double drawn = law.random / static_cast<double>(law.topics * law.words);
  const double becomes = shown == 0 ? law.hidden() : drawn + (shown == word ? law.correct : 0);
  return becomes / static_cast<double>(law.active * law.words);
}

struct Document {
  std::vector<Index> words, shown;
  std::vector<bool> selected;
};

Document drawn_document(const TopicLaw<double>& law, const std::vector<Index>& topics,
                        std::size_t length, Stream& stream) {
  Document made;
  for (std::size_t n = 0; n < length; ++n) {
    const Index topic = topics[stream.index(static_cast<std::uint32_t>(topics.size()))];
    const auto word = 1 + topic * law.words +
                      static_cast<Index>(stream.index(static_cast<std::uint32_t>(law.words)));
    const bool selected = stream.uniform() < law.masked;
    const double kind = stream.uniform();
    const auto any =
        1 + static_cast<Index>(stream.index(static_cast<std::uint32_t>(law.topics * law.words)));
    made.words.push_back(word);
    made.selected.push_back(selected);
    made.shown.push_back(!selected || kind < law.correct   ? word
                         : kind < law.correct + law.random ? any
                                                           : 0);
  }
  return made;
}

}  // namespace

TEST_CASE("topic: Bayes losses are those of the joint law", "[topic]") {
  for (const TopicLaw<double>& law :
       {TopicLaw<double>{4, 2, 3, 0.15, 0.1, 0.1}, TopicLaw<double>{3, 1, 2, 0.6, 0.3, 0.25},
        TopicLaw<double>{5, 4, 2, 0.3, 0.02, 0.7}, TopicLaw<double>{3, 2, 2, 0.3, 0.4, 0.0}}) {
    double squared = 1;
    double entropy = 0;
    for (Index shown = 0; shown < law.vocabulary(); ++shown) {
      double total = 0;
      for (Index w = 1; w <= law.active * law.words; ++w) total += joint(law, w, shown);
      if (total == 0) continue;
      for (Index w = 1; w <= law.active * law.words; ++w) {
        const double posterior = joint(law, w, shown) / total;
        squared -= total * posterior * posterior;
        if (posterior > 0) entropy -= total * posterior * std::log(posterior);
      }
    }
    CHECK(bayes_loss(law, LossKind::squared, Known::topics_and_token) ==
          Approx(squared).epsilon(1e-13));
    CHECK(bayes_loss(law, LossKind::cross_entropy, Known::topics_and_token) ==
          Approx(entropy).epsilon(1e-13));
  }
  CHECK(
      bayes_loss(TopicLaw<Rational>{4, 2, 3, Rational(3) / 20, Rational(1) / 10, Rational(1) / 10},
                 Known::topics_and_token) == Rational(7) / 9);
}

// Topics are not given here: their posterior is by enumeration of all sets of topics.
TEST_CASE("topic: sampled long documents have the Bayes loss", "[topic]") {
  const TopicLaw<double> law{4, 2, 2, 0.5, 0.2, 0.3};
  const std::vector<std::vector<Index>> sets = subsets(law.topics, law.active);
  constexpr int documents = 400;
  double mean = 0;
  double square = 0;
  for (int d = 0; d < documents; ++d) {
    Stream stream(5, 0, static_cast<std::uint64_t>(d));
    const auto drawn = stream.index(static_cast<std::uint32_t>(sets.size()));
    const Document document = drawn_document(law, sets[drawn], 400, stream);
    std::vector<double> score;  // logarithm of the likelihood of a set
    for (const std::vector<Index>& set : sets) {
      double sum = 0;
      for (const Index shown : document.shown) {
        bool own = false;
        for (const Index t : set) own = own || (shown > 0 && law.topic_of(shown) == t);
        if (shown > 0) sum += std::log(law.frequency(own));
      }
      score.push_back(sum);
    }
    const double top = *std::max_element(score.begin(), score.end());
    double loss = 0;
    double count = 0;
    for (std::size_t n = 0; n < document.words.size(); ++n) {
      if (!document.selected[n]) continue;
      const Index shown = document.shown[n];
      Vector<double> posterior = Vector<double>::Zero(law.vocabulary());
      for (std::size_t s = 0; s < sets.size(); ++s) {
        // Of the position itself P(word, shown | set) in place of P(shown | set).
        bool own = false;
        for (const Index t : sets[s]) own = own || (shown > 0 && law.topic_of(shown) == t);
        const double others =
            std::exp(score[s] - top) / (shown > 0 ? law.frequency(own) : law.mask());
        for (const Index t : sets[s]) {
          for (Index w = 1 + t * law.words; w <= (t + 1) * law.words; ++w) {
            posterior[w] += others * joint(law, w, shown);
          }
        }
      }
      posterior /= posterior.sum();
      posterior[document.words[n]] -= 1;
      loss += posterior.squaredNorm();
      count += 1;
    }
    mean += loss / count / documents;
    square += loss * loss / count / count / documents;
  }
  const double error = std::sqrt((square - mean * mean) / (documents - 1));
  INFO("mean " << mean << " +- " << error);
  CHECK(std::fabs(mean - bayes_loss(law, LossKind::squared, Known::topics_and_token)) < 4 * error);
  CHECK(error < 0.005);
}

}  // namespace bayes_loss_test
