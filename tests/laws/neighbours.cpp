/// Law: where the assumption between two rungs holds exactly, they agree on every common column.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "laws/cases.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::laws::neighbours_laws {
namespace {

constexpr double tolerance = 1e-12;  ///< of the solver, a step
/// What some hundred steps add up to.
constexpr double solved_to = 1e-9;

using Row = std::map<std::string, double>;

Row named(const AnyRung<double>& rung, const std::vector<double>& row) {
  Row by_column;
  for (std::size_t c = 0; c < row.size(); ++c) by_column[rung.observables.columns[c]] = row[c];
  return by_column;
}

Row flowed(const AnyRung<double>& rung, double t) {
  if (rung.field.state_at) return named(rung, observed(rung, {rung.field.state_at(t), t}));
  SolveRequest<double> request;
  request.end = t;
  request.save_at = {t};
  request.method = Method::dopri5;
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance;
  request.find_events = false;
  const Trajectory<double> run = solve(rung, request);
  REQUIRE(run.outcome.ending == Ending::reached_end);
  return named(rung, run.rows.back());
}

Row stepped(AnyRung<double> rung, double step, std::uint64_t steps, Index batch) {
  WalkRequest request;
  request.step_size = step;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = batch;
  request.seed = 3;
  request.jobs = 1;
  const std::vector<Trajectory<double>> runs = walk(rung, rung.initial, request);
  REQUIRE(runs.front().outcome.ending == Ending::reached_end);
  return named(rung, runs.front().rows.back());
}

// All common columns; of rows that share fewer than `least`, the comparison would be empty.
void check_equal(const Row& left, const Row& right, double bound, std::size_t least) {
  std::size_t common = 0;
  for (const auto& [name, value] : left) {
    const auto other = right.find(name);
    if (other == right.end()) continue;
    ++common;
    INFO("column " << name << ": " << value << " and " << other->second);
    CHECK(std::fabs(value - other->second) <= bound * (1 + std::fabs(value)));
  }
  CHECK(common >= least);
}

Case sibling(const Case& made, const std::string& rung) {
  Case other = made;
  other.rung = find_rung(*made.model, rung);
  return other;
}

}  // namespace

TEST_CASE("laws: descent and flow have one field", "[law]") {
  for (const Case& made : cases()) {
    if (made.rung.kind != RungKind::flow || made.rung.name != "flow") continue;
    const Case descent = sibling(made, "gd");
    if (!accepted(descent)) continue;
    const AnyRung<double> flow = made.make();
    const AnyRung<double> gd = descent.make();
    if (gd.dimension != flow.dimension) continue;
    INFO(made.text());
    for (const Point& at : points(made, flow)) {
      Vector<double> left(at.x.size()), right(at.x.size());
      flow.field.value(at.x, left, at.t);
      gd.field.value(at.x, right, at.t);
      CHECK(left == right);
      CHECK(observed(flow, at) == observed(gd, at));
    }
  }
}

TEST_CASE("laws: joma stationary and reduced agree for exp attention from z = sum v^2/(2T)",
          "[law]") {
  std::size_t compared = 0;
  for (Case made : cases()) {
    if (!made.is("joma", "reduced")) continue;
    if (made.parameters.text("attention", "exp") != "exp") continue;
    const Case finer = sibling(made, "stationary");
    AnyRung<double> stationary = finer.make();
    const AnyRung<double> reduced = made.make();
    const Index d = stationary.dimension - reduced.dimension;
    // The rung reduced reports z/T = sum v^2/tau with tau = 2 T^2.
    const double tau =
        made.parameters.has("temperature") || made.parameters.has("X")
            ? 2 * std::pow(made.parameters.number<double>("temperature", "1"), 2)
            : made.parameters.number<double>(
                  "tau", made.parameters.has("mu") || made.parameters.has("delta") ? "2" : "3");
    for (Index l = 0; l < d; ++l) {
      double squares = 0;
      for (Index i = l; i < reduced.dimension; i += d) squares += std::pow(reduced.initial[i], 2);
      stationary.initial[reduced.dimension + l] = squares / std::sqrt(2 * tau);
    }
    INFO(made.text());
    check_equal(flowed(stationary, 0.1), flowed(reduced, 0.1), solved_to, 2);
    ++compared;
  }
  CHECK(compared >= 5);
}

