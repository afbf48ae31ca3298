/// No estimate and no interval leaves what a setting can be: as numbers, in text, and in JSON.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "judging/claimed_runs.hpp"
#include "judging/possible_values.hpp"
#include "popgrad/base/record.hpp"
#include "popgrad/evidence/theories.hpp"
#include "presenting/judgement_text.hpp"

namespace popgrad::possible_values_test {
namespace {

// Every setting with bounds that is looked for in runs of these models.
struct Bounded {
  const char* model;
  const char* name;
  Range possible;
};
const std::vector<Bounded> settings{
    {"topic", "label_noise", within(0, 1)},
    {"scb", "label_noise", within(0, 1)},
    {"topic", "learning rate", above(0)},
    {"topic", "momentum", within_below(0, 1)},
    {"topic", "temperature", above(0)},
    {"topic", "batch", at_least(1)},
    {"scb", "eta_A", above(0)},
    {"scan-snap", "eta_Z", above(0)},
    {"scb", "query_position", within(0, 1)},
};

ClaimedRuns claimed_runs(const std::string& model) {
  const Model& found = find_model(theories(), model);
  ClaimedRuns claimed{found, find_rung(found, "sgd"), Parameters(model), {}};
  // Its default depends on the rung.
  if (model == "scan-snap") claimed.parameters.set("eta_Z", 1);
  claimed.steps.step_size = 0.1;
  claimed.steps.batch = 16;
  // Of some settings the default depends on others.
  if (model == "scan-snap") claimed.parameters.set("eta_Z", 1);
  return claimed;
}

Suspect suspect_of(const Bounded& setting) {
  std::vector<std::string> named{setting.name};
  if (named.front() == "learning rate") named = {"eta"};
  for (const Suspect& suspect : suspects(claimed_runs(setting.model), named)) {
    if (suspect.name == setting.name) return suspect;
  }
  FAIL("no such setting: " << setting.name);
  return {};
}

// A judgement by one test, of which this was found.
Judgement judgement_of(const std::string& name, const Range& possible, double assumed,
                       const Share& found, double statistic) {
  Judgement made;
  made.has_tests = true;
  SettingTest test;
  test.setting.name = name;
  test.setting.assumed = assumed;
  test.setting.possible = possible;
  test.statistic = statistic;
  test.bound = 4;
  test.estimate = possible_estimate(possible, found);
  test.visible = 0.1;
  made.settings.push_back(test);
  return made;
}

// Of the line of the setting, what stands below "95 % confidence interval".
std::string cell(const Judgement& judgement) {
  const std::string text = judgement_text(judgement, false);
  const std::size_t line = text.find("\n" + judgement.settings.front().setting.name);
  REQUIRE(line != std::string::npos);
  const std::string after_name = text.substr(line + 1 + 17 + 1 + 10);
  const std::string column = after_name.substr(0, after_name.find("   10 %"));
  const std::string made = column.substr(0, 27);
  const std::size_t first = made.find_first_not_of(' ');
  return made.substr(first, made.find_last_not_of(' ') + 1 - first);
}

}  // namespace

TEST_CASE("possible values: every bounded setting has its bounds", "[judging][possible]") {
  for (const Bounded& setting : settings) {
    CAPTURE(setting.model, setting.name);
    const Range found = suspect_of(setting).possible;
    CHECK(found.low == setting.possible.low);
    CHECK(found.high == setting.possible.high);
    CHECK(found.without_high == setting.possible.without_high);
  }
}

TEST_CASE("possible values: estimates and intervals are cut, or no value remains",
          "[judging][possible]") {
  for (const Bounded& setting : settings) {
    CAPTURE(setting.name);
    const Range range = suspect_of(setting).possible;
    const double low = range.low;
    // Within the range: as it is.
    const SettingEstimate inside = possible_estimate(range, {low + 0.5, low + 0.4, low + 0.6});
    REQUIRE(inside.interval);
    CHECK(inside.interval->value == low + 0.5);
    CHECK(inside.half_width == Approx(0.1));
    CHECK(inside.rule.empty());
    // Over an end.
    const SettingEstimate over = possible_estimate(range, {low + 0.1, low - 0.1, low + 0.3});
    REQUIRE(over.interval);
    CHECK(over.interval->value == low + 0.1);
    CHECK(over.interval->low == low);
    CHECK(over.interval->high == low + 0.3);
    CHECK(over.half_width == 0);
    // The estimate itself is beyond the end.
    const SettingEstimate at_end = possible_estimate(range, {low - 0.1, low - 0.3, low + 0.1});
    REQUIRE(at_end.interval);
    CHECK(at_end.interval->value == low);
    CHECK(at_end.interval->low == low);
    CHECK_THAT(at_end.rule, Catch::StartsWith(">"));
    // All of it is.
    const SettingEstimate none = possible_estimate(range, {low - 0.5, low - 0.6, low - 0.4});
    CHECK_FALSE(none.interval);
    CHECK_THAT(none.rule, Catch::StartsWith(">"));
    if (range.high != 1) continue;
    const SettingEstimate above_all = possible_estimate(range, {1.5, 1.4, 1.6});
    CHECK_FALSE(above_all.interval);
    CHECK(above_all.rule == (range.without_high ? "< 1" : "<= 1"));
    const SettingEstimate over_high = possible_estimate(range, {1.1, 0.9, 1.3});
    REQUIRE(over_high.interval);
    CHECK(over_high.interval->low == 0.9);
    CHECK(over_high.interval->high <= 1);
    CHECK((over_high.interval->high < 1) == range.without_high);
  }
  // A batch that no mean excludes to be without end.
  const SettingEstimate open = possible_estimate(at_least(1), {30, 20, HUGE_VAL});
  REQUIRE(open.interval);
  CHECK(std::isinf(open.interval->high));
  CHECK(open.half_width == 0);
}

TEST_CASE("possible values: of a batch, sizes and values are inverses", "[judging][possible]") {
  for (const Bounded& setting : settings) {
    const Suspect suspect = suspect_of(setting);
    if (suspect.kind == Suspect::Kind::choice) continue;
    CAPTURE(setting.name);
    for (const double size : {-0.3, 0.0, 0.2}) {
      CHECK(suspect.size_at(suspect.value_at(size)) == Approx(size).margin(1e-12));
    }
  }
}

TEST_CASE("possible values: texts and JSON have none beyond them", "[judging][possible]") {
  for (const Bounded& setting : settings) {
    CAPTURE(setting.name);
    const Range& range = setting.possible;
    const std::string rule = range.low == 1 ? ">= 1" : range.low == 0 ? ">= 0" : "> 0";
    const double low = range.low, assumed = range.low == 1 ? 16 : range.low == 0 ? 0 : 1;
    const std::string end = range.low == 1 ? "1" : "0";
    const auto judged = [&](const Share& found, double statistic) {
      return judgement_of(setting.name, range, assumed, found, statistic);
    };
    CHECK(cell(judged({low - 0.5, low - 0.6, low - 0.4}, -50)) ==
          "none " + rule + " explains them");
    CHECK(cell(judged({low - 0.5, low - 0.6, low - 0.4}, -3)) == "none " + rule + " within 95 %");
    const double value = low + 0.25, high = low + 0.75;
    CHECK(cell(judged({value, low - 0.25, high}, 1)) ==
          fmt::format("{:.3g} ({} to {:.3g})", value, end, high));
    CHECK(cell(judged({low - 0.1, low - 0.3, high}, -1)) == fmt::format("at most {:.3g}", high));
    const Record none = as_record(judged({low - 0.5, low - 0.6, low - 0.4}, -50));
    const std::string text = json_text(none);
    CHECK_THAT(text, Catch::Contains("\"linear_estimate\":null") ||
                         Catch::Contains("\"linear_estimate\": null"));
    CHECK_THAT(text, Catch::Contains("\"low\":null") || Catch::Contains("\"low\": null"));
  }
  // A change that is larger than any setting can have is none.
  Judgement much = judgement_of("label_noise", within(0, 1), 0, {0.1, -0.9, 1.1}, 0);
  much.settings.front().visible = 1.5;
  const std::string text = judgement_text(much, false);
  CHECK_THAT(text, Catch::Contains("0.1 (0 to 1)") && Catch::Contains("   none\n"));
}

TEST_CASE("possible values: what explains runs, and their scatter", "[judging][possible]") {
  Judgement made = judgement_of("label_noise", within(0, 1), 0, {0.2, 0.1, 0.3}, 20);
  made.assumed_batch = 128;
  made.batch = possible_estimate(at_least(1), {0.5, 0.324, 10.4});
  FittedSetting fit;
  fit.setting = made.settings.front().setting;
  fit.value = 0.01;
  fit.half_width = 0.02;
  fit.interval = Share{0.01, 0, 0.03};
  fit.explains = true;
  made.fits.push_back(fit);
  made.settings.front().departs = true;
  const std::string text = judgement_text(made, true);
  CHECK_THAT(text, Catch::Contains("label_noise 0.01 (0 to 0.03) instead of 0: explains them"));
  CHECK_THAT(text, Catch::Contains("at most 10.4"));
}

}  // namespace popgrad::possible_values_test
