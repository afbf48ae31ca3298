/// The command-line contract, on the real binary.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "commands/shell.hpp"
#include "places.hpp"

namespace contract_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace command_line;

TEST_CASE("cli: the help of a command has only options that it reads", "[cli]") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> unread{
      {"equations", {"--seed", "--eta", "--t1", "--jobs", "--output"}},
      {"landscape", {"--runs", "--save", "--digits"}},
      {"sweep", {"--save", "--digits", "--states"}},
      {"ladder", {"--save-at", "--digits", "--states"}},
      {"compare", {"--digits", "--states"}},
  };
  const std::string all = run_popgrad("run --help").out;
  for (const auto& [command, names] : unread) {
    const std::string help = run_popgrad(command + " --help").out;
    for (const std::string& name : names) {
      CAPTURE(command, name);
      CHECK(all.find(name + " ") != std::string::npos);
      CHECK(help.find(name + " ") == std::string::npos);
    }
  }
}

TEST_CASE("cli: the manual page and the completions have what --help has", "[cli]") {
  const Folder folder;
  const Answer page = run_popgrad("--man");
  REQUIRE(page.status == 0);
  const Answer completions = run_popgrad("--completions");
  REQUIRE(completions.status == 0);
  const std::string script = folder.file("completions", completions.out);
  for (const char* command : {"run", "verify", "landscape", "sweep", "merge", "equations"}) {
    CHECK_THAT(page.out, Catch::Contains(std::string("\n.SS ") + command));
    // Every long option of the help, in both.
    std::istringstream help(run_popgrad(std::string(command) + " --help").out);
    for (std::string line; std::getline(help, line);) {
      const std::size_t at = line.find("--");
      if (at == std::string::npos || at > 6 || line[2] == 'N') continue;
      const std::string option = line.substr(at, line.find_first_of(" ,", at) - at);
      std::string in_roff;
      for (const char c : option) in_roff += c == '-' ? std::string("\\-") : std::string(1, c);
      INFO(command << " " << option);
      CHECK_THAT(page.out, Catch::Contains(in_roff));
      const Answer completed =
          shell("bash -c 'source " + script + "; COMP_WORDS=(popgrad " + command + " x " + option +
                "); COMP_CWORD=3; _popgrad; echo \"${COMPREPLY[@]}\"'");
      CHECK_THAT(completed.out, Catch::Contains(option));
    }
  }
  const auto completed = [&](const std::string& words, int at) {
    return shell("bash -c 'source " + script + "; COMP_WORDS=(" + words +
                 "); COMP_CWORD=" + std::to_string(at) + "; _popgrad; echo ${COMPREPLY[@]}'")
        .out;
  };
  CHECK(completed("popgrad eq", 1) == "equations\n");
  CHECK(completed("popgrad run jo", 2) == "joma\n");
  CHECK(completed("popgrad run joma red", 3) == "reduced\n");
  CHECK(completed("popgrad run joma reduced --temp", 4) == "--temperature\n");
  CHECK(completed("popgrad verify scb.hyp", 2) == "scb.hyperbola\n");
  CHECK(completed("popgrad figure topic-sta", 2) == "topic-stages\n");
}

TEST_CASE("cli: a table for a paper says what makes it again", "[cli]") {
  const Answer table = run_popgrad("verify joma.entropy-bounce --seed 3 -q --latex -");
  CHECK(table.status == 0);
  CHECK_THAT(table.out,
             Catch::StartsWith("% Made by: popgrad verify joma.entropy-bounce --seed 3") &&
                 Catch::Contains("\n% popgrad 0.") && Catch::Contains("seed 3, false"));
}

TEST_CASE("cli: a table for a README has a row a statement, with shares and powers", "[cli]") {
  const Answer table =
      run_popgrad("verify joma.invariant-exp joma.entropy-bounce --seeds 2 -q --markdown -");
  CHECK(table.status == 0);
  CHECK_THAT(table.out,
             Catch::StartsWith("| statement | claim | clauses | instances | ") &&
                 Catch::Contains("\n| `joma.invariant-exp` | exp attention: `z - ") &&
                 Catch::Contains("\n| `joma.entropy-bounce` | nonlinear `phi`: entropy ") &&
                 Catch::Contains(" | 2 | 2 | 0 | 0 | 0 | 1.00 `back-to-even` | 1.00 `"));
  CHECK(run_popgrad("verify joma.invariant-exp -q --markdown -").status == 2);
}

