// Theorem    topic.masked-frequencies
// Status     proved in source
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 3 (masking)
// Statement  a masked document has frequencies
//              pt_0 = p_m (1 - p_c - p_r)   of [MASK]
//              pt_j = a/(tau v) + b         of the words of its topics
//              pt_j = b                     of other words
//            with
//              a = 1 - (1 - p_c) p_m
//              b = p_m p_r/(T v)
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
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob topics = topics_knob(2, 10, 5);
constexpr Knob active = active_knob(1, 6, 2);
constexpr Knob words = words_knob(1, 8, 3);
constexpr Knob spread{
    .name = "word-spread",
    .meaning = "random spread of the probabilities of a document's words, relative",
    .low = 1e-4,
    .high = 1,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "words uniform over the topics of a document"};

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

// The same by running through word, selection and outcome, topics 0 .. tau - 1 present: of every
// token, for words of unequal probability in the document.
std::vector<Rational> enumerated(const TopicLaw<Rational>& law,
                                 const std::vector<Rational>& of_word) {
  std::vector<Rational> frequency(static_cast<std::size_t>(law.vocabulary()), Rational(0));
  const Rational any = Rational(1) / Rational(static_cast<int>(law.topics * law.words));
  for (Index w = 1; w <= law.active * law.words; ++w) {
    const Rational& share = of_word[static_cast<std::size_t>(w - 1)];
    frequency[static_cast<std::size_t>(w)] += share * (1 - law.masked);
    frequency[static_cast<std::size_t>(w)] += share * law.masked * law.correct;
    for (Index r = 1; r < law.vocabulary(); ++r) {
      frequency[static_cast<std::size_t>(r)] += share * law.masked * law.random * any;
    }
    frequency[0] += share * law.masked * law.hidden();
  }
  return frequency;
}

// Probabilities 1 + size z over their sum, z uniform on (-1, 1).
std::vector<Rational> word_law(Index count, double size, std::uint64_t seed) {
  Stream stream(seed, 1, 0);
  std::vector<Rational> law;
  Rational sum(0);
  for (Index w = 0; w < count; ++w) {
    law.push_back(1 + decimal(size * (2 * stream.uniform() - 1)));
    sum += law.back();
  }
  for (Rational& share : law) share /= sum;
  return law;
}

// The token whose frequency is farthest from the predicted one, relative.
double worst_token(const TopicLaw<Rational>& law, const std::vector<Rational>& frequency,
                   std::string_view variant) {
  const std::array<Rational, 3> claim = predicted(law, variant);
  Rational worst(0);
  for (Index w = 0; w < law.vocabulary(); ++w) {
    const std::size_t kind = w == 0 ? 0 : w <= law.active * law.words ? 1 : 2;
    const Rational& found = frequency[static_cast<std::size_t>(w)];
    const Rational off = abs(Rational(found - claim[kind]));
    if (off != 0) worst = std::max(worst, Rational(off / found));
  }
  return to_double(worst);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto law =
      law_at(setting, setting.count(topics), setting.count(active), setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  if (!makes_a_law(law, result)) return result;
  const double uneven = setting.value(spread);
  const auto of_word = word_law(law.active * law.words, uneven, setting.seed);
  const double worst_word = worst_token(law, enumerated(law, of_word), variant);
  if (uneven == 0) {
    result.evidence.push_back(identity(EvidenceKind::exact,
                                       "frequencies by enumeration of a position",
                                       worst_word == 0 ? Truth::yes : Truth::no));
  } else {
    result.parameters["word-spread"] = uneven;
    result.hypotheses.push_back({"words uniform over the topics of a document", Truth::no,
                                 fmt::format("a spread of {:g}", uneven)});
    result.evidence.push_back(bounded(EvidenceKind::exact,
                                      "frequency of a word by enumeration, relative deviation",
                                      worst_word, setting.allow(0), "an identity"));
    return result;  // what is sampled is the mean over the words, whom it does not concern
  }
  Training training;
  training.law = rounded(law);
  training.document = 500;
  const std::array<double, 3> claim = predicted(training.law, variant);
  const int documents = setting.full ? 20'000 : setting.only_what_varies ? 500 : 2'000;
  DocumentLoss drawn(training);
  const std::array<double, 3> tokens{1, static_cast<double>(law.active * law.words),
                                     static_cast<double>((law.topics - law.active) * law.words)};
  std::array<double, 3> sum{};
  std::array<double, 3> square{};
  Stream stream(setting.seed, 0, 0);
  for (int i = 0; i < documents; ++i) {
    drawn.draw(stream);
    std::vector<bool> present(static_cast<std::size_t>(law.topics), false);
    for (const Index w : drawn.words())
      present[static_cast<std::size_t>(training.law.topic_of(w))] = true;
    const Vector<double> frequency = drawn.frequencies();
    std::array<double, 3> mean{frequency[0], 0, 0};
    for (Index w = 1; w < training.law.vocabulary(); ++w) {
      const bool in = present[static_cast<std::size_t>(training.law.topic_of(w))];
      mean[in ? 1 : 2] += frequency[w] / tokens[in ? 1 : 2];
    }
    for (std::size_t k = 0; k < 3; ++k) {
      sum[k] += mean[k];
      square[k] += mean[k] * mean[k];
    }
  }
  double worst = 0;
  double worst_count = 0;
  // Kinds of tokens at the positions of all documents are independent: counts are binomial, and off
  // by deviation sqrt(2 l) + l/3 with a chance of 2 exp(-l) at most (Bernstein).
  const double positions = static_cast<double>(training.document) * documents;
  const double l = std::log(6 / setting.false_alarm);
  for (std::size_t k = 0; k < 3; ++k) {
    const double mean = sum[k] / documents;
    const double deviation = std::sqrt((square[k] / documents - mean * mean) / (documents - 1));
    worst = std::max(worst, std::fabs(mean - claim[k]) / deviation);
    const double share = claim[k] * tokens[k];
    const double bound = std::sqrt(2 * l * positions * share * (1 - share)) + l / 3;
    worst_count = std::max(worst_count, std::fabs(mean * tokens[k] - share) * positions / bound);
  }
  const std::string detail = fmt::format("{} documents of {} tokens", documents, training.document);
  if (setting.only_what_varies) {
    // Words that are rare at some points have no normal law.
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "sampled counts over Bernstein's bound", worst_count, 1,
        fmt::format("three looks at a false alarm of {:.1e}", setting.false_alarm), detail));
    return result;
  }
  result.evidence.push_back(
      bounded(EvidenceKind::statistical, "sampled frequencies, standard errors from the claim",
              worst, two_sided_normal_bound(setting.false_alarm, 3),
              fmt::format("three looks at a false alarm of {:.1e}", setting.false_alarm), detail));
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
          .knobs = {topics, active, words, masking, keeping, replacing, spread},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
