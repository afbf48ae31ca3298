#include "theorems/topic/rungs/bayes_loss.hpp"

#include <cmath>

namespace popgrad::topic {

double bayes_loss(const TopicLaw<double>& law, LossKind loss, Known known) {
  if (loss == LossKind::squared) return bayes_loss(law, known);
  if (known == Known::nothing) return std::log(static_cast<double>(law.topics * law.words));
  const auto words = static_cast<double>(law.active * law.words);
  const double uniform = std::log(words);
  if (known == Known::topics || law.correct == 0) return uniform;
  const double kept = kept_probability(law);
  const double each = (1 - kept) / words;  // of the other words
  const double own = each + kept;
  const double others = each > 0 ? (words - 1) * each * std::log(each) : 0;
  const double entropy = -others - own * std::log(own);
  const double shown = law.correct + law.random * law.share();
  return (1 - shown) * uniform + shown * entropy;
}

}  // namespace popgrad::topic
