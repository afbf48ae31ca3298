#include <array>

#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/documents.hpp"

namespace popgrad::topic::checks::masked_frequencies {
namespace {

Statement sheet{.id = "topic.masked-frequencies",
                .paper = "arXiv 2303.04245, Section 3",
                .status = "proved in source",
                .about = "masked documents, enumerated and sampled",
                .theorem = R"(
A masked document has frequencies
  pt_0 = p_m (1 - p_c - p_r)   of [MASK]
  pt_j = a/(tau v) + b         of the words of its topics
  pt_j = b                     of other words
with
  a = 1 - (1 - p_c) p_m
  b = p_m p_r/(T v),
from which those of N positions are off, in documents of the same topics, with a variance
  pt (1 - pt)/N.)",
                .reaches = {EvidenceKind::exact, EvidenceKind::statistical},
                .no_rival = "an enumeration of what may become of a position",
                .false_version = "own-topics",
                .reads = "optimum"};

const Clause frequencies =
    sheet.clause("token frequencies of a masked document: [MASK], its topics, other topics");
const Clause deviations =
    sheet.clause("variance of those of [MASK] and of words of the topics over documents");

const Hypothesis long_documents = sheet.assume(by_construction(
    "long documents", "expectations do not depend on `N`, and deviations are judged at their `N`"));
const Hypothesis even_words = sheet.assume("words uniform over the topics of a document");

const Control own_topics =
    sheet.control("own-topics", "random words are drawn from the document's own topics only");
const Control nothing_kept = sheet.control("nothing-kept", "no selected position keeps its word");
const Control another_word =
    sheet.control("another-word", "a random word is never the word itself");
const Control more_variance = sheet.control("variance", "a tenth more variance over documents");

const Knob absent = sheet.knob(absent_knob(1, 6, 3));
const Knob active = sheet.knob(active_knob(1, 6, 2));
const Knob words = sheet.knob(words_knob(1, 8, 3));
// Rarer tokens need more documents than are sampled here.
const Knob sampled_masking = sheet.knob(masking_knob(0.1, 1));
const Knob sampled_keeping = sheet.knob(keeping_knob(0.02, 0.6));
const Knob sampled_replacing = sheet.knob(replacing_knob(0.05, 0.6));
const Knob spread =
    sheet.knob(logarithmic_knob(
                   "word-spread",
                   "random spread of the probabilities of a document's words, relative", 1e-4, 1, 0)
                   .breaking(even_words));

constexpr std::uint32_t most_documents = 40'000;

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

// Of [MASK], of a word of another topic, of the words of the document's topics: by running through
// what may become of a position, for words of any probability in the document.
std::vector<Quantity> enumerated(const TopicLaw<Rational>& law,
                                 const std::vector<Rational>& of_word) {
  Rational mask(0);
  Rational replaced(0);
  std::vector<Quantity> found(2);
  for (const Rational& share : of_word) {
    mask += share * law.masked * law.hidden();
    replaced += share * law.masked * law.random / Rational(law.topics * law.words);
  }
  for (const Rational& share : of_word) {
    const Rational unselected = share * (1 - law.masked);
    const Rational kept = share * law.masked * law.correct;
    found.emplace_back(to_double(Rational(unselected + kept + replaced)));
  }
  found[0] = to_double(mask);
  found[1] = to_double(replaced);
  return found;
}

// The same tokens, with a and b given.
std::vector<Quantity> claimed(const TopicLaw<Rational>& law, const Rational& a, const Rational& b) {
  const Index own = law.active * law.words;
  std::vector<Quantity> found(static_cast<std::size_t>(own) + 2,
                              to_double(Rational(a / Rational(own) + b)));
  found[0] = to_double(law.mask());
  found[1] = to_double(b);
  return found;
}

void judge_position(const TopicLaw<Rational>& law, const std::vector<Rational>& of_word,
                    Examination& it) {
  const Index all = law.topics * law.words;
  // Replaced positions are spread over this many words.
  const auto over = [&](Index count) {
    return Rational(law.masked * law.random / Rational(count));
  };
  it.judge(frequencies,
           equal("frequencies of all tokens, by the outcomes of a position",
                 enumerated(law, of_word), claimed(law, law.kept(), law.stray()))
               .of_kind(EvidenceKind::exact)
               .unless(own_topics, claimed(law, law.kept(), over(law.active * law.words)))
               .unless(nothing_kept, claimed(law, 1 - law.masked, law.stray()))
               .unless(another_word, claimed(law, law.kept(), over(all - 1))));
}

// So many that a tenth of the `rarest` share would be noticed, as far as time allows.
std::uint32_t documents_for(const Setting& setting, double rarest, Index length) {
  const double z = two_sided_normal_bound(setting.false_alarm / 2, 3);
  const double positions = runs_needed(z, std::sqrt(rarest), 0.8 * noticed_share * rarest);
  const double most = setting.draws(most_documents);
  // Half of them at least, for the variance.
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(positions / static_cast<double>(length)), most / 2, most));
}

