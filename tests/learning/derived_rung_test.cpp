// Laws that are left out with a map only: derived where the derivative of the map is a formula of it.

#include <Eigen/Dense>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "learning/law_mutants.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/learning/residual.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

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

std::string refusal_of(const SampleLoss& loss, const std::string& rung) {
  try {
    static_cast<void>(model_of_loss(loss)->rung(rung, Parameters(loss.name), 1));
  } catch (const InputError& error) {
    return error.what();
  }
  return "it is taken";
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
  CHECK(refusal_of(loss, "overlaps") ==
        "committee: rung overlaps leaves its law out, and the derivative of its map does not "
        "close: that of Q is no formula of the map");
}

// States of the coarse rung where the map of training leads: columns of the same names.
Vector<double> mapped(const AnyRung<double>& fine, const AnyRung<double>& coarse,
                      const Vector<double>& x) {
  std::vector<double> row(fine.observables.columns.size());
  fine.observables.read(x, 0.0, row);
  Vector<double> z(coarse.dimension);
  Index k = 0;
  for (const std::string& column : coarse.observables.columns) {
    const auto place = std::ranges::find(fine.observables.columns, column);
    if (place != fine.observables.columns.end() && k < z.size())
      z[k++] = row[static_cast<std::size_t>(place - fine.observables.columns.begin())];
  }
  REQUIRE(k == z.size());
  return z;
}

Vector<double> after_step(const AnyRung<double>& rung, double eta, Index batch) {
  Vector<double> z = rung.initial;
  Stream stream(1, 0, 0);
  rung.draws.step(z, eta, stream, batch);
  return z;
}

TEST_CASE("steps of order parameters are derived from those of descent", "[learning]") {
  SampleLoss loss = committee();
  loss.rungs[0].of = "gd";
  const auto model = model_of_loss(loss);
  const AnyRung<double> gd = model->rung("gd", Parameters("committee"), 1),
                        overlaps = model->rung("overlaps", Parameters("committee"), 1);
  const double eta = 0.03;
  Vector<double> slope(gd.dimension);
  gd.field.value(gd.initial, slope, 0.0);
  const Vector<double> expected = mapped(gd, overlaps, gd.initial + eta * slope),
                       found = after_step(overlaps, eta, 0);
  CHECK((found - expected).norm() < 1e-13 * expected.norm());
  CHECK((found - overlaps.initial).norm() > 1e-2);
}

TEST_CASE("steps of order parameters under sgd are the mean over minibatches",
          "[learning][unsanitized]") {
  SampleLoss loss = committee();
  loss.sizes = {{"d", 4}, {"K", 2}, {"M", 1}};
  loss.draws.push_back({"z", "bernoulli(0.7)"});
  loss.rungs[0].of = "sgd";
  loss.loss[0].formula = GENERATE("(sum((J @ x)**2) - sum((B @ x)**2) + z / 2)**2 / 4",
                                  "(sum(erf(J @ x)) - sum(erf(B @ x / 3)) - z / 2)**2 / 2",
                                  "(sum(J @ x) - sum(B @ x) - z)**2 / 2");
  CAPTURE(loss.loss[0].formula);
  const auto model = model_of_loss(loss);
  const AnyRung<double> sgd = model->rung("sgd", Parameters("committee"), 1),
                        overlaps = model->rung("overlaps", Parameters("committee"), 1);
  const double eta = 0.02;
  const Index batch = 2;
  Stream stream(7, 0, 0);
  Vector<double> slope(sgd.dimension);
  constexpr int runs = 40000;
  Vector<double> sum = Vector<double>::Zero(overlaps.dimension), squares = sum;
  for (int run = 0; run < runs; ++run) {
    sgd.draws.sample(sgd.initial, slope, stream, batch);
    const Vector<double> off = mapped(sgd, overlaps, sgd.initial + eta * slope) - overlaps.initial;
    sum += off;
    squares += off.cwiseProduct(off);
  }
  const Vector<double> expected = sum / runs,
                       errors = (squares / runs - expected.cwiseProduct(expected)).cwiseSqrt() /
                                std::sqrt(double(runs));
  const auto deviations = [&](Index of_batch) {
    return (after_step(overlaps, eta, of_batch) - overlaps.initial - expected)
        .cwiseQuotient(errors)
        .cwiseAbs()
        .maxCoeff();
  };
  CHECK(deviations(batch) < 4.5);
  CHECK(deviations(2 * batch) > 8);  // of less noise
}

// Least squares on N normal inputs with noise; Q and R close its mean step at every N.
SampleLoss least_squares() {
  return {.name = "squares",
          .paper = "",
          .sizes = {{"N", 5}},
          .parameters = {{.name = "v", .value = "1 / (1 + arange(N))", .shape = "N"},
                         {.name = "noise", .value = 0.3}},
          .draws = {{"x", "normal(N)"}, {"z", "normal()"}},
          .states = {{.name = "w", .start = "ones(N) / 4"}},
          .loss = {{"loss", "(w @ x - v @ x - noise * z)**2 / 2"}},
          .rungs = {{.name = "order", .of = "sgd", .map = {{"Q", "w @ w"}, {"R", "w @ v"}}}}};
}