TEST_CASE("cli: bad input is one line and status 2", "[cli]") {
  const Folder folder;
  const std::string broken = folder.file("broken.json", "{\"mu\": [1, 2");
  const std::string twice = folder.file("twice.json", "{\"mu\": [1], \"mu\": [2]}");
  const std::string mu = folder.file("mu.json", "{\"mu\": [1, 2], \"v0\": 0.1}");
  const std::string unknown = folder.file("unknown.json", "{\"mew\": [1]}");
  const std::string documents = folder.file("documents.txt", "0 3 END\n2 4 END\n");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"run joma reduced --digits 5", "--digits 5 must be a whole number from 16"},
      {"run joma reduced --t1 -1", "--t1 -1 must be > 0"},
      {"run joma reduced --save 1", "--save 1 must be a whole number from 2"},
      {"run joma reduced --save-at 1,0.5", "--save-at 0.5"},
      {"run joma reduced --method euler", "--method euler must be"},
      {"run joma reduced --temperature nan", "nan is not a finite number"},
      {"run joma reduced --steps 5", "has no meaning"},
      {"run joma gd --runs 3", "has no meaning"},
      {"run scb moments --attention softmax", "15009 numbers"},
      {"run scb moments --t1 inf", "the law at rest is solved for 512 at most"},
      {"run scb moments --T 10 --runs 3", "has no meaning"},
      {"run topic sgd --T 2 --v 2 --tau 1 --corpus " + documents,
       "line 2, word 2: '4' is not a word; words are 0 to 3 (T v = 4)"},
      {"run scb moments --T 10 --optimiser adam", "the size of Adam's steps depends on the draws"},
      {"run scb moments --N 10 --T 40 --optimiser momentum", "1000 numbers"},
      {"run scb moments --T 10 --algorithm three-part", "law of one draw is not known"},
      {"run scb moments --T 10 --algorithm three-part", "give --algorithm plain"},
      {"run topic moments", "lower --T, --tau or --v"},
      {"run scb flow --T 10 --correlations -o c.json", "has no meaning for the rung 'flow'"},
      {"run scb moments --T 10 --correlations", "give -o FILE.json"},
      {"run scb moments --T 10 --t1 inf --correlations -o c.json", "is between times"},
      {"run scb moments --T 10 --t1 inf --eta 3", "not stable under steps of --eta 3"},
      {"equations scb moments", "no right-hand side"},
      {"run joma sgd --steps 10 --t1 1", "exclude each other"},
      {"run jomma reduced", "did you mean 'joma'"},
      {"run joma reducd", "did you mean 'reduced'"},
      {"verify joma.salient-frst", "did you mean 'joma.salient-first'"},
      {"verify joma.entropy-bounce --set tua=3", "did you mean 'tau'"},
      {"verify joma.entropy-bounce --set tau", "must be KNOB=VALUE"},
      {"verify joma.entropy-bounce --set tau=many", "must end in a finite number"},
      {"verify joma.entropy-bounce --set tau=1e9", "must be a number in [0.7, 8]"},
      {"verify joma.entropy-bounce --set tokens=2.5", "must be a whole number in [2, 10]"},
      {"verify joma.entropy-bounce --instance " + unknown, "did you mean 'mu'"},
      {"verify joma.entropy-bounce scb.reduction --instance " + mu, "of one model only"},
      {"verify joma.entropy-bounce --seeds 3 --instance " + mu, "exclude each other"},
      {"verify joma.ode-limit --instance " + mu, "makes its own instances"},
      {"verify joma.entropy-bounce --seed -1", "-1 must be a whole number from 0"},
      {"verify joma.entropy-bounce --seed 99999999999999999999", "must be a whole number from 0"},
      {"verify scb", "quote 'scb.*' for all of its statements"},
      {"run joma sgd --steps 1.5", "1.5 must be a whole number from"},
      {"run joma sgd --steps many", "many must be a whole number from"},
      {"run joma reduced --digits 1e99", "1e99 must be a whole number from"},
      {"run joma reduced --tempratur 2", "did you mean '--temperature'"},
      {"run joma reduced --length 3", "not read by this rung"},
      {"run joma reduced --mu", "--mu needs a value"},
      {"run joma reduced --v0 1 --v0 2", "--v0 is given 2 times"},
      {"run --units 1.5 joma population", "--units 1.5 must be a whole number from"},
      {"run topic flow --mu 1", "--mu is no option of 'run'"},
      {"run --instance joma topic flow --T 4", "joma: cannot be read"},
      {"run joma reduced --instance " + broken, "line 1"},
      {"run joma reduced --instance " + twice, "twice"},
      {"run joma reduced --instance " + unknown, "did you mean 'mu'"},
      {"run joma reduced --instance /nonexistent.json", "cannot be read"},
      {"run joma reduced -o " + folder.file("x.txt"), "must be .csv, .json or .npz"},
      {"run joma reduced -o /nonexistent/x.csv", "cannot be written"},
      {"compare joma reduced", "either a second rung or --with"},
      {"figure joma-entrop", "did you mean 'joma-entropy'"},
      {"figure scb-phase --N 0", "--N 0"},
      {"figure scb-phase --Q 300", "exceeds --T 200"},
      {"figure all --instance nowhere.json", "is for one figure"},
      {"equations joma reduced --format tex", "must be text, latex, cpp, python"},
      {"equations joma reduced --rtol 1e-3",
       "--rtol is no option of 'equations', only of run, compare, "},
      {"equations joma reduced --config " + folder.file("seed.toml", "seed = 3\n"),
       "seed.toml: line 1: key seed is not an option"},
      {"compare joma flow reduced --digits 30", "--digits is no option of 'compare', only of run"},
      {"sweep joma reduced --over tau=1,2 --states",
       "--states is no option of 'sweep', only of run"},
      {"landscape topic --runs 3",
       "--runs is no option of 'landscape', only of run, compare, ladder, sweep"},
      {"", "no command is given"},
  };
  for (const auto& [words, expected] : cases) {
    const Answer answer = run_popgrad(words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == 2);
    CHECK(answer.out.find(expected) != std::string::npos);
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
  }
}

