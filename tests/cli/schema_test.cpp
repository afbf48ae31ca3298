/// Every document for programs against its schema.

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "cli/shell.hpp"
#include "popgrad/json.hpp"

using namespace command_line;
using popgrad::Json;

namespace {

// Debian's own Python has the validator; another one that comes first in PATH may not.
Answer check_schema(const std::string& file) {
  return shell("/usr/bin/python3 " POPGRAD_SOURCE_DIR "/tests/check_schema.py " + file + " 2>&1");
}

// What `words` writes when the file follows them.
std::string document(const Folder& folder, const std::string& words) {
  const std::string file = folder.file("document.json");
  std::filesystem::remove(file);
  const Answer answer = command_line::popgrad(words + " " + file);
  INFO(words << "\n" << answer.out);
  REQUIRE(std::filesystem::exists(file));
  return file;
}

// A field missing, one too many, one of another type: at the top and in the first object of a list.
void rejects_changes(const Folder& folder, const std::string& file, const std::string& list) {
  const Json whole = Json::parse(content(file));
  for (const std::string& place : {std::string(), "/" + list + "/0"}) {
    const Json::json_pointer at(place);
    const std::string name = place.empty() ? "version" : whole.at(at).begin().key();
    Json fewer = whole;
    fewer[at].erase(name);
    Json more = whole;
    more[at]["remark"] = "";
    Json other = whole;
    other[at][name] = Json::array();
    for (const Json& wrong : {fewer, more, other}) {
      const Answer answer = check_schema(folder.file("wrong.json", wrong.dump()));
      INFO(place << " " << name << "\n" << answer.out);
      CHECK(answer.status == 1);
    }
  }
}

}  // namespace

TEST_CASE("schema: documents of all commands are valid, and changed ones are not", "[cli]") {
  const Folder folder;
  struct Written {
    std::string words;
    const char* schema;
    const char* list;  // of objects
  };
  const std::string recorded = POPGRAD_SOURCE_DIR "/tests/recorded/";
  const std::string judged =
      "compare joma sgd --no-ladder -q --runs 16 --eta 0.1 --batch 8 --clock '0.1*step' --group "
      "seed "
      "--map attention_entropy=attn_ent --instance " +
      recorded + "joma.json --with " + recorded + "data/joma-other-rate.csv -o";
  const std::vector<Written> all{
      {"verify joma.entropy-bounce topic.attention-block -q --json", "verdicts", "statements"},
      {"verify joma.tree-cooccurrence -q --seeds 4 --json", "verdicts", "statements"},
      {"verify joma.measured-bounce -q --json", "verdicts", "statements"},
      {"falsify joma.entropy-bounce --seconds 1 -q -o", "searches", "searches"},
      {"list --json", "catalogue", "models"},
      {"list scb --errata --json", "errata", "errata"},
      {"run joma reduced --t1 1 --save 3 -o", "run", "events"},
      {"run joma reduced --t1 1 --save 3 --digits 30 --states -o", "run", "events"},
      {"run joma sgd --steps 20 --runs 3 --optimiser momentum --save 3 -o", "run", "outcomes"},
      {"run scb moments --N 2 --T 4 --t1 inf -o", "run", "outcomes"},
      {"compare joma sgd flow --steps 20 --save 3 -o", "run", "sides"},
      {judged, "run", "sides"},
      {"landscape topic --T 5 --tau 2 --v 3 --at 1/2,3 --at 2,2 -o", "landscape", "points"},
      {"landscape topic --T 5 --tau 2 --v 3 --no-certificate --grid 4 -o", "landscape", "points"},
  };
  for (const Written& w : all) {
    INFO(w.words);
    const std::string file = document(folder, w.words);
    const Answer checked = check_schema(file);
    INFO(checked.out);
    CHECK(checked.status == 0);
    CHECK_THAT(checked.out, Catch::Contains(std::string("popgrad/") + w.schema + "/1"));
    rejects_changes(folder, file, w.list);
  }
}
