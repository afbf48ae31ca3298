/// Where stage 2 ends, as predicted.

#include "theorems/topic/checks/second_stage.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "theorems/topic/rungs/landscape.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace second_stage_test {

using namespace popgrad;
using namespace popgrad::topic::checks;
using namespace popgrad::topic;

TEST_CASE("the best weight of [MASK] is found where it is beyond the first range of the search",
          "[topic]") {
  // Where the flow of W_K and W_Q ends on these W_V, without the search. With one word a topic the
  // weight of the own word is beyond its first range as well.
  const auto [words, of_flow] = GENERATE(std::pair{2, 20.4924138}, std::pair{1, 23.0802953});
  const TopicLaw<double> law{3, 2, words, 0.5, 0.5, 0.01};
  const BlockValue<double> value = minimum_norm_value(law);
  const TopicAttention best = best_with_mask(law, value);
  CAPTURE(words, best.mask.value(), best.mask.error());
  REQUIRE(of_flow > std::exp(3.0));
  CHECK(std::fabs(best.mask.value() - of_flow) <= best.mask.error());
  CHECK(best.mask.error() < 1e-4 * of_flow);
  for (const double other : {0.98, 1.02}) {
    const Landscape<double> moved = landscape(law, value, MaskWeights<double>{other * of_flow, 1});
    CHECK(find_minimum(moved, {0, 400, 0, 400}).value > best.loss);
  }
}

}  // namespace second_stage_test
