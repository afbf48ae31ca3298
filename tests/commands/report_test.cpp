/// `falsify`, `frontier`, `ladder` and `report` on the real binary.

#include <catch2/catch.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "commands/shell.hpp"
#include "places.hpp"
#include "popgrad/evidence/theories.hpp"

namespace report_test {

using Json = nlohmann::json;
using namespace command_line;

TEST_CASE("falsify: controls fall, claims do not, and a record is gone on from", "[cli]") {
  const Folder folder;
  const Answer controls = run_popgrad("falsify joma.stable-rank --controls --seconds 20 -q");
  CHECK(controls.status == 0);
  CHECK_THAT(controls.out, Catch::Contains("counterexample at"));
  const std::string record = folder.file("search.json");
  const std::string search = "falsify joma.linear-growth --seconds 60 -q -o " + record;
  CHECK(run_popgrad(search + " --evaluations 20").status == 0);
  CHECK(run_popgrad(search + " --evaluations 40").status == 0);
  const Json done = Json::parse(content(record));
  REQUIRE(done["searches"].size() == 1);
  CHECK(done["searches"][0]["trials"].size() == 40);
  CHECK(done["searches"][0]["falsified"] == false);
  CHECK(run_popgrad("falsify joma.linear-growth -q -o " + folder.file("bad.json", "{]")).status ==
        2);
}

TEST_CASE("frontier: a table, and a curve with its picture", "[cli]") {
  const Folder folder;
  const Answer answer = run_popgrad(
      "frontier joma.linear-growth --hypothesis start --instances 3 -q -o " + folder.path.string());
  CHECK(answer.status == 0);
  CHECK_THAT(answer.out, Catch::Contains("breaks: "));
  const auto curve = folder.path / "frontier-joma.linear-growth-start.csv";
  CHECK_THAT(content(curve.string()), Catch::StartsWith("start,failed,of_allowed_low"));
  CHECK(std::filesystem::exists(folder.path / "frontier-joma.linear-growth-start.svg"));
  CHECK(run_popgrad("frontier joma.linear-growth --hypothesis strat").status == 2);
  const std::string start = "frontier joma.linear-growth --hypothesis start --instances 3 -q";
  const std::string one = folder.file("one.svg");
  CHECK(run_popgrad(start + " --plot " + one).status == 0);
  CHECK_THAT(content(one), Catch::Contains("3 instances"));
  CHECK(run_popgrad("frontier joma.linear-growth joma.entropy-bounce -q --plot " + one).status ==
        2);
  CHECK(run_popgrad(start + " --plot " + folder.file("one.gif")).status == 2);
}

TEST_CASE("ladder: every step is measured", "[cli]") {
  const Answer answer = run_popgrad("ladder joma -q --runs 4");
  CHECK(answer.status == 0);
  for (const char* step : {"sgd -> gd", "gd -> flow", "flow -> stationary", "stationary -> reduced",
                           "reduced -> closed-form"}) {
    CHECK_THAT(answer.out, Catch::Contains(step));
  }
  CHECK_THAT(answer.out, !Catch::Contains("not on this instance"));
}

namespace {

// With a cache of its own, so that the user's stays as it is.
Answer report(const Folder& folder, const std::string& words) {
  return shell("XDG_CACHE_HOME=" + folder.path.string() + " " + places::popgrad() + " report " +
               words + " 2>&1");
}

// Without the lines that name the command and what was kept.
std::string without_origin(const std::string& page) {
  return page.substr(0, page.find("<h2 id=\"made\">"));
}

}  // namespace

TEST_CASE("report: one page that needs nothing beside it", "[cli]") {
  const Folder folder;
  const std::string page = folder.file("report.html");
  const std::string words =
      "joma.stable-rank joma.linear-growth --figures joma-component-growth --no-ladders -o ";
  const Answer made = report(folder, words + page);
  REQUIRE(made.status == 0);
  // Standard error is no terminal here: a line where a slow part begins.
  CHECK_THAT(made.out, Catch::Contains("popgrad: report: ") &&
                           Catch::Contains(": figures joma-component-growth\n"));
  const std::string text = content(page);
  CHECK_THAT(text, Catch::StartsWith("<!DOCTYPE html>"));
  for (const char* part :
       {"id=\"s-joma.stable-rank\"", "role=\"img\" aria-label=", "Errata", "How this was made",
        "prefers-color-scheme: dark", "</html>", "<math>", "<math display=\"block\">",
        "Observables of joma", "<figure class=\"margins\"", "From earlier runs</dt><dd>nothing<",
        "Shown by the figures <a href=\"#f-joma-component-growth\">"}) {
    CHECK_THAT(text, Catch::Contains(part));
  }
  CHECK_THAT(text, !Catch::Contains("Not complete"));
  // A statement that an erratum names, but that is not on this page.
  CHECK_THAT(text, Catch::Contains("joma.invariant-softmax") &&
                       !Catch::Contains("#s-joma.invariant-softmax"));
  // Names of XML languages are no addresses that a browser would open.
  for (std::size_t at = text.find("http"); at != std::string::npos;
       at = text.find("http", at + 1)) {
    CHECK(text.substr(at, 18) == "http://www.w3.org/");
  }

  // Again: all parts are there already, and the page is the same to the byte.
  const std::string again = folder.file("again.html");
  CHECK(report(folder, words + again + " -q").out.empty());
  CHECK(without_origin(content(again)) == without_origin(text));
  CHECK_THAT(content(again), Catch::Contains("1 equations, 1 errata, 1 figures, 2 statements: "));

  // Other parameters are other parts, where they matter.
  CHECK(report(folder, words + again + " -q --seed 2").status == 0);
  CHECK_THAT(content(again), Catch::Contains("<dd>1 errata: "));

  // A damaged file is made anew, in silence.
  std::size_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "popgrad")) {
    const std::string kept = content(entry.path().string());
    if (kept.find("statements joma.linear-growth\nseed 1") == std::string::npos) continue;
    std::ofstream(entry.path()) << kept.substr(0, kept.size() / 2);
    ++damaged;
  }
  REQUIRE(damaged == 1);
  const Answer mended = report(folder, words + again + " -q");
  CHECK(mended.status == 0);
  CHECK(mended.out.empty());
  CHECK_THAT(content(again), Catch::Contains("1 equations, 1 errata, 1 figures, 1 statements: "));
}

