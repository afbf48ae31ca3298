// The symmetric flow written as a theory file against the rung.

#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/rungs/symmetric_flow.hpp"
#include "theory_files/file_against_rung.hpp"

namespace topic_reduced_file_test {
namespace {

using namespace popgrad;

TEST_CASE("topic: a theory file of the symmetric flow is the rung", "[topic][theory_files]") {
  const topic::TopicLaw<double> law{4, 2, 3, 0.15, 0.1, 0.1};
  const AnyRung<double> built_in = forget_type(topic::SymmetricFlow<double>(law, {}, 5, 0.5));
  const AnyRung<double> file =
      file_against_rung::rung_of_file("theorems/topic/tests/reduced.toml", "symmetric");
  file_against_rung::require_equal(file, built_in,
                                   {{"loss_", "loss"},
                                    {"alpha", "alpha"},
                                    {"beta", "beta"},
                                    {"mask_weight", "mask_weight"},
                                    {"norm_W_V", "norm_W_V"},
                                    {"norm_W_K", "norm_W_K"}},
                                   {0, 10, 40, 200, 1000});
}

}  // namespace
}  // namespace topic_reduced_file_test
