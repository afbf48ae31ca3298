#include "popgrad/falsify.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/error.hpp"
#include "popgrad/frontier.hpp"

using namespace popgrad;

namespace {

constexpr Knob width{.name = "width",
                     .meaning = "of a box",
                     .low = 1e-3,
                     .high = 1e3,
                     .usual = 1,
                     .spacing = Spacing::logarithmic};
constexpr Knob count{.name = "count",
                     .meaning = "of boxes",
                     .low = 1,
                     .high = 40,
                     .usual = 3,
                     .spacing = Spacing::whole};
constexpr Knob tilt{
    .name = "tilt", .meaning = "of a box", .low = 0, .high = 1, .usual = 0, .breaks = "no tilt"};

/// width^2 <= limit, off by the tilt; count > 30 is outside. The control is wrong for count > 17.
Statement boxes(double limit) {
  Statement s;
  s.id = "test.boxes";
  s.controls = {{"few", "count <= 17"}};
  s.knobs = {width, count, tilt};
  s.examine_variant = [limit](const Setting& setting, std::string_view variant) {
    Examination e;
    const double w = setting.value(width);
    const Index n = setting.count(count);
    e.hypotheses.push_back({"count <= 30", n <= 30 ? Truth::yes : Truth::no, ""});
    e.evidence.push_back(bounded(EvidenceKind::numerical, "area",
                                 w * w / limit + 3 * setting.value(tilt), setting.allow(1),
                                 "given"));
    if (variant == "few") {
      e.evidence.push_back(
          bounded(EvidenceKind::numerical, "boxes", static_cast<double>(n), 17, "wrong"));
    }
    return e;
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
  CHECK(found.shrunk_examination.verdict() == Verdict::violated);
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

TEST_CASE("a frontier is where the conclusion fails", "[frontier]") {
  // Fails where 3 tilt + width^2/limit > 1; within 0.5 as slack the bound stays 1.
  FrontierRequest request;
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
  // An equality may be off by more: all hold to the far end.
  request.slack = 4;
  CHECK(std::isinf(frontier(s, tilt, request).quantile(0.05)));
}