TEST_CASE("report: holds what was asked for, and keeps nothing with --no-cache",
          "[cli][unsanitized]") {
  const Folder folder;
  const std::string page = folder.file("report.html");
  REQUIRE(report(folder, "'scb.hyper*' --figures none --no-cache -q -o " + page).status == 0);
  const std::string text = content(page);
  CHECK_FALSE(std::filesystem::exists(folder.path / "popgrad"));
  for (const char* part : {"id=\"s-scb.hyperbola\"", "id=\"f-ladder-scb\"", "Observables of scb"}) {
    CHECK_THAT(text, Catch::Contains(part));
  }
  for (const char* other : {"joma", "scan-snap", "topic", "s-scb.branch"}) {
    CHECK_THAT(text, !Catch::Contains(other));
  }
}

TEST_CASE("report: what was made before a crash is on the page", "[cli]") {
  const Folder folder;
  const std::string page = folder.file("report.html");
  const std::string here = folder.path.string();
  // Killed as soon as there is a page; the figures of scb take minutes. Its temporary folder stays.
  const Answer killed =
      signalled("KILL", "report scb.hyperbola --figures all --no-ladders -q -o " + page,
                "[ -f " + page + " ]", "XDG_CACHE_HOME=" + here + " TMPDIR=" + here + " ");
  CHECK(killed.status == 137);
  const std::string text = content(page);
  CHECK_THAT(text, Catch::Contains("id=\"s-scb.hyperbola\"") && Catch::EndsWith("</html>\n"));
  // The statement, errata and equations of scb, and its figures: not those of other models.
  const std::size_t parts = 3 + popgrad::find_theory(popgrad::theories(), "scb").figures.size();
  CHECK_THAT(text, Catch::Contains("of " + std::to_string(parts) + " parts are here"));
}

}  // namespace report_test