TEST_CASE("cli: moments lie beside an ensemble", "[cli]") {
  const Folder folder;
  const std::string instance =
      folder.file("i.json", "{\"N\": 3, \"T\": 6, \"Q\": 2, \"start\": \"transfer\"}");
  const std::string predicted = folder.file("m.json");
  const Answer answer = run_popgrad("run scb moments --instance " + instance +
                                    " --eta 0.05 --batch 32 --t1 4 --save 5 -o " + predicted);
  CAPTURE(answer.out);
  CHECK(answer.status == 0);
  const Json record = Json::parse(content(predicted));
  const std::vector<std::string> columns = record["columns"];
  const auto position = [&](const char* name) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) -
                                    columns.begin());
  };
  REQUIRE(position("loss_sd") < columns.size());
  REQUIRE(position("second_order") == columns.size() - 1);
  CHECK(record["rows"].size() == 5);
  CHECK(record["rows"][0][position("loss_sd")] == 0.0);
  CHECK(record["rows"][4][position("dist_P_sd")] > 0.001);
  // From a saddle with much noise.
  const Answer stops =
      run_popgrad("run scb moments --T 10 --eta 0.1 --batch 1 --t1 100 -o " + folder.file("s.csv"));
  CAPTURE(stops.out);
  CHECK(stops.status == 4);
  CHECK(stops.out.find("the prediction ends here") != std::string::npos);
}

TEST_CASE("cli: a verdict on the user's own instance names the hypothesis that it breaks",
          "[cli]") {
  const Folder folder;
  const std::string inside = folder.file("in.json", "{\"mu\": [1, 2, 3], \"v0\": 0.1, \"tau\": 3}");
  const std::string outside = folder.file("out.json", "{\"mu\": [1, 2, 3], \"v0\": 1.5}");
  const std::string json = folder.file("verdict.json", "");
  const Answer holds =
      run_popgrad("verify joma.entropy-bounce --instance " + inside + " --json " + json);
  CAPTURE(holds.out);
  CHECK(holds.status == 0);
  const Json statement = Json::parse(content(json))["statements"][0];
  CHECK(statement["verdict"] == "holds");
  CHECK(statement["parameters"]["mu"] == Json({1.0, 2.0, 3.0}));
  const Json hypothesis = statement["hypotheses"][3];
  CHECK(hypothesis["text"] == "0 <= v0 < mu_j");
  CHECK(hypothesis["met"] == "yes");
  CHECK(hypothesis["known"] == "evaluated");
  CHECK(hypothesis["margin"].get<double>() == Approx(0.1));
  const Answer broken = run_popgrad("verify joma.entropy-bounce --instance " + outside);
  CAPTURE(broken.out);
  CHECK(broken.status == 5);
  CHECK(broken.out.find("not applicable: '0 <= v0 < mu_j' is not met: v0 = 1.5, least mu = 1") !=
        std::string::npos);
}

TEST_CASE("cli: a survey gives shares of instances and the power of controls",
          "[cli][unsanitized]") {
  const Folder folder;
  const std::string json = folder.file("survey.json", "");
  const Answer answer = run_popgrad("verify joma.entropy-bounce --seeds 50 --json " + json);
  CAPTURE(answer.out);
  CHECK(answer.status == 0);
  const Json statement = Json::parse(content(json))["statements"][0];
  CHECK(statement["instances"]["examined"] == 50);
  CHECK(statement["instances"]["holds"].get<int>() > 45);
  CHECK(statement["instances"]["violated"] == 0);
  for (const Json& control : statement["controls"]) CHECK(control["power"].get<double>() > 0.9);
}

TEST_CASE("cli: the blow-up is an event, in double and in forty digits", "[cli][slow]") {
  const Folder folder;
  const std::string delta = folder.file("delta.json", "{\"delta\": [1, 2]}");
  const std::string out = folder.file("out.json");
  REQUIRE(run_popgrad("run joma reduced --instance " + delta + " -o " + out).status == 0);
  Json document = Json::parse(content(out));
  CHECK(document["model"] == "joma");
  CHECK(document["parameters"]["delta"] == Json({1.0, 2.0}));
  CHECK(document["columns"][0] == "t");
  CHECK(document["rows"].size() == 100);
  REQUIRE(document["events"].size() == 1);
  CHECK(document["events"][0]["name"] == "blow-up");
  CHECK(document["events"][0]["column"] == "v_1");
  CHECK(document["events"][0]["t"].get<double>() == Approx(std::sqrt(M_PI / 2) / 2).margin(1e-9));
  // Half a minute there, in code that shorter runs in digits go through.
  if (build::sanitized()) return;
  REQUIRE(run_popgrad("run joma reduced --digits 40 --instance " + delta + " -o " + out).status ==
          0);
  document = Json::parse(content(out));
  // sqrt(pi/2)/2, from another program (bc -l).
  const std::string digits = "0.62665706865775012560394132120276131325174668";
  CHECK(document["events"][0]["t"].get<std::string>().substr(0, 34) == digits.substr(0, 34));
}

