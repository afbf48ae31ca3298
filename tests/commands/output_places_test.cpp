/// Where results go: tried before anything is computed, for every option that names a file or a folder to
/// write.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "commands/in_process.hpp"
#include "commands/shell.hpp"
#include "io/atomic_file.hpp"
#include "io/temporary_folder.hpp"

namespace output_places_test {

using namespace popgrad;

namespace {

namespace fs = std::filesystem;
using in_process::Answer;
using in_process::call;
using in_process::Folder;
using in_process::Words;
using in_process::write;

struct Written {
  Words words;         // without the option
  const char* option;  // that names the output
  const char* suffix;  // of a file; empty: a folder
};

// Of every command that writes.
const std::vector<Written>& all_written() {
  static const std::vector<Written> all{
      {{"list", "joma"}, "--json", ".json"},
      {{"list", "--errata"}, "--json", ".json"},
      {{"run", "joma", "reduced", "-q"}, "-o", ".csv"},
      {{"run", "joma", "sgd", "-q"}, "-o", ".json"},
      {{"run", "joma", "gd", "-q"}, "-o", ".npz"},
      {{"run", "joma", "reduced", "-q"}, "--plot", ".svg"},
      {{"run", "joma", "reduced", "-q"}, "--plot", ""},
      {{"compare", "joma", "gd", "flow", "-q"}, "-o", ".csv"},
      {{"compare", "joma", "gd", "flow", "-q"}, "--plot", ".png"},
      {{"verify", "joma.stable-rank", "-q"}, "--json", ".json"},
      {{"verify", "joma.stable-rank", "-q"}, "--latex", ".tex"},
      {{"falsify", "joma.stable-rank", "-q"}, "-o", ".json"},
      {{"instance", "joma.stable-rank"}, "-o", ".json"},
      {{"frontier", "scan-snap.growth", "-q"}, "-o", ""},
      {{"frontier", "scan-snap.growth", "-q"}, "--plot", ""},
      {{"figure", "joma-entropy"}, "-o", ""},
      {{"ladder", "joma", "-q"}, "-o", ".csv"},
      {{"ladder", "joma", "-q"}, "--plot", ".pdf"},
      {{"report", "joma.stable-rank", "-q"}, "-o", ".html"},
      {{"sweep", "joma", "reduced", "--over", "tau=1,2", "-q"}, "-o", ".csv"},
      {{"sweep", "joma", "reduced", "--over", "tau=1,2", "-q"}, "--plot", ".svg"},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2"}, "-o", ".json"},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2"}, "--plot", ".svg"},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2", "--around", "flow", "-q"},
       "-o",
       ".csv"},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2", "--around", "flow", "-q"},
       "--plot",
       ".svg"},
  };
  return all;
}

// Places that nothing can be written to, also by root.
std::string bad_place(std::mt19937_64& random, const Folder& folder, const std::string& suffix) {
  const std::string name = fmt::format("r{}{}", random() % 1000, suffix);
  switch (random() % (suffix.empty() ? 4 : 7)) {
    case 0:
      return folder.file(std::string(256 + random() % 3000, 'n') + suffix);
    case 1:
      write(folder.file("file"), "text");
      return folder.file("file/" + name);
    case 2:
      return "/proc/" + name;
    case 3:
      return folder.file("\xE9" + name);
    case 4:
      return folder.file("no-such-folder/" + name);
    case 5:
      fs::create_symlink("a" + name, folder.path / ("b" + name));
      fs::create_symlink("b" + name, folder.path / ("a" + name));
      return folder.file("a" + name);
    default:
      fs::create_symlink("/proc/" + name, folder.path / name);
      return folder.file(name);
  }
}

}  // namespace

TEST_CASE("outputs: a place that cannot be written is refused before anything is computed",
          "[cli]") {
  std::mt19937_64 random(1);
  for (const Written& one : all_written()) {
    for (int draw = 0; draw < 4; ++draw) {
      const Folder folder;
      Words words = one.words;
      words.insert(words.end(), {one.option, bad_place(random, folder, one.suffix)});
      const Answer answer = call(words);
      CAPTURE(words, answer.error);
      CHECK(answer.status == cli::bad_input);
      CHECK(answer.asked == 0);
      CHECK(answer.error.find('\n') == std::string::npos);
      CHECK(answer.error.find("filesystem error") == std::string::npos);
    }
    if (std::string(one.suffix).empty()) continue;
    // A folder in place of a file.
    const Folder folder;
    const std::string taken = folder.file(std::string("r") + one.suffix);
    fs::create_directory(taken);
    if (std::string(one.option) == "--plot") continue;  // which takes folders
    Words words = one.words;
    words.insert(words.end(), {one.option, taken});
    CAPTURE(words);
    CHECK(call(words).status == cli::bad_input);
  }
}

