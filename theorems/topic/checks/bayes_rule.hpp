#pragma once
/// The Bayes loss of a selected position run through by definition, and how near to it attention of
/// one layer comes.

#include "popgrad/evidence/examination.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// 1 - sum_x P(x) |P(word | x)|^2 over all tokens x and words of a document of the first tau
/// topics, whose topics are known; without `token`, as if no token were seen. In fractions.
Rational enumerated_bayes_loss(const TopicLaw<Rational>& law, bool token);

/// L_B with c = p_c/(p_c + p_r): replaced positions taken for words of the document's topics.
Rational mistaken_bayes_loss(const TopicLaw<Rational>& law);

/// L_T and L_B against enumeration. Control: own-topics.
void judge_bayes_rule(const TopicLaw<Rational>& law, Examination& it);

/// The weight alpha on the own word, others 1, that makes the outputs of a query whose topic is in
/// the document (1 - a c) u + c e_x on the diagonal W_V.
template <class T, class Count>
T own_word_weight(const TopicLaw<T, Count>& law) {
  const T theta = law.kept() * kept_probability(law);
  return T(1) + theta / ((T(1) - theta) * law.frequency(true));
}

/// Its loss above L_B; `lost` is 1 - a.
template <class T, class Count>
T own_word_excess(const TopicLaw<T, Count>& law, const T& lost) {
  const T c = kept_probability(law);
  const T words = law.number(law.active * law.words);
  const T more = (own_word_weight(law) - T(1)) * law.stray();
  const T stray = more / (T(1) + more);  // theta_0
  const T a = law.kept();
  return (law.correct + law.random * law.share()) * c * c * lost * lost / words +
         law.random * (T(1) - law.share()) * stray * stray * (T(1) / (a * a) + T(1) / words);
}

}  // namespace popgrad::topic::checks
