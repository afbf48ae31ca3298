#pragma once
/// What checks on topics use, and the knobs that they share.

#include <functional>
#include <string>

#include "popgrad/scalars/rational.hpp"
#include "theorems/prelude.hpp"
#include "theorems/topic/checks/examples.hpp"
#include "theorems/topic/rungs/instance_record.hpp"
#include "theorems/topic/rungs/law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::checks {

constexpr Knob topics_knob(double low, double high, double usual) {
  return whole_knob("topics", "T, number of topics", low, high, usual);
}
constexpr Knob active_knob(double low, double high, double usual) {
  return whole_knob("topics-a-document", "tau, number of topics in a document", low, high, usual);
}
constexpr Knob absent_knob(double low, double high, double usual) {
  return whole_knob("absent-topics", "T - tau, number of topics that a document has not", low, high,
                    usual);
}
constexpr Knob words_knob(double low, double high, double usual) {
  return whole_knob("words-a-topic", "v, number of words of a topic", low, high, usual);
}
constexpr Knob masking_knob(double low, double high) {
  return linear_knob("masking-probability", "p_m, probability that a position is selected", low,
                     high, 0.15);
}
constexpr Knob keeping_knob(double low, double high) {
  return linear_knob("keeping-probability",
                     "p_c, probability that a selected position keeps its word", low, high, 0.1);
}
constexpr Knob replacing_knob(double low, double high) {
  return linear_knob("replacing-probability",
                     "p_r, probability that a selected position becomes a random word", low, high,
                     0.1);
}
inline constexpr Knob masking = masking_knob(0.01, 1);
inline constexpr Knob keeping = keeping_knob(0.001, 0.8);
inline constexpr Knob replacing = replacing_knob(0.001, 0.8);

/// The direction in which W_V is off its member; the knob is the size.
constexpr Knob value_deviation_knob(const Hypothesis& hypothesis) {
  return logarithmic_knob("value-deviation",
                          "random deviation of the four entries of W_V, relative to its largest",
                          1e-4, 1, 0)
      .breaking(hypothesis);
}

/// Six decimals: fractions stay short, and the usual probabilities are those that the text says.
inline Rational decimal(double x) {
  return Rational(static_cast<int>(std::lround(x * 1e6))) / Rational(1'000'000);
}

/// What lies between two fractions. Part: enclosure.
inline Quantity enclosed(const Rational& low, const Rational& high) {
  return {to_double(Rational((low + high) / 2)),
          {ErrorPart::enclosure(to_double(Rational((high - low) / 2)))}};
}

/// Probabilities at the point, for any numbers of topics and words.
inline TopicLaw<Rational> law_at(const Setting& setting, Index topics, Index active, Index words) {
  return {topics,
          active,
          words,
          decimal(setting.value(masking)),
          decimal(setting.value(keeping)),
          decimal(setting.value(replacing))};
}

/// The law of the user's instance; else the one that the knobs make of these numbers. `chosen`: what
/// else the check makes of it, for whoever asks for its instance.
inline TopicLaw<Rational> examined_law(
    const Setting& setting, Index topics, Index active, Index words,
    const std::function<Record(const TopicLaw<Rational>&)>& chosen = {},
    Index most_words = most_counted_words) {
  const auto law = setting.instance != nullptr ? topic_law<Rational>(*setting.instance, most_words)
                                               : law_at(setting, topics, active, words);
  if (law.active >= law.topics || !(law.hidden() > 0)) {
    hand_over_none("tau >= T or p_c + p_r >= 1, which is no law that an instance file gives");
  }
  hand_over([&] { return ExaminedInstance{record_of(law), chosen ? chosen(law) : Record{}}; });
  return law;
}

/// The same rounded, as law_of makes it.
inline TopicLaw<double> rounded(const TopicLaw<Rational>& law) {
  return {
      law.topics,           law.active, law.words, to_double(law.masked), to_double(law.correct),
      to_double(law.random)};
}

/// Whether the point makes a law: documents differ, and [MASK] occurs. Says so if it does not.
inline bool makes_a_law(const TopicLaw<Rational>& law, Examination& result) {
  if (law.active >= law.topics) {
    result.hypotheses.push_back(
        {"`tau < T`", Truth::no, fmt::format("tau = {} of T = {}", law.active, law.topics)});
  }
  if (!(law.hidden() > 0)) {
    result.hypotheses.push_back(
        {"p_c + p_r < 1", Truth::no, fmt::format("`p0 = {}`", to_text(law.mask()))});
  }
  return law.active < law.topics && law.hidden() > 0;
}

inline void tell_probabilities(const TopicLaw<Rational>& law, Record& parameters) {
  parameters["p_m"] = to_double(law.masked);
  parameters["p_c"] = to_double(law.correct);
  parameters["p_r"] = to_double(law.random);
}

/// W_V off by `size` of its largest entry, in a direction that the seed draws.
inline BlockValue<double> deviating(BlockValue<double> value, double size, std::uint64_t seed) {
  constexpr std::uint32_t of_directions = 7;
  Stream stream(seed, of_directions, 0);
  const double largest = std::fmax(std::fmax(std::fabs(value.mask), std::fabs(value.diagonal)),
                                   std::fmax(std::fabs(value.same), std::fabs(value.other)));
  for (double* entry : {&value.mask, &value.diagonal, &value.same, &value.other}) {
    *entry += size * largest * (2 * stream.uniform() - 1);
  }
  return value;
}

}  // namespace popgrad::topic::checks
