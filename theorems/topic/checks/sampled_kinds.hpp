#pragma once
/// What kinds of tokens occur in masked documents, enumerated and sampled.

#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

struct SampledKinds {
  std::vector<Quantity> shares;  ///< of [MASK], words of the document's topics, other words
  Quantity mask_variance;        ///< over documents, of the frequency of [MASK]
  std::string detail;            ///< how many documents
};
/// Masked documents of `length` tokens, so many that a tenth of the `rarest` share would be noticed,
/// as far as time allows. Parts: sampling, of all four numbers at setting.false_alarm.
SampledKinds sampled_kinds(const TopicLaw<double>& law, Index length, double rarest,
                           const Setting& setting);

/// Frequencies of [MASK], of a word of another topic, of the words of the document's topics: by
/// running through what may become of a position, for words of any probability in the document.
std::vector<Quantity> enumerated(const TopicLaw<Rational>& law,
                                 const std::vector<Rational>& of_word);

/// Probabilities 1 + size z over their sum, z uniform on (-1, 1).
std::vector<Rational> word_law(Index count, double size, std::uint64_t seed);

}  // namespace popgrad::topic::checks
