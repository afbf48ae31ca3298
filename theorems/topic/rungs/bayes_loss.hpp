#pragma once
/// The least loss of a selected position on infinitely long documents: that of Bayes' rule.
///
/// A long document shows which topics it has, but not whether a token is the word itself. Where a
/// selected position shows a word x of the topics, it has been kept with probability
///   c = p_c/(p_c + p_r tau/T)
/// and drawn otherwise, so that with u the uniform law of the tau v words of the topics
///   P(word | x, topics) = (1 - c) u + c e_x   x a word of the topics
///                         u                   other words and [MASK]
/// Derived here. Both losses are of a selected position, as in PopulationFlow.

#include "theorems/topic/rungs/law.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

/// What a prediction may use.
enum class Known { nothing, topics, topics_and_token };

/// c, the probability that a word of the document's topics at a selected position was kept. Needs
/// p_c > 0 or p_r > 0.
template <class T, class Count>
T kept_probability(const TopicLaw<T, Count>& law) {
  return law.correct / (law.correct + law.random * law.share());
}

/// Squared loss:
///   nothing           1 - 1/(T v)
///   topics            1 - 1/(tau v)
///   topics_and_token  (1 - 1/(tau v)) (1 - p_c c)
/// Any scalar; `Count` as in TopicLaw.
template <class T, class Count>
T bayes_loss(const TopicLaw<T, Count>& law, Known known) {
  const auto words =
      law.number(known == Known::nothing ? law.topics * law.words : law.active * law.words);
  const T uniform = T(1) - T(1) / words;
  if (known != Known::topics_and_token || law.correct == T(0)) return uniform;
  return uniform * (T(1) - law.correct * kept_probability(law));
}

/// Either loss. Cross entropy: ln(T v), ln(tau v), and with H the entropy of (1 - c) u + c e_x
///   (1 - P) ln(tau v) + P H,   P = p_c + p_r tau/T
/// which outputs of a network come near only as they grow.
double bayes_loss(const TopicLaw<double>& law, LossKind loss, Known known);

}  // namespace popgrad::topic