TEST_CASE("cli: a closed form says where it blows up, and a flow that it may have by the end",
          "[cli]") {
  const Folder folder;
  const std::string out = folder.file("out.json");
  const auto blow_up_of = [&](const std::string& arguments) {
    const Answer run =
        run_popgrad("run joma " + arguments + " --delta 1 --tau 2 --save 3 -o " + out);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Catch::Contains("blow-up of v_0 at t = 1.25331413") &&
                            Catch::Contains("the event blow-up has the component and the time"));
    // The time is printed to what it is known to, once.
    CHECK_THAT(run.out, !Catch::Contains("stopped at t"));
    const Json document = Json::parse(content(out));
    REQUIRE(document["events"].size() == 1);
    CHECK(document["rows"].size() == 2);
    return document["events"][0]["t"].get<double>();
  };
  const double truth = std::sqrt(M_PI / 2);
  CHECK(blow_up_of("closed-form --t1 2") == Approx(truth).margin(1e-14));
  for (const std::string end : {"1.2533141371901689", "1.2533141373155003", "1.253314138"}) {
    CHECK(blow_up_of("reduced --t1 " + end) == Approx(truth).margin(1e-9));
  }
}

TEST_CASE("cli: rosenbrock4 on every flow, or the methods that it has", "[cli]") {
  for (const std::string rung : {"scb flow --t1 1", "scan-snap reduced --t1 1",
                                 "topic symmetric --t1 1", "topic flow --t1 1"}) {
    const Answer run =
        run_popgrad("run " + rung + " --method rosenbrock4 --save 2 --no-events -o -");
    CAPTURE(rung, run.out);
    CHECK(run.status == (rung.starts_with("topic flow") ? 2 : 0));
    if (run.status == 2)
      CHECK_THAT(run.out, Catch::Contains("take auto, dopri5 or bulirsch-stoer"));
  }
}

TEST_CASE("cli: reduced and closed form agree from the command line", "[cli]") {
  const Folder folder;
  const std::string mu = folder.file("mu.json", "{\"mu\":[1,2,3],\"v0\":[0.05,0.05,0.05]}");
  const std::string common = " --instance " + mu + " --t1 4 --save 5 --states --quiet -o ";
  REQUIRE(run_popgrad("run joma reduced" + common + folder.file("a.json")).status == 0);
  REQUIRE(run_popgrad("run joma closed-form" + common + folder.file("b.json")).status == 0);
  const Json a = Json::parse(content(folder.file("a.json")))["rows"];
  const Json b = Json::parse(content(folder.file("b.json")))["rows"];
  REQUIRE(a.size() == 5);
  for (std::size_t k = 0; k < a.size(); ++k) {
    for (std::size_t c = 4; c < 7; ++c) {  // v_0, v_1, v_2
      CHECK(a[k][c].get<double>() == Approx(b[k][c].get<double>()).margin(1e-10));
    }
  }
}

TEST_CASE("cli: same seed, any number of jobs, identical bytes", "[cli]") {
  const Folder folder;
  for (const std::string suffix : {".csv", ".npz"}) {
    const std::string one = folder.file("same" + suffix);
    REQUIRE(run_popgrad("run joma sgd --runs 4 --steps 100 --jobs 1 -q -o " + one).status == 0);
    const std::string first = content(one);
    REQUIRE(run_popgrad("run joma sgd --runs 4 --steps 100 --jobs 2 -q -o " + one).status == 0);
    const std::string second = content(one);
    // The npz records its command line, in which the number of jobs stands.
    if (suffix == ".csv") CHECK(first == second);
    CHECK(first.size() == second.size());
    CHECK_FALSE(first.empty());
  }
  const std::string text = content(folder.file("same.csv"));
  CHECK(text.rfind("run,t,attention_entropy,", 0) == 0);
}

TEST_CASE("cli: a configuration file has the same keys, the command line the last word", "[cli]") {
  const Folder folder;
  const std::string config = folder.file("c.toml", "t1 = 2\nsave = 3\nmu = [1, 2]\n");
  const Answer answer = run_popgrad("run joma reduced -q --states --save 5 --config " + config);
  CHECK(answer.status == 0);
  CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 6);
  CHECK(answer.out.find("v_0,v_1\n") != std::string::npos);
  const std::string wrong = folder.file("w.toml", "t1 = 2\n\nsav = 3\n");
  const std::string unknown = run_popgrad("run joma reduced --config " + wrong).out;
  CHECK(unknown.find("did you mean") != std::string::npos);
  CHECK(unknown.find("line 3") != std::string::npos);
  // A key of an instance, too, whose lines nested lists and texts may take several of.
  const std::string instance =
      folder.file("i.json", "{\"v0\": 0.1,\n \"mu\": [1,\n  2],\n \"tua\": 3}");
  const Answer misspelt = run_popgrad("run joma reduced --instance " + instance);
  CHECK(misspelt.status == 2);
  CHECK(misspelt.out.find(
            "i.json: line 4: joma reduced: parameter tua is not known; did you mean 'tau'?") !=
        std::string::npos);
  const std::string words = folder.file("n.toml", "t1 = 2\nsave = \"many\"\n");
  const Answer refused = run_popgrad("run joma reduced --config " + words);
  CHECK(refused.status == 2);
  CHECK(refused.out.find("line 2: save many must be a whole number from 2") != std::string::npos);
}