TEST_CASE("the mean step of least squares is the one by hand", "[learning]") {
  SampleLoss loss = least_squares();
  CHECK(field_in_numpy(loss, {}, "order").back() == "next_R = R - eta * (R - v @ v)");
  LossRung& by_hand = loss.rungs[0];
  const std::string drift = "Q - 2 * eta * (Q - R) + eta**2 * (Q - 2 * R + v @ v)",
                    noise = " + eta**2 / batch * ((N + 1) * (Q - 2 * R + v @ v) + N * noise**2)";
  by_hand.step = {{"Q", drift + noise}, {"R", "R - eta * (R - v @ v)"}};
  const Residual right = residuals(loss).at(0);
  CHECK(right.is_zero());
  by_hand.step[0].formula = drift;
  CHECK(residuals(loss).at(0).outcome == Residual::Outcome::refuted);
  by_hand.step[0].formula = drift + " + eta**2 / batch * N * (Q - 2 * R + v @ v + noise**2)";
  CHECK(residuals(loss).at(0).outcome == Residual::Outcome::refuted);
}

TEST_CASE("mean steps of sgd that are not derived are refused", "[learning]") {
  SampleLoss loss = least_squares();
  loss.rungs[0].map = {{"C", "sum(w**3)"}};
  CHECK(refusal_of(loss, "order") ==
        "squares: rung order leaves its law out, but the map of C is of degree 3 or more in the "
        "states; its mean after a step of sgd is derived up to 2");
  loss.rungs[0].map = {{"Q", "w @ w"}};
  CHECK(refusal_of(loss, "order") ==
        "squares: rung order leaves its law out, and the step of its map does not close: that of "
        "Q is no formula of the map");
  loss = least_squares();
  loss.rungs[0].map = {{"u", "w"}};
  loss.rungs[0].lift = {{"w", "u"}};
  CHECK(refusal_of(loss, "order") ==
        "squares: rung order leaves its law out, which of sgd is derived from a map only; leave "
        "out the lift");
}

TEST_CASE("with a lift only the law is the nearest to the field", "[learning]") {
  SampleLoss loss{.name = "pair",
                  .paper = "",
                  .states = {{.name = "w", .start = "stack([1, 2, 0])"}},
                  .loss = {{"loss", "(w[0] * w[1] + w[2] - 2)**2 / 2 + w[0]**4"}},
                  .rungs = {{.name = "line",
                             .states = {{.name = "a", .start = "1"}, {.name = "b", .start = "0.5"}},
                             .lift = {{"w", "stack([a, 2 * a + b, b**2])"}}}}};
  const AnyRung<double> line = model_of_loss(loss)->rung("line", Parameters("pair"), 1);
  const Vector<double> z{{0.7, 0.4}};
  Vector<double> found(2);
  line.field.value(z, found, 0.0);
  // By hand: F at the lift, then normal equations.
  const double a = z[0], b = z[1], w0 = a, w1 = 2 * a + b, w2 = b * b, off = w0 * w1 + w2 - 2;
  const Vector<double> field{{-(off * w1 + 4 * w0 * w0 * w0), -off * w0, -off}};
  Matrix<double> slopes(3, 2);
  slopes << 1, 0, 2, 1, 0, 2 * b;
  const Vector<double> expected =
      (slopes.transpose() * slopes).ldlt().solve(slopes.transpose() * field);
  CHECK((found - expected).norm() < 1e-13);
  CHECK(residuals(loss).at(0).outcome == Residual::Outcome::refuted);
  loss.rungs[0].of = "gd";
  CHECK(refusal_of(loss, "line") ==
        "pair: rung line leaves its steps out, which are derived from a map; it has a lift only");
}

TEST_CASE("what vanishes but for the rounding of drawn arrays is zero", "[learning]") {
  SampleLoss loss = committee();
  loss.parameters.clear();
  loss.fixed = {{"B", "orthogonal(M, d)"}};
  loss.sizes = {{"d", 6}, {"M", 2}};
  loss.states[0].start = "B / 3";
  loss.rungs = {
      {.name = "scale", .states = {{.name = "q", .start = "1/3"}}, .lift = {{"J", "q * B"}}}};
  const Residual scale = residuals(loss).at(0);
  INFO(to_text(scale));
  CHECK(scale.outcome == Residual::Outcome::zero_at_points);
  CHECK(scale.how.ends_with(", to its rounding"));
  // Factors have the same image; a weight for each entry has not.
  const learning::MutatedLoss mutated = learning::mutated_loss(loss, "rung.scale", 32);
  REQUIRE(mutated.mutants.back().name == "entries-1");
  CHECK(residuals(mutated.loss, {}, {.subjects = {mutated.mutants.back().subject}}).at(0).outcome ==
        Residual::Outcome::refuted);
}

}  // namespace
}  // namespace derived_rung_test
