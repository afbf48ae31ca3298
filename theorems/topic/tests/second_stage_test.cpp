/// Where stage 2 ends, as predicted.

#include "theorems/topic/checks/second_stage.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "theorems/topic/rungs/landscape.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace second_stage_test {

using namespace popgrad;
using namespace popgrad::theorems::topic;
using namespace popgrad::topic;

TEST_CASE("the best weight of [MASK] is found where it is beyond the first range of the search",
          "[topic]") {
  const TopicLaw<double> law{3, 2, 2, 0.5, 0.5, 0.01};
  const BlockValue<double> value = minimum_norm_value(law);
  const TopicAttention best = best_with_mask(law, value);
  // Where the flow of W_K and W_Q ends on this W_V, which knows nothing of the search.
  const double of_flow = 20.4924138;
  REQUIRE(of_flow > std::exp(3.0));
  CHECK(std::fabs(best.mask.value() - of_flow) <= best.mask.error());
  CHECK(best.mask.error() < 1e-4 * of_flow);
  for (const double other : {0.98, 1.02}) {
    const Landscape<double> moved = landscape(law, value, MaskWeights<double>{other * of_flow, 1});
    CHECK(find_minimum(moved, {0, 400, 0, 400}).value > best.loss);
  }
}

}  // namespace second_stage_test
