/// Regimes as users see them: in `run`, `compare`, `ladder` and beside recorded runs.

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands/shell.hpp"

namespace regime_test {

using namespace command_line;
using Json = nlohmann::json;

namespace {

Json events_of(const std::string& words, const Folder& folder) {
  const std::string out = folder.file("out.json");
  REQUIRE(run_popgrad("run " + words + " -q -o " + out).status == 0);
  return Json::parse(content(out))["events"];
}

double time_of(const Json& events, const std::string& name, const std::string& column) {
  for (const Json& event : events) {
    if (event["name"] == name && event["column"] == column) {
      CHECK(event["uncertainty"].get<double>() > 0);
      return event["t"].get<double>();
    }
  }
  FAIL(name << " of " << column << " is not among " << events);
  return 0;
}

}  // namespace

TEST_CASE("regimes: events of every model, with uncertainties", "[cli][regime]") {
  const Folder folder;
  const Json joma = events_of("joma reduced", folder);
  CHECK(time_of(joma, "entropy-minimum", "attention_entropy") <
        time_of(joma, "rebound", "attention_entropy"));
  const double snap = time_of(events_of("scan-snap flow", folder), "snap", "distinct_entropy_0");
  // Descent with steps of length 1 differs from the flow by a fraction of a step.
  CHECK(time_of(events_of("scan-snap gd", folder), "snap", "distinct_entropy_0") ==
        Approx(snap).margin(1));
  const Json scb = events_of("scb flow", folder);
  const double escape = time_of(scb, "plateau-escape", "loss");
  CHECK(escape < time_of(scb, "plateau-entry", "loss"));
  CHECK(escape < time_of(scb, "end-of-stage-1", "alpha_V"));
  // From plain differences of rows one unit of time apart.
  const Json topic = events_of("topic symmetric --t1 3000", folder);
  const std::string out = folder.file("norm.json");
  REQUIRE(run_popgrad("run topic symmetric --t1 3000 --save 3001 -q -o " + out).status == 0);
  const Json rows = Json::parse(content(out))["rows"];
  const auto rise = [&](std::size_t k) {
    return rows[k + 1][2].get<double>() - rows[k][2].get<double>();
  };
  std::size_t k = 0;
  while (rise(k) > rise(0) / 20) ++k;
  // The first difference is the speed at t = 1/2, a little below the peak at 0.
  CHECK(time_of(topic, "end-of-stage-1", "norm_W_V") ==
        Approx(static_cast<double>(k)).epsilon(0.05));
}

TEST_CASE("regimes: where two rungs place them, and that nothing is looked for when told not to",
          "[cli][regime]") {
  const Answer two = run_popgrad("compare scan-snap sgd flow --runs 8 -q");
  CHECK(two.status == 0);
  CHECK_THAT(two.out, Catch::Contains("apart, and in uncertainties"));
  CHECK_THAT(two.out, Catch::Contains("snap"));
  CHECK_THAT(two.out, Catch::Contains("error budget"));
  const Answer ladder = run_popgrad("ladder topic -q --runs 4");
  CHECK(ladder.status == 0);
  CHECK_THAT(ladder.out, Catch::Contains("end-of-stage-1"));
  const Folder folder;
  CHECK(events_of("scan-snap flow --no-events", folder).empty());
  // A walk is seen at more rows than it writes; what it writes is the same.
  const std::string with = folder.file("with.csv");
  const std::string without = folder.file("without.csv");
  REQUIRE(run_popgrad("run scan-snap sgd --save 7 -q -o " + with).status == 0);
  REQUIRE(run_popgrad("run scan-snap sgd --save 7 -q --no-events -o " + without).status == 0);
  CHECK(content(with) == content(without));
}

TEST_CASE("regimes: of recorded runs, beside those of the ensemble", "[cli][regime]") {
  // A run of our own, written as a table, is a recorded run of the same law.
  const Folder folder;
  const std::string own = folder.file("own.csv");
  const std::string setting = " --eta 1 --batch 128 --T 128 -q ";
  REQUIRE(run_popgrad("run scan-snap sgd --seed 7 --save 101 -o " + own + setting).status == 0);
  const Answer answer =
      run_popgrad("compare scan-snap sgd --details --no-ladder --clock 1 --with " + own + setting);
  CHECK(answer.status == 0);
  CHECK_THAT(answer.out, Catch::Contains("t, recorded"));
  CHECK_THAT(answer.out, Catch::Contains("plateau-entry"));
}

}  // namespace regime_test
