// Theorem    topic.masked-frequencies
// Status     proved in source
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 3 (masking)
// Statement  a masked document has frequencies
//              pt_0 = p_m (1 - p_c - p_r)   of [MASK]
//              pt_j = a/(tau v) + b         of the words of its topics
//              pt_j = b                     of other words
//            with
//              a = 1 - (1 - p_c) p_m
//              b = p_m p_r/(T v),
//            from which those of N positions are off with a variance pt (1 - pt)/N
// Hypotheses H1 long documents; H2 words uniform over the topics of the document
// Check      enumeration of the outcomes of one position, in fractions; kinds of tokens at the
//            positions of sampled documents; variance over documents of the frequency of [MASK]
// Controls   b over the document's topics alone; a as if no selected word were kept; a random word
//            that is never the word itself; a variance 10 % larger
// Uses       rung sgd (its documents)

#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/sampled_kinds.hpp"

namespace popgrad::topic::checks::masked_frequencies {
namespace {

constexpr Knob absent = absent_knob(1, 6, 3);
constexpr Knob active = active_knob(1, 6, 2);
constexpr Knob words = words_knob(1, 8, 3);
// Rarer tokens need more documents than are sampled here.
constexpr Knob sampled_masking = masking_knob(0.1, 1);
constexpr Knob sampled_keeping = keeping_knob(0.02, 0.6);
constexpr Knob sampled_replacing = replacing_knob(0.05, 0.6);
constexpr Knob spread =
    logarithmic_knob("word-spread",
                     "random spread of the probabilities of a document's words, relative", 1e-4, 1,
                     0)
        .breaking("words uniform over the topics of a document");

// Of [MASK], of a word of another topic, of the words of the document's topics, with a and b given.
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
  const Rational all(law.topics * law.words);
  const Rational replaced = law.masked * law.random;
  const auto with = [&](const Rational& a, const Rational& b) { return claimed(law, a, b); };
  it.judge(Comparison{
      .kind = EvidenceKind::exact,
      .what = "frequencies of all tokens, by the outcomes of a position",
      .measured = enumerated(law, of_word),
      .predicted = with(law.kept(), law.stray()),
      .mistakes = {
          predicts("own-topics", with(law.kept(), replaced / Rational(law.active * law.words))),
          predicts("nothing-kept", with(1 - law.masked, law.stray())),
          predicts("another-word", with(law.kept(), replaced / (all - 1)))}});
}

void judge_documents(const TopicLaw<Rational>& law, const Setting& setting, Examination& it) {
  const Index length = std::max<Index>(128, 32 * law.active);  // all of its topics occur
  const double others = to_double(Rational(law.stray() * (law.topics - law.active) * law.words));
  const double mask = to_double(law.mask());
  const double rarest = others > 0 ? std::min(others, mask) : mask;
  const SampledKinds sampled = sampled_kinds(rounded(law), length, rarest, setting);
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "kinds of tokens in sampled documents",
                      .measured = sampled.shares,
                      .predicted = {mask, 1 - mask - others, others},
                      .places = {"[MASK]", "own topics", "other topics"},
                      .detail = sampled.detail});
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "variance of the frequency of [MASK] over documents",
                      .measured = {sampled.mask_variance},
                      .predicted = {mask * (1 - mask) / static_cast<double>(length)},
                      .mistakes = {predicts_times("variance", 1.1)},
                      .detail = sampled.detail});
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
  const auto [least, most] = std::minmax_element(of_word.begin(), of_word.end());
  const double uneven = to_double(Rational((*most - *least) * own));
  it.require("words uniform over the topics of a document", -uneven,
             fmt::format("probabilities apart by {:.3g} of their mean", uneven));
  judge_position(law, of_word, it);
  judge_documents(law, setting, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "topic.masked-frequencies",
      .claim = "token frequencies of a masked document: [MASK], its topics, other topics",
      .paper = "arXiv 2303.04245, Section 3",
      .status = "proved in source",
      .hypotheses = {by_construction("long documents",
                                     "expectations do not depend on N, and "
                                     "deviations are judged at their N"),
                     "words uniform over the topics of a document"},
      .reaches = {EvidenceKind::exact, EvidenceKind::statistical},
      .controls = {{"own-topics", "random words of the document's own topics alone"},
                   {"nothing-kept", "no selected position keeps its word"},
                   {"another-word", "a random word is never the word itself"},
                   {"variance", "a tenth more variance over documents"}},
      .knobs = {absent, active, words, sampled_masking, sampled_keeping, sampled_replacing, spread},
      .reads = "optimum",
      .examine = examine};
}

}  // namespace popgrad::topic::checks::masked_frequencies
