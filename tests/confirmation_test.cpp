#include <catch2/catch.hpp>
#include <set>
#include <stdexcept>

#include "popgrad/refinement.hpp"
#include "popgrad/statement.hpp"
#include "popgrad/stop.hpp"

using namespace popgrad;

namespace {

/// Measures a number that should be 1, off by `first` and, in the second examination, by `second`.
Statement off_by(double first, double second, double stated = 1e-3) {
  Statement s;
  s.id = "test.off";
  s.examine = [=](const Setting&, Examination& found) {
    const bool refined = refined_tolerance(1e-8) < 1e-8;
    found.judge(Comparison{
        .what = "one",
        .measured = {{1 + (refined ? second : first), {ErrorPart::solver(1, 1 + stated)}}},
        .predicted = {1.0}});
  };
  return s;
}

}  // namespace

TEST_CASE("a miss counts if a second examination sees it", "[confirmation]") {
  const Finding found = check(off_by(0.01, 0.0101), Setting{});
  CHECK(found.verdict == Verdict::violated);
  CHECK(found.confirmation.confirmed);
  CHECK(found.confirmation.refined == "solves at tolerance 1e-14");
  CHECK(found.confirmation.faults.empty());
  // What is reported is the sharper measurement.
  CHECK(found.examination.evidence.front().deviation == Approx(0.0101));
}

TEST_CASE("a miss that is not seen again is inconclusive, with the part at fault",
          "[confirmation]") {
  for (const double second : {0.0, -0.01}) {  // gone, or of the other sign
    const Finding found = check(off_by(0.01, second), Setting{});
    CHECK(found.verdict == Verdict::inconclusive);
    CHECK(found.unconfirmed());
    REQUIRE(found.confirmation.faults.size() == 1);
    CHECK_THAT(found.confirmation.faults.front(), Catch::Contains("error part 'solver' was"));
  }
}

TEST_CASE("two misses farther apart than their errors are a fault as well", "[confirmation]") {
  const Finding found = check(off_by(0.01, 0.03), Setting{});
  CHECK(found.verdict == Verdict::violated);
  REQUIRE(found.confirmation.faults.size() == 1);
  CHECK_THAT(found.confirmation.faults.front(), Catch::Contains("20 times too small"));
}

TEST_CASE("what holds is examined once", "[confirmation]") {
  int examinations = 0;
  Statement s = off_by(0, 0);
  s.examine = [&, inner = s.examine](const Setting& setting, Examination& found) {
    ++examinations;
    inner(setting, found);
  };
  CHECK(check(s, Setting{}).verdict == Verdict::holds);
  CHECK(examinations == 1);
}

TEST_CASE("an exception means the same to every command", "[confirmation]") {
  const auto throwing = [](const auto& error) {
    Statement s;
    s.id = "test.throws";
    s.examine = [error](const Setting&, Examination&) { throw error; };
    return s;
  };
  for (const bool point : {false, true}) {
    const auto judged = [&](const Statement& s) {
      return point ? check_point(s, Setting{}) : check(s, Setting{});
    };
    CHECK(judged(throwing(std::invalid_argument("no instance"))).verdict ==
          Verdict::not_applicable);
    CHECK(judged(throwing(std::runtime_error("underflow"))).verdict == Verdict::inconclusive);
    CHECK(judged(throwing(Stopped{})).cut_short);
  }
}

TEST_CASE("a refinement ends with its scope, and a second seed is another", "[confirmation]") {
  const Setting setting{.seed = 7};
  std::set<std::uint64_t> seeds{setting.draw_seed()};
  CHECK(*seeds.begin() == 7);
  {
    const Refinement refinement;
    seeds.insert(setting.draw_seed());
    CHECK(setting.draws(10) == 40);
    CHECK(refined_tolerance(1e-9) == 1e-14);
    CHECK(falling_parameters(1, 2, 2) == std::vector<double>{1, 0.5, 0.25, 0.125});
    CHECK(refinement.made() ==
          "solves at tolerance 1e-14, 4 times the draws from a second seed, limits two parameters "
          "further");
  }
  CHECK(seeds.size() == 2);
  CHECK(setting.draws(10) == 10);
  CHECK(falling_parameters(1, 2, 2).size() == 2);
}

TEST_CASE("of nested deadlines the earliest counts", "[confirmation]") {
  CHECK_FALSE(stop_asked());
  {
    const Deadline outer{std::chrono::duration<double>(0)};
    const Deadline inner{std::chrono::duration<double>(1e9)};
    CHECK(stop_asked());
    CHECK_THROWS_AS(throw_if_stopped(), Stopped);
  }
  CHECK_FALSE(stop_asked());
}
