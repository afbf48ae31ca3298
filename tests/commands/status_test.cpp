/// Exit statuses, and what is said where a command is refused or fails.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "commands/exit_status.hpp"
#include "commands/shell.hpp"

namespace status_test {

using namespace popgrad::cli;
using command_line::Answer;
using command_line::content;
using command_line::Folder;
using command_line::shell;

namespace {

Answer run_tool(const std::string& words) { return command_line::run_popgrad(words); }

std::string readme() { return content(places::sources() + "/README.md"); }

// Rows `| N | text |` of the table of statuses in the README, without that of ./run.
std::map<int, std::string> statuses_of_readme() {
  std::istringstream in(readme());
  std::map<int, std::string> rows;
  const std::regex row(R"(\| (\d+) \| (.*) \|)");
  std::smatch found;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, found, row) || found[1] == "125") continue;
    rows.emplace(std::stoi(found[1]), found[2]);
  }
  return rows;
}

long lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

const char* const outside = "{\"mu\": [1, 2, 3], \"v0\": 1.5}";

}  // namespace

TEST_CASE("status: one table in README, --help and the manual page", "[cli]") {
  const std::map<int, std::string> rows = statuses_of_readme();
  REQUIRE(rows.size() == exit_statuses().size());
  const std::string help = run_tool("--help").out;
  const std::string page = std::regex_replace(run_tool("--man").out, std::regex("\\\\-"), "-");
  for (const auto& [status, meaning] : rows) {
    CAPTURE(status);
    CHECK_THAT(help, Catch::Contains("\n  " + std::to_string(status) + "  " + meaning + "\n"));
    CHECK_THAT(page, Catch::Contains("\n.B " + std::to_string(status) + "\n" + meaning + "\n"));
  }
  const std::string heading = "When something goes wrong";
  CHECK_THAT(readme(), Catch::Contains("\n## " + heading + "\n"));
  for (const std::string& text : {help, page}) CHECK_THAT(text, Catch::Contains(heading));
}

TEST_CASE("status: a command for each line of the table", "[cli]") {
  const Folder folder;
  const std::string off = folder.file("off.json", outside);
  // No word is kept, so that nothing can be concluded of W_V.
  const std::string empty =
      folder.file("empty.json", "{\"T\":5,\"tau\":2,\"v\":3,\"p_m\":1,\"p_c\":0}");
  const std::string recorded = places::sources() + "/tests/recorded/";
  const std::multimap<int, std::string> commands{
      {0, "verify joma.stable-rank -q"},
      {0, "run joma reduced --t1 1 --save 2 -q"},
      {1,
       "compare joma sgd --with " + recorded + "data/joma-other-rate.csv --instance " + recorded +
           "joma.json --group seed --eta 0.1 --clock '0.1*step' --batch 8 --no-ladder --no-fit -q"},
      {2, "verfy"},
      {2, "run joma reduced --t1 0"},
      {2, "ladder scb --instance /nonexistent.json"},
      {2, "ladder scb --t1 0"},
      {2, "landscape topic --p_m 1 --p_c 0"},
      {2, "sweep joma reduced --over tau=-1,-2"},
      {3, "verify topic.value --instance " + empty},
      {4, "run joma gd --eta 1e9 --steps 50 -q"},
      {4, "sweep joma reduced --over tau=1e-30,2 -q"},
      {5, "verify joma.entropy-bounce --instance " + off},
      {5, "verify 'joma.entropy-b*' --instance " + off},
      {5, "verify 'topic.ode-*' --instance " + empty},
  };
  for (const auto& [status, meaning] : statuses_of_readme()) {
    CAPTURE(status, meaning);
    CHECK(commands.count(status) > 0);
  }
  for (const auto& [status, words] : commands) {
    const Answer answer = run_tool(words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == status);
    if (status == 2) CHECK(lines_of(answer.out) == 1);
  }
}

TEST_CASE("status: of several the first of 2, 1, 4, 3, 5, then 0", "[cli]") {
  constexpr std::array order{2, 1, 4, 3, 5, 0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i; j < order.size(); ++j) {
      CHECK(combined(order.at(i), order.at(j)) == order.at(i));
      CHECK(combined(order.at(j), order.at(i)) == order.at(i));
    }
  }
}