TEST_CASE("laws: joma stationary and reduced agree for linear attention", "[law]") {
  std::size_t compared = 0;
  for (Case made : cases()) {
    if (!made.is("joma", "reduced")) continue;
    if (made.parameters.text("attention", "exp") != "linear") continue;
    // The root of z^2 = v^2 + c is taken positive.
    made.parameters.set("z0", "0.4");
    const AnyRung<double> reduced = made.make();
    const AnyRung<double> stationary = sibling(made, "stationary").make();
    INFO(made.text());
    check_equal(flowed(stationary, 0.3), flowed(reduced, 0.3), solved_to, 2);
    ++compared;
  }
  CHECK(compared >= 1);
}

TEST_CASE("laws: joma reduced and its closed form agree", "[law]") {
  std::size_t compared = 0;
  for (const Case& made : cases()) {
    if (!made.is("joma", "closed-form")) continue;
    INFO(made.text());
    check_equal(flowed(sibling(made, "reduced").make(), 0.15), flowed(made.make(), 0.15), solved_to,
                2);
    ++compared;
  }
  CHECK(compared >= 5);
}

TEST_CASE("laws: scan-snap rungs agree where each class has one token", "[law]") {
  // Features are unit vectors that attention cannot move, whatever the rates are.
  for (const char* vocabulary : {"3", "7"}) {
    Case made;
    made.model = &find_model("scan-snap");
    made.parameters = Parameters("scan-snap");
    made.parameters.set("P", Value::List{{"1", "0", "0"}, {"0", "1", "0"}, {"0", "0", "1"}});
    made.parameters.set("M", vocabulary);
    made.parameters.set("eta_Y", "1.7");
    made.rung = find_rung(*made.model, "flow");
    const Row flow = flowed(made.make(), 12);
    for (const char* rung : {"quasi-static", "fast-decoder", "reduced"}) {
      INFO(rung << " with M = " << vocabulary);
      check_equal(flow, flowed(sibling(made, rung).make(), 12), solved_to, 10);
    }
  }
}

TEST_CASE("laws: scan-snap h and gamma of reduced are those of the closed form", "[law]") {
  std::size_t compared = 0;
  for (const Case& made : cases()) {
    if (!made.is("scan-snap", "closed-form")) continue;
    Case finer = sibling(made, "reduced");
    finer.parameters.set("preset", "growth");
    if (made.parameters.has("P")) finer.parameters = made.parameters;
    finer.parameters.set("watch", "");
    const Row reduced = flowed(finer.make(), 9);
    const Row closed = flowed(made.make(), 9);
    INFO(made.text());
    check_equal(Row{{"h", reduced.at("h")}, {"gamma", reduced.at("gamma")}}, closed, solved_to, 2);
    ++compared;
  }
  CHECK(compared >= 3);
}

TEST_CASE("laws: scb flow and reduced agree on the family", "[law]") {
  std::size_t compared = 0;
  for (const Case& made : cases()) {
    if (!made.is("scb", "reduced")) continue;
    INFO(made.text());
    check_equal(flowed(sibling(made, "flow").make(), 4), flowed(made.make(), 4), solved_to, 8);
    ++compared;
  }
  CHECK(compared >= 8);
}

TEST_CASE("laws: scb rungs without noise are descent", "[law]") {
  std::size_t compared = 0;
  for (const Case& gd : cases()) {
    if (!gd.is("scb", "gd")) continue;
    const std::uint64_t steps = 25;
    const Row expected = stepped(gd.make(), 0.3, steps, 0);
    INFO(gd.text());
    check_equal(expected, stepped(sibling(gd, "sgd").make(), 0.3, steps, 0), 1e-9, 8);
    for (const char* name : {"noisy", "noisy-lumped"}) {
      Case made = sibling(gd, name);
      made.parameters.set("sigma_V", "0");
      made.parameters.set("sigma_A", "0");
      if (!accepted(made)) continue;
      INFO(name);
      // With a batch the noise is drawn and counts for nothing.
      check_equal(expected, stepped(made.make(), 0.3, steps, 7), 1e-9, 8);
      check_equal(expected, stepped(made.make(), 0.3, steps, 0), 1e-9, 8);
      ++compared;
    }
  }
  CHECK(compared >= 8);
}

