#include "popgrad/evidence/falsify.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/frontier.hpp"
#include "popgrad/scalars/refinement.hpp"

namespace falsify_test {

using namespace popgrad;

namespace {

constexpr Knob width = logarithmic_knob("width", "of a box", 1e-3, 1e3, 1);
constexpr Knob count = whole_knob("count", "of boxes", 1, 40, 3);
constexpr Knob tilt = linear_knob("tilt", "of a box", 0, 1, 0).breaking("no tilt");

/// width^2 <= limit, off by the tilt; count > 30 is outside. The control is wrong for count > 17.
Statement boxes(double limit) {
  Statement s;
  s.id = "test.boxes";
  const Control few = s.control("few", "count <= 17");
  s.knobs = {width, count, tilt};
  s.examine = [limit, few](const Setting& setting, Examination& found) {
    const double w = setting.value(width);
    const auto n = static_cast<double>(setting.count(count));
    found.require("count <= 30", n <= 30 ? Truth::yes : Truth::no);
    const double area = w * w / limit + 3 * setting.value(tilt);
    found.judge(equal("area", Quantity(area, {ErrorPart::enclosure(1)}), 0).in_units_of(20));
    found.judge(at_most("boxes", n, count.high).unless(few, 17));
  };
  return s;
}

SearchRequest request_of(std::size_t evaluations) {
  SearchRequest request;
  request.evaluations = evaluations;
  request.seconds = 60;
  return request;
}

}  // namespace

TEST_CASE("knobs: fractions and values are inverse, ends are exact", "[falsify]") {
  for (const Knob& knob : {width, tilt}) {
    CHECK(value_at(knob, 0) == knob.low);
    CHECK(value_at(knob, 1) == knob.high);
    for (const double f : {0.1, 0.5, 0.9}) {
      CHECK(fraction_of(knob, value_at(knob, f)) == Approx(f).epsilon(1e-12));
    }
  }
  CHECK(value_at(width, 0.5) == Approx(1).epsilon(1e-12));
  for (int n = 1; n <= 40; ++n) CHECK(value_at(count, fraction_of(count, n)) == n);
}

TEST_CASE("a search finds a violation at the border, and makes it simple", "[falsify]") {
  // Violated only where width > 900, a fiftieth of the range of its logarithm.
  const SearchResult found = falsify(boxes(810'000), request_of(2000));
  REQUIRE(found.counterexample);
  REQUIRE(found.shrunk);
  CHECK(found.shrunk->point.at("count") == count.usual);
  CHECK(found.shrunk->point.at("width") == 1000);
  CHECK(found.shrunk->point.count("tilt") == 0);  // never outside the hypotheses
  CHECK(found.shrunk->seed == 1);
  CHECK(found.shrunk_finding.verdict == Verdict::violated);
}

TEST_CASE("descents reach what samples miss", "[falsify]") {
  // The border of 1e6 is met only at width = 1000 itself.
  const SearchResult found = falsify(boxes(1e6 * (1 + 1e-9)), request_of(300));
  CHECK_FALSE(found.counterexample);
  REQUIRE(found.smallest);
  CHECK(found.smallest->margin < 1e-6);
  CHECK(found.outside > 0);
}

TEST_CASE("a control is falsified where its claim holds", "[falsify]") {
  SearchRequest request = request_of(500);
  request.control = "few";
  const SearchResult found = falsify(boxes(1e9), request);
  REQUIRE(found.shrunk);
  CHECK(found.shrunk->point.at("count") == 18);
  CHECK(found.shrunk->point.at("width") == 1);
  request.control = "feew";
  CHECK_THROWS_AS(falsify(boxes(1e9), request), InputError);
}

TEST_CASE("a search that goes on from its record is the whole search", "[falsify]") {
  const Statement s = boxes(2e6);
  const SearchResult whole = falsify(s, request_of(200));
  SearchRequest request = request_of(200);
  request.earlier = falsify(s, request_of(77)).trials;
  REQUIRE(request.earlier.size() == 77);
  const SearchResult resumed = falsify(s, request);
  REQUIRE(resumed.trials.size() == whole.trials.size());
  for (std::size_t k = 0; k < whole.trials.size(); ++k) {
    CHECK(resumed.trials[k].point == whole.trials[k].point);
    CHECK(resumed.trials[k].margin == whole.trials[k].margin);
  }
  request.seed = 2;
  CHECK_THROWS_AS(falsify(s, request), InputError);
}

TEST_CASE("a search ends within its time, and what was cut short is no trial", "[falsify]") {
  Statement s = boxes(1e12);
  s.examine = [quick = s.examine](const Setting& setting, Examination& found) {
    quick(setting, found);
    // A point that takes for ever, but asks whether it should.
    while (setting.value(width) != width.usual) throw_if_stopped();
  };
  SearchRequest request = request_of(1000);
  request.seconds = 0.05;
  const auto begin = std::chrono::steady_clock::now();
  const SearchResult found = falsify(s, request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(took.count() < 20);
  CHECK(found.cut_short);
  REQUIRE(!found.trials.empty());
  CHECK(found.trials.front().verdict == Verdict::holds);
  // Outside of the hypotheses nothing is measured, so those before it ended at once.
  for (std::size_t k = 1; k < found.trials.size(); ++k) {
    CHECK(found.trials[k].verdict == Verdict::not_applicable);
  }
  CHECK_FALSE(stop_asked());
}

TEST_CASE("a search goes on after a miss that is not confirmed", "[falsify]") {
  // The first examination of a wide box is off by what its error part does not say.
  Statement s = boxes(1e12);
  s.examine = [](const Setting& setting, Examination& found) {
    const double error = refined_tolerance(1e-6) > 1e-10 && setting.value(width) > 10 ? 1e-3 : 0;
    found.judge(Comparison{.what = "area",
                           .measured = {{1 + error, {ErrorPart::solver(1, 1 + 1e-5)}}},
                           .predicted = {1.0}});
  };
  const SearchResult whole = falsify(s, request_of(100));
  CHECK_FALSE(whole.counterexample);
  CHECK(whole.unconfirmed > 10);
  CHECK(whole.undecided == whole.unconfirmed);
  CHECK_THAT(whole.faults.front(), Catch::Contains("'solver' was 1e+02 times too small"));
  SearchRequest request = request_of(100);
  request.earlier = falsify(s, request_of(40)).trials;
  CHECK(falsify(s, request).unconfirmed == whole.unconfirmed);
}

TEST_CASE("a frontier is where the conclusion fails", "[frontier]") {
  // Fails where 3 tilt + width^2/limit > 1.
  FrontierRequest request;
  CHECK(request.slack == 0.01);  // a hundredth, as the help of `frontier` says
  request.slack = 0;
  request.instances = 20;
  const Statement s = boxes(1e12);
  const Frontier found = frontier(s, tilt, request);
  REQUIRE(found.instances.size() == 20);
  for (const FrontierInstance& instance : found.instances) {
    const double w = instance.point.at("width");
    CHECK(instance.fails_at == Approx((1 - w * w / 1e12) / 3).margin(1e-3));
  }
  CHECK(found.quantile(0.5) == Approx(1.0 / 3).margin(2e-3));
  CHECK(found.failed_share(0.2) == 0);
  CHECK(found.failed_share(0.5) == 1);
  // An equality may be off by a fifth of its scale more, 4 here: all hold to the far end.
  request.slack = 0.2;
  CHECK(std::isinf(frontier(s, tilt, request).quantile(0.05)));
}

}  // namespace falsify_test
