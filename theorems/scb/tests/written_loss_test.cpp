// The population field from the law and the loss of one sample as they are written down.

#include <catch2/catch.hpp>

#include "learning/loss_rung.hpp"
#include "learning/printed_field.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace scb_written_loss_test {
namespace {

using namespace popgrad;
using namespace popgrad::scb;

SampleLoss written() {
  return {
      .name = "scb",
      .paper = "",
      .sizes = {{"N", 3}, {"T", 4}},
      .parameters = {{.name = "flow",
                      .value = Value{Value{2, 1, 3}, Value{1, 2, 1}, Value{3, 1, 4}}},
                     {.name = "q",
                      .value = Value{Value{"1/4", "3/4", 0, 0}, Value{0, 0, "1/3", "2/3"},
                                     Value{0, 1, 0, 0}}}},
      .constants = {{"mu", "sum(flow, axis=0) / sum(flow)"}, {"P", "flow / sum(flow, axis=0)"}},
      .draws = {{"x", "categorical(mu, T)"},
                {"k", "categorical(mu)"},
                {"s", "categorical(q[k])"},
                {"y", "categorical(P[:, x[s]])"}},
      .states =
          {{.name = "V", .start = "(1 + arange(N)[:, None]) / (3 + arange(N))", .rate = "1 / mu"},
           {.name = "A", .start = "(1 + arange(N)) / (7 + arange(T)[:, None])", .rate = "1 / mu"}},
      .loss = {{"f", "V[:, x] @ A[:, k]"}, {"loss", "sum((one_hot(y, N) - f)**2) / 2"}}};
}

Training<Rational> training(const Vector<Rational>& state) {
  Training<Rational> made;
  Bigrams<Rational>& b = made.bigrams;
  const Matrix<Rational> flow = Matrix<int>{{2, 1, 3}, {1, 2, 1}, {3, 1, 4}}.cast<Rational>();
  b.stationary = flow.colwise().sum().transpose() / flow.sum();
  b.transition = flow;
  for (Index k = 0; k < 3; ++k) b.transition.col(k) /= flow.col(k).sum();
  b.context = 4;
  b.first = {0, 2, 4, 5};
  b.position = {0, 1, 2, 3, 1};
  b.law.resize(5);
  b.law << Rational(1, 4), Rational(3, 4), Rational(1, 3), Rational(2, 3), Rational(1);
  made.start = Eigen::Map<const RowMatrix<Rational>>(state.data(), 3, 3);
  made.attention_start = Eigen::Map<const RowMatrix<Rational>>(state.data() + 9, 4, 3);
  made.project = false;
  return made;
}

TEST_CASE("scb: the population field is that of the loss as it is written, exactly",
          "[scb][learning]") {
  const SampleLoss loss = written();
  const learning::LossFlow<Rational> derived(
      learning::loss_instance(loss, Parameters(loss.name), 1));
  const Vector<Rational> state = derived.initial();
  REQUIRE(state.size() == 21);
  const PopulationFlow<Rational> flow(training(state));
  const Vector<Rational> x = flow.initial();
  // Every position of these starts has a number of its own, but one of each token that stands for the rest.
  Vector<Rational> expected(x.size()), found(21);
  flow.rhs(x, expected, 0);
  derived.rhs(state, found, 0);
  const Vector<Rational> printed = printed::field_at(loss, state);
  for (Index i = 0; i < 21; ++i) CHECK(printed[i] == found[i]);
  for (Index m = 0; m < 3; ++m) {
    for (Index n = 0; n < 3; ++n) CHECK(found[3 * m + n] == expected[3 * n + m]);
  }
  const std::vector<std::string> names = flow.state_names();
  Index compared = 0;
  for (std::size_t i = 9; i < names.size(); ++i) {
    const Index k = names[i][2] - '0';
    if (names[i].ends_with("rest")) continue;
    const Index t = names[i][4] - '0';
    CHECK(x[static_cast<Index>(i)] == state[9 + 3 * t + k]);
    CHECK(found[9 + 3 * t + k] == expected[static_cast<Index>(i)]);
    ++compared;
  }
  CHECK(compared >= 9);
  std::vector<Rational> row(derived.columns().size());
  derived.observe(state, 0, row);
  CHECK(row[0] == flow.loss(x));
}

}  // namespace
}  // namespace scb_written_loss_test
