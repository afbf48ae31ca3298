/// `falsify`, `frontier`, `ladder` and `report` on the real binary.

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/shell.hpp"

using Json = nlohmann::json;
using namespace command_line;

TEST_CASE("falsify: controls fall, claims do not, and a record is gone on from", "[cli]") {
  const Folder folder;
  const Answer controls = popgrad("falsify joma.stable-rank --controls --seconds 20 -q");
  CHECK(controls.status == 0);
  CHECK_THAT(controls.out, Catch::Contains("counterexample at"));
  const std::string record = folder.file("search.json");
  const std::string search = "falsify joma.linear-growth --seconds 60 -q -o " + record;
  CHECK(popgrad(search + " --evaluations 20").status == 0);
  CHECK(popgrad(search + " --evaluations 40").status == 0);
  const Json done = Json::parse(content(record));
  REQUIRE(done["searches"].size() == 1);
  CHECK(done["searches"][0]["trials"].size() == 40);
  CHECK(done["searches"][0]["falsified"] == false);
  CHECK(popgrad("falsify joma.linear-growth -q -o " + folder.file("bad.json", "{]")).status == 2);
}

TEST_CASE("frontier: a table, and a curve with its picture", "[cli]") {
  const Folder folder;
  const Answer answer = popgrad(
      "frontier joma.linear-growth --hypothesis start --instances 3 -q -o " + folder.path.string());
  CHECK(answer.status == 0);
  CHECK_THAT(answer.out, Catch::Contains("breaks: "));
  const auto curve = folder.path / "frontier-joma.linear-growth-start.csv";
  CHECK_THAT(content(curve.string()), Catch::StartsWith("start,failed,margin_low"));
  CHECK(std::filesystem::exists(folder.path / "frontier-joma.linear-growth-start.svg"));
  CHECK(popgrad("frontier joma.linear-growth --hypothesis strat").status == 2);
  const std::string start = "frontier joma.linear-growth --hypothesis start --instances 3 -q";
  const std::string one = folder.file("one.svg");
  CHECK(popgrad(start + " --plot " + one).status == 0);
  CHECK_THAT(content(one), Catch::Contains("3 instances"));
  CHECK(popgrad("frontier joma.linear-growth joma.entropy-bounce -q --plot " + one).status == 2);
  CHECK(popgrad(start + " --plot " + folder.file("one.gif")).status == 2);
}

TEST_CASE("ladder: every step is measured", "[cli]") {
  const Answer answer = popgrad("ladder joma -q --runs 4");
  CHECK(answer.status == 0);
  for (const char* step : {"sgd -> gd", "gd -> flow", "flow -> stationary", "stationary -> reduced",
                           "reduced -> closed-form"}) {
    CHECK_THAT(answer.out, Catch::Contains(step));
  }
  CHECK_THAT(answer.out, !Catch::Contains("not on this instance"));
}

TEST_CASE("report: one page that needs nothing beside it", "[cli]") {
  const Folder folder;
  const std::string page = folder.file("report.html");
  REQUIRE(popgrad("report joma.stable-rank joma.linear-growth --figures joma-component-growth "
                  "--no-ladders -q -o " +
                  page)
              .status == 0);
  std::string text = content(page);
  CHECK_THAT(text, Catch::StartsWith("<!DOCTYPE html>"));
  for (const char* part : {"id=\"s-joma.stable-rank\"", "role=\"img\" aria-label=", "Errata",
                           "How this was made", "prefers-color-scheme: dark", "</html>"}) {
    CHECK_THAT(text, Catch::Contains(part));
  }
  // Names of XML languages are no addresses that a browser would open.
  for (std::size_t at = text.find("http"); at != std::string::npos;
       at = text.find("http", at + 1)) {
    CHECK(text.substr(at, 18) == "http://www.w3.org/");
  }
}
