// Fields of networks whose expectations are had by quadrature.

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "learning/loss_rung.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/ensemble.hpp"

namespace quadrature_test {
namespace {

using namespace popgrad;

SampleLoss network(const std::string& unit) {
  return {
      .name = "network",
      .paper = "",
      .sizes = {{"d", 3}},
      .parameters = {{.name = "B", .value = Value{Value{0.7, -0.2, 0.1}, Value{0.3, 0.5, -0.4}}}},
      .draws = {{"x", "normal(d)"}},
      .states = {{.name = "J", .start = "B + 1/5 * outer(arange(2), ones(d))"},
                 {.name = "v", .start = "stack([1, -1/2])"}},
      .loss = {{"student", "v @ " + unit + "(J @ x)"},
               {"teacher", unit + "(B[0] @ x) - " + unit + "(B[1] @ x) / 2"},
               {"loss", "(student - teacher)**2 / 2"}}};
}

TEST_CASE("networks of smooth units have fields by quadrature", "[learning][quadrature]") {
  for (const std::string unit : {"tanh", "sigmoid", "softplus"}) {
    INFO(unit);
    const SampleLoss written = network(unit);
    const learning::LossFlow<double> flow(
        learning::loss_instance(written, Parameters(written.name), 1));
    const AnyRung<double> sgd = model_of_loss(written)->rung("sgd", Parameters(written.name), 1);
    Vector<double> x = sgd.initial, field(x.size());
    x[0] += 0.3;
    flow.rhs(x, field, 0);
    const auto errors = flow.errors(x);
    CHECK(errors.loss > 0);
    CHECK(errors.loss < 1e-7);
    CHECK(errors.gradient.maxCoeff() < 1e-7);
    CHECK(observed_at(sgd, x, "loss_error") == errors.loss);
    // Against draws.
    constexpr Index samples = 40000;
    Stream stream(3, 0, 7);
    Vector<double> drawn(x.size());
    sgd.draws.sample(x, drawn, stream, samples);
    const Matrix<double> deviations = sampled_deviations(sgd, x, 2000, 5, 0);
    for (Index i = 0; i < x.size(); ++i) {
      const double error =
          std::sqrt(deviations.row(i).squaredNorm() / 2000 / static_cast<double>(samples));
      CHECK(std::abs(field[i] - drawn[i]) < 5 * error);
    }
    // At the teacher loss and slopes are 0, and projections are equal.
    Vector<double> rest = sgd.initial;
    for (Index i = 0; i < 3; ++i) rest[3 + i] -= 0.2;
    flow.rhs(rest, field, 0);
    CHECK(std::abs(observed_at(sgd, rest, "loss")) < 1e-14);
    CHECK(field.cwiseAbs().maxCoeff() < 1e-14);
  }
}

}  // namespace
}  // namespace quadrature_test
