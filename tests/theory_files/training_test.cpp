// Rates that depend on time, and moves: directions that take the place of the gradient.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "commands/shell.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theory_files/theory_file.hpp"

namespace training_test {
namespace {

using namespace popgrad;
using namespace popgrad::theory_files;
using Catch::Contains;

TheoryFile read(const std::string& text) { return parse_theory_file(text, "law.toml"); }
AnyRung<double> rung(const std::string& text, const std::string& name) {
  TheoryFile file = read(text);
  return theory_of(file, false).model->rung(name, Parameters(file.loss.name), 1);
}

const std::string stopped = R"toml(
[parameters]
stop = 10
[state]
u = { start = "ones(2)" }
v = { start = 1 }
[loss]
loss = "u @ u / 2 + v**2 / 2"
[training]
rate = { u = "where(t < stop, stack([1, 1/2]), 0)", v = "1 / (1 + t)" }
)toml";

TEST_CASE("theory files: rates may depend on time", "[theory_files][training]") {
  SolveRequest<double> request;
  request.end = 20;
  request.save_at = {0.0, 5.0, 20.0};
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-14;
  request.keep_states = true;
  const Trajectory<double> run = solve(rung(stopped, "flow"), request);
  REQUIRE(run.states.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    const double t = run.t[k], passed = std::min(t, 10.0);
    CHECK(run.states[k][0] == Approx(std::exp(-passed)).epsilon(1e-8));
    CHECK(run.states[k][1] == Approx(std::exp(-passed / 2)).epsilon(1e-8));
    CHECK(run.states[k][2] == Approx(1 / (1 + t)).epsilon(1e-8));
  }
  const AnyRung<double> gd = rung(stopped, "gd");
  WalkRequest walk;
  walk.step_size = 0.5;
  walk.steps = 40;
  walk.save_steps = {40};
  walk.keep_states = true;
  const Trajectory<double> descent = popgrad::walk(gd, gd.initial, walk).front();
  double v = 1;
  for (int step = 0; step < 40; ++step) v -= 0.5 / (1 + 0.5 * step) * v;
  CHECK(descent.states.back()[0] == Approx(std::pow(0.5, 20)).epsilon(1e-13));
  CHECK(descent.states.back()[1] == Approx(std::pow(0.75, 20)).epsilon(1e-13));
  CHECK(descent.states.back()[2] == Approx(v).epsilon(1e-13));
  // The loss has no draws, so that steps of SGD are those of descent.
  const AnyRung<double> sgd = rung(stopped, "sgd");
  walk.batch = 3;
  const Trajectory<double> random = popgrad::walk(sgd, sgd.initial, walk).front();
  CHECK((random.states.back() - descent.states.back()).norm() < 1e-15);
  const command_line::Folder folder;
  CHECK(command_line::run_popgrad("run " + folder.file("law.toml", stopped) + " moments --steps 2")
            .out.find("the law of all steps to be one") != std::string::npos);
}

// The largest error of u' = -rate(t) u, whose log loses `passed(t)`, over the tolerance, and the steps.
std::pair<double, std::size_t> error_over_tolerance(const std::string& rate, double tolerance,
                                                    const std::function<double(double)>& passed) {
  const AnyRung<double> flow = rung(
      "[state]\nu = 1\n[loss]\nloss = \"u**2 / 2\"\n[training]\n"
      "rate = { u = \"" +
          rate + "\" }\n",
      "flow");
  SolveRequest<double> request;
  request.end = 20;
  request.save_at = equally_spaced(0.0, 20.0, 81);
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = 1e-30;
  request.keep_states = true;
  const Trajectory<double> run = solve(flow, request);
  double worst = 0;
  for (std::size_t k = 0; k < run.t.size(); ++k) {
    const double exact = std::exp(-passed(run.t[k]));
    worst = std::max(worst, std::abs(run.states[k][0] / exact - 1) / tolerance);
  }
  return {worst, run.outcome.steps_taken + run.outcome.steps_rejected};
}

TEST_CASE("theory files: breaks of rates are ends of steps", "[theory_files][training]") {
  const double tolerance = GENERATE(1e-6, 1e-9);
  const auto smooth = error_over_tolerance("1", tolerance, [](double t) { return t; });
  const auto expect = [&](const std::string& rate, std::size_t pieces, const auto& passed) {
    CAPTURE(rate, tolerance);
    const auto found = error_over_tolerance(rate, tolerance, passed);
    CHECK(found.first < 20 + 2 * smooth.first);
    // Twice the rate takes twice the steps.
    const double steps = static_cast<double>(smooth.second) * std::max(1.0, passed(20) / 20);
    CHECK(static_cast<double>(found.second) < steps + 30.0 * static_cast<double>(pieces));
  };
  expect("where(t < 10, 1, 0)", 2, [](double t) { return std::min(t, 10.0); });
  expect("where(t <= 1/3, 0, 1)", 2, [](double t) { return std::max(0.0, t - 1.0 / 3); });
  // A window of a thousandth of a grid cell, and many pieces.
  expect("where(t >= 5, 1, 0) * where(t < 5.00001, 100000, 1)", 3, [](double t) {
    return 100000 * std::clamp(t - 5, 0.0, 0.00001) + std::max(0.0, t - 5.00001);
  });
  expect("floor(t) / 10", 20, [](double t) {
    const double whole = std::floor(t);
    return (whole * (whole - 1) / 2 + whole * (t - whole)) / 10;
  });
  expect("where(t**2 < 50, 1, 2)", 2,
         [](double t) { return t + std::max(0.0, t - std::sqrt(50.0)); });
}

const std::string moved = R"toml(
sizes = { d = 2, k = 3 }
[constants]
P = "block([[2, 1], [0, 1]])"
D = "diag(1 + arange(k))"
A = "reshape(arange(6), 2, 3) / 4"
[draw]
x = "2 * bernoulli(1/2, k) - 1"
s = "bernoulli(1/3)"
[state]
V = { shape = "d, k" }
w = { start = "ones(k)" }
[loss]
error = "(V - A) @ x"
loss  = "error @ error / 2 + (w @ x)**2 * s / 2"
[training]
rate = { V = 2 }
MOVE
[rung.same]
map  = { Z = "V", y = "w" }
lift = { V = "Z", w = "y" }
flow = { Z = "-2 * P @ (Z - A) @ inv(D)", y = "-y / 3 - (Z - A)[0]" }
)toml";

