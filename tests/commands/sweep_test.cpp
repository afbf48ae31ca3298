/// Sweeps that are killed, made in parts, and replicated until an interval is narrow, on the real
/// binary.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "commands/shell.hpp"
#include "interrupted_sweep.hpp"
#include "places.hpp"

namespace sweep_test {

namespace fs = std::filesystem;
using namespace command_line;

namespace {

// 60 cells of some ten milliseconds.
const std::string sixty =
    "sweep scb sgd --T 20 --batch 4 --over eta=0.001:0.1:15 --over steps=1200,1500,1800,2100 "
    "--runs 2 "
    "--jobs 1 --success 'loss<=2.9' ";
// Nine cells of no time.
const std::string nine =
    "sweep scb sgd --T 20 --over eta=0.01,0.02,0.03 --over batch=2,4,8 --steps 20 --runs 5 "
    "--success 'loss<=2.9' --first 'loss<=2.95' -q ";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// How often each cell is in a journal, by the number in front; lines without their end do not
// count.
std::map<std::string, int> cells_in(const std::string& journal) {
  std::map<std::string, int> found;
  for (std::size_t begin = 0, end = 0; (end = journal.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string mark = journal.substr(begin, journal.find('\t', begin) - begin);
    if (mark != "-") ++found[mark];
  }
  return found;
}

std::string field(const std::string& row, std::size_t which) {
  std::istringstream in(row);
  std::string text;
  for (std::size_t k = 0; k <= which; ++k) std::getline(in, text, ',');
  return text;
}

// The sweep of 60 cells into `file`, sent the signal once the journal has the rows of `cells` cells and the line of the
// table's head.
Answer signalled_at(std::size_t cells, const std::string& signal, const std::string& file) {
  return signalled(
      signal, sixty + "-o " + file,
      "[ $(cat " + file + ".journal 2>/dev/null | wc -l) -gt " + std::to_string(cells) + " ]");
}

// What its --over, -o and others are, in one line and with status 2.
void check_refused(const std::string& words, const std::string& says) {
  const Answer answer = run_popgrad(words);
  CAPTURE(words, answer.out);
  CHECK(answer.status == 2);
  CHECK_THAT(answer.out, Catch::Contains(says));
  CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("sweep: killed at any moment it goes on to the same bytes", "[cli]") {
  const Folder folder;
  const std::string whole = folder.file("whole.csv");
  const std::string part = folder.file("part.csv");
  REQUIRE(run_popgrad(sixty + "-q -o " + whole).status == 0);
  std::size_t kept = 0;
  int killed = 0;
  // Where a machine is so fast, or so busy, that one of them is whole, the others are not tried.
  for (const std::size_t cells : {3u, 14u, 25u, 33u, 41u, 52u}) {
    const Answer answer = signalled_at(cells, "KILL", part);
    CAPTURE(cells, answer.out);
    if (kept > 0) {
      CHECK_THAT(answer.out, Catch::Contains(std::to_string(kept) + " of 60 cells"));
    }
    if (fs::exists(part) && !fs::exists(part + ".journal")) break;
    ++killed;
    const std::map<std::string, int> found = cells_in(content(part + ".journal"));
    CHECK(found.size() >= cells);
    for (const auto& [cell, times] : found) CHECK(times == 1);
    kept = found.size();
  }
  CHECK(killed > 0);
  REQUIRE(run_popgrad(sixty + "-q -o " + part).status == 0);
  CHECK(content(part) == content(whole));
  CHECK_FALSE(fs::exists(part + ".journal"));
}

TEST_CASE("sweep: what a batch system asks to end is saved", "[cli]") {
  const Folder folder;
  const std::string whole = folder.file("whole.csv");
  const std::string part = folder.file("part.csv");
  REQUIRE(run_popgrad(sixty + "-q -o " + whole).status == 0);
  const Answer stopped = signalled_at(5, "TERM", part);
  CAPTURE(stopped.out);
  REQUIRE(fs::exists(part));
  // All rows are in the table, not only those of the last second.
  const std::size_t rows = lines_of(content(part)).size() - 1;
  CHECK(rows >= 5);
  CHECK_THAT(stopped.out,
             Catch::Contains("interrupted after " + std::to_string(rows) + " of 60 cells"));
  CHECK(content(whole).starts_with(content(part)));
  REQUIRE(run_popgrad(sixty + "-q -o " + part).status == 0);
  CHECK(content(part) == content(whole));
}

TEST_CASE("sweep: rows are taken from the journal as far as its lines are whole", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("sweep.csv");
  const std::string journal = file + ".journal";
  const std::string words = "sweep topic optimum --over tau=2,3 --over T=16,64 -o " + file;
  REQUIRE(run_popgrad(words).status == 0);
  const std::string whole = content(file);
  REQUIRE(lines_of(whole).size() == 5);
  const auto goes_on = [&](const std::string& says) {
    const Answer answer = run_popgrad(words);
    CAPTURE(says, answer.out);
    CHECK(answer.status == 0);
    CHECK_THAT(answer.out, Catch::Contains(says));
    CHECK(content(file) == whole);
    CHECK_FALSE(fs::exists(journal));
  };
  leave_interrupted(file, {3, 0});
  goes_on("2 of 4 cells are there already");
  // Without the table, which is made again.
  leave_interrupted(file, {3, 0});
  fs::remove(file);
  goes_on("2 of 4 cells are there already");
  // What a crash leaves behind the last line.
  leave_interrupted(file, {3, 0});
  fs::resize_file(journal, fs::file_size(journal) - 5);
  goes_on("1 of 4 cells are there already");
  leave_interrupted(file, {3, 0});
  std::ofstream(journal, std::ios::app) << "\x01?!\n1\twrong\n77\t";
  goes_on("2 of 4 cells are there already");
  // Killed with the table written and the journal still there.
  leave_interrupted(file, {0, 1, 2, 3});
  goes_on("4 of 4 cells are there already");
  // A line in the middle that no crash changes.
  leave_interrupted(file, {3, 0, 1});
  std::string text = content(journal);
  text[text.find('\n', text.find('\n') + 1) - 1] ^= 1;
  std::ofstream(journal) << text;
  check_refused(words, "line 2 was changed");
}

TEST_CASE("sweep: what is another's is left alone", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("sweep.csv");
  REQUIRE(run_popgrad(nine + "-o " + file).status == 0);
  const std::string whole = content(file);
  check_refused("sweep topic optimum --over tau=2,4 -o " + file, "another command made");
  // How it is drawn, and on how many threads, does not make it another.
  const Answer drawn =
      run_popgrad(nine + "-o " + file + " --jobs 1 --plot " + folder.file("x.svg"));
  CHECK(drawn.status == 0);
  CHECK(fs::exists(folder.file("x.svg")));
  CHECK(content(file) == whole);
  fs::remove(file);
  const std::string journal = folder.file("sweep.csv.journal", "-\ta\n0\tb\n");
  check_refused("sweep topic optimum --over tau=2,4 -o " + file,
                "a journal written by another command");
  fs::remove(journal);
  // While another process is at it.
  const int other = ::open(journal.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::flock(other, LOCK_EX) == 0);
  check_refused(nine + "-o " + file, "is being made by another process");
  ::close(other);
  CHECK(run_popgrad(nine + "-o " + file).status == 0);
  CHECK(content(file) == whole);
  // What fails before its first row leaves nothing behind.
  const std::string none = folder.file("none.csv");
  check_refused("sweep topic optimum --over tau=2 --success 'los<=1' -o " + none, "did you mean");
  CHECK_FALSE(fs::exists(none));
  CHECK_FALSE(fs::exists(none + ".journal"));
}

TEST_CASE("merge: shards have the bytes of one process", "[cli]") {
  const Folder folder;
  const std::string one = "sweep topic optimum --over tau=2 -q ";
  // Ensembles with conditions; one row; more shards than cells.
  for (const auto& [words, shards] :
       {std::pair<std::string, int>{nine, 4}, {nine, 1}, {one, 1}, {one, 3}}) {
    CAPTURE(words, shards);
    const std::string whole = folder.file("whole.csv");
    const std::string merged = folder.file("merged.csv");
    REQUIRE(run_popgrad(words + "-o " + whole).status == 0);
    for (int k = shards; k > 0; --k) {
      const Answer shard = run_popgrad(words + "--shard " + std::to_string(k) + "/" +
                                       std::to_string(shards) + " -o " + merged);
      CAPTURE(shard.out);
      REQUIRE(shard.status == 0);
    }
    CHECK_FALSE(fs::exists(merged));
    REQUIRE(run_popgrad("merge -q " + merged).out.empty());
    CHECK(content(merged) == content(whole));
    // The command of the whole finds all there, and refuses other rows.
    CHECK(run_popgrad(words + "-o " + merged).status == 0);
    CHECK(content(merged) == content(whole));
    std::string other = content(merged);
    std::replace(other.begin(), other.end(), '1', '7');
    std::ofstream(merged) << other;
    check_refused(words + "-o " + merged, "is not as popgrad wrote it");
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path)) {
      fs::remove(entry.path());
    }
  }
}

TEST_CASE("merge: a shard that lacks cells is told with the command that finishes it", "[cli]") {
  const Folder folder;
  const std::string merged = folder.file("merged.csv");
  check_refused("merge " + merged, "has no shards next to it");
  check_refused("merge " + folder.file("merged.json"), "must end in .csv");
  for (const char* shard : {"1/3", "2/3"}) {
    REQUIRE(run_popgrad(nine + "-o " + merged + " --shard " + shard).status == 0);
  }
  // The second stops after its first cell; the third was never begun.
  const std::string second = folder.file("merged.2-of-3.csv");
  const std::vector<std::string> lines = lines_of(content(second));
  REQUIRE(lines.size() == 4);
  leave_interrupted(second, {0});
  const Answer lacks = run_popgrad("merge " + merged);
  CHECK(lacks.status == 2);
  CHECK_THAT(lacks.out, Catch::Contains("shard 2/3 (1 of 3 cells), 3/3 (0 of 3 cells)") &&
                            Catch::Contains("finish 2/3 by: popgrad sweep scb sgd"));
  CHECK_FALSE(fs::exists(merged));
  // The command is one that a shell takes.
  const std::string mark = " by: popgrad ";
  std::string finish = lacks.out.substr(lacks.out.find(mark) + mark.size());
  finish.pop_back();
  CHECK(run_popgrad(finish).status == 0);
  CHECK(lines_of(content(second)) == lines);
  CHECK_THAT(run_popgrad("merge " + merged).out,
             Catch::Contains("lacks cells of shard 3/3 (0 of 3"));
  REQUIRE(run_popgrad(nine + "-o " + merged + " --shard=3/3").status == 0);
  const Answer done = run_popgrad("merge " + merged);
  CHECK(done.status == 0);
  CHECK_THAT(done.out, Catch::Contains("9 cells of 3 shards"));
  const std::string whole = content(merged);
  // Again, and in the place of what was stopped half-way.
  CHECK(run_popgrad("merge " + merged).status == 0);
  leave_interrupted(merged, {1, 5});
  CHECK(run_popgrad("merge " + merged).status == 0);
  CHECK(content(merged) == whole);
  // Not in the place of something else.
  fs::remove(merged + ".sweep.json");
  check_refused("merge " + merged, "another command made");
  fs::remove(merged);
  // Shards of two sweeps.
  REQUIRE(run_popgrad(nine + "-o " + merged + " --shard 4/4").status == 0);
  check_refused("merge " + merged, "shards of two sweeps");
  for (const char* file : {"merged.4-of-4.csv", "merged.4-of-4.csv.sweep.json", "merged.3-of-3.csv",
                           "merged.3-of-3.csv.sweep.json"}) {
    CHECK(fs::remove(folder.path / file));
  }
  REQUIRE(run_popgrad(nine + "--seed 2 -o " + merged + " --shard 3/3").status == 0);
  check_refused("merge " + merged, "shards of two sweeps");
  fs::remove(folder.path / "merged.3-of-3.csv.sweep.json");
  check_refused("merge " + merged, "without a record of its command");
}

TEST_CASE("sweep: what a shard and a width need is told", "[cli]") {
  const Folder folder;
  const std::string file = " -o " + folder.file("s.csv");
  for (const char* shard : {"0/4", "5/4", "2", "a/b", "1/4x", "-1/4", "1/0", "/"}) {
    check_refused(nine + file + " --shard=" + shard, "must be I/N");
  }
  check_refused(nine + "--shard 1/2", "needs -o FILE.csv");
  check_refused(nine + "-o - --shard 1/2", "needs -o FILE.csv");
  check_refused(nine + file + " --shard 1/2 --plot x.svg", "draw the whole after");
  check_refused(nine + file + " --config " + folder.file("c.toml", "shard = \"1/2\"\n"),
                "belongs on the command line");
  const std::string sgd = "sweep scb sgd --T 20 --over eta=0.01 --steps 5 -q ";
  check_refused(sgd + "--runs 5 --until-width 0.1", "needs --success");
  check_refused(sgd + "--success 'loss<=3' --until-width 0.1", "R >= 2");
  check_refused(sgd + "--success 'loss<=3' --runs 5 --until-width 1.5", "must be > 0 and < 1");
  check_refused(sgd + "--success 'loss<=3' --runs 5 --most-runs 10", "belongs to --until-width");
  check_refused(sgd + "--success 'loss<=3' --runs 5 --until-width 0.1 --most-runs 4",
                "from --runs 5");
  check_refused("sweep joma reduced --over tau=2 --success 'largest_delta<=1' --until-width 0.1",
                "nothing in it is random");
}

TEST_CASE("sweep: further runs until the interval of a share is narrow", "[cli]") {
  const std::string words =
      "sweep scb sgd --T 20 --batch 4 --steps 20 --over eta=0.02 --jobs 1 --success ";
  // A bound that about half of the runs meet, from runs of their own.
  const std::vector<std::string> runs =
      lines_of(run_popgrad(words + "'loss<=9' --runs 200 -q").out);
  REQUIRE(runs.size() == 2);
  const std::vector<std::string> names = [&] {
    std::vector<std::string> all;
    std::istringstream in(runs[0]);
    for (std::string name; std::getline(in, name, ',');) all.push_back(name);
    return all;
  }();
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const std::string median = field(runs[1], column("loss_median"));
  const double width = 0.15;
  const auto until = [&](const std::string& bound, const std::string& more) {
    return run_popgrad(words + "'loss<=" + bound + "' --runs 10 --until-width 0.15 " + more);
  };
  const std::vector<std::string> half = lines_of(until(median, "-q").out);
  REQUIRE(half.size() == 2);
  const int made = std::stoi(field(half[1], column("runs")));
  CHECK(made % 10 == 0);
  CHECK(made > 100);
  const auto wide = [&](const std::string& row) {
    return std::stod(field(row, column("success_high"))) -
           std::stod(field(row, column("success_low")));
  };
  CHECK(wide(half[1]) <= width);
  // Those of one larger ensemble; with ten runs less the interval was wider.
  const auto plain = [&](int count) {
    return lines_of(
        run_popgrad(words + "'loss<=" + median + "' -q --runs " + std::to_string(count)).out);
  };
  CHECK(half == plain(made));
  CHECK(wide(plain(made - 10)[1]) > width);
  // A share near 0 is known sooner.
  const std::vector<std::string> none = lines_of(until("0", "-q").out);
  REQUIRE(none.size() == 2);
  CHECK(std::stoi(field(none[1], column("runs"))) < made / 3);
  // The limit holds, with what is left of it as the last ensemble, and is told.
  const Answer limited = until(median, "--most-runs 45");
  CHECK(limited.status == 0);
  CHECK_THAT(limited.out, Catch::Contains("\n0.02,45,45,") &&
                              Catch::Contains("1 of 1 cells stopped at --most-runs 45 with an "
                                              "interval wider than 0.15, the first at eta=0.02"));
}

}  // namespace sweep_test
