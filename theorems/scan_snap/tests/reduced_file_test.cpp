// The reduced flow written as a theory file against the rung.

#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"
#include "theory_files/file_against_rung.hpp"
#include "theory_files/file_against_statements.hpp"

namespace scan_snap_reduced_file_test {
namespace {

using namespace popgrad;

TEST_CASE("scan-snap: a theory file of the reduced flow is the rung", "[scan-snap][theory_files]") {
  scan_snap::TrainingInstance<double> instance;
  instance.classes = scan_snap::classes_from_matrix<double>(
      Matrix<double>{
          {0.4, 0.3, 0.3, 0, 0, 0, 0}, {0.3, 0.3, 0, 0.2, 0.2, 0, 0}, {0.5, 0, 0, 0, 0.1, 0.4, 0}},
      {5, 5, 6}, 7);
  instance.attention_rate = 0.5;
  const AnyRung<double> built_in = forget_type(scan_snap::ReducedFlow<double>(instance));
  const AnyRung<double> file =
      file_against_rung::rung_of_file("theorems/scan_snap/tests/reduced.toml", "reduced");
  file_against_rung::require_equal(file, built_in,
                                   {{"h", "h"},
                                    {"gamma", "gamma"},
                                    {"entropy_0", "entropy_0"},
                                    {"entropy_1", "entropy_1"},
                                    {"entropy_2", "entropy_2"},
                                    {"xi_0", "xi_0"},
                                    {"xi_1", "xi_1"}},
                                   {0, 2, 10, 40});
}

TEST_CASE("scan-snap: statements written as data hold as those in C++ do",
          "[scan-snap][theory_files][cli][unsanitized]") {
  file_against_statements::require_same_verdicts(
      "theorems/scan_snap/tests/reduced.toml", {{"parts", "scan-snap.growth"},
                                                {"growth-from-above", "scan-snap.growth"},
                                                {"decoder", "scan-snap.decoder-closed-form"},
                                                {"largest-before", "scan-snap.phase-transition"}});
}

}  // namespace
}  // namespace scan_snap_reduced_file_test