TEST_CASE("laws: topic flow and its symmetric form agree from a symmetric start", "[law]") {
  // W_K'W_K = W_Q'W_Q = sigma^2 d_a I and W_K'W_Q = 0 exactly: two blocks of unit vectors.
  std::size_t compared = 0;
  for (Case made : cases()) {
    if (!made.is("topic", "symmetric")) continue;
    const Index size =
        made.parameters.count("T", 0, 1, 9) * made.parameters.count("v", 0, 1, 9) + 1;
    made.parameters.set("d_a", std::to_string(2 * size));
    const double sigma = made.parameters.number<double>("sigma", "0.01");
    AnyRung<double> flow = sibling(made, "flow").make();
    const double entry = sigma * std::sqrt(2.0 * static_cast<double>(size));
    for (Index i = 0; i < flow.dimension; ++i) {
      const std::string& name = flow.state_names[static_cast<std::size_t>(i)];
      if (name[2] == 'V') continue;
      const std::size_t cut = name.find('_', 4);
      const Index row = std::stol(name.substr(4, cut - 4));
      const Index col = std::stol(name.substr(cut + 1));
      flow.initial[i] = row == col + (name[2] == 'K' ? 0 : size) ? entry : 0.0;
    }
    INFO(made.text());
    // Before rounding has broken the symmetry.
    check_equal(flowed(flow, 20), flowed(made.make(), 20), 1e-8, 10);
    ++compared;
  }
  CHECK(compared >= 5);
}

TEST_CASE("laws: topic rungs agree under uniform attention", "[law]") {
  std::size_t compared = 0;
  for (Case made : cases()) {
    if (!made.is("topic", "block-reduced")) continue;
    made.parameters.set("train", "V");
    Case flow = sibling(made, "flow");
    flow.parameters.set("sigma", "0");
    flow.parameters.set("d_a", "2");
    const Row whole = flowed(flow.make(), 3);
    INFO(made.text());
    check_equal(whole, flowed(made.make(), 3), solved_to, 8);
    Case stages = sibling(flow, "two-stage");
    stages.parameters = Parameters("topic");
    for (const auto& [name, value] : flow.parameters.values().entries()) {
      if (name != "train") stages.parameters.set(name, value);
    }
    stages.parameters.set("switch", "100");
    check_equal(whole, flowed(stages.make(), 3), solved_to, 12);
    ++compared;
  }
  CHECK(compared >= 5);
}

TEST_CASE("laws: topic optimum is at rest in the rung block-reduced", "[law]") {
  std::size_t compared = 0;
  for (const Case& made : cases()) {
    if (!made.is("topic", "optimum")) continue;
    Case block = sibling(made, "block-reduced");
    // The penalised W_V is a start that only the optimum makes.
    block.parameters = Parameters("topic");
    for (const auto& [name, value] : made.parameters.values().entries()) {
      if (name != "lambda") block.parameters.set(name, value);
    }
    block.parameters.set("train", "KQ");
    const Vector<double> best = made.make().field.state_at(1.0);
    if (best[6] == 0) continue;  // infinite weights, which no finite state is at
    Vector<double> x(6);
    x << best.head(4), std::log(best[4]), std::log(best[5]);
    Vector<double> dx(6);
    block.make().field.value(x, dx, 0.0);
    INFO(made.text());
    CHECK(dx.cwiseAbs().maxCoeff() < 1e-10);
    ++compared;
  }
  CHECK(compared >= 4);
}

}  // namespace popgrad::laws::neighbours_laws
