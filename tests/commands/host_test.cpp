/// Commands as functions of a program, as the Python module calls them (src/commands/host.hpp).

#include "commands/host.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/shell.hpp"
#include "io/given_files.hpp"
#include "places.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"

namespace host_test {

using namespace popgrad;

namespace {

// A host that keeps everything, for the time of a test.
struct Kept {
  char* bytes = nullptr;
  std::size_t size = 0;
  cli::Results results;
  cli::Host host;
  int reports = 0;

  Kept() {
    host.output = host.errors = ::open_memstream(&bytes, &size);
    host.progress = [this](double, const std::string&, const std::string&) { ++reports; };
  }
  ~Kept() {
    std::fclose(host.output);
    std::free(bytes);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  [[nodiscard]] std::string text() const {
    std::fflush(host.output);
    return {bytes, size};
  }
  [[nodiscard]] int carry_out(std::vector<std::string> words, Theories known = theories()) {
    return cli::carry_out({std::move(words), known, "popgrad", &host, &results});
  }
};

}  // namespace

TEST_CASE("host: a run is handed over as it is, from an instance in memory", "[cli]") {
  Kept kept;
  kept.host.files.texts["mine"] = R"({"mu": [1, 2, 3], "v0": 0.1, "tau": 3})";
  REQUIRE(kept.carry_out({"run", "joma", "reduced", "--instance", "mine", "--t1", "2", "--save",
                          "5"}) == cli::success);
  REQUIRE(kept.results.run.has_value());
  const RunRecord<double>& run = *kept.results.run;
  REQUIRE(run.runs.size() == 1);
  CHECK(run.runs.front().t == std::vector<double>{0, 0.5, 1, 1.5, 2});
  CHECK(run.runs.front().rows.size() == 5);
  CHECK(json_text(run.parameters) == R"({"mu":["1","2","3"],"v0":"0.1","tau":"3"})");
  // No table: it was handed over; what a run says beside it is kept.
  CHECK_THAT(kept.text(), Catch::StartsWith("popgrad: entropy-minimum of attention_entropy"));
}

TEST_CASE("host: what a command prints for people is what the program prints", "[cli]") {
  Kept kept;
  REQUIRE(kept.carry_out({"compare", "scb", "gd", "flow", "--t1", "1", "--save", "3", "-q"}) ==
          cli::success);
  CHECK(
      kept.text() ==
      command_line::shell(places::popgrad() + " compare scb gd flow --t1 1 --save 3 -q 2>&1").out);
  CHECK(kept.results.run->runs.front().columns.size() >= 2);
  CHECK(kept.reports > 0);
}

TEST_CASE("host: recorded runs in memory are judged like those of a file", "[cli][recorded]") {
  const std::string folder = places::sources() + "/tests/recorded/";
  const std::vector<std::string> how{
      "--group",     "seed", "--clock", "lr*step", "--eta", "0.1",
      "--batch",     "8",    "--runs",  "16",      "--map", "attention_entropy=attn_ent,loss=loss",
      "--no-ladder", "-q"};
  std::vector<std::string> words{"compare", "joma", "sgd", "--instance", folder + "joma.json",
                                 "--with"};
  const auto with = [&](const std::string& file) {
    std::vector<std::string> all = words;
    all.push_back(file);
    all.insert(all.end(), how.begin(), how.end());
    Kept kept;
    kept.host.files.tables["mine"] = read_table(folder + "data/joma.csv");
    CHECK(kept.carry_out(all) == cli::success);
    return json_text(kept.results.run->judgement);
  };
  std::string of_file = with(folder + "data/joma.csv");
  for (std::size_t at = 0; (at = of_file.find("joma.csv", at)) != std::string::npos;) {
    of_file.replace(at, 8, "mine");
  }
  CHECK(with("mine") == of_file);
  CHECK_THAT(of_file, Catch::Contains(R"("verdict":"consistent")"));
}

TEST_CASE("host: documents, tables and grids are handed over", "[cli]") {
  Kept kept;
  REQUIRE(kept.carry_out({"landscape", "topic", "--T", "4", "--tau", "2", "--v", "3", "--value",
                          "diagonal", "--grid", "3", "--no-certificate"}) == cli::success);
  CHECK(kept.results.xs.size() == 3);
  CHECK(kept.results.values.size() == 9);
  CHECK_THAT(kept.results.document, Catch::Contains(R"("schema":"popgrad/landscape/1")"));
  REQUIRE(kept.carry_out({"sweep", "topic", "optimum", "--over", "tau=2,4"}) == cli::success);
  CHECK_THAT(kept.results.table, Catch::StartsWith("tau,runs,ended,loss"));
  REQUIRE(kept.carry_out({"verify", "joma.entropy-bounce"}) == cli::success);
  CHECK_THAT(kept.results.document, Catch::Contains(R"("id": "joma.entropy-bounce")"));
}

TEST_CASE("host: errors are thrown with the lines of the program", "[cli]") {
  Kept kept;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "scb", "sgd", "--eta", "-1"}, {"list", "--jsno"}}) {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    std::string output = command_line::shell(places::popgrad() + " " + line + " 2>&1").out;
    REQUIRE_FALSE(output.empty());
    output.pop_back();
    CHECK_THROWS_WITH(kept.carry_out(words), Catch::Equals(output));
  }
  CHECK_THROWS_AS(kept.carry_out({"run", "scb", "sgd", "--eta", "-1"}), InputError);
  CHECK_THROWS_AS(kept.carry_out({"run", "scb", "--no-such"}), cli::UsageError);
  CHECK(kept.text().empty());
}