TEST_CASE("cli: a failed write leaves the old result whole", "[cli]") {
  const Folder folder;
  const std::string out = folder.file("old.csv", "the old result\n");
  CHECK(run_popgrad("run joma reduced --t1 -1 -o " + out).status == 2);
  CHECK(content(out) == "the old result\n");
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator{}) == 1);
}

TEST_CASE("cli: an interrupted run saves and goes on to the same bytes", "[cli]") {
  const Folder folder;
  const std::string whole = folder.file("whole.csv");
  const std::string part = folder.file("part.csv");
  const std::string words = "run joma sgd --steps 60000 --save 7 -q -o ";
  REQUIRE(run_popgrad(words + whole).status == 0);
  // Asked to stop after a moment. A machine may be faster than that, and have nothing to resume, or
  // slower, and end before popgrad listens: then a longer moment is tried.
  for (const char* moment : {"0.1", "0.5", "2"}) {
    const Answer stopped = shell(std::string("timeout -s INT ") + moment + " " + places::popgrad() +
                                 " " + words + part + " 2>&1");
    if (!fs::exists(part)) continue;
    if (stopped.out.find("interrupted") != std::string::npos) {
      CHECK(stopped.out.find("--resume") != std::string::npos);
      REQUIRE(fs::exists(part + ".checkpoint.json"));
      REQUIRE(run_popgrad("run --resume " + part + ".checkpoint.json -o " + part).status == 0);
    }
    break;
  }
  CHECK(content(part) == content(whole));
}

TEST_CASE("cli: verify speaks the JSON of the contract", "[cli][unsanitized]") {
  const Answer answer = shell(places::popgrad() + " verify 'joma.tree-*' --json - 2>/dev/null");
  CHECK(answer.status == 0);
  const Json document = Json::parse(answer.out);
  CHECK(document["summary"]["holds"] == 3);
  for (const Json& s : document["statements"]) {
    CHECK(s["verdict"] == "holds");
    CHECK(s["evidence"].size() >= 2);
    for (const Json& control : s["controls"]) CHECK(control["verdict"] == "violated");
  }
}

TEST_CASE("cli: recorded runs in three formats give the same deviation", "[cli]") {
  const Folder folder;
  REQUIRE(run_popgrad("run joma reduced --t1 2 -q -o " + folder.file("r.csv")).status == 0);
  REQUIRE(run_popgrad("run joma reduced --t1 2 -q -o " + folder.file("r.npz")).status == 0);
  std::ofstream lines(folder.file("r.jsonl"));
  std::istringstream csv(content(folder.file("r.csv")));
  std::string row;
  std::getline(csv, row);
  while (std::getline(csv, row)) {
    const std::size_t comma = row.find(',');
    lines << "{\"t\": " << row.substr(0, comma) << ", \"attention_entropy\": "
          << row.substr(comma + 1, row.find(',', comma + 1) - comma - 1) << "}\n";
  }
  lines.close();
  for (const char* suffix : {".csv", ".npz", ".jsonl"}) {
    const Answer answer = run_popgrad("compare joma reduced --t1 2 --clock 1 --with " +
                                      folder.file(std::string("r") + suffix));
    CAPTURE(suffix, answer.out);
    CHECK(answer.status == 0);
    CHECK(answer.out.find("attention_entropy") != std::string::npos);
    CHECK(answer.out.find("1.0000") != std::string::npos);  // correlation with itself
  }
  const std::string bad = folder.file("bad.csv", "t,attention_entropy\n0,1\n1,x\n");
  const Answer answer = run_popgrad("compare joma reduced --with " + bad);
  CHECK(answer.status == 2);
  CHECK(answer.out.find("line 3, column 'attention_entropy'") != std::string::npos);
}

TEST_CASE("cli: the JSON of a run has what it was run with as fields", "[cli]") {
  const Folder folder;
  const std::string out = folder.file("out.json");
  REQUIRE(run_popgrad(
              "run joma sgd --steps 30 --eta 0.05 --batch 8 --optimiser momentum --momentum 0.8 "
              "-q -o " +
              out)
              .status == 0);
  const Json walk = Json::parse(content(out)).at("settings");
  CHECK(walk == Json{{"eta", 0.05},
                     {"steps", 30},
                     {"batch", 8},
                     {"runs", 1},
                     {"optimiser", "momentum"},
                     {"momentum", 0.8}});
  REQUIRE(run_popgrad("run joma reduced --t1 2 --rtol 1e-8 -q -o " + out).status == 0);
  const Json solve = Json::parse(content(out)).at("settings");
  CHECK(solve.at("t1") == 2.0);
  CHECK(solve.at("rtol") == 1e-8);
  CHECK(solve.at("atol") == 1e-10);
  CHECK(solve.at("digits") == 16);
}