// Each option of --help whose name is that of an output has its lines above.
TEST_CASE("outputs: all options that name one are known here", "[cli]") {
  for (const char* command :
       {"list", "run", "compare", "verify", "falsify", "instance", "frontier", "error-ratios",
        "figure", "ladder", "report", "sweep", "merge", "landscape", "equations"}) {
    const std::string help = call({command, "--help"}).output;
    for (const std::string option : {"-o", "--plot", "--json", "--latex"}) {
      const std::string shown = option == "-o" ? "-o,--output" : option;
      const bool offered = help.find("\n  " + shown + " ") != std::string::npos;
      const bool known = std::any_of(
          all_written().begin(), all_written().end(),
          [&](const Written& one) { return one.words.front() == command && one.option == option; });
      CAPTURE(command, option);
      CHECK(offered == known);
    }
  }
}

TEST_CASE("outputs: links are followed, and what is no file is written to", "[cli]") {
  const Folder folder;
  for (const char* suffix : {".csv", ".json", ".npz"}) {
    const auto words = [&](const std::string& name) {
      return Words{"run",    "joma", "reduced", "--t1", "1",
                   "--save", "3",    "-q",      "-o",   folder.file(name + suffix)};
    };
    CAPTURE(suffix);
    fs::create_symlink(std::string("file") + suffix, folder.path / (std::string("link") + suffix));
    REQUIRE(call(words("link")).status == cli::success);
    CHECK(fs::is_symlink(folder.path / (std::string("link") + suffix)));
    const std::string written = read_own_file(folder.file(std::string("file") + suffix));
    CHECK_FALSE(written.empty());
    const std::string fifo = folder.file(std::string("fifo") + suffix);
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    std::string got;
    std::thread reader([&] { got = read_own_file(fifo); });
    const int status = call(words("fifo")).status;
    reader.join();
    CHECK(status == cli::success);
    CHECK(fs::is_fifo(fifo));
    // The line that made it is another.
    CHECK(got.size() == written.size());
  }
  // What is gone on from has to be a file.
  for (const Words& words :
       {Words{"falsify", "joma.stable-rank", "-q", "-o", folder.file("f.json")},
        Words{"sweep", "joma", "reduced", "--over", "tau=1", "-q", "-o", folder.file("s.csv")},
        Words{"report", "joma.stable-rank", "-q", "-o", folder.file("r.html")}}) {
    REQUIRE(::mkfifo(words.back().c_str(), 0600) == 0);
    const Answer answer = call(words);
    CAPTURE(words);
    CHECK(answer.status == cli::bad_input);
    CHECK_THAT(answer.error, Catch::Contains("is no regular file"));
  }
}

TEST_CASE("outputs: what killed processes left is removed where its lock is free", "[cli]") {
  const Folder folder;
  const std::string left = folder.file(".popgrad-aB3xYz");
  const std::string held = folder.file(".popgrad-aB3xYw");
  const std::string mine = folder.file(".popgrad-notes.txt");
  for (const std::string& file : {left, held, mine}) write(file, "text");
  const int lock = ::open(held.c_str(), O_RDWR);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  const Words words{"run", "joma", "reduced", "--t1", "1", "-q", "-o", folder.file("r.csv")};
  CHECK(call(words).status == cli::success);
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(held));
  CHECK(fs::exists(mine));
  ::close(lock);
  fs::create_directories(folder.path / "figures" / ".popgrad-figure-aB3xYz");
  CHECK(call({"figure", "joma-entropy", "-o", folder.file("figures")}).status == cli::success);
  // Two tables, the script and three pictures.
  CHECK(std::distance(fs::directory_iterator(folder.path / "figures"), fs::directory_iterator()) ==
        6);
  fs::create_directories(folder.path / "room-aB3xYz" / "deeper");
  fs::create_directories(folder.path / "room-of-mine");
  const TemporaryFolder first(folder.path, "room");
  const TemporaryFolder second(folder.path, "room");
  CHECK_FALSE(fs::exists(folder.path / "room-aB3xYz"));
  CHECK(fs::exists(folder.path / "room-of-mine"));
  CHECK(fs::exists(first.path()));
}

TEST_CASE("outputs: figures have the same bytes in every time zone", "[cli]") {
  const Folder folder;
  std::string before;
  for (const char* zone : {"Asia/Tokyo", "America/St_Johns"}) {
    REQUIRE(command_line::shell(fmt::format("cd {} && TZ={} {} figure joma-entropy -o f",
                                            folder.path.string(), zone, places::popgrad()))
                .status == 0);
    const std::string pdf = read_own_file(folder.file("f/joma-entropy.pdf"));
    CHECK(pdf.find("/CreationDate (D:19800101000000Z)") != std::string::npos);
    if (!before.empty()) CHECK((pdf == before));
    before = pdf;
  }
}

}  // namespace output_places_test
