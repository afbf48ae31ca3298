#include "popgrad/evidence/error_ratios.hpp"

#include <catch2/catch.hpp>

#include "popgrad/scalars/refinement.hpp"

namespace error_ratios_test {

using namespace popgrad;

namespace {

/// Measures two numbers: the first moves by `moved` as solves are tighter, the second as limits are
/// taken further; both state 1e-3, and a tenth of it when they are sharper.
Statement moving_by(double moved) {
  Statement s;
  s.id = "test.moves";
  s.examine = [=](const Setting&, Examination& found) {
    const bool tight = refined_tolerance(1e-8) < 1e-8;
    const bool further = falling_parameters(1, 2, 3).size() > 3;
    const auto number = [&](bool sharper, const auto& part) {
      return Quantity(2 + (sharper ? moved : 0), {part(sharper ? 1e-4 : 1e-3)});
    };
    found.judge(Comparison{
        .what = "two numbers",
        .measured = {number(tight, [](double size) { return ErrorPart::solver(1 + size, 1); }),
                     number(further, &ErrorPart::next_order)},
        .predicted = {2.0}});
  };
  return s;
}

}  // namespace

TEST_CASE("error ratios: what a number moves by over the parts that bound it", "[error-ratios]") {
  std::vector<ErrorRatios> found;
  add_error_ratios(moving_by(-2.2e-3), Setting{}, found, false);
  REQUIRE(found.size() == 2);
  for (const ErrorRatios& each : found) {
    CAPTURE(each.sharper);
    CHECK(each.instances == 1);
    // A part of the other kind is no bound of this one, so that a limit is compared with the
    // next order and the solver's part, and a solve with the latter only.
    CHECK(each.largest == Approx(2));
    CHECK(each.moved == Approx(2.2e-3));
    CHECK(each.stated == Approx(1e-3));
    CHECK(each.what == "two numbers");
  }
  add_error_ratios(moving_by(0), Setting{}, found, false);
  CHECK(found.front().instances == 2);
  CHECK(found.front().largest == Approx(2));
}

TEST_CASE("error ratios: where nothing can be sharper there are none", "[error-ratios]") {
  Statement s;
  s.id = "test.exact";
  s.examine = [](const Setting&, Examination& found) {
    found.judge(Comparison{.what = "one", .measured = {1.0}, .predicted = {1.0}});
  };
  ErrorRatioRequest request;
  request.instances = 2;
  request.seconds = 0.1;
  CHECK(error_ratios(s, request).empty());
}

TEST_CASE("error ratios: drawn instances and those of a search", "[error-ratios]") {
  ErrorRatioRequest request;
  request.instances = 3;
  request.seconds = 1;
  const std::vector<ErrorRatios> found = error_ratios(moving_by(1e-4), request);
  REQUIRE(found.size() == 2);
  CHECK(found.front().instances == 6);
  CHECK(found.front().numbers == 6);
  CHECK(found.front().known_better == 6);
  CHECK(found.front().largest == Approx(1e-4 / 1.1e-3));
}

}  // namespace error_ratios_test