TEST_CASE("cli: the version tells what a verdict was made with", "[cli]") {
  const Answer answer = run_popgrad("--version");
  CHECK(answer.status == 0);
  CHECK_THAT(answer.out, Catch::StartsWith("popgrad ") && Catch::Contains("\nEigen 3.") &&
                             Catch::Contains("\nMPFR "));
}

TEST_CASE("cli: numbers may be written as people write them", "[cli]") {
  const std::string plain = run_popgrad("run joma sgd --steps 20 --save-at 0,2 -q -o -").out;
  CHECK(run_popgrad("run joma sgd --steps 2e1 --save-at 0.0,2.0 -q -o -").out == plain);
}

TEST_CASE("cli: equations print what is integrated", "[cli]") {
  CHECK(run_popgrad("equations joma reduced --format python").out.find("dv_0 = ") == 0);
  CHECK(run_popgrad("equations joma reduced --format latex").out.find("\\dot{v_{0}}") !=
        std::string::npos);
  CHECK(run_popgrad("equations joma flow --attention softmax --phi gelu").status == 0);
  // GiNaC's own order of terms is another in every process.
  const std::string first = run_popgrad("equations scan-snap flow").out;
  for (int again = 0; again < 3; ++again)
    CHECK(run_popgrad("equations scan-snap flow").out == first);
}

TEST_CASE("cli: what there is, for people and programs", "[cli]") {
  const Json all = Json::parse(run_popgrad("list --json -").out);
  REQUIRE(all.at("models").size() == 4);
  const Json& joma = all["models"][0];
  CHECK(joma.at("name") == "joma");
  const Json& sgd = joma.at("rungs")[0];
  CHECK(sgd.at("name") == "sgd");
  CHECK(sgd.at("kind") == "random");
  CHECK(sgd.at("default_batch").get<int>() > 0);
  // The columns are those that a run writes.
  const std::string run = run_popgrad("run joma sgd --steps 1 -o -").out;
  std::string header = "t";
  for (const Json& column : sgd.at("columns")) header += "," + column.get<std::string>();
  CHECK_THAT(run, Catch::StartsWith(header + "\n"));
  for (const Json& statement : joma.at("statements")) {
    CHECK_THAT(statement.at("id").get<std::string>(), Catch::StartsWith("joma."));
    CHECK_FALSE(statement.at("hypotheses").empty());
    CHECK_FALSE(statement.at("controls").empty());
  }
  const Answer one = run_popgrad("list scb");
  CHECK(one.status == 0);
  CHECK_THAT(one.out, Catch::Contains("scb.convergence") && !Catch::Contains("joma."));
  const auto lines = [](const Answer& answer) {
    return std::count(answer.out.begin(), answer.out.end(), '\n');
  };
  CHECK(lines(run_popgrad("list")) <= 50);
  for (const Json& model : all["models"]) {
    const Answer names = run_popgrad("list " + model.at("name").get<std::string>());
    CHECK(lines(names) <= 120);
    for (const char* kind : {"rungs", "parameters", "observables", "statements", "figures"}) {
      for (const Json& each : model.at(kind)) {
        const auto& name = each.contains("id") ? each["id"] : each["name"];
        if (each.contains("formula") && each["formula"].get<std::string>().empty()) continue;
        CHECK_THAT(names.out, Catch::Contains("\n  " + name.get<std::string>() + " "));
      }
    }
  }
  CHECK_THAT(run_popgrad("list joma reduced").out,
             Catch::Contains("O(M_C K) an evaluation") && Catch::Contains("\n    largest_delta ") &&
                 Catch::Contains("\n    mu ") && !Catch::Contains("train-attention"));
  CHECK_THAT(run_popgrad("list joma temperature").out, Catch::StartsWith("parameter\n"));
  CHECK_THAT(run_popgrad("list joma temperatur").out,
             Catch::Contains("did you mean 'temperature'?"));
  CHECK(run_popgrad("list joma.stable-rank reduced").status == 2);
  CHECK_THAT(run_popgrad("list --all joma").out,
             Catch::Contains("hypothesis: ") && Catch::Contains("usually"));
  CHECK(run_popgrad("list sbc").status == 2);
}

TEST_CASE("cli: what is off in the table follows from the numbers of --details",
          "[cli][unsanitized]") {
  // Equalities, inequalities to an equality and strict ones, numbers known exactly, enclosures.
  const std::vector<std::string> ids{
      "joma.entropy-bounce",   "joma.stable-rank",      "joma.frozen-layers",
      "scan-snap.growth",      "scan-snap.late-growth", "scan-snap.fates-assumption2",
      "topic.attention-block", "scan-snap.class-noise", "scan-snap.draws-until"};
  std::string command = "verify";
  for (const std::string& id : ids) command += " " + id;
  const std::string text = run_popgrad(command + " --details").out;
  static const std::regex distance(
      R"(; (off|on the right side) by ([.\de+-]+), ([.\de+-]+) (?:of|times) the allowed ([.\de+-]+) \()");
  bool right_side = false, equality = false;
  for (const std::string& id : ids) {
    CAPTURE(id, text);
    std::smatch row;
    REQUIRE(std::regex_search(text, row, std::regex("\n" + id + R"( +holds .*? ([-+.\de]+) \()")));
    const std::size_t begin = text.find("\n" + id + "  holds\n");
    REQUIRE(begin != std::string::npos);
    const std::string details = text.substr(begin, text.find("\n\n", begin + 1) - begin);
    double largest_value = -std::numeric_limits<double>::infinity();
    for (std::sregex_iterator at(details.begin(), details.end(), distance), end; at != end; ++at) {
      const double by = std::stod((*at)[2]), printed = std::stod((*at)[3]);
      const double allowed = std::stod((*at)[4]);
      CAPTURE(at->str());
      // Two digits of the share, four of the numbers.
      CHECK(by / allowed == Approx(printed).epsilon(0.051));
      const bool is_right = (*at)[1] != "off";
      (is_right ? right_side : equality) = true;
      largest_value = std::max(largest_value, is_right ? -printed : printed);
    }
    CHECK(largest_value == std::stod(row[1]));
  }
  CHECK((right_side && equality));
}

