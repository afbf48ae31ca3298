// Temperature of scan-snap's attention: differences of a loss, a change of units, and what is
// observed.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/rungs/audit.hpp"
#include "theorems/scan_snap/tests/three_classes.hpp"

namespace temperature_test {

using namespace scan_snap_of_three_classes;

namespace {

Trajectory<double> steps_of(const PopulationFlow<double>& flow, const Vector<double>& start) {
  WalkRequest request;
  request.step_size = 0.5;
  request.steps = 60;
  request.save_steps = {60};
  request.batch = 4;
  request.keep_states = true;
  return walk(forget_type(flow), start, request).front();
}

}  // namespace

TEST_CASE("scan-snap temperature: the field is the gradient of the loss at z over T",
          "[scan_snap]") {
  constexpr double temperature = 1.5;
  const TrainingInstance<double> instance = instance_of(0, temperature);
  const PopulationFlow<double> flow(instance);
  const PopulationFlow<double> clean(instance_of(0, 1));
  const Vector<double> x = some_state(flow);
  const Index table = x.size() - pairs_of(flow);
  const auto loss = [&](Vector<double> at) {
    at.tail(pairs_of(flow)) /= temperature;
    return clean.loss(at);
  };
  Vector<double> field(x.size());
  flow.rhs(x, field, 0.0);
  for (Index i = 0; i < x.size(); ++i) {
    // Central differences: truncation h^2 = 1e-10, rounding eps/h = 1e-11.
    constexpr double h = 1e-5;
    Vector<double> ahead = x;
    Vector<double> behind = x;
    ahead[i] += h;
    behind[i] -= h;
    const double rate = i < table ? instance.decoder_rate : instance.attention_rate;
    CHECK(field[i] == Approx(-rate * (loss(ahead) - loss(behind)) / (2 * h)).margin(1e-8));
  }
}

TEST_CASE("scan-snap temperature: a run is one of logits z over T with eta_Z over T squared",
          "[scan_snap]") {
  constexpr double temperature = 1.5;
  for (const Start start : {Start::zero, Start::uniform}) {
    const PopulationFlow<double> flow(instance_of(noise, temperature, start));
    TrainingInstance<double> other = instance_of(noise, 1, start);
    other.attention_rate /= temperature * temperature;
    const PopulationFlow<double> rescaled(other);
    const Index pairs = pairs_of(flow);
    Vector<double> begin = flow.initial();
    const Vector<double> own = steps_of(flow, begin).states.front();
    begin.tail(pairs) /= temperature;
    Vector<double> expected = steps_of(rescaled, begin).states.front();
    expected.tail(pairs) *= temperature;
    // 60 steps of size 0.5 move both tables by order one.
    CHECK((own - flow.initial()).tail(pairs).norm() > 0.01);
    CHECK((own - expected).cwiseAbs().maxCoeff() < 1e-12);
  }
}

TEST_CASE("scan-snap label noise and temperature: observables are those of the clean problem",
          "[scan_snap]") {
  const PopulationFlow<double> flow(instance_of(noise, 1.5));
  const PopulationFlow<double> clean(instance_of(0, 1));
  const Vector<double> x = some_state(flow);
  REQUIRE(flow.columns() == clean.columns());
  std::vector<double> row(flow.columns().size()), of_clean(row.size());
  flow.observe(x, 0.0, row);
  clean.observe(x, 0.0, of_clean);
  CHECK(row == of_clean);
  CHECK(flow.loss(x) == clean.loss(x));
}

TEST_CASE("scan-snap label noise and temperature: only of sgd, without growth", "[scan_snap]") {
  const Model& model = find_model("scan-snap");
  const auto given = [](const char* name, const char* value) {
    return Parameters("scan-snap", {{name, value}});
  };
  CHECK_THROWS_WITH(model.rung("sgd", given("label_noise", "1.01"), 1),
                    Catch::Contains("label_noise"));
  CHECK_THROWS_WITH(model.rung("sgd", given("temperature", "0"), 1),
                    Catch::Contains("temperature"));
  for (const auto& [name, value] : {std::pair{"label_noise", "0.1"}, {"temperature", "1.5"}}) {
    Parameters p = given(name, value);
    CHECK_NOTHROW(p.check_names(model.parameters(), "sgd"));
    for (const char* rung : {"gd", "flow", "quasi-static", "fast-decoder", "reduced"}) {
      CHECK_THROWS_AS(p.check_names(model.parameters(), rung), InputError);
    }
    CHECK_NOTHROW(model.rung("sgd", p, 1));
    p.set("track-growth", true);
    CHECK_THROWS_WITH(model.rung("sgd", p, 1),
                      Catch::Contains("--track-growth") && Catch::Contains("--label_noise"));
  }
}

TEST_CASE("scan-snap label noise and temperature: the audit names them", "[scan_snap]") {
  const auto hypotheses = [](double label_noise, double temperature) {
    const TrainingInstance<double> instance = instance_of(label_noise, temperature);
    const PopulationFlow<double> flow(instance);
    const Vector<double> z = flow.logits_at(flow.initial());
    return audit(instance, z, z, {}).hypotheses;
  };
  const std::size_t clean = hypotheses(0, 1).size();
  for (const auto& [label_noise, temperature] : {std::pair{0.1, 1.0}, {0.0, 1.5}}) {
    const auto all = hypotheses(label_noise, temperature);
    REQUIRE(all.size() == clean + 1);
    const std::string begin = label_noise > 0 ? "labels are" : "attention is";
    const auto of_training = std::find_if(all.begin(), all.end(),
                                          [&](const auto& h) { return h.text.starts_with(begin); });
    REQUIRE(of_training != all.end());
    CHECK(of_training->met == Truth::no);
  }
}

}  // namespace temperature_test