TEST_CASE("status: what does not apply next to what does is listed", "[cli][unsanitized]") {
  const Folder folder;
  const std::string file = folder.file("law.json", "{\"T\":6,\"tau\":2,\"v\":5}");
  const std::string json = folder.file("verdicts.json");
  // attention-block holds; two-stage starts too far from zero; ode-limit makes its own instances.
  const Answer some =
      run_tool("verify 'topic.[ato][tdw]*[ekt]' --instance " + file + " -q --json " + json);
  CAPTURE(some.out);
  CHECK(some.status == 0);
  std::map<std::string, std::string> verdicts;
  const auto document = nlohmann::json::parse(content(json));
  for (const auto& statement : document["statements"]) {
    verdicts[statement["id"]] = statement["verdict"];
  }
  CHECK(verdicts.at("topic.attention-block") == "holds");
  CHECK(verdicts.at("topic.two-stage") == "not-applicable");
  CHECK(verdicts.at("topic.ode-limit") == "not-applicable");
  CHECK_THAT(some.out,
             Catch::Contains("topic.ode-limit: not examined: it makes its own instances"));
  // By its id it counts.
  CHECK(run_tool("verify topic.attention-block topic.two-stage -q --instance " + file).status == 5);
  CHECK(run_tool("verify topic.attention-block topic.ode-limit -q --instance " + file).status == 2);
  // What no statement reads, and what all refuse, is the file's fault.
  CHECK(run_tool("verify 'topic.*' -q --instance " + folder.file("a.json", "{\"TT\":6}")).status ==
        2);
  CHECK(run_tool("verify 'topic.t*' -q --instance " + folder.file("b.json", "{\"T\":6,\"tau\":9}"))
            .status == 2);
}

TEST_CASE("messages: --quiet hides no reason of status 4", "[cli]") {
  const Folder folder;
  for (const std::string words :
       {"run joma gd --eta 1e9 --steps 50", "run joma sgd --eta 1e9 --steps 50 --runs 3",
        "sweep joma reduced --over tau=1e-30,2", "run scb moments --T 10 --eta 2 --steps 200",
        "compare joma gd sgd --eta 1e9 --steps 50"}) {
    const Answer answer = shell("(" + places::popgrad() + " " + words + " -q >/dev/null) 2>&1");
    CAPTURE(words, answer.out);
    CHECK(answer.status == 4);
    CHECK(lines_of(answer.out) >= 1);
  }
}

namespace {

// Texts of the libraries, and of the language's.
const std::regex& foreign_text() {
  static const std::regex texts(
      "std::|terminate called|what\\(\\)|bad_function_call|stoull|stoi|stod|max_size|basic_string|"
      "vector::|map::at|boost|Error in function|json\\.exception|parse_error|GiNaC|gnuplot>|odeint|"
      "toms748|filesystem error|argument was not expected|arguments were not expected|subcommand|"
      "not in range|Could not convert|TEXT missing|required but received|is required|excludes|"
      "Division by zero|division by zero\\n|Number less",
      std::regex::icase);
  return texts;
}

}  // namespace

