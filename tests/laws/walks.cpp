/// Laws of stepping: descent tends to the flow with order one, optimisers against plain loops, the
/// same bytes for any number of threads.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "laws/cases.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::laws::walks_laws {
namespace {

// The first cases of each rung: stepping knows nothing of options.
std::vector<Case> first_of_each_rung(std::size_t count) {
  std::map<std::string, std::size_t> seen;
  std::vector<Case> chosen;
  for (const Case& made : cases()) {
    if (made.parameters.text("preset", "") == "syn-medium") continue;
    if (seen[made.model->name() + made.rung.name]++ < count) chosen.push_back(made);
  }
  return chosen;
}

Vector<double> stepped(const AnyRung<double>& rung, double step, std::uint64_t steps) {
  WalkRequest request;
  request.step_size = step;
  request.steps = steps;
  request.jobs = 1;
  return walk(rung, rung.initial, request).front().last_state;
}

}  // namespace

TEST_CASE("laws: descent tends to the flow with order one in the step", "[law]") {
  std::size_t compared = 0;
  for (const Case& made : first_of_each_rung(4)) {
    AnyRung<double> rung = made.make();
    // A kinked field has no order; two-stage and parts jump on their clock.
    const bool smooth = made.parameters.text("phi", "linear") != "relu" &&
                        made.rung.name != "two-stage" && !rung.draws.step;
    if (!rung.field.value || !smooth) continue;
    rung.initial = points(made, rung)[1].x;
    constexpr double end = 0.2;
    SolveRequest<double> request;
    request.end = end;
    request.method = Method::dopri5;
    request.relative_tolerance = 1e-12;
    request.absolute_tolerance = 1e-12;
    request.find_events = false;
    const Trajectory<double> flow = solve(rung, request);
    INFO(made.text());
    REQUIRE(flow.outcome.ending == Ending::reached_end);
    const auto miss = [&](std::uint64_t steps) {
      return (stepped(rung, end / static_cast<double>(steps), steps) - flow.last_state).norm();
    };
    const double coarse = miss(64);
    const double fine = miss(128);
    if (coarse < 1e-9) continue;  // a field that is constant on the way
    // The next order is smaller by a step of 1/320.
    CHECK(coarse / fine == Approx(2.0).margin(0.1));
    ++compared;
  }
  CHECK(compared >= 20);
}

TEST_CASE("laws: momentum and Adam are their definitions", "[law]") {
  for (const Case& made : first_of_each_rung(3)) {
    const AnyRung<double> rung = made.make();
    if (!rung.field.value || rung.draws.step || made.rung.kind == RungKind::flow) continue;
    for (const Optimiser::Rule rule : {Optimiser::Rule::momentum, Optimiser::Rule::adam}) {
      WalkRequest request;
      request.step_size = 0.03;
      request.steps = 7;
      request.batch = made.rung.kind == RungKind::random ? 2 : 0;
      request.seed = 4;
      request.jobs = 1;
      request.optimiser.rule = rule;
      request.optimiser.momentum = 0.8;
      request.optimiser.first_moment_decay = 0.7;
      request.optimiser.second_moment_decay = 0.95;
      request.optimiser.damping = 1e-3;
      const Vector<double> start = points(made, rung)[1].x;
      const Vector<double> ended = walk(rung, start, request).front().last_state;
      std::vector<double> x(start.begin(), start.end()), first(x.size(), 0.0), second = first;
      Vector<double> field(start.size());
      for (std::uint64_t step = 0; step < request.steps; ++step) {
        const Vector<double> here = Eigen::Map<const Vector<double>>(x.data(), start.size());
        if (request.batch > 0) {
          Stream stream(request.seed, 0, step);
          rung.draws.sample(here, field, stream, request.batch);
        } else {
          rung.field.value(here, field, 0.03 * static_cast<double>(step));
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
          const auto at = static_cast<Index>(i);
          if (rule == Optimiser::Rule::momentum) {
            first[i] = 0.8 * first[i] + field[at];
            x[i] += 0.03 * first[i];
            continue;
          }
          // On the gradient alone: its rate multiplies the step.
          double rate = 1;
          if (made.model->name() == "scan-snap") {
            const bool decoder = rung.state_names[i].starts_with("y_");
            rate = made.parameters.number<double>(decoder ? "eta_Y" : "eta_Z", "1");
          }
          const double g = field[at] / rate;
          first[i] = 0.7 * first[i] + 0.3 * g;
          second[i] = 0.95 * second[i] + 0.05 * g * g;
          const double count = static_cast<double>(step) + 1;
          x[i] += 0.03 * rate * first[i] / (1 - std::pow(0.7, count)) /
                  (std::sqrt(second[i] / (1 - std::pow(0.95, count))) + 1e-3);
        }
      }
      INFO(made.text() << (rule == Optimiser::Rule::adam ? ", Adam" : ", momentum"));
      for (Index i = 0; i < start.size(); ++i) {
        INFO(rung.state_names[static_cast<std::size_t>(i)]);
        CHECK(std::fabs(x[static_cast<std::size_t>(i)] - ended[i]) <=
              1e-10 * (1 + std::fabs(ended[i])));
      }
    }
  }
}

TEST_CASE("laws: ensembles are the same bytes for any number of threads", "[law]") {
  for (const Case& made : first_of_each_rung(4)) {
    if (made.rung.kind != RungKind::random) continue;
    const AnyRung<double> rung = made.make();
    WalkRequest request;
    request.step_size = 0.1;
    request.steps = 6;
    request.save_steps = {0, 3, 6};
    request.batch = 3;
    request.seed = 8;
    request.runs = 5;
    request.jobs = 1;
    const std::vector<Trajectory<double>> alone = walk(rung, rung.initial, request);
    request.jobs = 4;
    const std::vector<Trajectory<double>> together = walk(rung, rung.initial, request);
    INFO(made.text());
    bool differ = false;
    for (std::size_t run = 0; run < alone.size(); ++run) {
      CHECK(alone[run].last_state == together[run].last_state);
      REQUIRE(alone[run].rows.size() == together[run].rows.size());
      for (std::size_t i = 0; i < alone[run].rows.size(); ++i) {
        CHECK(std::memcmp(alone[run].rows[i].data(), together[run].rows[i].data(),
                          alone[run].rows[i].size() * sizeof(double)) == 0);
      }
      differ = differ || alone[run].last_state.size() != alone[0].last_state.size() ||
               alone[run].last_state != alone[0].last_state;
    }
    // Runs draw from streams of their own.
    CHECK(differ);
  }
}

}  // namespace popgrad::laws::walks_laws
