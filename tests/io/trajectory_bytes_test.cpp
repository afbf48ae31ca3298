#include "io/trajectory_bytes.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

namespace trajectory_bytes_test {

using namespace popgrad;

TEST_CASE("trajectory bytes: every field comes back, bit by bit", "[io]") {
  Trajectory<double> run;
  run.t = {0, 0.1, -0.0};
  run.rows = {{1.0 / 3, std::numeric_limits<double>::infinity()}, {}, {5e-324}};
  run.states = {Vector<double>::LinSpaced(3, 0, 1), Vector<double>()};
  run.step_t = {7};
  run.step_rows = {{8, 9}};
  run.last_state = Vector<double>::LinSpaced(2, -1, 1e300);
  run.last_memory = Vector<double>::LinSpaced(4, 2, 3);
  run.events = {{"snap", 1.5, "loss", -2, 1e-9}};
  run.outcome = {Ending::diverged, 3.5, 7, 8, 9, {"left", ""}};
  const std::string bytes = bytes_of({run, {}});
  const std::vector<Trajectory<double>> read = trajectories_from(bytes);
  REQUIRE(read.size() == 2);
  const Trajectory<double>& same = read.front();
  CHECK(same.t == run.t);
  CHECK(std::signbit(same.t.back()));
  CHECK(same.rows == run.rows);
  REQUIRE(same.states.size() == 2);
  CHECK(same.states[0] == run.states[0]);
  CHECK(same.states[1].size() == 0);
  CHECK(same.step_t == run.step_t);
  CHECK(same.step_rows == run.step_rows);
  CHECK(same.last_state == run.last_state);
  CHECK(same.last_memory == run.last_memory);
  REQUIRE(same.events.size() == 1);
  CHECK(same.events[0].name == "snap");
  CHECK(same.events[0].t == 1.5);
  CHECK(same.events[0].column == "loss");
  CHECK(same.events[0].value == -2);
  CHECK(same.events[0].uncertainty == 1e-9);
  CHECK(same.outcome.ending == Ending::diverged);
  CHECK(same.outcome.t_reached == 3.5);
  CHECK(same.outcome.steps_taken == 7);
  CHECK(same.outcome.steps_rejected == 8);
  CHECK(same.outcome.evaluations == 9);
  CHECK(same.outcome.notes == run.outcome.notes);
  CHECK(bytes_of(read) == bytes);
  // A number that is none keeps its bits as well.
  run.t = {std::numeric_limits<double>::quiet_NaN()};
  CHECK(bytes_of(trajectories_from(bytes_of({run}))) == bytes_of({run}));
  // Parts of a message, and messages that say more than they have.
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    CHECK_THROWS_WITH(trajectories_from(bytes.substr(0, length)), Catch::Contains("missing"));
  }
  CHECK_THROWS_WITH(trajectories_from(bytes + "x"), Catch::Contains("left over"));
  CHECK_THROWS_WITH(trajectories_from(std::string(64, '\x7f')), Catch::Contains("missing"));
}

}  // namespace trajectory_bytes_test