std::string with_move(const std::string& move) {
  std::string text = moved;
  return text.replace(text.find("MOVE"), 4, move);
}
const std::string written_move =
    R"toml(move = { V = "P @ grad(V) @ inv(D)", w = "grad(w) + grad(V)[0]" })toml";

TEST_CASE("theory files: moves take the place of gradients, also of one draw",
          "[theory_files][training]") {
  const std::string text = with_move(written_move);
  const AnyRung<double> sgd = rung(text, "sgd"), plain = rung(with_move(""), "sgd");
  const AnyRung<double> flow = rung(text, "flow"), own = rung(text, "same");
  Vector<double> x(9), here(9), there(9);
  x << 0.5, -1, 2, 0.25, 3, -0.75, 1, 2, -1;
  flow.field.value(x, here, 0.0);
  own.field.value(x, there, 0.0);
  CHECK((here - there).norm() < 1e-14);
  // The map from the plain field, whose V has the rate 2, to the moved one.
  Matrix<double> direction = Matrix<double>::Zero(9, 9);
  const double p[2][2] = {{2, 1}, {0, 1}};
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 3; ++j) {
      for (Index l = 0; l < 2; ++l)
        direction(3 * i + j, 3 * l + j) = p[i][l] / static_cast<double>(1 + j);
    }
  }
  for (Index j = 0; j < 3; ++j) {
    direction(6 + j, 6 + j) = 1;
    direction(6 + j, j) = 0.5;
  }
  plain.field.value(x, there, 0.0);
  CHECK((here - direction * there).norm() < 1e-14);
  Stream one(1, 0, 0), other(1, 0, 0);
  sgd.draws.sample(x, here, one, 5);
  plain.draws.sample(x, there, other, 5);
  CHECK((here - direction * there).norm() < 1e-13 * here.norm());
  const Matrix<double> unit = Matrix<double>::Identity(9, 9);
  Matrix<double> covariance(9, 9), of_plain(9, 9);
  sgd.draws.covariance(x, unit, covariance);
  plain.draws.covariance(x, unit, of_plain);
  CHECK((covariance - direction * of_plain * direction.transpose()).norm() <
        1e-12 * covariance.norm());
  // Jacobians, many digits, and the law in print.
  const command_line::Folder folder;
  const std::string file = folder.file("moved.toml", text);
  CHECK_THAT(command_line::run_popgrad("check " + file).out,
             Contains("rung.same: zero at 8 rational points") && Contains("another direction"));
  CHECK_THAT(command_line::run_popgrad("export " + file + " --torch").out,
             Contains("directions(asked.eta * step, *slopes)"));
}

TEST_CASE("theory files: exported scripts have rates that depend on time, and moves",
          "[theory_files][training][cli]") {
  using namespace command_line;
  const Folder folder;
  const std::string script = folder.file("train.py"), log = folder.file("log.csv");
  const std::string law =
      folder.file("law.toml", stopped + "move = { v = \"2 * grad(v) + sum(grad(u)) / 3\" }\n");
  const std::string python = "/usr/bin/python3 ";
  if (shell(python + "-c 'import numpy' 2>/dev/null").status != 0) return;
  REQUIRE(run_popgrad("export " + law + " --numpy -q -o " + script).status == 0);
  const Answer trained =
      shell(python + script + " --eta 0.5 --steps 30 --every 30 --output " + log + " 2>&1");
  INFO(trained.out);
  REQUIRE(trained.status == 0);
  const auto last_number = [](const std::string& table) {
    const std::string line = table.substr(0, table.find_last_not_of("\r\n") + 1);
    return std::stod(line.substr(line.find_last_of(',') + 1));
  };
  const std::string run =
      run_popgrad("run " + law + " gd --eta 0.5 --steps 30 --save 2 -q -o -").out;
  CHECK(last_number(content(log)) == Approx(last_number(run)).epsilon(1e-12));
}

TEST_CASE("theory files: what is no move is refused", "[theory_files][training]") {
  const auto refused = [](const std::string& move) {
    return with_move("move = { V = \"" + move + "\" }");
  };
  CHECK_THROWS_WITH(
      rung(refused("grad(V)**2"), "flow"),
      Contains("law.toml:18:") && Contains("training.move.V: must be linear in the gradients"));
  CHECK_THROWS_WITH(rung(refused("grad(V) + A"), "flow"), Contains("0 where they are 0"));
  CHECK_THROWS_WITH(rung(refused("grad(w)"), "flow"), Contains("has shape"));
  CHECK_THROWS_WITH(rung(refused("grad(u)"), "flow"),
                    Contains("law.toml:18:15: training.move.V: grad: there is no state u"));
  CHECK_THROWS_WITH(rung(refused("grad(2 * V)"), "flow"), Contains("takes the name of a state"));
  CHECK_THROWS_WITH(rung(refused("V * grad(V)"), "flow"), Contains("may not depend on state V"));
}

}  // namespace
}  // namespace training_test
