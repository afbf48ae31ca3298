/// Standard output and standard error that are full or closed, for every command.

#include <algorithm>
#include <string>
#include <vector>

#include "commands/shell.hpp"

namespace streams_test {

using namespace command_line;

namespace {

// One line of every command that prints its result; the words after the name, {} for a folder.
const std::vector<std::string>& printing_commands() {
  static const std::vector<std::string> all{
      "--help",
      "--version",
      "--man",
      "--completions",
      "list joma",
      "list --errata",
      "list --json -",
      "run joma reduced --t1 1 --save 3",
      "run joma reduced --t1 1 --save 20000",
      "compare joma reduced closed-form --t1 0.5",
      "verify joma.stable-rank",
      "verify joma.stable-rank --json -",
      "verify joma.stable-rank --latex -",
      "falsify joma.stable-rank --evaluations 3",
      "instance joma.stable-rank",
      "frontier scan-snap.growth --instances 1 --grid 2",
      "error-ratios joma.stable-rank --seconds 0.01",
      "figure joma-entropy -o {}",
      "ladder joma --t1 0.1",
      "sweep joma reduced --t1 1 --over tau=2,3",
      "landscape topic --T 3 --tau 2 --v 2 -q",
      "equations joma reduced",
  };
  return all;
}

std::string with_folder(std::string words, const Folder& folder) {
  const std::size_t place = words.find("{}");
  return place == std::string::npos ? words : words.replace(place, 2, folder.path.string());
}

// Runs the command with redirections of the shell; descriptor 3 is what the answer has as output.
Answer redirected(const std::string& words, const std::string& streams) {
  return shell("exec 3>&1; " + places::popgrad() + " " + words + " " + streams);
}

}  // namespace

TEST_CASE("streams: output that cannot be written is status 4 and one line", "[cli][unsanitized]") {
  for (const std::string& command : printing_commands()) {
    for (const std::string out : {">/dev/full", ">&-"}) {
      const Folder folder;
      // Progress may come before.
      const Answer answer = redirected(with_folder(command, folder), "2>&3 " + out);
      CAPTURE(command, out, answer.out);
      CHECK(answer.status == 4);
      CHECK_THAT(answer.out,
                 Catch::EndsWith("popgrad: standard output cannot be written, what it got is "
                                 "incomplete: give it a place with free space\n"));
      CHECK_THAT(answer.out, !Catch::Contains("cannot write to file"));
    }
  }
}

TEST_CASE("streams: a standard error that cannot be written changes nothing", "[cli]") {
  for (const std::string command :
       {"list joma", "verify joma.stable-rank --json -", "run joma reduced --t1 1 --save 3",
        "sweep joma reduced --t1 1 --over tau=2,3", "run joma reduced --t1 -1", "nothing"}) {
    const Answer whole = redirected(command, "2>/dev/null");
    for (const std::string errors : {"2>/dev/full", "2>&-"}) {
      const Answer answer = redirected(command, errors);
      CAPTURE(command, errors, answer.out);
      CHECK(answer.status == whole.status);
      CHECK((answer.out == whole.out || command.starts_with("verify")));
    }
  }
}

TEST_CASE("streams: a failure has its reason in one line under --quiet, too", "[cli]") {
  for (const std::string rung :
       {"scb gd", "joma gd", "joma sgd --runs 3", "topic gd", "topic sgd --runs 2"}) {
    const Answer answer =
        redirected("run " + rung + " --eta 1e100 --steps 50 --save 2 -q -o -", "2>&3 >/dev/null");
    CAPTURE(rung, answer.out);
    CHECK(answer.status == 4);
    CHECK_THAT(answer.out, Catch::Contains("stopped at t = "));
    // Of an ensemble the second line counts the others.
    const int lines = rung.find("--runs") == std::string::npos ? 1 : 2;
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == lines);
  }
}

// The lowest free descriptor, which the file would get, is that of the closed stream.
TEST_CASE("streams: nothing printed lands in a file of results", "[cli]") {
  const Folder folder;
  const std::string words = "run joma reduced --t1 1 --save 3 -q -o ";
  const std::string usual = folder.file("usual.csv");
  const std::string closed = folder.file("closed.csv");
  CHECK(run_popgrad(words + usual).status == 0);
  redirected(words + closed, ">&- 2>&- <&-");
  CHECK(content(closed) == content(usual));
}

}  // namespace streams_test
