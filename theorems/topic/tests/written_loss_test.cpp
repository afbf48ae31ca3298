// Training on long masked documents from the law and the loss of one position as they are written down.

#include <catch2/catch.hpp>
#include <cmath>

#include "learning/loss_rung.hpp"
#include "learning/printed_field.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace topic_written_loss_test {
namespace {

using namespace popgrad;
using namespace popgrad::topic;

// Three topics of two words, of which a document has two: all but topic S.
SampleLoss written() {
  return {
      .name = "topic",
      .paper = "",
      .sizes = {{"topics", 3}, {"v", 2}, {"d", 2}},
      .parameters = {{.name = "masked", .value = "0.2"},
                     {.name = "correct", .value = "0.1"},
                     {.name = "random", .value = "0.3"}},
      .constants = {{"n", "topics * v + 1"},
                    {"words",
                     "where(arange(topics * v) // v == arange(topics)[:, None], 0, 1) / (2 * v)"},
                    {"kept", "1 - (1 - correct) * masked"},
                    {"hidden", "1 - correct - random"}},
      .draws = {{"S", "index(topics)"},
                {"word", "1 + categorical(words[S])"},
                {"kind", "categorical(stack([correct, random, hidden]))"},
                {"shown", "where(kind == 0, word, where(kind == 1, 1 + index(topics * v), 0))"}},
      .loss = {{"frequency",
                "concatenate([masked * hidden * ones(1), kept * words[S] + masked * random / "
                "(topics * v)])"},
               {"loss", "sum((out - one_hot(word, n))**2)"}}};
}

TopicLaw<Rational> law() { return {3, 2, 2, Rational(1, 5), Rational(1, 10), Rational(3, 10)}; }

TEST_CASE("topic: documents under uniform attention have the gradient of the written loss, exactly",
          "[topic][learning]") {
  SampleLoss loss = written();
  loss.states = {
      {.name = "W", .start = "(arange(n)[:, None] - 2 * arange(n)) / 7", .shape = "n, n"}};
  loss.loss.push_back({"out", "W @ frequency"});
  const learning::LossFlow<Rational> derived(
      learning::loss_instance(loss, Parameters(loss.name), 1));
  const Vector<Rational> x = derived.initial();
  Vector<Rational> found(x.size());
  derived.rhs(x, found, 0);
  const Matrix<Rational> value = Eigen::Map<const RowMatrix<Rational>>(x.data(), 7, 7);
  const Matrix<Rational> field =
      Rational(-2) * (value * second_moment(law()) - cross_moment(law()).transpose());
  const Vector<Rational> printed = printed::field_at(loss, x);
  for (Index i = 0; i < 49; ++i) {
    CHECK(found[i] == field(i / 7, i % 7));
    CHECK(printed[i] == found[i]);
  }
  std::vector<Rational> row(1);
  derived.observe(x, 0, row);
  CHECK(row[0] == uniform_loss(law(), value));
}

TEST_CASE("topic: the flow of the whole layer is that of the written loss", "[topic][learning]") {
  SampleLoss loss = written();
  loss.states = {{.name = "K", .shape = "n, d"},
                 {.name = "Q", .shape = "n, d"},
                 {.name = "W", .shape = "n, n"}};
  loss.loss.push_back({"pull", "frequency * exp(K @ Q[shown] / sqrt(d))"});
  loss.loss.push_back({"out", "(pull / sum(pull)) @ W"});
  const learning::LossFlow<double> derived(learning::loss_instance(loss, Parameters(loss.name), 1));
  Training training;
  training.law = law().cast<double>();
  training.law.masked = 0.2;
  training.law.correct = 0.1;
  training.law.random = 0.3;
  training.key_width = 2;
  const PopulationFlow flow(training);
  const Vector<double> x = Vector<double>::NullaryExpr(
      flow.dimension(), [](Index i) { return std::sin(1.3 * static_cast<double>(i)); });
  REQUIRE(derived.dimension() == x.size());
  Vector<double> expected(x.size()), found(x.size());
  flow.rhs(x, expected, 0);
  derived.rhs(x, found, 0);
  CHECK((found - expected).cwiseAbs().maxCoeff() < 1e-13);
  CHECK((printed::field_at(loss, x) - expected).cwiseAbs().maxCoeff() < 1e-13);
  CHECK(observed_at(derived, x, "loss") == Approx(flow.loss(x)).epsilon(1e-13));
}

}  // namespace
}  // namespace topic_written_loss_test
