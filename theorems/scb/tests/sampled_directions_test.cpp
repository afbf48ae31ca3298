/// Means of sampled directions: what rare samples may add to them.

#include "theorems/scb/checks/sampled_directions.hpp"

#include <catch2/catch.hpp>

#include "theorems/scb/contents.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace sampled_directions_test {

using namespace popgrad;
using namespace popgrad::scb;
using scb::checks::drawn_state;
using scb::checks::largest_of_one_sample;

TEST_CASE("sampled directions: no sample exceeds the bound, and some come near it", "[scb]") {
  for (const bool softmax : {false, true}) {
    for (const bool project : {false, true}) {
      Training<double> training = from_scratch(3, 4, 2, 5);
      training.softmax = softmax;
      training.project = project;
      training.attention_rate = 3;
      training.temperature = 2;
      const SequenceSgd<double> rung(training);
      const Vector<double> x = drawn_state(rung, 1, 7);
      const Vector<double> largest = largest_of_one_sample(training, x);
      Vector<double> share = Vector<double>::Zero(x.size());
      Vector<double> direction(x.size());
      for (std::uint32_t i = 0; i < 3000; ++i) {
        Stream stream(1, 0, i);
        rung.sample_rhs(x, direction, stream, 1);
        share = share.cwiseMax(direction.cwiseAbs().cwiseQuotient(largest));
      }
      CAPTURE(softmax, project, share.transpose());
      CHECK(share.maxCoeff() <= 1);
      CHECK(share.head(9).maxCoeff() > 0.1);
      CHECK(share.tail(12).maxCoeff() > (softmax ? 0.03 : 0.1));
    }
  }
}

// Query 1 comes four times in ten thousand, and then all but twice in a thousand without token 1.
TEST_CASE("sampled directions: what no draw has been is no counterexample", "[scb]") {
  Setting setting{.seed = 4139, .effort = Effort::search};
  setting.chosen = {{"tokens", 2}, {"positions", 5}, {"support", 2}, {"projected", 1}};
  CHECK(check_point(scb::checks::gradient::statement(), setting).verdict == Verdict::inconclusive);
}

}  // namespace sampled_directions_test
