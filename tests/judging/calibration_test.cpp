// Statistics, not memory: nothing for the sanitizers.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/walks/ensemble.hpp"

namespace calibration_test {

using namespace popgrad;

namespace {

const Statement& statement_of(std::string_view id) {
  for (const Statement* each : statements(theories())) {
    const Statement& s = *each;
    if (s.id == id) return s;
  }
  throw std::invalid_argument("no such statement");
}

}  // namespace

// At a level of a twentieth 400 seeds show a check that is violated more than twice as often as it may be, which
// at the usual 1e-3 would take a hundred thousand.
TEST_CASE("statements are not violated more often than the level that they are given",
          "[calibration][slow][unsanitized]") {
  constexpr double level = 0.05;
  constexpr std::uint32_t seeds = 400;
  for (const char* id : {"topic.masked-frequencies", "joma.tree-cooccurrence"}) {
    const Statement& statement = statement_of(id);
    std::uint32_t violated = 0;
    for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
      Setting setting;
      setting.seed = seed;
      setting.false_alarm = level;
      setting.effort = Effort::search;
      setting.with_controls = false;
      violated += examine(statement, setting).conclusion() == Verdict::violated ? 1U : 0U;
    }
    const Quantity share = success_probability(violated, seeds, 1e-3);
    WARN(fmt::format("{}: {} of {} seeds violated at level {}: share within {:.3f} .. {:.3f}", id,
                     violated, seeds, level, share.value() - share.error(),
                     share.value() + share.error()));
    CHECK(share.value() - share.error() <= level);
  }
}

}  // namespace calibration_test
