#include "io/checkpoint.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "commands/shell.hpp"

namespace checkpoint_test {

using namespace popgrad;

TEST_CASE("checkpoint: rows keep what is not finite", "[io]") {
  const command_line::Folder folder;
  Trajectory<double> run;
  run.t = {0.1};
  constexpr double infinite = std::numeric_limits<double>::infinity();
  run.rows = {{0.1, std::numeric_limits<double>::quiet_NaN(), infinite, -infinite}};
  const std::string file = folder.file("one.checkpoint.json");
  write_checkpoint(Checkpoint<double>{{}, {run}}, file);
  const std::vector<double> row = read_checkpoint<double>(file).runs.front().rows.front();
  CHECK(row[0] == 0.1);
  CHECK(std::isnan(row[1]));
  CHECK(row[2] == infinite);
  CHECK(row[3] == -infinite);
}

}  // namespace checkpoint_test
