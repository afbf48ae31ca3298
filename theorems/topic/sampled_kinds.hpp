#pragma once
/// What kinds of tokens occur in sampled documents.

#include <string>
#include <vector>

#include "popgrad/quantity.hpp"
#include "popgrad/statement.hpp"
#include "popgrad/topic/law.hpp"

namespace popgrad::theorems::topic {

struct SampledKinds {
  std::vector<Quantity> shares;  ///< of [MASK], words of the document's topics, other words
  Quantity mask_variance;        ///< over documents, of the frequency of [MASK]
  std::string detail;            ///< how many documents
};
/// Masked documents of `length` tokens, so many that a tenth of the `rarest` share would be noticed,
/// as far as time allows. Parts: sampling, of all four numbers at setting.false_alarm.
SampledKinds sampled_kinds(const popgrad::topic::TopicLaw<double>& law, Index length, double rarest,
                           const Setting& setting);

}  // namespace popgrad::theorems::topic
