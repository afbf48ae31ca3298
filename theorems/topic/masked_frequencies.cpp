// Theorem    topic.masked-frequencies                Status  proved in source
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 3 (masking)
// Statement  a masked document has frequencies pt_0 = p_m (1 - p_c - p_r), pt_j = a/(tau v) + b on
//            its topics, b elsewhere, a = 1 - (1 - p_c) p_m, b = p_m p_r/(T v)
// Hypotheses H1 long documents; H2 words uniform over the topics of the document
// Check      enumeration of the outcomes of one position, in fractions; sampled documents
// Controls   random words forgotten; a as if nothing selected were kept
// Uses       rung sgd (its documents)

#include <fmt/format.h>

#include <cmath>

#include "popgrad/scalar/rational.hpp"
#include "popgrad/statistics.hpp"
#include "popgrad/topic/documents.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Index topics = 5;
constexpr Index active = 2;
constexpr Index words = 3;

// Frequencies of [MASK], of a word of the document's topics, of another word.
template <class T>
std::array<T, 3> predicted(const TopicLaw<T>& law, std::string_view variant) {
  std::array<T, 3> made{law.mask(), law.frequency(true), law.frequency(false)};
  if (variant == "no-random-words") {
    made[1] = made[1] - law.stray();
    made[2] = T(0);
  } else if (variant == "nothing-kept") {
    made[1] = (T(1) - law.masked) / TopicLaw<T>::number(law.active * law.words) + law.stray();
  }
  return made;
}

// The same by running through word, selection and outcome; topics 0 .. tau - 1 present.
std::array<Rational, 3> enumerated(const TopicLaw<Rational>& law) {
  std::vector<Rational> frequency(static_cast<std::size_t>(law.vocabulary()), Rational(0));
  const Rational of_word = Rational(1) / Rational(static_cast<int>(law.active * law.words));
  const Rational any = Rational(1) / Rational(static_cast<int>(law.topics * law.words));
  for (Index w = 1; w <= law.active * law.words; ++w) {
    frequency[static_cast<std::size_t>(w)] += of_word * (1 - law.masked);
    frequency[static_cast<std::size_t>(w)] += of_word * law.masked * law.correct;
    for (Index r = 1; r < law.vocabulary(); ++r) {
      frequency[static_cast<std::size_t>(r)] += of_word * law.masked * law.random * any;
    }
    frequency[0] += of_word * law.masked * law.hidden();
  }
  return {frequency[0], frequency[1], frequency.back()};
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  result.parameters = sizes(topics, active, words);
  const auto law = law_of<Rational>(topics, active, words);
  const bool same = enumerated(law) == predicted(law, variant);
  result.evidence.push_back(identity(EvidenceKind::exact,
                                     "frequencies by enumeration of a position",
                                     same ? Truth::yes : Truth::no));
  Training training;
  training.law = law_of<double>(topics, active, words);
  training.document = 500;
  const std::array<double, 3> claim = predicted(training.law, variant);
  const int documents = setting.full ? 20'000 : 2'000;
  DocumentLoss drawn(training);
  std::array<double, 3> sum{};
  std::array<double, 3> square{};
  Stream stream(setting.seed, 0, 0);
  for (int i = 0; i < documents; ++i) {
    drawn.draw(stream);
    std::vector<bool> present(static_cast<std::size_t>(topics), false);
    for (const Index w : drawn.words())
      present[static_cast<std::size_t>(training.law.topic_of(w))] = true;
    const Vector<double> frequency = drawn.frequencies();
    std::array<double, 3> mean{frequency[0], 0, 0};
    for (Index w = 1; w < training.law.vocabulary(); ++w) {
      const bool in = present[static_cast<std::size_t>(training.law.topic_of(w))];
      mean[in ? 1 : 2] +=
          frequency[w] / static_cast<double>((in ? active : topics - active) * words);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      sum[k] += mean[k];
      square[k] += mean[k] * mean[k];
    }
  }
  double worst = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double mean = sum[k] / documents;
    const double deviation = std::sqrt((square[k] / documents - mean * mean) / (documents - 1));
    worst = std::max(worst, std::fabs(mean - claim[k]) / deviation);
  }
  result.evidence.push_back(
      bounded(EvidenceKind::statistical, "sampled frequencies, standard errors from the claim",
              worst, two_sided_normal_bound(setting.false_alarm, 3),
              fmt::format("three looks at a false alarm of {:.1e}", setting.false_alarm),
              fmt::format("{} documents of {} tokens", documents, training.document)));
  return result;
}

}  // namespace

Statement masked_frequencies() {
  return {.id = "topic.masked-frequencies",
          .claim = "token frequencies of a masked document: [MASK], its topics, other topics",
          .paper = "arXiv 2303.04245, Section 3",
          .status = "proved in source",
          .hypotheses = {"long documents", "words uniform over the topics of a document"},
          .reaches = {EvidenceKind::exact, EvidenceKind::statistical},
          .controls = {{"no-random-words", "the share of random words is forgotten"},
                       {"nothing-kept", "selected positions never keep their word"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
