// The reduced flow written as a theory file against the rung.

#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theory_files/file_against_rung.hpp"
#include "theory_files/file_against_statements.hpp"

namespace joma_reduced_file_test {
namespace {

using namespace popgrad;

TEST_CASE("joma: a theory file of the reduced flow is the rung", "[joma][theory_files]") {
  joma::ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = 3;
  instance.target = Matrix<double>{{1, 0.5}, {2, 1.5}, {3, 2.5}};
  instance.start = Matrix<double>{{0.1, 0.05}, {0.2, 0.1}, {0.1, 0.15}};
  const AnyRung<double> built_in = forget_type(joma::ReducedFlow<double>(instance));
  const AnyRung<double> file =
      file_against_rung::rung_of_file("theorems/joma/tests/reduced.toml", "reduced");
  file_against_rung::require_equal(file, built_in,
                                   {{"attention_entropy", "attention_entropy"},
                                    {"stable_rank", "stable_rank"},
                                    {"largest_delta", "largest_delta"}},
                                   {0, 0.5, 1, 2, 4});
}

TEST_CASE("joma: statements written as data hold as those in C++ do", "[joma][theory_files][cli]") {
  file_against_statements::require_same_verdicts("theorems/joma/tests/reduced.toml",
                                                 {{"sum-of-logarithms", "joma.clock-change"},
                                                  {"linear-growth", "joma.linear-growth"},
                                                  {"entropy-at-the-end", "joma.entropy-bounce"},
                                                  {"gain", "joma.salient-first"},
                                                  {"stable-rank", "joma.stable-rank"}});
}

}  // namespace
}  // namespace joma_reduced_file_test
