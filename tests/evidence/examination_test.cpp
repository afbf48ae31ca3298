#include "popgrad/evidence/examination.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/survey.hpp"

namespace examination_test {

using namespace popgrad;

namespace {

Quantity with_error(double value, double error) { return {value, {ErrorPart::enclosure(error)}}; }

Verdict judged(Relation relation, const Quantity& measured, const Quantity& predicted,
               double scale = 1) {
  Examination it;
  it.judge(Comparison{.what = "test",
                      .measured = {measured},
                      .relation = relation,
                      .predicted = {predicted},
                      .scale = {scale}});
  return it.verdict();
}

}  // namespace

TEST_CASE("errors add up by name and travel through arithmetic", "[quantity]") {
  Quantity a(2, {ErrorPart::solver(2, 2.01), ErrorPart::next_order(0.1)});
  CHECK(a.error() == Approx(0.11));
  a.add(ErrorPart::next_order(-0.2));
  CHECK(a.error("next order") == Approx(0.3));
  CHECK(a.error("sampling") == 0);
  const Quantity b = with_error(4, 0.4);
  CHECK((a - b).value() == -2);
  CHECK((a - b).error() == Approx(0.31 + 0.4));
  CHECK((a * b).error() == Approx(4 * 0.31 + 2 * 0.4));
  CHECK((a / b).error() == Approx(0.31 / 4 + 2 * 0.4 / 16));
  CHECK(log(b).error() == Approx(0.1));
  CHECK(exp(with_error(0, 0.1)).error() == Approx(0.1));
  CHECK(abs(with_error(-3, 0.1)).value() == 3);
  CHECK((-b).value() == -4);
  CHECK((-b).error() == Approx(0.4));
}

TEST_CASE("an equality holds within its errors, if those are small", "[examination]") {
  CHECK(judged(Relation::equal, with_error(1.01, 0.02), 1) == Verdict::holds);
  CHECK(judged(Relation::equal, with_error(0.99, 0.02), 1) == Verdict::holds);
  CHECK(judged(Relation::equal, with_error(1.03, 0.02), 1) == Verdict::violated);
  CHECK(judged(Relation::equal, with_error(0.97, 0.02), 1) == Verdict::violated);
  // A mistake of a tenth of the scale would not be noticed.
  CHECK(judged(Relation::equal, with_error(1, 0.11), 1) == Verdict::inconclusive);
  CHECK(judged(Relation::equal, with_error(1, 0.11), 1, 2) == Verdict::holds);
  CHECK(judged(Relation::equal, std::nan(""), 1) == Verdict::inconclusive);
  CHECK(judged(Relation::equal, with_error(1, std::nan("")), 1) == Verdict::inconclusive);
}

TEST_CASE("an inequality needs small errors only near equality", "[examination]") {
  CHECK(judged(Relation::at_most, with_error(0.5, 0.3), 1) == Verdict::holds);
  CHECK(judged(Relation::at_most, with_error(0.9, 0.3), 1) == Verdict::inconclusive);
  CHECK(judged(Relation::at_most, with_error(1, 0.01), 1) == Verdict::holds);
  CHECK(judged(Relation::at_most, with_error(1.5, 0.3), 1) == Verdict::violated);
  CHECK(judged(Relation::below, with_error(1, 0.01), 1) == Verdict::inconclusive);
  CHECK(judged(Relation::below, with_error(0.98, 0.01), 1) == Verdict::holds);
  CHECK(judged(Relation::below, with_error(1.02, 0.01), 1) == Verdict::violated);
}

TEST_CASE("mistakes are judged on the same measurement by the same rule", "[examination]") {
  int measurements = 0;
  const auto compare = [&](bool with_controls) {
    Examination it;
    it.with_controls = with_controls;
    it.judge(equal("test")
                 .add("first", with_error(2, 0.05), 2)
                 .add("second", with_error(3, 0.05), 3)
                 .unless(Control{"factor", "a tenth more"}, times(1.1))
                 .unless(Control{"number", "a little more"}, std::vector<Quantity>{2, 3.01})
                 .unless(Control{"system", "of another system"}, [&] {
                   ++measurements;
                   return std::vector<Quantity>{with_error(2, 0.05), with_error(3.2, 0.05)};
                 }));
    return it;
  };
  const Examination it = compare(true);
  CHECK(it.verdict() == Verdict::holds);
  REQUIRE(it.controls.size() == 3);
  CHECK(it.controls[0].verdict() == Verdict::violated);
  CHECK(it.controls[0].evidence.front().detail.find("second") != std::string::npos);
  CHECK(it.controls[1].verdict() == Verdict::holds);  // too small a mistake to be noticed
  CHECK(it.controls[2].verdict() == Verdict::violated);
  CHECK(measurements == 1);
  CHECK(compare(false).controls.empty());
  CHECK(measurements == 1);
}

TEST_CASE("a certain difference inside the next order is told", "[examination]") {
  Examination it;
  it.judge(
      Comparison{.what = "test",
                 .measured = {{1.04, {ErrorPart::enclosure(0.01), ErrorPart::next_order(0.05)}}},
                 .predicted = {1}});
  CHECK(it.verdict() == Verdict::holds);
  CHECK(it.evidence.front().detail.find("a significant difference") != std::string::npos);
  CHECK(it.evidence.front().reason == "next order 0.05 + enclosure 0.01");
}

TEST_CASE("a hypothesis is met, broken or undecided by its margin", "[examination]") {
  const auto met = [](const Quantity& margin) {
    Examination it;
    it.require("h", margin);
    return it.hypotheses.front().met;
  };
  CHECK(met(0) == Truth::yes);
  CHECK(met(-1e-300) == Truth::no);
  CHECK(met(with_error(0.1, 0.2)) == Truth::undecided);
  CHECK(met(with_error(0.3, 0.2)) == Truth::yes);
  CHECK(met(with_error(-0.3, 0.2)) == Truth::no);
  CHECK(met(std::nan("")) == Truth::undecided);
}

TEST_CASE("an equality may be off by a share of its scale where hypotheses are broken",
          "[examination]") {
  Examination it;
  it.judge(Comparison{.what = "test", .measured = {with_error(1.02, 0.001)}, .predicted = {1}});
  CHECK(it.conclusion() == Verdict::violated);
  CHECK(it.within(0.01).conclusion() == Verdict::violated);
  CHECK(it.within(0.02).conclusion() == Verdict::holds);
}

namespace {

// The mean of a knob is its value; half of the range breaks the hypothesis.
Statement small_statement() {
  Statement s;
  s.id = "test.small";
  s.hypotheses = {"x <= 1/2", by_construction("code", "no way to break it"),
                  assumed("nature", "cannot be seen")};
  const Control tenth = s.control("tenth", "a factor 1.1");
  const Control rarely = s.control("rarely", "a difference of 0.2");
  s.knobs = {{.name = "x", .meaning = "a number", .low = 0.1, .high = 1, .usual = 0.3}};
  s.examine = [=, knob = s.knobs.front()](const Setting& setting, Examination& it) {
    const double x = setting.value(knob);
    it.require("x <= 1/2", 0.5 - x);
    it.judge(equal("x itself", with_error(x, 0.01 * x), setting.seed == 13 ? 2 * x : x)
                 .unless(tenth, times(1.1))
                 .unless(rarely, x > 0.3 ? x : x + 0.2));
  };
  return s;
}

}  // namespace

TEST_CASE("a survey counts verdicts, hypotheses and the power of controls", "[survey]") {
  const Statement s = small_statement();
  SurveyRequest request;
  request.instances = 200;
  const Survey found = survey(s, request);
  CHECK(found.instances == 200);
  CHECK(found.holds + found.violated + found.not_applicable == 200);
  // Half a range of 0.9 that begins at 0.1: 5/9 lie beyond 1/2.
  CHECK(found.not_applicable == Approx(200 * 5.0 / 9).margin(35));
  CHECK(found.broken.at("x <= 1/2").instances == found.not_applicable);
  CHECK(found.power("tenth") == 1);
  CHECK(found.power("rarely") == Approx(0.5).margin(0.15));
  CHECK(found.violated == found.violations.size());
  for (const ViolatedInstance& v : found.violations) CHECK(v.seed == 13);
  request.setting.chosen["x"] = 0.2;
  const Survey chosen = survey(s, request);
  CHECK(chosen.not_applicable == 0);
  REQUIRE(chosen.violations.size() == 1);
  CHECK(chosen.violations.front().evidence.what == "x itself");
  CHECK(verdict_of(chosen) == Verdict::violated);
}

TEST_CASE("hypotheses that are not evaluated say how they are known", "[statement]") {
  const Examination found = examine(small_statement(), Setting{});
  REQUIRE(found.hypotheses.size() == 3);
  CHECK(found.hypotheses[0].basis == Basis::evaluated);
  CHECK(found.hypotheses[1].basis == Basis::by_construction);
  CHECK(found.hypotheses[1].met == Truth::yes);
  CHECK(found.hypotheses[2].basis == Basis::assumed);
  CHECK(found.verdict() == Verdict::holds);
  Statement forgotten = small_statement();
  forgotten.hypotheses.emplace_back("never looked at");
  CHECK(examine(forgotten, Setting{}).verdict() == Verdict::inconclusive);
}

TEST_CASE("one examination serves the claim and each control", "[statement]") {
  const Statement s = small_statement();
  CHECK(check(s, Setting{}).sound());
  CHECK(examine(s, Setting{}, "tenth").conclusion() == Verdict::violated);
  Setting outside;
  outside.chosen["x"] = 0.9;
  CHECK(examine(s, outside).verdict() == Verdict::not_applicable);
  CHECK(examine(s, outside).broken()->margin == Approx(-0.4));
}

// Without a measurement of its own: whether what comes behind a hypothesis is asked to stop.
TEST_CASE("a broken hypothesis ends an examination before it measures", "[statement]") {
  int measured = 0;
  Statement s = small_statement();
  s.examine = [&](const Setting& setting, Examination& it) {
    it.require("x <= 1/2", 0.5 - setting.value(s.knobs.front()));
    it.require("cheap", Truth::yes);
    throw_if_stopped();
    ++measured;
    it.judge(Comparison{.what = "1", .measured = {1.0}, .predicted = {1.0}});
  };
  s.hypotheses = {"x <= 1/2", "cheap"};
  Setting inside, outside;
  inside.chosen["x"] = 0.4;
  outside.chosen["x"] = 0.9;
  CHECK(check(s, inside).verdict == Verdict::holds);
  CHECK(measured == 1);
  const Finding found = check(s, outside);
  CHECK(found.verdict == Verdict::not_applicable);
  CHECK_FALSE(found.cut_short);
  CHECK(found.examination.hypotheses.size() == 2);
  CHECK(measured == 1);
  CHECK_FALSE(stop_asked());
  // What a frontier asks is the conclusion outside.
  CHECK(check_point(s, outside, {.despite_hypotheses = true}).verdict == Verdict::holds);
  CHECK(measured == 2);
  // What was left unfinished may fail.
  s.examine = [](const Setting&, Examination& it) {
    it.require("x <= 1/2", Truth::no);
    throw std::out_of_range("vector::at");
  };
  CHECK(check(s, outside).verdict == Verdict::not_applicable);
}

TEST_CASE("exceptions: only texts for people are told", "[statement]") {
  CHECK(words_of(Failure("the network diverges")) == "the network diverges");
  CHECK(words_of(Refuted("no minimum")) == "no minimum");
  const std::vector<std::string> foreign{
      words_of(std::overflow_error("Division by zero.")), words_of(std::runtime_error("boost")),
      words_of(std::bad_function_call()), words_of(std::out_of_range("map::at")),
      words_of(std::bad_alloc())};
  for (const std::string& text : foreign) {
    CAPTURE(text);
    CHECK(text.size() > 40);
    CHECK(text.find("::") == std::string::npos);
    CHECK(text.find("boost") == std::string::npos);
  }
}

}  // namespace examination_test
