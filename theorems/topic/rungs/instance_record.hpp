#pragma once
/// Instances as `topic_law` and `training` read them from a file; the seed of the start is not in it.

#include "popgrad/base/record.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

Record record_of(const TopicLaw<Rational>& law);
/// Of documents drawn from the law: a corpus is not in it.
Record record_of(const Training& training);

}  // namespace popgrad::topic