// Drawn lines: a word left out, added, misspelt, or an option with a value that is none.
TEST_CASE("messages: bad command lines are refused in words of popgrad", "[cli][unsanitized]") {
  const Folder folder;
  const std::vector<std::string> bases{"list joma",
                                       "run joma reduced --t1 0.01 --save 2",
                                       "compare joma reduced closed-form --t1 0.01",
                                       "verify joma.stable-rank",
                                       "falsify joma.stable-rank --evaluations 1",
                                       "instance joma.stable-rank",
                                       "frontier joma.stable-rank --instances 1 --grid 2",
                                       "figure joma-entropy",
                                       "ladder joma --t1 0.01",
                                       "report -o page.html joma.stable-rank",
                                       "sweep joma reduced --t1 0.01 --over tau=2",
                                       "merge sweep.csv",
                                       "landscape topic --T 3 --tau 2 --v 2",
                                       "equations joma reduced"};
  const std::vector<std::string> values{"nan",
                                        "-1",
                                        "1e400",
                                        "x",
                                        "1/0",
                                        "'{'",
                                        "/nonexistent/x.json",
                                        "a=b",
                                        "'1:2:3'",
                                        "''",
                                        "1e5000",
                                        "'((('",
                                        "99999999999999999999999",
                                        "'a<=b'",
                                        "$(printf '\\351')"};
  const std::vector<std::string> words{
      "--foo", "extra", "--output", "--seed=", "-x", "true", "--", "--t1"};
  std::map<std::string, std::vector<std::string>> options;
  const std::regex name("--[a-z0-9-]+");
  for (const std::string& base : bases) {
    const std::string help = run_tool(base.substr(0, base.find(' ')) + " --help").out;
    std::vector<std::string>& own = options[base];
    for (std::sregex_iterator at(help.begin(), help.end(), name), end; at != end; ++at) {
      own.push_back(at->str());
    }
    // Those that begin long work, or go by other files.
    std::erase_if(own, [](const std::string& o) {
      return o == "--seeds" || o == "--help" || o == "--full" || o == "--seconds" ||
             o == "--instances" || o == "--grid" || o == "--evaluations" || o == "--runs";
    });
  }
  std::mt19937 draw(20240);
  const auto any = [&](const std::vector<std::string>& of) { return of[draw() % of.size()]; };
  std::vector<std::string> lines;
  for (int i = 0; i < 80; ++i) {
    const std::string base = any(bases);
    switch (draw() % 4) {
      case 0:
        lines.push_back(base + " " + any(words));
        break;
      case 1:
        lines.push_back(base.substr(0, base.rfind(' ')));
        break;
      case 2:
        lines.push_back(base.substr(1));
        break;
      default:
        lines.push_back(base + " " + any(options[base]) + " " + any(values));
    }
  }
  std::string script = "cd " + folder.path.string() + "\n";
  for (const std::string& line : lines) {
    script += (build::sanitized() ? "timeout 120 " : "timeout 20 ") + places::popgrad() + " " +
              line + " >out 2>err </dev/null; status=$?\necho \"status $status\"; cat err\n";
  }
  const Answer all = shell("bash " + folder.file("lines.sh", script) + " 2>&1");
  std::istringstream in(all.out);
  std::size_t k = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("status ")) {
      const int status = std::stoi(line.substr(7));
      CAPTURE(lines.at(k), status);
      CHECK(status <= 5);
      ++k;
      continue;
    }
    CAPTURE(lines.at(k - 1), line);
    CHECK_FALSE(std::regex_search(line, foreign_text()));
  }
  CHECK(k == lines.size());
}

TEST_CASE("messages: a slip is named, with what is nearest", "[cli]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"verfy joma.stable-rank", "'verfy' is not a command; did you mean 'verify'?"},
      {"run joma reduced --tempratur 2", "--tempratur is no option of 'run'; did you mean"},
      {"run joma reduced --t1", "--t1 needs a value: end time"},
      {"run joma reduced --t1= 3", "--t1 needs a value after the ="},
      {"run joma reduced -o a.csv -o b.csv", "--output is given 2 times"},
      {"run joma reduced extra", "'extra' is one word too many for 'run'"},
      {"run joma flow --states yes", "--states takes no value but true or false"},
      {"run joma flow --states=maybe", "--states maybe is no value of a flag"},
      {"falsify", "statements is missing for 'falsify'"},
      {"falsify joma.stable-rank --control a --controls", "exclude each other"},
      {"report", "--output is missing for 'report': the page, .html; see 'popgrad report --help'"},
  };
  for (const auto& [words, expected] : cases) {
    const Answer answer = run_tool(words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == 2);
    CHECK(lines_of(answer.out) == 1);
    CHECK_THAT(answer.out, Catch::Contains(expected));
  }
  const std::string plain = "run joma reduced --t1 0.1 --save 2 -q --states";
  CHECK(run_tool(plain + " true").out == run_tool(plain).out);
  CHECK(run_tool(plain + "=true").out == run_tool(plain).out);
  CHECK(run_tool(plain + " false").out == run_tool("run joma reduced --t1 0.1 --save 2 -q").out);
}

