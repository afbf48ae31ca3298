// The reduced flow written as a theory file against the rung.

#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"
#include "theory_files/file_against_rung.hpp"
#include "theory_files/file_against_statements.hpp"

namespace scb_reduced_file_test {
namespace {

using namespace popgrad;

TEST_CASE("scb: a theory file of the reduced flow is the rung", "[scb][theory_files]") {
  const AnyRung<double> built_in =
      forget_type(scb::ReducedFlow<double>(0.6, 0.7, 5, 0.3, 0.1, 0.2, 0.05));
  const AnyRung<double> file =
      file_against_rung::rung_of_file("theorems/scb/tests/reduced.toml", "reduced");
  file_against_rung::require_equal(file, built_in,
                                   {{"alpha_V", "alpha_V"},
                                    {"alpha_A", "alpha_A"},
                                    {"loss_", "loss"},
                                    {"dist_P", "dist_P"},
                                    {"dist_Q", "dist_Q"}},
                                   {0, 1, 5, 20, 60});
}

TEST_CASE("scb: statements written as data hold as those in C++ do", "[scb][theory_files][cli]") {
  file_against_statements::require_same_verdicts("theorems/scb/tests/reduced.toml",
                                                 {{"hyperbola", "scb.hyperbola"},
                                                  {"learnt", "scb.fixed-points"},
                                                  {"residual-two", "scb.reduction"}});
}

}  // namespace
}  // namespace scb_reduced_file_test
