/// Every command that computes, interrupted at drawn questions for the request to stop: exit status 4, one
/// line, and what it has written is a part of what the whole command writes.

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/shell.hpp"
#include "places.hpp"
#include "popgrad/base/interruption.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/theories.hpp"
#include "sanitized.hpp"

namespace interruption_test {

using namespace popgrad;
using command_line::content;
using command_line::Folder;

namespace {

namespace fs = std::filesystem;

// What a command prints is kept.
class Printed {
 public:
  Printed() { host.output = host.errors = ::open_memstream(&bytes_, &size_); }
  ~Printed() {
    std::fclose(host.output);
    std::free(bytes_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  [[nodiscard]] std::string text() const {
    std::fflush(host.output);
    return {bytes_, size_};
  }
  cli::Host host;

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

struct Ended {
  int status;
  std::string printed;
};

// `question` < 0: not interrupted.
Ended carried_out(const std::vector<std::string>& words, std::int64_t question) {
  const Printed printed;
  interrupt_process_at(question);
  int status = cli::numerical_failure;
  std::string line;
  try {
    status = cli::carry_out({words, theories(), "popgrad", &printed.host});
  } catch (const Stopped&) {
    line = "interrupted before there was anything";  // as the program says
  }
  return {status, printed.text() + line};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

// The first lines of a table, or the first fields of them.
void check_rows(const std::string& part, const std::string& whole) {
  const std::vector<std::string> kept = lines_of(part);
  const std::vector<std::string> all = lines_of(whole);
  REQUIRE(kept.size() <= all.size());
  if (kept.empty()) return;
  std::vector<std::size_t> places;
  const std::vector<std::string> names = fields_of(all.front());
  for (const std::string& name : fields_of(kept.front())) {
    const auto at = std::find(names.begin(), names.end(), name);
    REQUIRE(at != names.end());
    places.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  for (std::size_t k = 1; k < kept.size(); ++k) {
    const std::vector<std::string> own = fields_of(kept[k]);
    const std::vector<std::string> full = fields_of(all[k]);
    REQUIRE(own.size() == places.size());
    for (std::size_t c = 0; c < places.size(); ++c) CHECK(own[c] == full[places[c]]);
  }
}

// The first items of a list in a document; `same` says what of an item has to be equal.
void check_items(
    const Json& part, const Json& whole,
    const std::function<Json(const Json&)>& same = [](const Json& item) { return item; }) {
  REQUIRE(part.size() <= whole.size());
  for (std::size_t k = 0; k < part.size(); ++k) CHECK(same(part[k]) == same(whole[k]));
}

const int interruptions = build::sanitized() ? 3 : 20;

struct Case {
  std::vector<std::string> words;  ///< behind them comes the file or folder, if it has a name
  std::string file;
  std::function<void(const std::string&, const std::string&)> check;
  double most = 1e5;  ///< questions that a whole command asks, about
};

std::vector<Case> cases() {
  const std::string recorded = places::sources() + "/tests/recorded/";
  const auto statements = [](const std::string& part, const std::string& whole) {
    check_items(Json::parse(part)["statements"], Json::parse(whole)["statements"], [](Json item) {
      item.erase("seconds");
      return item;
    });
  };
  const auto searches = [](const std::string& part, const std::string& whole) {
    const Json kept = Json::parse(part)["searches"];
    const Json all = Json::parse(whole)["searches"];
    REQUIRE(kept.size() <= all.size());
    for (std::size_t k = 0; k < kept.size(); ++k) {
      CHECK(kept[k]["id"] == all[k]["id"]);
      check_items(kept[k]["trials"], all[k]["trials"]);
    }
  };
  const auto landscape = [](const std::string& part, const std::string& whole) {
    const Json kept = Json::parse(part);
    const Json all = Json::parse(whole);
    check_items(kept["points"], all["points"]);
    if (!kept["certificate"].is_null()) CHECK(kept["certificate"] == all["certificate"]);
  };
  return {
      {{"verify", "joma.tree-*", "joma.entropy-bounce", "-q", "--json"}, "v.json", statements, 3e3},
      {{"falsify", "joma.entropy-bounce", "--evaluations", "6", "--seconds", "1e6", "-q", "-o"},
       "f.json",
       searches,
       3e3},
      {{"run", "joma", "sgd", "--steps", "3000", "--save", "7", "--no-events", "-q", "-o"},
       "w.csv",
       check_rows,
       3e2},
      {{"run", "joma", "reduced", "--t1", "3", "--save", "9", "-q", "-o"},
       "r.csv",
       check_rows,
       1e2},
      {{"run", "joma", "reduced", "--t1", "1", "--save", "3", "--digits", "40", "-q", "-o"},
       "d.csv",
       check_rows,
       1e2},
      {{"sweep", "joma", "reduced", "--over", "tau=2,3,4", "--t1", "1", "-q", "-o"},
       "s.csv",
       check_rows,
       3e2},
      {{"compare", "joma", "gd", "flow", "--t1", "2", "--save", "5", "-q", "-o"},
       "c.csv",
       check_rows,
       3e2},
      {{"ladder", "joma", "--t1", "0.5", "--runs", "2", "--save", "5", "-q", "-o"},
       "l.csv",
       check_rows,
       3e3},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2", "--grid", "5", "-q", "-o"},
       "g.json",
       landscape,
       1e3},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2", "--grid", "9",
        "--no-certificate", "-q", "-o"},
       "g.csv",
       check_rows,
       30},
      {{"landscape", "topic", "--T", "3", "--tau", "2", "--v", "2", "--around", "gd", "--steps",
        "20", "--slice", "2", "--points", "3", "-q", "-o"},
       "a.csv",
       check_rows,
       30},
      {{"compare",
        "joma",
        "sgd",
        "--with",
        recorded + "data/joma.csv",
        "--instance",
        recorded + "joma.json",
        "--group",
        "seed",
        "--eta",
        "0.1",
        "--clock",
        "0.1*step",
        "--batch",
        "8",
        "--no-ladder",
        "--runs",
        "16",
        "-q",
        "-o"},
       "j.csv",
       check_rows,
       3e3},
      {{"report", "joma.tree-*", "--no-cache", "-q", "-o"},
       "p.html",
       [](const std::string& part, const std::string&) {
         CHECK_THAT(part, Catch::EndsWith("</html>\n"));
       },
       1e3},
      {{"figure", "scb-starts", "-o"}, "figures", {}, 1e3},
      {{"frontier", "scb.hyperbola", "--instances", "2", "--grid", "2", "-q"}, "", {}, 3e3},
      {{"error-ratios", "joma.entropy-bounce", "--instances", "1", "--seconds", "0.1", "-q"},
       "",
       {},
       3e3},
  };
}

}  // namespace

TEST_CASE("cli: what an interrupted command has written is a part of the whole",
          "[cli][unsanitized]") {
  std::mt19937_64 draws(20261125);
  std::uniform_real_distribution<double> share(0, 1);
  for (const Case& own : cases()) {
    const Folder folder;
    const auto words_to = [&](const std::string& place) {
      std::vector<std::string> words = own.words;
      if (!own.file.empty()) words.push_back(folder.file(place + own.file));
      return words;
    };
    const Ended whole = carried_out(words_to("whole-"), -1);
    std::string line;
    for (const std::string& word : own.words) line += word + " ";
    INFO(line);
    // Of few instances a frontier is undecided.
    REQUIRE((whole.status == cli::success || whole.status == cli::undecided));
    int interrupted = 0;
    for (int k = 0; k < interruptions; ++k) {
      // Even in the logarithm, from the first question on.
      const auto question =
          static_cast<std::int64_t>(k == 0 ? 0 : std::floor(std::pow(own.most, share(draws))));
      INFO("interrupted at question " << question);
      const std::string name = std::to_string(k) + "-";
      const Ended part = carried_out(words_to(name), question);
      const std::string file = folder.file(name + own.file);
      const bool said = part.printed.find("interrupted") != std::string::npos;
      CHECK((part.status == cli::numerical_failure) == said);
      if (part.status != cli::numerical_failure) CHECK(part.status == whole.status);
      interrupted += part.status == cli::numerical_failure ? 1 : 0;
      if (!fs::is_directory(file)) {
        if (fs::exists(file)) own.check(content(file), content(folder.file("whole-" + own.file)));
        continue;
      }
      for (const auto& one : fs::directory_iterator(file)) {
        if (one.path().extension() != ".csv") continue;  // pictures hold the time and command
        const fs::path same = folder.path / ("whole-" + own.file) / one.path().filename();
        CHECK(content(one.path()) == content(same));
      }
    }
    CHECK(interrupted > 0);
    // The next command knows nothing of it.
    CHECK_FALSE(process_interrupted());
  }
}

TEST_CASE("cli: both signals end a command that waits or computes, with status 4", "[cli]") {
  const Folder folder;
  const std::string fifo = folder.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string program = places::popgrad();
  for (const std::string& words :
       {"run joma reduced --instance " + fifo, "run scan-snap flow --corpus " + fifo,
        "run topic sgd --corpus " + fifo, "verify joma.measured-bounce --data " + fifo,
        "run joma reduced --t1 1 --save 3 --digits 1000 --no-events -q -o " + folder.file("d.csv"),
        "verify 'joma.*' --seeds 1000000 -q --json " + folder.file("v.json"),
        "run joma sgd --batch 100000000 --steps 1000000 -q -o " + folder.file("b.csv")}) {
    for (const char* signal : {"INT", "TERM"}) {
      INFO(words << " after " << signal);
      // Without an answer the second signal, 60 s later, would be of no help: status 137.
      const command_line::Answer answer =
          command_line::shell("timeout -s " + std::string(signal) +
                              " --preserve-status -k 60 0.7 " + program + " " + words + " 2>&1");
      // A machine may be so slow that the program does not listen yet.
      if (answer.status == 130 || answer.status == 143) continue;
      CHECK(answer.status == 4);
      CHECK_THAT(answer.out, Catch::Contains("interrupted"));
    }
  }
}

}  // namespace interruption_test