TEST_CASE("sweep: a cell that is refused or fails is named, and the others are made", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("s.csv");
  // tau < T in the second cell only; 1e-30 is a step underflow.
  const std::string refused = "sweep topic optimum --T 4 --v 2 --over tau=2,4,3 -q -o " + file;
  for (int i = 0; i < 2; ++i) {  // the second time all cells are there
    const Answer answer = run_tool(refused);
    CAPTURE(i, answer.out);
    CHECK(answer.status == 4);
    CHECK_THAT(answer.out, Catch::Contains("1 of 3 cells have no result (ended 0): tau=4"));
    CHECK((i > 0 || answer.out.find("--tau 4 must be < --T 4") != std::string::npos));
  }
  const std::string table = content(file);
  CHECK(lines_of(table) == 4);
  CHECK_THAT(table, Catch::Contains("\n4,0,0,,") && Catch::Contains("\n2,1,1,0.") &&
                        Catch::Contains("\n3,1,1,0."));
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    CHECK(std::count(line.begin(), line.end(), ',') ==
          std::count(table.begin(), table.begin() + static_cast<long>(table.find('\n')), ','));
  }
  // The first cell is the one that is refused.
  CHECK(run_tool("sweep topic optimum --T 4 --v 2 --over tau=4,2 -q").status == 4);
  const Answer failed = run_tool("sweep joma reduced --over tau=2,1e-30 -q");
  CHECK(failed.status == 4);
  CHECK_THAT(failed.out, Catch::Contains("1 of 2 cells have no result (ended 0): tau=1e-30") &&
                             Catch::Contains("\n1e-30,1,0,,"));
  // Where all are refused nothing is left that would be in the way of the next sweep.
  const std::string none = folder.file("none.csv");
  CHECK(run_tool("sweep topic optimum --T 4 --v 2 --over tau=4,5 -q -o " + none).status == 2);
  CHECK(run_tool("sweep topic optimum --T 4 --v 2 --over tau=2,3 -q -o " + none).status == 0);
}

// A line of minimisers passes where the search in alpha and beta ends at beta = 0.
TEST_CASE("run: the optimum on a line of minimisers goes on where a search ends at its end",
          "[cli]") {
  const auto alpha_at = [](const std::string& p_m) {
    const Answer answer = run_tool("run topic optimum --tau 3 --T 256 --save 2 -q --p_m " + p_m);
    CAPTURE(p_m, answer.out);
    REQUIRE(answer.status == 0);
    const std::size_t last = answer.out.rfind(',');
    return std::stod(answer.out.substr(last + 1));
  };
  const double before = alpha_at("0.299");
  const double at = alpha_at("0.3");
  const double after = alpha_at("0.301");
  CHECK(at == Approx((before + after) / 2).epsilon(1e-4));
}

TEST_CASE("frontier: a table also where nothing is decided", "[cli]") {
  const Folder folder;
  const Answer answer =
      run_tool("frontier scb.hyperbola --hypothesis heavy-weight --instances 2 --grid 2 -q -o " +
               folder.path.string());
  CAPTURE(answer.out);
  CHECK(answer.status == 3);
  CHECK_THAT(answer.out, Catch::Contains("undecided") && !Catch::Contains("gnuplot"));
  CHECK(std::filesystem::exists(folder.path / "frontier-scb.hyperbola-heavy-weight.svg"));
}

// Two minutes under the sanitizers, in commands that other tests run.
// The three questions of the README, as printed, from a folder that looks like a clone.
TEST_CASE("README: the commands of its first screen", "[readme][slow][unsanitized]") {
  const Folder folder;
  std::istringstream in(readme());
  std::string script = "cd " + folder.path.string() + "\nln -s " + places::sources() +
                       "/tests tests\nln -s " + places::popgrad() + " run\n";
  int commands = 0;
  for (std::string line; std::getline(in, line) && line != "## The models";) {
    if (!line.starts_with("    ") || line.find("figure") != std::string::npos) continue;
    const bool begins = line.starts_with("    ./run ");
    commands += begins ? 1 : 0;
    const std::size_t comment = line.find("  #");
    script += line.substr(0, comment) + "\n";
    if (line.back() != '\\') script += "echo \"status $?\"\n";
  }
  REQUIRE(commands == 4);
  const Answer answer = shell("bash " + folder.file("first.sh", script) + " 2>&1");
  CAPTURE(answer.out);
  std::vector<std::string> statuses;
  std::istringstream out(answer.out);
  for (std::string line; std::getline(out, line);) {
    if (line.starts_with("status ")) statuses.push_back(line.substr(7));
  }
  // joma.*, the file, its verdict, the certificate; the recorded runs have another learning rate.
  CHECK(statuses == std::vector<std::string>{"0", "0", "0", "0", "1"});
}

}  // namespace status_test