TEST_CASE("cli: errata with class, place, source and hypotheses", "[cli][unsanitized]") {
  const Answer listed = run_popgrad("list --errata");
  CHECK(listed.status == 0);
  for (const char* slot :
       {"\n  class      ", "\n  place      arXiv ", "\n  source     ", "\n  hypothesis ",
        "\n  evidence   ", "\n  see        popgrad verify "}) {
    CAPTURE(slot);
    CHECK(listed.out.find(slot) != std::string::npos);
  }
  const Json all = Json::parse(run_popgrad("list --errata --json -").out).at("errata");
  std::size_t blocks = 0;
  for (std::size_t at = 0; (at = listed.out.find("\n  class ", at)) != std::string::npos; ++at) {
    ++blocks;
  }
  CHECK(blocks == all.size());
  for (const Json& e : all) {
    CAPTURE(e.at("name"));
    CHECK(e.at("shown") == true);
    CHECK_FALSE(e.at("class").get<std::string>().empty());
    CHECK_FALSE(e.at("sources").empty());
    CHECK_FALSE(e.at("hypotheses").empty());
    for (const Json& item : e.at("of_paper")) CHECK(item.at("verdict") == "violated");
    CHECK_FALSE(e.at("of_paper").empty());
  }
  CHECK(listed.out.find("the paper's is refuted") != std::string::npos);
  CHECK(listed.out.find("NOT") == std::string::npos);
  // What was measured, both predictions, and the parts of the error.
  static const std::regex clock(
      "its time with exp .*: shown: 0\\.61\\d+ against 0\\.61\\d+; off by "
      ".* of the allowed .* \\(solver .*\\)");
  static const std::regex against(
      "the paper's is refuted: 0\\.61\\d+ against 12\\.8\\d+; off by 12\\.");
  CHECK(std::regex_search(listed.out, clock));
  CHECK(std::regex_search(listed.out, against));
}

TEST_CASE("cli: the rung attended", "[cli]") {
  CHECK(run_popgrad("equations joma attended --format python").out.find("exp") !=
        std::string::npos);
  CHECK(run_popgrad("run joma attended --mu 1.5,2.5 --t1 5 -o -").status == 0);
  CHECK(run_popgrad("run joma attended --mu 1.5,2.5 --t1 0.1 --digits 40 -o -").status == 0);
  CHECK(run_popgrad("compare joma attended reduced --mu 1.5,2.5 --t1 1").status == 0);
  const Answer softmax = run_popgrad("run joma attended --mu 1,2 --attention softmax -o -");
  CHECK(softmax.status == 2);
  CHECK(softmax.out.find("must be exp") != std::string::npos);
}

TEST_CASE("cli: rungs with several layers", "[cli]") {
  const Folder folder;
  const std::string small = " --d 4 --latents 4,3 --children 2,2 --phi gelu ";
  const Answer run =
      run_popgrad("run joma multilayer-sgd --steps 10 --batch 2 --runs 2 -o -" + small);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Catch::Contains("run,t,loss,accuracy,attention_entropy_0"));
  CHECK_THAT(run.out, Catch::Contains("correlation_1_0,matched_1_0"));
  // A rung is compared with those of its own ladder: full batches of several layers too.
  const Answer compared =
      run_popgrad("compare joma multilayer-sgd multilayer-flow --t1 1 --runs 3" + small);
  CHECK(compared.status == 0);
  CHECK_THAT(compared.out, Catch::Contains("error budget"));
  CHECK_THAT(compared.out, Catch::Contains("attention_entropy_1"));
  const std::string inputs =
      folder.file("inputs.json", R"({"inputs": [[0, 1, 2], [3, 1, 2]], "d": 3, "layers": 1})");
  CHECK(run_popgrad("run joma multilayer-gd --steps 5 --instance " + inputs + " -o -").status == 0);
  CHECK(run_popgrad("run joma multilayer-gd --hierarchy tree --depth 2 --steps 5 -o -").status ==
        0);
  for (const auto& [words, says] :
       {std::pair<std::string, std::string>{"run joma multilayer-flow --digits 30", "in double"},
        {"equations joma multilayer-flow", "no form over symbols"},
        {"run joma multilayer-gd --temperature 2", "not read by this rung"},
        {"run joma flow --layers 2", "not read by this rung"},
        {"run joma multilayer-gd --layers 4", "must be a whole number from 1 to 3"},
        {"run joma multilayer-gd --L 3", "--L 3 is shorter"}}) {
    const Answer refused = run_popgrad(words);
    CAPTURE(words, refused.out);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.out, Catch::Contains(says));
  }
}

