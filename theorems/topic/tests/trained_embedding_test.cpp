#include "theorems/topic/checks/trained_embedding.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace trained_embedding_test {

using namespace popgrad;
using namespace popgrad::topic;

TEST_CASE("gaps of trained embeddings are within their errors", "[topic]") {
  // Where stability limits the steps: at the end the sharpest solve happens to be off by more
  // than all looser ones.
  const TopicLaw<double> law{2, 1, 1, 0.267621, 0.30179, 0.288168};
  const topic::checks::TrainedEmbedding trained = topic::checks::train_embedding(law, 4, 0, 1138);
  REQUIRE(trained.gaps.size() == 2);
  for (const Quantity& gap : trained.gaps) {
    CHECK(std::fabs(gap.value() - 1 / law.kept()) < gap.error());
    CHECK(gap.error() < 1e-8);
  }
}

}  // namespace trained_embedding_test
