// Expectations in observables, under the law of the samples and under others; requirements of parameters.

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"

namespace expected_test {
namespace {

using namespace popgrad;

SampleLoss regression() {
  return {.name = "regression",
          .paper = "",
          .sizes = {{"d", 2}},
          .parameters = {{.name = "S",
                          .value = "stack([stack([1, 0.5]), stack([0.5, 2])])",
                          .shape = "d, d",
                          .require = "positive_definite"},
                         {.name = "v", .value = Value{1, -1}},
                         {.name = "tau", .value = 0.5, .require = ">= 0 and <= 1/d"}},
          .draws = {{"x", "normal(d, cov=S)"}, {"e", "normal()"}},
          .laws = {{"wide", {{"x", "normal(d, cov=4 * S)"}}},
                   {"noiseless", {{"e", "0"}}},
                   {"mixed", {{"x", "(2 * bernoulli(1/4) - 1) * ones(d)"}}}},
          .states = {{.name = "w", .start = "stack([0.25, 0.5])"}},
          .loss = {{"y", "v @ x + tau * e"}, {"loss", "(w @ x - y)**2 / 2"}},
          .observables = {{.name = "risk", .formula = "expected(loss)"},
                          {.name = "half", .formula = "2 * expected(loss / 2 + 1) - 2"},
                          {.name = "wide_", .formula = "expected(loss, law='wide')"},
                          {.name = "clean", .formula = "expected(loss, law='noiseless')"},
                          {.name = "signs", .formula = "expected(loss, law='mixed')"},
                          {.name = "second", .formula = "expected(outer(x, x))"}}};
}

double start_value(const SampleLoss& loss, const std::string& column) {
  const auto model = model_of_loss(loss);
  const AnyRung<double> rung = model->rung("flow", Parameters(loss.name), 1);
  std::vector<double> row(rung.observables.columns.size());
  rung.observables.read(rung.initial, 0.0, row);
  return row.at(place_of(rung.observables.columns, column));
}

TEST_CASE("expectations in observables are exact where that of the loss is", "[learning]") {
  const SampleLoss loss = regression();
  // w - v = (-3/4, 3/2): (w - v)' S (w - v) = 9/16 - 9/8 + 9/2 = 63/16.
  constexpr double quadratic = 63.0 / 16, noise = 0.25;
  CHECK(std::abs(start_value(loss, "loss") - (quadratic + noise) / 2) < 1e-14);
  CHECK(start_value(loss, "risk") == start_value(loss, "loss"));
  CHECK(std::abs(start_value(loss, "half") - (quadratic + noise) / 2) < 1e-14);
  CHECK(std::abs(start_value(loss, "wide_") - (4 * quadratic + noise) / 2) < 1e-14);
  CHECK(std::abs(start_value(loss, "clean") - quadratic / 2) < 1e-14);
  CHECK(std::abs(start_value(loss, "signs") - (0.75 * 0.75 + noise) / 2) < 1e-14);
  CHECK(std::abs(start_value(loss, "second_0_1") - 0.5) < 1e-14);
  CHECK(std::abs(start_value(loss, "second_1_1") - 2) < 1e-14);
}

TEST_CASE("expectations in observables are sampled where none is exact", "[learning]") {
  SampleLoss loss = regression();
  loss.observables.push_back(
      {.name = "bounded", .formula = "expected(stack([sigmoid(x[0]), 1 + max(x)]))"});
  CHECK_THROWS_WITH(model_of_loss(loss),
                    Catch::StartsWith("regression: observable bounded has no exact expectation"));
  loss.samples = 20'000;
  const double samples = 20'000;
  // E sigmoid(x) = 1/2 with a variance below 1/4; E max(x) = sqrt(1 / pi) with variance 3/2 - 1/pi.
  CHECK(std::abs(start_value(loss, "bounded_0") - 0.5) < 4 * std::sqrt(0.25 / samples));
  CHECK(std::abs(start_value(loss, "bounded_1") - 1 - std::sqrt(1 / M_PI)) <
        4 * std::sqrt((1.5 - 1 / M_PI) / samples));
  CHECK(start_value(loss, "risk") == start_value(regression(), "risk"));
}

TEST_CASE("draws that depend on replaced ones have their other law too", "[learning]") {
  SampleLoss loss{.name = "bits",
                  .paper = "",
                  .draws = {{"b", "bernoulli(1/4, 3)"},
                            {"y", "bernoulli(sigmoid(2 * sum(b) - 3))"},
                            {"z", "bernoulli(1/3)"}},
                  .laws = {{"even", {{"b", "bernoulli(1/2, 3)"}}}},
                  .states = {{.name = "w", .start = "0.3"}},
                  .loss = {{"c", "w * sum(b) - y"}, {"loss", "c**2 / 2 + z * w**2"}},
                  .observables = {{.name = "other", .formula = "expected(loss, law='even')"}}};
  const double other = start_value(loss, "other");
  CHECK(other != start_value(loss, "loss"));
  loss.draws[0].formula = "bernoulli(1/2, 3)";
  CHECK(std::abs(start_value(loss, "loss") - other) < 1e-14);
}

std::string refusal(const SampleLoss& loss) {
  try {
    static_cast<void>(model_of_loss(loss));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("laws that are not there and draws that no law has are refused", "[learning]") {
  SampleLoss loss = regression();
  loss.observables[2].formula = "expected(loss, law='wise')";
  CHECK_THAT(refusal(loss), Catch::Contains("expected: there is no law wise"));
  loss = regression();
  loss.laws[0].draws[0].name = "X";
  CHECK(refusal(loss) == "regression: law wide X replaces no draw; there is none of this name");
  loss = regression();
  loss.laws[0].draws[0].formula = "normal(3)";
  CHECK_THAT(refusal(loss), Catch::StartsWith("regression: law wide x has shape (3,); that which"));
  loss = regression();
  loss.laws[0].draws[0].formula = "w * normal(d)";
  CHECK_THAT(refusal(loss), Catch::Contains("law wide x may not depend on state w"));
  loss = regression();
  loss.laws[0].draws[0].formula = "x * normal()";
  CHECK_THAT(refusal(loss), Catch::Contains("law wide x depends on itself: x -> x"));
}

TEST_CASE("parameters that do not meet their requirements are refused", "[learning]") {
  CHECK(refusal(regression()).empty());
  SampleLoss loss = regression();
  loss.parameters[0].value = "stack([stack([1, 2]), stack([2, 1])])";
  CHECK(refusal(loss) ==
        "regression: parameter S must be positive definite; its least eigenvalue is -1");
  loss.parameters[0].value = "ones(d, d)";
  CHECK_THAT(refusal(loss), Catch::StartsWith("regression: parameter S must be positive definite"));
  loss.parameters[0].value = "stack([stack([1, 0.5]), stack([0, 1])])";
  CHECK(refusal(loss) == "regression: parameter S must be symmetric");
  loss = regression();
  loss.parameters[2].value = 0.5;
  loss.parameters[2].require = ">= 0 and < 1/d";
  CHECK(refusal(loss) == "regression: parameter tau does not meet its requirement: < 1/d");
  loss.parameters[2].require = "tau**2 < v[0]";
  CHECK(refusal(loss).empty());
  loss.parameters[2].require = "tau + 1";
  CHECK_THAT(refusal(loss), Catch::Contains("is \"positive_definite\" or a comparison"));
  loss.parameters[2].require = "< norm(V)";
  CHECK_THAT(refusal(loss), Catch::Contains("column 8: unknown name V"));
}

}  // namespace
}  // namespace expected_test