TEST_CASE("cli: pictures of results", "[cli]") {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> drawn{
      {"run joma reduced --t1 1", "run.svg"},
      {"run joma sgd --steps 20 --runs 3", "ensemble.png"},
      {"run joma reduced --t1 1 --digits 30", "digits.pdf"},
      {"compare joma gd flow --steps 20", "compare.svg"},
      {"ladder joma --t1 0.2 --save 3", "ladder.svg"},
      {"sweep topic optimum --over tau=2,4 --over T=16,64", "sweep.svg"},
      {"sweep scb sgd --T 20 --over batch=4,8 --steps 20 --runs 3 --first 'loss<=0'", "never.svg"},
      {"landscape topic --T 5 --tau 2 --v 3", "landscape.svg"},
      {"landscape topic --T 3 --tau 1 --v 2 --d_a 3 --around flow --t1 5 --slice 2 --points 5",
       "slice.svg"},
      {"landscape topic --T 3 --tau 1 --v 2 --d_a 3 --around flow --t1 5 --points 5", "line.svg"},
  };
  for (const auto& [words, file] : drawn) {
    const Answer answer = run_popgrad(words + " -q --plot " + folder.file(file));
    INFO(words << "\n" << answer.out);
    CHECK(answer.status == 0);
    CHECK(fs::exists(folder.path / file));
    CHECK(fs::file_size(folder.path / file) > 1000);
  }
  // Nothing beside the pictures; into a folder, data and script as well.
  CHECK(static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path),
                                               fs::directory_iterator())) == drawn.size());
  CHECK(run_popgrad("run joma reduced --t1 1 -q --plot " + (folder.path / "all").string()).status ==
        0);
  for (const char* kind : {"csv", "gp", "svg", "png", "pdf"}) {
    CHECK(fs::exists(folder.path / "all" / (std::string("run-joma-reduced.") + kind)));
  }
  // What is drawn are the numbers of the run, the band is one standard deviation.
  const std::string runs = folder.file("runs.json");
  const std::string words = "run joma sgd --steps 20 --runs 3 --save 3 -q --plot " +
                            (folder.path / "all").string() + " -o " + runs;
  REQUIRE(run_popgrad(words).status == 0);
  const Json rows = Json::parse(content(runs)).at("rows");
  double sum = 0, squares = 0;
  for (const Json& row : rows) {
    if (row[1].get<double>() != 2) continue;
    sum += row[2].get<double>();
  }
  for (const Json& row : rows) {
    if (row[1].get<double>() != 2) continue;
    squares += std::pow(row[2].get<double>() - sum / 3, 2);
  }
  std::istringstream table(content((folder.path / "all" / "run-joma-sgd.csv").string()));
  std::string line, last;
  while (std::getline(table, line)) last = line;
  std::istringstream fields(last);
  std::vector<double> numbers;
  for (std::string field; std::getline(fields, field, ',');) numbers.push_back(std::stod(field));
  CHECK(numbers[0] == 2);
  CHECK(numbers[1] == Approx(sum / 3).epsilon(1e-12));
  CHECK(numbers[3] - numbers[1] == Approx(std::sqrt(squares / 2)).epsilon(1e-6));
  // Shares that were asked for are drawn by themselves, at marks that have room for their numbers.
  REQUIRE(
      run_popgrad("sweep scb sgd --T 20 --over eta=0.005,0.01,0.02,0.021,0.08 --steps 20 --runs 3 "
                  "--success 'loss<=1' -q --plot " +
                  (folder.path / "all").string())
          .status == 0);
  const std::string script = content((folder.path / "all" / "sweep-scb-sgd.gp").string());
  CHECK_THAT(script, Catch::Contains("\npanels = 'success'\n") &&
                         Catch::Contains("\nx_label = 'η'\n") && Catch::Contains("\"0.02\" 0.02") &&
                         Catch::Contains("\"\" 0.021"));
  CHECK_THAT(script, Catch::Contains("T = 20; steps = 20, runs = 3; seed 1'"));
  // Values in equal ratios have an axis by ratios; curves on one another are named, what is swept is not.
  REQUIRE(run_popgrad("sweep joma reduced --over tau=1,2,4 --over v0=0.01,0.02 --t1 20 --v0 0.5 "
                      "--mu 1,2 -q --plot " +
                      (folder.path / "all").string())
              .status == 0);
  const std::string swept = content((folder.path / "all" / "sweep-joma-reduced.gp").string());
  CHECK_THAT(swept, Catch::Contains("\nx_logarithmic = '1'\n") &&
                        Catch::Contains("mu = (1, 2); t1 = 20; seed 1") &&
                        Catch::Contains("; curves coincide") && !Catch::Contains("v0 = 0.5"));
  const Answer refused = run_popgrad("run joma reduced --plot x.jpg");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.out, Catch::Contains("must end in .svg, .png or .pdf"));
}

}  // namespace contract_test
