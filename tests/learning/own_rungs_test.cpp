// Reductions that are written with a loss, against the finer rung.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace own_rungs_test {
namespace {

using namespace popgrad;

std::vector<double> solved_at(const Model& model, const std::string& name, double t) {
  const AnyRung<double> rung = model.rung(name, Parameters(model.name()), 1);
  SolveRequest<double> request;
  request.end = t;
  request.save_at = {t};
  request.relative_tolerance = request.absolute_tolerance = 1e-13;
  return solve(rung, request).rows.at(0);
}
double column(const Model& model, const std::string& name, const std::vector<double>& row,
              const std::string& wanted) {
  const AnyRung<double> rung = model.rung(name, Parameters(model.name()), 1);
  return row.at(place_of(rung.observables.columns, wanted));
}

// White inputs of a finite law: the rows of sqrt(n) times the identity.
SampleLoss layers() {
  return {.name = "layers",
          .paper = "",
          .sizes = {{"n", 3}, {"H", 4}},
          .parameters = {{.name = "s", .value = Value{3, 1.5, 0.8}, .shape = "n"},
                         {.name = "scale", .value = 0.1}},
          .draws = {{"i", "index(n)"}},
          .states = {{.name = "W1", .start = "sqrt(scale) * diag(ones(n), H, n)"},
                     {.name = "W2", .start = "sqrt(scale) * diag(ones(n), n, H)"}},
          .loss = {{"x", "sqrt(n) * eye(n)[i]"}, {"loss", "sum((s * x - W2 @ W1 @ x)**2) / 2"}},
          .observables = {{.name = "u", .formula = "diag(W2 @ W1)"}},
          .rungs = {{.name = "modes",
                     .map = {{"v", "diag(W2 @ W1)"}},
                     .lift = {{"W1", "diag(sqrt(v), H, n)"}, {"W2", "diag(sqrt(v), n, H)"}},
                     .flow = {{"v", "2 * v * (s - v)"}},
                     .closed = {{"v", "s / (1 + (s / start(v) - 1) * exp(-2 * s * t))"}},
                     .domain = "v > 0",
                     .assumes = "white inputs, a balanced start along the modes"}}};
}

TEST_CASE("modes of a deep linear network are those of its flow, and their closed form",
          "[learning]") {
  const auto model = model_of_loss(layers());
  constexpr double t = 1.3;
  const std::vector<double> flow = solved_at(*model, "flow", t),
                            modes = solved_at(*model, "modes", t);
  const AnyRung<double> closed = model->rung("modes_closed", Parameters("layers"), 1);
  const Vector<double> v = closed.field.state_at(t);
  for (const std::size_t k : {0U, 1U, 2U}) {
    const std::string suffix = "_" + std::to_string(k);
    const double expected = column(*model, "flow", flow, "u" + suffix);
    CHECK(column(*model, "flow", flow, "v" + suffix) == expected);
    CHECK(std::abs(column(*model, "modes", modes, "v" + suffix) - expected) < 1e-11);
    CHECK(std::abs(column(*model, "modes", modes, "u" + suffix) - expected) < 1e-11);
    CHECK(std::abs(v[static_cast<Index>(k)] - expected) < 1e-11);
  }
  CHECK(std::abs(column(*model, "modes", modes, "loss") - column(*model, "flow", flow, "loss")) <
        1e-11);
  REQUIRE(model->ladder().size() == 4);
  CHECK(model->ladder()[2].coarser == "modes");
  CHECK(model->ladder()[3].coarser == "modes_closed");
  const DigitsScope digits(40);
  CHECK(model->rung_in_digits("modes", Parameters("layers"), 1).dimension == 3);
}

TEST_CASE("maps of a rung that is coarser than one of its own are columns of that", "[learning]") {
  SampleLoss written = layers();
  written.rungs.push_back({.name = "early",
                           .of = "modes",
                           .map = {{"r", "v"}},
                           .flow = {{"r", "2 * s * r"}},
                           .approximate = true});
  const auto model = model_of_loss(written);
  constexpr double t = 0.1;
  const std::vector<double> modes = solved_at(*model, "modes", t),
                            early = solved_at(*model, "early", t);
  CHECK(column(*model, "modes", modes, "r_1") == column(*model, "modes", modes, "v_1"));
  const double exact = column(*model, "modes", modes, "r_1"),
               found = column(*model, "early", early, "r_1");
  CHECK(found > exact);
  CHECK(found < 1.05 * exact);
}

TEST_CASE("a law that is left out is derived through map and lift", "[learning]") {
  SampleLoss written = layers();
  written.rungs[0].flow.clear();
  written.rungs[0].closed.clear();
  const auto derived = model_of_loss(written), model = model_of_loss(layers());
  const AnyRung<double> a = derived->rung("modes", Parameters("layers"), 1),
                        b = model->rung("modes", Parameters("layers"), 1);
  const Vector<double> v{{0.4, 0.9, 0.2}};
  Vector<double> found(3), expected(3);
  a.field.value(v, found, 0.0);
  b.field.value(v, expected, 0.0);
  CHECK((found - expected).norm() < 1e-14);
}

TEST_CASE("steps of their own follow gradient descent, and a wrong sign does not", "[learning]") {
  SampleLoss edge{
      .name = "edge",
      .paper = "",
      .states = {{.name = "x", .start = "2.4"}, {.name = "y", .start = "0.5"}},
      .loss = {{"loss", "(x * y - 1)**2 / 2"}},
      .rungs = {{.name = "pair",
                 .of = "gd",
                 .map = {{"p", "x * y"}, {"s", "x**2 + y**2"}},
                 .step = {{"p", "p - eta * (p - 1) * s + eta**2 * (p - 1)**2 * p"},
                          {"s", "s - 4 * eta * (p - 1) * p + eta**2 * (p - 1)**2 * s"}}}},
      .step = 0.39};
  const auto last = [](const Model& model, const std::string& name) {
    WalkRequest request;
    request.step_size = 0.39;
    request.steps = 12;
    request.save_steps = {12};
    const AnyRung<double> rung = model.rung(name, Parameters("edge"), 1);
    return walk(rung, rung.initial, request)[0].rows.at(0);
  };
  const auto model = model_of_loss(edge);
  CHECK(model->row("gd").info.default_step == "0.39");
  const std::vector<double> gd = last(*model, "gd"), pair = last(*model, "pair");
  for (const char* name : {"p", "s"})
    CHECK(std::abs(column(*model, "gd", gd, name) - column(*model, "pair", pair, name)) < 1e-11);
  edge.rungs[0].step[0].formula = "p - eta * (p - 1) * s - eta**2 * (p - 1)**2 * p";
  const auto wrong = model_of_loss(edge);
  CHECK(std::abs(column(*wrong, "gd", gd, "p") -
                 column(*wrong, "pair", last(*wrong, "pair"), "p")) > 1e-3);
}

TEST_CASE("a model may have only a law of its own, in a time of its own after it", "[learning]") {
  const SampleLoss decay{.name = "decay",
                         .paper = "",
                         .observables = {{.name = "double", .formula = "2 * v"}},
                         .rungs = {{.name = "plain",
                                    .of = "",
                                    .states = {{.name = "v", .start = "3"}},
                                    .flow = {{"v", "-v"}}},
                                   {.name = "slow",
                                    .of = "plain",
                                    .map = {{"w", "v"}},
                                    .flow = {{"w", "-2 * w"}},
                                    .time = "t / 2"}}};
  const auto model = model_of_loss(decay);
  const std::vector<double> plain = solved_at(*model, "plain", 1),
                            slow = solved_at(*model, "slow", 1);
  CHECK(plain[0] == Approx(6 * std::exp(-1.0)).epsilon(1e-11));
  CHECK(slow[0] == Approx(3 * std::exp(-1.0)).epsilon(1e-11));
}

TEST_CASE("mistakes in rungs of their own are named", "[learning]") {
  const auto refused = [](auto change) {
    SampleLoss loss = layers();
    change(loss.rungs[0]);
    try {
      (void)model_of_loss(loss)->rung("modes", Parameters("layers"), 1);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused([](LossRung& r) { r.flow[0].formula = "2 * W1"; }) ==
        "layers: rung modes flow v may not depend on state W1");
  CHECK(refused([](LossRung& r) { r.lift.pop_back(); }) ==
        "layers: rung modes lift has no entry for W2");
  CHECK(refused([](LossRung& r) { r.map[0].formula = "diag(W2 @ W1) / 2"; }) ==
        "layers: rung modes has a map that is no inverse of its lift at the start");
  CHECK(refused([](LossRung& r) { r.domain = "v > 1"; }) ==
        "layers: rung modes begins outside its domain; give another start");
  CHECK(refused([](LossRung& r) {
          r.flow.clear();
          r.closed.clear();
          r.lift.clear();
        }) ==
        "layers: rung modes leaves its law out, and the derivative of its map does not close: that "
        "of v is no formula of the map");
}

TEST_CASE("laws may read neither expectations of finer states nor sampled ones", "[learning]") {
  const auto refused = [](const std::string& observable, const std::string& flow, long samples) {
    const SampleLoss loss{.name = "units",
                          .paper = "",
                          .draws = {{"x", "normal(2)"}},
                          .states = {{.name = "J", .start = "ones(2) / 2"}},
                          .loss = {{"loss", "(J @ x - x[0])**2 / 2"}},
                          .observables = {{.name = "error", .formula = observable}},
                          .rungs = {{.name = "line",
                                     .states = {{.name = "q", .start = "1/2"}},
                                     .lift = {{"J", "q * ones(2)"}},
                                     .flow = {{"q", flow}}}},
                          .samples = samples};
    try {
      (void)model_of_loss(loss)->rung("line", Parameters("units"), 1);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused("expected(tanh(J @ x)**2)", "-q", 0) == "accepted");
  for (const char* formula : {"expected(tanh(J @ x)**2)", "expected((J @ x)**2)"})
    CHECK(refused(formula, "-q * error", 0) == "units: rung line flow q may not depend on state J");
  CHECK(refused("expected(tanh(x[0])**2)", "-q * error", 0) == "accepted");
  CHECK(refused("expected(sqrt(1 + x[0]**2))", "-q * error", 1000) ==
        "units: rung line reads an expectation that is sampled; observables only may");
}

}  // namespace
}  // namespace own_rungs_test