void judge_documents(const TopicLaw<Rational>& exact, const Setting& setting, Examination& it) {
  const TopicLaw<double> law = rounded(exact);
  const Index length = std::max<Index>(128, 32 * law.active);  // all of its topics occur
  const double others =
      to_double(Rational(exact.stray() * (exact.topics - exact.active) * exact.words));
  const double mask = to_double(exact.mask());
  const std::uint32_t documents =
      documents_for(setting, others > 0 ? std::min(others, mask) : mask, length);
  Training training;
  training.law = law;
  training.document = length;
  DocumentLoss drawn(training);
  // Frequency of [MASK]; N times the mean square by which words of the document's topics are off.
  Matrix<double> of_documents(documents, 2);
  const double own_frequency = law.frequency(true);
  std::array<double, 3> counts{};  // of [MASK], words of the document's topics, other words
  Stream stream(setting.draw_seed(), 0, 0);
  std::vector<bool> present;
  for (std::uint32_t i = 0; i < documents; ++i) {
    throw_if_stopped();
    drawn.draw(stream);
    present.assign(static_cast<std::size_t>(law.topics), false);
    for (const Index w : drawn.words()) present[static_cast<std::size_t>(law.topic_of(w))] = true;
    const Vector<double> frequency = drawn.frequencies();
    of_documents(i, 0) = frequency[0];
    double square = 0;
    counts[0] += frequency[0] * static_cast<double>(length);
    for (Index w = 1; w < law.vocabulary(); ++w) {
      const bool own = present[static_cast<std::size_t>(law.topic_of(w))];
      counts[own ? 1 : 2] += frequency[w] * static_cast<double>(length);
      if (own) square += std::pow(frequency[w] - own_frequency, 2);
    }
    of_documents(i, 1) =
        square * static_cast<double>(length) / static_cast<double>(law.active * law.words);
  }
  const auto share = [&](double count) {
    return success_probability(static_cast<std::uint32_t>(std::llround(count)),
                               documents * static_cast<std::uint32_t>(length),
                               setting.false_alarm / 6);
  };
  const std::string sizes_drawn = fmt::format("{} documents of {} tokens", documents, length);
  it.judge(frequencies, equal("kinds of tokens in sampled documents")
                            .add("[MASK]", share(counts[0]), mask)
                            .add("own topics", share(counts[1]), 1 - mask - others)
                            .add("other topics", share(counts[2]), others)
                            .of_kind(EvidenceKind::statistical)
                            .with(sizes_drawn));
  const SampleMoments found = sample_moments(of_documents, setting.false_alarm / 4);
  it.judge(deviations,
           equal("`N` times the variance over documents")
               .add("[MASK]", found.variance[0] * Quantity(static_cast<double>(length)),
                    mask * (1 - mask))
               .add("a word of the topics", found.mean[1], own_frequency * (1 - own_frequency))
               .of_kind(EvidenceKind::statistical)
               .with(sizes_drawn)
               .unless(more_variance, times(1.1)));
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words));
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const Index own = law.active * law.words;
  const auto of_word = word_law(own, setting.value(spread), setting.seed);
  const auto [least, most] = std::ranges::minmax_element(of_word);
  const double uneven = to_double(Rational((*most - *least) * own));
  it.require(even_words, -uneven,
             fmt::format("probabilities apart by {:.3g} of their mean", uneven));
  judge_position(law, of_word, it);
  judge_documents(law, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::masked_frequencies
