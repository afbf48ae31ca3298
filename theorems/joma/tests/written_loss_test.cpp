// The joint training of weights and attention from its loss as it is written down.

#include <catch2/catch.hpp>

#include "learning/loss_rung.hpp"
#include "learning/printed_field.hpp"
#include "popgrad/rungs/sparse_laws.hpp"
#include "theorems/joma/tests/three_classes.hpp"

namespace joma_written_loss_test {
namespace {

using namespace popgrad;
using namespace popgrad::joma;

// Weights are written with a unit a row, so that the entries of the state are those of the rung.
SampleLoss written(const ClassInstance<double>& instance) {
  const char* const attention = instance.attention == Attention::linear ? "X[:, c] * z / T"
                                : instance.attention == Attention::exp
                                    ? "X[:, c] * exp(z / T)"
                                    : "X[:, c] * exp(z / T) / sum(X[:, c] * exp(z / T))";
  return {
      .name = "joma",
      .paper = "",
      .sizes = {{"tokens", 3}, {"classes", 3}},
      .parameters = {{.name = "X",
                      .value = rows_of(instance.token_law),
                      .shape = "tokens, classes"},
                     {.name = "p", .value = list_of(instance.class_law)},
                     {.name = "noise", .value = instance.label_noise},
                     {.name = "T", .value = instance.temperature}},
      .draws = {{"c", "categorical(p)"}, {"y", "where(bernoulli(noise) == 1, index(classes), c)"}},
      .states = {{.name = "v", .shape = "classes, tokens + 1"}, {.name = "z", .shape = "tokens"}},
      .loss = {{"b", attention}, {"loss", "-log_softmax(v @ concatenate([b, ones(1)]))[y]"}}};
}

TEST_CASE("joma: the flow at given X is that of the loss as it is written", "[joma][learning]") {
  for (const Attention attention : {Attention::softmax, Attention::exp, Attention::linear}) {
    const ClassInstance<double> instance = joma_of_three_classes::instance_of(attention, 0);
    const SampleLoss loss = written(instance);
    const learning::LossFlow<double> derived(
        learning::loss_instance(loss, Parameters(loss.name), 1));
    const PopulationFlow<double> flow(instance);
    const Vector<double> x = flow.initial();
    REQUIRE(derived.dimension() == x.size());
    Vector<double> expected(x.size()), found(x.size());
    flow.rhs(x, expected, 0);
    derived.rhs(x, found, 0);
    CHECK((found - expected).cwiseAbs().maxCoeff() < 1e-13);
    CHECK((printed::field_at(loss, x) - expected).cwiseAbs().maxCoeff() < 1e-13);
    Matrix<double> of_flow, of_loss;
    const Matrix<double> identity = Matrix<double>::Identity(x.size(), x.size());
    flow.draw_covariance(x, identity, of_flow);
    derived.draw_covariance(x, identity, of_loss);
    CHECK((of_loss - of_flow).cwiseAbs().maxCoeff() < 1e-13);
  }
}

}  // namespace
}  // namespace joma_written_loss_test
