// Arrays that the seed draws once, and normal draws with a covariance.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

namespace fixed_test {
namespace {

using namespace popgrad;
using learning::LossFlow;

SampleLoss teacher() {
  return {.name = "teacher",
          .paper = "",
          .sizes = {{"N", 6}, {"M", 2}},
          .parameters = {{.name = "p", .value = 0.25}},
          .constants = {{"overlap", "B @ B.T"}},
          .fixed = {{"B", "orthogonal(M, N)"},
                    {"G", "normal(2, 2, var=4)"},
                    {"Theta", "G / norm(G)"},
                    {"bits", "bernoulli(p, 1000)"}},
          .draws = {{"x", "normal(N)"}},
          .states = {{.name = "J", .start = "0.1 * normal(M, N)"},
                     {.name = "O", .start = "orthogonal(N, M)"}},
          .loss = {{"loss", "sum(((J - B + 0 * O.T) @ x)**2) / 2"}},
          .observables = {{.name = "overlap_", .formula = "overlap"},
                          {.name = "size", .formula = "norm(Theta)"},
                          {.name = "first", .formula = "B[0, 0]"},
                          {.name = "start", .formula = "J[0, 0]"},
                          {.name = "columns", .formula = "norm(O.T @ O - eye(M))"},
                          {.name = "ones_", .formula = "mean(bits)"}}};
}

double shown(const Model& model, const std::string& name, std::uint64_t seed,
             const std::string& column) {
  const AnyRung<double> rung = model.rung(name, Parameters(model.name()), seed);
  std::vector<double> row(rung.observables.columns.size());
  rung.observables.read(rung.initial, 0.0, row);
  return row.at(place_of(rung.observables.columns, column));
}

TEST_CASE("fixed arrays are drawn by the seed, the same for all rungs", "[learning]") {
  const auto model = model_of_loss(teacher());
  const double first = shown(*model, "flow", 3, "first");
  CHECK(shown(*model, "sgd", 3, "first") == first);
  CHECK(shown(*model, "flow", 4, "first") != first);
  CHECK(shown(*model, "flow", 3, "start") != shown(*model, "flow", 4, "start"));
  CHECK(std::abs(shown(*model, "flow", 3, "overlap__0_0") - 1) < 1e-14);
  CHECK(std::abs(shown(*model, "flow", 3, "overlap__0_1")) < 1e-14);
  CHECK(std::abs(shown(*model, "flow", 3, "size") - 1) < 1e-14);
  CHECK(shown(*model, "flow", 3, "columns") < 1e-14);
  CHECK(std::abs(shown(*model, "flow", 3, "ones_") - 0.25) < 0.06);
}

TEST_CASE("fixed arrays read no draws, states or time, and samples no orthogonal matrices",
          "[learning]") {
  for (const auto& [name, formula] :
       {std::pair{"G", "normal(N) * J[0]"}, std::pair{"G", "t * normal(N)"}}) {
    SampleLoss wrong = teacher();
    wrong.fixed[1] = {name, formula};
    wrong.fixed[2].formula = "ones(2)";
    CHECK_THROWS_WITH(model_of_loss(wrong),
                      Catch::StartsWith("teacher: fixed G may not depend on"));
  }
  SampleLoss wrong = teacher();
  wrong.draws[0].formula = "orthogonal(N, 1)[:, 0]";
  CHECK_THROWS_WITH(model_of_loss(wrong), Catch::Contains("stands in [fixed] and in starts only"));
}

SampleLoss phase(const std::string& covariance) {
  return {.name = "phase",
          .paper = "",
          .sizes = {{"d", 2}},
          .parameters = {{.name = "S", .value = covariance, .shape = "d, d"},
                         {.name = "v", .value = Value{1, 0.25}},
                         {.name = "tau", .value = 0.5}},
          .draws = {{"x", "normal(d, cov=S)"}, {"e", "normal()"}},
          .states = {{.name = "w", .start = "stack([0.3, -0.5])"}},
          .loss = {{"loss", "((w @ x)**2 - (v @ x)**2 - tau * e)**2 / 4"}}};
}

TEST_CASE("expectations over normal draws with a covariance are exact", "[learning]") {
  const LossFlow<double> flow(learning::loss_instance(
      phase("stack([stack([1, 0.4]), stack([0.4, 0.65])])"), Parameters("phase"), 1));
  const Vector<double> w = flow.initial();
  Vector<double> field(2);
  flow.rhs(w, field, 0);
  std::vector<double> row(1);
  flow.observe(w, 0, row);
  // By the formula (3q^2 + 3s^2 - 2(qs + 2c^2) + tau^2)/4, q = w'Sw, s = v'Sv, c = w'Sv.
  CHECK(std::abs(row[0] - 1.14546201171875) < 1e-14);
  CHECK(std::abs(field[0] - 0.1915625) < 1e-14);
  CHECK(std::abs(field[1] + 0.117996875) < 1e-14);
}

TEST_CASE("drawn samples have the covariance, also where it is singular", "[learning]") {
  for (const char* covariance : {"stack([stack([1, 0.4]), stack([0.4, 0.65])])", "ones(d, d)"}) {
    const LossFlow<double> flow(learning::loss_instance(phase(covariance), Parameters("phase"), 1));
    const Vector<double> w = flow.initial();
    Vector<double> field(2), drawn(2), sum = Vector<double>::Zero(2), squares = sum;
    flow.rhs(w, field, 0);
    constexpr int times = 200;
    Stream stream(5, 0, 0);
    for (int k = 0; k < times; ++k) {
      flow.sample_rhs(w, drawn, stream, 100);
      sum += drawn;
      squares += drawn.cwiseAbs2();
    }
    const Vector<double> mean = sum / times;
    const Vector<double> error =
        ((squares / times - mean.cwiseAbs2()) / times).cwiseMax(1e-20).cwiseSqrt();
    for (const Index i : {0, 1}) CHECK(std::abs(mean[i] - field[i]) < 4 * error[i]);
  }
}

TEST_CASE("covariances that are none are refused", "[learning]") {
  const auto refused = [](const std::string& covariance) {
    try {
      static_cast<void>(model_of_loss(phase(covariance)));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("eye(d)").empty());
  for (const char* wrong : {"stack([stack([1, 2]), stack([2, 1])])", "-eye(d)",
                            "stack([stack([1, 0.5]), stack([0, 1])])"})
    CHECK(refused(wrong) ==
          "phase: draw x has a covariance that is not symmetric and positive semidefinite");
  SampleLoss wrong = phase("eye(d)");
  wrong.draws[0].formula = "normal(d, cov=eye(3))";
  CHECK_THROWS_WITH(model_of_loss(wrong),
                    Catch::Contains("cov of shape (3, 3) is no covariance of the last axis"));
}

}  // namespace
}  // namespace fixed_test
