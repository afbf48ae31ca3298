/// Every document for programs against its schema.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "commands/shell.hpp"
#include "places.hpp"

namespace schema_test {

using namespace command_line;
using popgrad::Json;

namespace {

// What `words` writes when the file follows them.
void write_document(const std::string& words, const std::string& file) {
  const Answer answer = command_line::run_popgrad(words + " " + file);
  INFO(words << "\n" << answer.out);
  REQUIRE(std::filesystem::exists(file));
}

// A field missing, one too many, one of another type: at the top and in the first object of a list.
std::vector<Json> changed(const Json& whole, const std::string& list) {
  std::vector<Json> all;
  for (const std::string& place : {std::string(), "/" + list + "/0"}) {
    const Json::json_pointer at(place);
    const std::string name = place.empty() ? "version" : whole.at(at).begin().key();
    Json fewer = whole;
    fewer[at].erase(name);
    Json more = whole;
    more[at]["remark"] = "";
    Json other = whole;
    other[at][name] = Json::array();
    all.insert(all.end(), {fewer, more, other});
  }
  return all;
}

}  // namespace

TEST_CASE("schema: documents of all commands are valid, and changed ones are not",
          "[cli][unsanitized]") {
  const Folder folder;
  struct Written {
    std::string words;
    const char* schema;  // of version 1, if it names none
    const char* list;    // of objects
  };
  const std::string recorded = places::sources() + "/tests/recorded/";
  const std::string judged =
      "compare joma sgd --no-ladder -q --runs 16 --eta 0.1 --batch 8 --clock '0.1*step' --group "
      "seed "
      "--map attention_entropy=attn_ent,loss=loss --instance " +
      recorded + "joma.json --with " + recorded + "data/joma-other-rate.csv -o";
  const std::string degenerate =
      "verify topic.masked-frequencies -q --instance " +
      folder.file("t.json", R"({"T": 6, "tau": 2, "v": 4, "p_m": 1, "p_c": 0, "p_r": 0.5})") +
      " --json";
  const std::vector<Written> all{
      {degenerate, "verdicts/2", "statements"},
      {"verify joma.entropy-bounce topic.attention-block -q --json", "verdicts/2", "statements"},
      {"verify joma.tree-cooccurrence -q --seeds 4 --json", "verdicts/2", "statements"},
      {"verify joma.measured-bounce -q --json", "verdicts/2", "statements"},
      {"falsify joma.entropy-bounce --seconds 1 -q -o", "searches/2", "searches"},
      {"list --json", "catalogue/2", "models"},
      {"list --options --json", "options", "commands"},
      {"list scb --errata --json", "errata/2", "errata"},
      {"run joma reduced --t1 1 --save 3 -o", "run/2", "events"},
      {"run joma reduced --t1 1 --save 3 --digits 30 --states -o", "run/2", "events"},
      {"run joma sgd --steps 20 --runs 3 --optimiser momentum --save 3 -o", "run/2", "outcomes"},
      {"run scb moments --N 2 --T 4 --t1 inf -o", "run/2", "outcomes"},
      {"run scb moments --N 2 --T 4 --t1 2 --save 3 --correlations -o", "run/2", "outcomes"},
      {"compare joma sgd flow --steps 20 --save 3 -o", "run/2", "sides"},
      {judged, "run/2", "sides"},
      {"landscape topic --T 5 --tau 2 --v 3 --at 1/2,3 --at 2,2 -o", "landscape", "points"},
      {"landscape topic --T 5 --tau 2 --v 3 --no-certificate --grid 4 -o", "landscape", "points"},
      {"landscape topic --T 5 --tau 2 --v 3 --lambda 1/50 --at 2,2 -o", "landscape", "points"},
  };
  // All in one call: the validator takes longer to start than to read.
  std::string files;
  std::vector<std::string> expected;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string name = fmt::format("{}.json", k);
    write_document(all[k].words, folder.file(name));
    files += " " + folder.file(name);
    const std::string schema = all[k].schema;
    const bool versioned = schema.find('/') != std::string::npos;
    expected.push_back(
        fmt::format("{}: valid, popgrad/{}{}", folder.file(name), schema, versioned ? "" : "/1"));
    for (const Json& wrong : changed(Json::parse(content(folder.file(name))), all[k].list)) {
      const std::string file =
          folder.file(fmt::format("wrong-{}.json", expected.size()), wrong.dump());
      files += " " + file;
      expected.push_back(file + ": ");
    }
  }
  // Debian's own Python has the validator; another one that comes first in PATH may not.
  const Answer checked =
      shell("/usr/bin/python3 " + places::sources() + "/tests/check_schema.py" + files + " 2>&1");
  CHECK(checked.status == 1);
  std::istringstream lines(checked.out);
  std::string line;
  for (const std::string& start : expected) {
    REQUIRE(std::getline(lines, line));
    CAPTURE(start);
    CHECK_THAT(line, Catch::StartsWith(start));
    if (start.ends_with(": ")) {
      CHECK_THAT(line, !Catch::Contains(": valid") && !Catch::Contains("known schema"));
    }
  }
  CHECK(!std::getline(lines, line));
}

}  // namespace schema_test
