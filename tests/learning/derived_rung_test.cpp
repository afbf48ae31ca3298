// Laws that are left out with a map only: derived where the derivative of the map is a formula of it.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/learning/residual.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"

namespace derived_rung_test {
namespace {

using namespace popgrad;

// Teacher and student of M and K squared units on normal inputs.
SampleLoss committee() {
  return {.name = "committee",
          .paper = "",
          .sizes = {{"d", 6}, {"K", 3}, {"M", 2}},
          .parameters = {{.name = "B", .value = "ones(M, d) - 3 * eye(M, d)", .shape = "M, d"}},
          .draws = {{"x", "normal(d)"}},
          .states = {{.name = "J", .start = "eye(K, d) / 3 + ones(K, d) / 10"}},
          .loss = {{"loss", "(sum((J @ x)**2) - sum((B @ x)**2))**2 / 4"}},
          .rungs = {{.name = "overlaps", .map = {{"R", "J @ B.T"}, {"Q", "J @ J.T"}}}}};
}

TEST_CASE("order parameters of a committee are derived from their map", "[learning]") {
  SampleLoss loss = committee();
  loss.loss[0].formula = GENERATE("(sum((J @ x)**2) - sum((B @ x)**2))**2 / 4",
                                  "(sum(erf(J @ x)) - sum(erf(B @ x / 3)))**2 / 2",
                                  "(sum(relu(J @ x)) - sum(B @ x))**2 / 2");
  CAPTURE(loss.loss[0].formula);
  const auto model = model_of_loss(loss);
  const AnyRung<double> flow = model->rung("flow", Parameters("committee"), 1);
  const AnyRung<double> overlaps = model->rung("overlaps", Parameters("committee"), 1);
  REQUIRE(overlaps.dimension == 6 + 9);
  Vector<double> slope(flow.dimension), found(overlaps.dimension);
  flow.field.value(flow.initial, slope, 0.0);
  const auto overlaps_at = [&](double t) {
    std::vector<double> row(flow.observables.columns.size());
    flow.observables.read(Vector<double>(flow.initial + t * slope), 0.0, row);
    Vector<double> z(overlaps.dimension);
    Index k = 0;
    for (const std::string& column : overlaps.observables.columns)
      z[k++] = row[place_of(flow.observables.columns, column)];
    return z;
  };
  CHECK((overlaps_at(0) - overlaps.initial).norm() < 1e-14);
  // The derivative of the map along the flow, by a difference.
  constexpr double step = 1e-5;
  const Vector<double> expected = (overlaps_at(step) - overlaps_at(-step)) / (2 * step);
  overlaps.field.value(overlaps.initial, found, 0.0);
  CHECK((found - expected).norm() < 1e-7 * expected.norm());
  CHECK(to_text(residuals(loss).at(0)) ==
        "rung.overlaps: not examined: its law is derived from its map");
}

TEST_CASE("the law that is derived for phase retrieval is printed", "[learning]") {
  SampleLoss loss = committee();
  loss.parameters[0] = {.name = "B", .value = "ones(d)", .shape = "d"};
  loss.states[0].start = "ones(d) / 10";
  loss.loss[0].formula = "((J @ x)**2 - (B @ x)**2)**2 / 4";
  loss.rungs[0].map = {{"R", "J @ B"}, {"Q", "J @ J"}};
  CHECK(field_in_numpy(loss, {}, "overlaps") ==
        std::vector<std::string>{"d_R = 3 * (R * (B @ B) - R * Q)",
                                 "d_Q = 4 * R**2 + 2 * Q * (B @ B) - 6 * Q**2"});
}

TEST_CASE("a law that does not close is refused", "[learning]") {
  SampleLoss loss = committee();
  loss.rungs[0].map = {{"Q", "J @ J.T"}};
  try {
    static_cast<void>(model_of_loss(loss));
    FAIL("it is taken");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()) ==
          "committee: rung overlaps leaves its law out, and the derivative of its map does not "
          "close: that of Q is no formula of the map");
  }
}

}  // namespace
}  // namespace derived_rung_test
