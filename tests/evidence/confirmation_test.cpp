#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/error_ratios.hpp"
#include "popgrad/evidence/refined_digits.hpp"
#include "popgrad/evidence/solved.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "problems/any_flow.hpp"

namespace confirmation_test {

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

/// x' = -y, y' = x keeps x^2 + y^2 at 1: by how much `factor` times it exceeds 1.
template <class T>
Quantity excess(const T& factor) {
  const AnyRung<T> circle =
      problems::any_flow<T>(Vector<T>{{T(1), T(0)}}, [](const Vector<T>& x, Vector<T>& dx) {
        dx[0] = -x[1];
        dx[1] = x[0];
      });
  return SolvedIn<T>(circle, {1}, 1e-10).at(0, [&](const Vector<T>& x) -> T {
    return factor * x.squaredNorm() - T(1);
  });
}

/// The claim is off by a factor 1 + off, its control by as much as no double holds.
Statement circles(double off) {
  Statement s;
  s.id = "test.circle";
  const Control factor = s.control("factor", "1 + 1e-17");
  s.examine = [=](const Setting&, Examination& found) {
    in_refined_digits([&]<class T>() {
      found.judge(equal("excess", excess<T>(T(1) + T(off)), 0).in_units_of(1).unless(factor, [] {
        return excess<T>(T(1) + T(1e-17));
      }));
    });
  };
  return s;
}

}  // namespace

TEST_CASE("a miss counts if a second examination sees it", "[confirmation]") {
  const Finding found = check(off_by(0.01, 0.0101), Setting{});
  CHECK(found.verdict == Verdict::violated);
  CHECK(found.confirmation.confirmed);
  CHECK(found.confirmation.refined == "solves in double at tolerance 1e-14");
  CHECK(found.confirmation.faults.empty());
  // What is reported is the sharper measurement.
  CHECK(found.examination.evidence.front().deviation == Approx(0.0101));
}

TEST_CASE("what is a template on the scalar is confirmed in 40 digits", "[confirmation]") {
  const auto control = [] { return examine(circles(0), Setting{}).controls.front().verdict(); };
  CHECK(control() == Verdict::holds);
  {
    const Refinement refinement;
    CHECK(control() == Verdict::violated);
    CHECK(refinement.made() == "solves in 40 digits");
  }
  const Finding found = check(circles(1e-6), Setting{});
  CHECK(found.verdict == Verdict::violated);
  CHECK(found.confirmation.refined == "solves in 40 digits");
  // The nearest double to what is wrong: after a solve in double it would be off in the tenth digit.
  CHECK(found.examination.evidence.front().deviation == Approx(1e-6).epsilon(1e-14));
  CHECK(found.examination.evidence.front().allowed < 1e-20);
  CHECK(found.confirmation.faults.empty());
  // A search has no time for it.
  const Finding searched = check(circles(1e-6), Setting{.effort = Effort::search});
  CHECK(searched.confirmation.confirmed);
  CHECK(searched.confirmation.refined == "solves in double at tolerance 1e-14");
}

TEST_CASE("roundings are those of the scalar, and in digits one to the double that is kept",
          "[confirmation]") {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  CHECK(rounded<double>(0.5, 3, 4).error("rounding") == Approx(12 * epsilon).epsilon(1e-12));
  const DigitsScope scope(digits_of_refinement);
  const Quantity kept = rounded<Real>(Real(1) / Real(3), 3, 4);
  CHECK(kept.value() == 1.0 / 3);
  CHECK(kept.error("rounding") == Approx(epsilon / 3).epsilon(1e-12));
  const double of_digits = to_double(machine_epsilon<Real>());
  CHECK(rounded<Real>(Real(0), 3, 4).error("rounding") == Approx(12 * of_digits).epsilon(1e-12));
}

TEST_CASE("statements are confirmed in 40 digits, which double is off by no more than its errors",
          "[confirmation][slow][unsanitized]") {
  // At small instances and early ends, where digits take seconds.
  const std::map<std::string, std::map<std::string, double, std::less<>>> points{
      {"scan-snap.gradient", {}},
      {"scan-snap.position-bias", {{"classes", 2}, {"time", 10}}},
      {"scan-snap.late-growth", {{"classes-of-a-query", 2}, {"distinct-tokens", 2}}},
      {"scan-snap.assumptions", {{"classes", 2}, {"distinct-tokens", 2}, {"time", 10}}},
      {"scb.softmax-link", {}}};
  std::size_t examined = 0;
  for (const Statement* each : statements(theories())) {
    const auto point = points.find(each->id);
    if (point == points.end()) continue;
    CAPTURE(each->id);
    ++examined;
    Setting setting;
    setting.effort = Effort::search;
    setting.chosen = point->second;
    std::vector<ErrorRatios> ratios;
    add_error_ratios(*each, setting, ratios, true);
    const auto digits = std::find_if(ratios.begin(), ratios.end(), [](const ErrorRatios& found) {
      return found.sharper == "digits";
    });
    REQUIRE(digits != ratios.end());
    CAPTURE(digits->what, digits->moved, digits->stated);
    CHECK(digits->known_better > 0);
    CHECK(digits->largest <= 1);
    const Refinement refinement;
    examine(*each, setting);
    CHECK_THAT(refinement.made(), Catch::StartsWith("solves in 40 digits"));
    CHECK_THAT(refinement.made(), !Catch::Contains("in double"));
  }
  CHECK(examined == points.size());
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

TEST_CASE("what a quarter of the draws leaves undecided gets all of them in a search",
          "[confirmation]") {
  int examinations = 0;
  const auto mean_of = [&](double deviation_of_run) {
    Statement s;
    s.id = "test.mean";
    s.examine = [&examinations, deviation_of_run](const Setting& setting, Examination& found) {
      ++examinations;
      const double runs = setting.draws(4000);
      found.judge(Comparison{
          .kind = EvidenceKind::statistical,
          .what = "mean",
          .measured = {{1.0, {ErrorPart::sampling(3, deviation_of_run / std::sqrt(runs))}}},
          .predicted = {1.0}});
    };
    return s;
  };
  // A tenth is seen by 1000 draws up to a deviation of 1.05, by 4000 up to 2.1.
  for (const auto& [deviation, verdict, times] :
       {std::tuple{1.0, Verdict::holds, 1}, std::tuple{2.0, Verdict::holds, 2},
        std::tuple{3.0, Verdict::inconclusive, 2}}) {
    examinations = 0;
    CHECK(check_point(mean_of(deviation), Setting{.effort = Effort::search}).verdict == verdict);
    CHECK(examinations == times);
  }
  examinations = 0;
  CHECK(check_point(mean_of(3), Setting{}).verdict == Verdict::inconclusive);
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
          "solves in double at tolerance 1e-14, 4 times the draws from a second seed, limits two "
          "parameters "
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

}  // namespace confirmation_test
