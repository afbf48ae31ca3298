/// The temperature of attention, against differentiation and against matrices that it divides.

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace temperature_test {

using namespace popgrad;
using namespace popgrad::topic;

namespace {

constexpr double temperature = 1.7;

Training training_at(double t, Index embedding_width = 0) {
  Training made;
  made.law = {3, 2, 2, 0.3, 0.2, 0.25};
  made.key_width = 4;
  made.scale = 0.6;
  made.start = ValueStart::normal;
  made.document = 20;
  made.embedding_width = embedding_width;
  made.temperature = t;
  return made;
}

// W_K and W_Q over the root of the temperature, with 1/temperature of their learning rate.
AnyRung<double> smaller_and_slower(const Training& training) {
  AnyRung<double> made = forget_type(PopulationFlow(training));
  const Index attention = Layout(training).values();
  made.initial.head(attention) /= std::sqrt(temperature);
  made.draws.sample = [inner = made.draws.sample, attention](const Vector<double>& x,
                                                             Vector<double>& dx, Stream& stream,
                                                             Index batch) {
    inner(x, dx, stream, batch);
    dx.head(attention) /= temperature;
  };
  made.clone = [training] { return smaller_and_slower(training); };
  return made;
}

}  // namespace

TEST_CASE("topic: gradients at a temperature are those of differences", "[topic]") {
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    for (const Index width : {0, 5}) {
      Training t = training_at(temperature, width);
      t.loss = loss;
      const PopulationFlow flow(t);
      const Vector<double> x = flow.initial();
      Vector<double> dx(x.size());
      flow.rhs(x, dx, 0.0);
      constexpr double h = 1e-6;
      for (Index i = 0; i < x.size(); i += 3) {
        Vector<double> moved = x;
        moved[i] += h;
        const double up = flow.loss(moved);
        moved[i] -= 2 * h;
        // Rounding 1e-16/h, truncation h^2.
        CHECK(-(up - flow.loss(moved)) / (2 * h) == Approx(dx[i]).margin(1e-8));
      }
    }
  }
}

TEST_CASE("topic: attention at a temperature is that of keys divided by it", "[topic]") {
  for (const Index width : {0, 5}) {
    const PopulationFlow warm(training_at(temperature, width));
    const PopulationFlow plain(training_at(1, width));
    const Vector<double> x = warm.initial();
    Vector<double> divided = x;
    divided.head(warm.layout().queries()) /= temperature;
    const std::vector<std::string> columns = warm.columns();
    std::vector<double> row(columns.size()), other(columns.size()), undivided(columns.size());
    warm.observe(x, 0.0, row);
    plain.observe(divided, 0.0, other);
    plain.observe(x, 0.0, undivided);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string& name = columns[c];
      INFO(name);
      if (name != "norm_W_K") CHECK(row[c] == Approx(other[c]).epsilon(1e-13));
      if (name.starts_with("attention_")) CHECK(std::fabs(row[c] - undivided[c]) > 1e-4);
    }
  }
}

// With W_K and W_Q over the root of T each, logits at 1 are those at T, and what moves them is 1/T of
// that: dK/dt = Q G'/(T sqrt(d_a)), so d(K/sqrt T)/dt = (1/T) (Q/sqrt T) G'/sqrt(d_a).
TEST_CASE("topic: runs at a temperature are runs of smaller matrices that learn slower",
          "[topic]") {
  for (const Index width : {0, 5}) {
    const Training warm = training_at(temperature, width);
    const AnyRung<double> at_t = forget_type(PopulationFlow(warm));
    const Index attention = Layout(warm).values();
    const AnyRung<double> at_one = smaller_and_slower(training_at(1, width));
    WalkRequest request;
    request.step_size = 0.3;
    request.steps = 200;
    request.save_steps = {200};
    request.batch = 4;
    request.runs = 1;
    request.jobs = 1;
    const Vector<double> end = walk(at_t, at_t.initial, request).front().last_state;
    Vector<double> other = walk(at_one, at_one.initial, request).front().last_state;
    other.head(attention) *= std::sqrt(temperature);
    CHECK((end - other).norm() < 1e-10 * end.norm());
    // Both have moved.
    CHECK((end - at_t.initial).head(attention).norm() > 0.01);
    CHECK((end - at_t.initial).tail(end.size() - attention).norm() > 0.1);
  }
}

TEST_CASE("topic: the first stage has no temperature and the second has", "[topic]") {
  const TwoStageFlow warm(training_at(temperature), 1.0);
  const TwoStageFlow plain(training_at(1), 1.0);
  const Index attention = Layout(training_at(1)).values();
  const Vector<double> x = warm.initial();
  Vector<double> divided = x;
  divided.head(attention / 2) /= temperature;  // W_K
  Vector<double> dx(x.size()), other(x.size());
  warm.rhs(x, dx, 0.5);
  plain.rhs(x, other, 0.5);
  CHECK(dx == other);
  warm.rhs(x, dx, 2.0);
  plain.rhs(divided, other, 2.0);
  other.head(attention / 2) /= temperature;
  CHECK((dx - other).norm() < 1e-13 * dx.norm());
  CHECK(dx.head(attention).norm() > 1e-4);
}

}  // namespace temperature_test