TEST_CASE("host: it stops a run, whose part is handed over and no checkpoint written", "[cli]") {
  Kept kept;
  const command_line::Folder folder;
  int looks = 0;
  kept.host.interrupted = [&] { return ++looks > 2; };
  const std::string file = folder.file("run.csv");
  CHECK(kept.carry_out({"run", "scb", "gd", "--steps", "1000000000", "--save", "3", "-o", file}) ==
        cli::numerical_failure);
  REQUIRE(kept.results.run.has_value());
  CHECK(kept.results.run->runs.front().outcome.ending == Ending::interrupted);
  CHECK(kept.results.run->runs.front().t == std::vector<double>{0});
  CHECK_FALSE(std::filesystem::exists(file + ".checkpoint.json"));
}

namespace {

// (x - 1)^2 + (y - 2)^2, whose least value needs no search.
LossLandscape bowl() {
  LossLandscape own;
  own.name = "two-weights";
  own.summary = "two weights";
  own.coordinates = {{{.name = "first", .symbol = "x", .usual = "0,3"},
                      {.name = "second", .symbol = "y", .usual = "0,4"}}};
  own.range = at_least(0);
  own.meaning = "weights are >= 0";
  own.at = [](const Parameters&) {
    const auto value = [](const auto& x, const auto& y) {
      return (x - 1) * (x - 1) + (y - 2) * (y - 2);
    };
    LandscapeLoss loss;
    loss.form = "a bowl";
    loss.instance = {{"depth", 0}};
    loss.box = {{Rational(0), Rational(0)}, {Rational(3), Rational(4)}};
    loss.value = [value](const Rational& x, const Rational& y) -> std::optional<Rational> {
      return Rational(value(x, y));
    };
    loss.grid = [value](const std::vector<double>& xs, const std::vector<double>& ys, int) {
      std::vector<double> values;
      for (const double y : ys) {
        for (const double x : xs) values.push_back(value(x, y));
      }
      return values;
    };
    loss.curvature = [](const Rational& x, const Rational& y) {
      LandscapeCurvature at{.gradient = Vector<Rational>(2), .hessian = Matrix<Rational>(2, 2)};
      at.gradient << Rational(2 * (x - 1)), Rational(2 * (y - 2));
      at.hessian << Rational(2), Rational(0), Rational(0), Rational(2);
      at.positive = 2;
      return at;
    };
    loss.certify = [](const LandscapeBox& box, const Rational&) {
      return LandscapeCertificate{.point = {Rational(1), Rational(2)},
                                  .box = box,
                                  .leaves = {{"", false}},
                                  .minimisers = box,
                                  .boxes = 1};
    };
    return loss;
  };
  return own;
}

}  // namespace

TEST_CASE("host: any theory may offer landscapes", "[cli]") {
  std::vector<Theory> all(theories().begin(), theories().end());
  all.front().landscapes = {bowl()};
  const std::string& model = all.front().model->name();
  Kept kept;
  const auto carry_out = [&](std::vector<std::string> words) {
    return kept.carry_out(std::move(words), all);
  };
  REQUIRE(carry_out({"landscape", model, "--at", "1/2,2", "--grid", "3", "--second", "0,2"}) ==
          cli::success);
  CHECK(kept.results.values == std::vector<double>{5, 4.25, 8, 2, 1.25, 5, 1, 0.25, 4});
  CHECK(kept.results.title == model + ", a bowl");
  CHECK_THAT(kept.text(), Catch::Contains("of the box   first in [0, 3], second in [0, 2]") &&
                              Catch::Contains("best point   first = 1, second = 2\n") &&
                              Catch::Contains("L(1/2, 2) = 1/4\n"));
  CHECK_THAT(kept.results.document,
             Catch::Contains(R"("depth":0,)") &&
                 Catch::Contains(R"("minimum":{"first":1.0,"second":2.0,"value":0.0})"));
  CHECK(carry_out({"landscape", "--second", "0,2", model, "two-weights", "--no-certificate"}) ==
        cli::success);
  CHECK_THROWS_WITH(carry_out({"landscape", "topic", "--second", "0,2"}),
                    Catch::Contains("--second is no option of 'landscape'"));
  CHECK_THROWS_WITH(carry_out({"landscape", model, "two-weight"}),
                    Catch::Contains("did you mean 'two-weights'"));
  CHECK_THROWS_WITH(carry_out({"landscape", model, "--around", "flow"}),
                    Catch::Contains("offers no slices"));
  CHECK_THROWS_WITH(carry_out({"landscape", all[1].model->name()}),
                    Catch::Contains("give " + model + ", "));
  all.front().landscapes[0].at = nullptr;
  CHECK_THROWS_WITH(check_theories(all), Catch::Contains("no loss; set `name` and `at`"));
}

}  // namespace host_test
