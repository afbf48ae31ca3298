/// `popgrad instance`: the file that it writes is the instance of the verdict, for every statement that
/// reads one.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "commands/instance_file.hpp"
#include "commands/shell.hpp"
#include "commands/verification.hpp"
#include "popgrad/evidence/survey.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/model.hpp"
#include "presenting/reproduction.hpp"
#include "register_case.hpp"

namespace instance_test {

using namespace popgrad;
using command_line::Answer;
using command_line::Folder;

namespace {

Setting quick_setting(std::uint64_t seed) {
  Setting setting;
  setting.seed = seed;
  setting.effort = Effort::search;
  setting.with_controls = false;
  return setting;
}

// The setting that `verify --instance` makes of such a file, at another seed and with no knobs chosen.
Examination examined_from_file(const Statement& s, const cli::InstanceFile& file) {
  REQUIRE(file.statement == s.id);
  REQUIRE(file.seed.has_value());
  Setting setting = quick_setting(*file.seed);
  setting.chosen = cli::chosen_knobs("test", file.knobs, {&s});
  setting.instance = &file.parameters;
  return examine(s, setting);
}

void same_evidence(const Examination& drawn, const Examination& read) {
  CHECK(drawn.verdict() == read.verdict());
  REQUIRE(drawn.evidence.size() == read.evidence.size());
  for (std::size_t i = 0; i < drawn.evidence.size(); ++i) {
    const Evidence& a = drawn.evidence[i];
    const Evidence& b = read.evidence[i];
    INFO(a.what << ": " << a.detail << " and " << b.detail);
    CHECK(a.what == b.what);
    CHECK(a.verdict == b.verdict);
    // Bit for bit, as every number is read back as it was.
    CHECK((a.measured == b.measured || (std::isnan(a.measured) && std::isnan(b.measured))));
    CHECK((a.allowed == b.allowed || (std::isnan(a.allowed) && std::isnan(b.allowed))));
  }
}

// At drawn knobs; where they give no instance that a file can hold, at the usual ones.
void agrees_with_its_file(const Statement& s) {
  const Folder folder;
  const std::string model = s.id.substr(0, s.id.find('.'));
  bool compared = false;
  for (const std::uint64_t seed : {2U, 1U}) {
    if (compared) break;
    Setting setting = quick_setting(seed);
    if (seed > 1) setting.chosen = drawn_knobs(s, seed);
    Examination drawn;
    std::string text;
    try {
      const ExaminedInstance found = examined_instance(s, setting);
      if (!found.none.empty()) {  // outside the hypotheses
        CHECK(check_point(s, setting).verdict == Verdict::not_applicable);
        continue;
      }
      drawn = examine(s, setting);
      text = cli::instance_text(s, setting, found, find_model(model).parameters());
    } catch (const std::invalid_argument&) {
      continue;  // no instance at these knobs
    }
    CAPTURE(s.id, seed, text.substr(0, 2000));
    const std::string path = folder.file(fmt::format("{}.json", seed), text);
    const cli::InstanceFile file = cli::read_instance(model, path);
    file.parameters.check_names(find_model(model).parameters(), s.reads);
    same_evidence(drawn, examined_from_file(s, file));
    compared = true;
  }
  CHECK(compared);
}

}  // namespace

static void register_cases() {
  for (const Statement* each : statements(theories())) {
    if (each->reads.empty()) continue;
    register_case(each->id + " examines the file of its instance as the instance",
                  "[instance][slow][unsanitized]", [each] { agrees_with_its_file(*each); });
  }
}

TEST_CASE("cli: an instance is written, read by verify and run, and its seed and knobs are kept",
          "[cli][instance]") {
  const Folder folder;
  const std::string file = folder.file("i.json");
  const Answer written =
      command_line::run_popgrad("instance joma.entropy-bounce --seed 7 --set tau=5 -o " + file);
  CAPTURE(written.out);
  REQUIRE(written.status == 0);
  const Json instance = Json::parse(command_line::content(file));
  CHECK(instance["tau"] == 5.0);
  CHECK(instance["check"]["statement"] == "joma.entropy-bounce");
  CHECK(instance["check"]["seed"] == 7);
  CHECK(instance["check"]["knobs"]["tau"] == 5.0);
  CHECK(command_line::run_popgrad("instance joma.entropy-bounce --seed 7 --set tau=5").out ==
        command_line::content(file));
  const auto verdict = [&](const std::string& words) {
    const std::string json = folder.file("v.json");
    const Answer answer =
        command_line::run_popgrad("verify joma.entropy-bounce -q " + words + " --json " + json);
    INFO(answer.out);
    REQUIRE(answer.status == 0);
    return Json::parse(command_line::content(json));
  };
  const Json drawn = verdict("--seed 7 --set tau=5");
  const Json read = verdict("--instance " + file);
  CHECK(read["seed"] == 7);
  CHECK(read["statements"][0]["evidence"] == drawn["statements"][0]["evidence"]);
  CHECK(read["statements"][0]["hypotheses"] == drawn["statements"][0]["hypotheses"]);
  CHECK(verdict("--instance " + file + " --seed 8")["seed"] == 8);
  const Answer run =
      command_line::run_popgrad("run joma reduced --t1 1 --save 2 -o - --instance " + file);
  INFO(run.out);
  CHECK(run.status == 0);
}

TEST_CASE("cli: knobs of a file are those of its check, unless --set has others",
          "[cli][instance]") {
  const Folder folder;
  const std::string file = folder.file("i.json");
  REQUIRE(command_line::run_popgrad("instance scan-snap.growth --set time=200 -o " + file).status ==
          0);
  const auto measured = [&](const std::string& words) {
    const std::string json = folder.file("v.json");
    static_cast<void>(
        command_line::run_popgrad("verify scan-snap.growth -q --json " + json + words));
    return Json::parse(command_line::content(json))["statements"][0]["evidence"];
  };
  CHECK(measured(" --instance " + file) == measured(" --set time=200"));
  CHECK(measured(" --instance " + file) != measured(" --set time=300"));
  CHECK(measured(" --set time=300 --instance " + file) == measured(" --set time=300"));
}

TEST_CASE("cli: an instance says what width and start the check chose", "[cli][instance]") {
  const Answer answer = command_line::run_popgrad("instance topic.either-alone");
  REQUIRE(answer.status == 0);
  const Json instance = Json::parse(answer.out);
  const int words = instance["T"].get<int>() * instance["v"].get<int>();
  CHECK(instance["check"]["chosen"]["d_e"] == words + 1);
  CHECK(instance["check"]["chosen"]["start"].get<std::string>().find("W_E normal") == 0);
}

TEST_CASE("cli: a loss that is flat at uniform attention ends no command", "[cli][instance]") {
  const Folder folder;
  const std::string file = folder.file("flat.json", R"({"T": 2, "tau": 1, "v": 2, "p_r": 0})");
  const Answer answer =
      command_line::run_popgrad("verify topic.attention-diagonal --instance " + file);
  CAPTURE(answer.out);
  CHECK(answer.status == 5);
  CHECK_THAT(answer.out, Catch::Contains("not applicable"));
}

TEST_CASE("cli: files that once were false counterexamples", "[cli][instance]") {
  const Folder folder;
  const auto answers = [&](const std::string& id, const std::string& text,
                           const std::string& word) {
    const Answer answer =
        command_line::run_popgrad("verify " + id + " -q --instance " + folder.file("i.json", text));
    CAPTURE(id, text, answer.out);
    CHECK(answer.status == (word == "holds" ? 0 : 5));
    CHECK_THAT(answer.out, Catch::Contains(id + " " + word) || Catch::Contains(": " + word));
  };
  // The exp clock stands still in double before the steep tokens of one unit are learned.
  answers("joma.clock-change", R"({"mu": [[2, 2, 2], [183, 0.02, 0.02]], "v0": 0.0003, "tau": 67})",
          "holds");
  answers("joma.clock-change", R"({"mu": [[200, 200], [0.5, -0.3]]})", "holds");
  // One draw of a class learns most of what it has to.
  answers("scan-snap.decoder-solution",
          R"({"P_tokens": [[0, 1, 3], [0, 2, 3]], "P_weights": [[0.2, 0.3, 0.5], [0.2, 0.2, 0.6]],
              "M": 4, "psi": [3, 2], "eta_Y": 5})",
          "holds");
  // S_n of one class is 1e5 and that of the other 1e-5; eta_Z of Eqn 10 as printed is no clock of
  // gradients.
  for (const std::string reading : {"consistent", "paper"}) {
    const std::string rates =
        R"("M": 32, "psi": [10, 10], "eta_Y": 2, "eta_Z": 1, "reading": ")" + reading + "\"}";
    answers("scan-snap.fates",
            R"({"P_tokens": [[4, 20], [11, 20]], "P_weights": [[0.002, 0.998], [0.996, 0.004]], )" +
                rates,
            "holds");
    answers("scan-snap.fates-symmetric",
            R"({"P_tokens": [[0, 1], [0, 2]], "P_weights": [[0.4, 0.6], [0.4, 0.6]], )" + rates,
            "holds");
  }
  // A class that is nearly one shared token, whose overlaps are not small where its weight is.
  answers("scan-snap.residual-backprop",
          R"({"P_tokens": [[3, 7], [1, 2, 5, 7], [4, 7]], "M": 38, "psi": [8, 9, 9],
              "P_weights": [[0.01, 0.99], [0.2, 0.3, 0.2, 0.3], [0.5, 0.5]]})",
          "holds");
  // Two classes of one query and the same law: kappa has no inverse.
  answers("scan-snap.residual-backprop",
          R"({"P_tokens": [[2, 5], [5], [5]], "P_weights": [[0.5, 0.5], [1], [1]], "M": 38,
              "psi": [8, 9, 9]})",
          "not applicable: 'inputs of the classes are linearly independent'");
}

TEST_CASE("cli: what holds as T grows holds of files of short contexts", "[cli][instance]") {
  const Folder folder;
  const auto holds = [&](const std::string& id, const std::string& text, bool refutes = true) {
    const Answer answer = command_line::run_popgrad("verify -q " + id + " --instance " +
                                                    folder.file("short.json", text));
    CAPTURE(id, text, answer.out);
    CHECK((answer.status == 0) == refutes);
    CHECK_THAT(answer.out, Catch::Contains("1 hold"));
  };
  // S follows V mu slowly.
  holds("scb.starts", R"({"N": 4, "T": 3, "Q": 2})");
  holds("scb.starts", R"({"P": [[0.9997, 0.5], [0.0003, 0.5]], "T": 2,
                          "q_positions": [[1], [0]], "q_weights": [[1], [1]]})");
  // mu is nearly uniform, and the rate nearly 1.
  holds("scb.starts", R"({"P": [[0.3000001, 0.7], [0.6999999, 0.3]], "T": 50,
                          "q_positions": [[1], [0]], "q_weights": [[1], [1]]})",
        false);
  // The end creeps while it settles.
  holds("scb.perturbed-start", R"({"N": 2, "T": 233, "Q": 3})");
  holds("scb.perturbed-start", R"({"P": [[0.0738, 0.5], [0.9262, 0.5]], "T": 22,
                                   "q_positions": [[8], [14]], "q_weights": [[1], [1]]})");
  // K_P = K_Q: the end does not creep.
  holds("scb.perturbed-start",
        R"({"P": [[0.8535533905932737, 0.1464466094067263],
                  [0.1464466094067263, 0.8535533905932737]], "T": 1000,
            "q_positions": [[0, 1, 2, 3], [4, 5, 6, 7]],
            "q_weights": [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]})");
}

TEST_CASE("cli: claims on growth do not apply where all columns of P are equal",
          "[cli][instance]") {
  const Folder folder;
  // K_P as computed: 0, and rounding of either sign.
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"0.5", "0.5"}, {"0.7", "0.3"}, {"0.4999999987748893", "0.5000000012251107"}};
  for (const auto& [first, second] : columns) {
    const std::string file = folder.file(
        "flat.json",
        fmt::format(R"({{"P": [[{0}, {0}], [{1}, {1}]], "T": 7552, "q_positions": [[1], [2]],
                        "q_weights": [[1], [1]]}})",
                    first, second));
    for (const std::string id : {"scb.perturbed-start", "scb.linearisation", "scb.fixed-points"}) {
      const Answer answer = command_line::run_popgrad("verify -q " + id + " --instance " + file);
      CAPTURE(id, first, answer.out);
      CHECK_THAT(answer.out, Catch::Contains("1 not applicable"));
    }
  }
}

TEST_CASE("cli: weights that are equal but for rounding have no bias", "[cli][instance]") {
  const Folder folder;
  const std::string file = folder.file("equal.json", R"({
    "P": [[0.4, 0.5], [0.6, 0.5]], "T": 87, "q_positions": [[82], [9, 30, 56]],
    "q_weights": [[1.0], [0.3333333333333432, 0.3333333333333481, 0.3333333333333087]]})");
  for (const std::string id : {"scb.hyperbola", "scb.convergence"}) {
    const Answer answer =
        command_line::run_popgrad("verify -q --details " + id + " --instance " + file);
    CAPTURE(id, answer.out);
    CHECK_THAT(answer.out, Catch::Contains("1 hold, 0 violated"));
    CHECK(answer.out.find(" of Q over its prediction") == std::string::npos);
  }
}

TEST_CASE("cli: a control that says the same as the claim on an instance is no void check",
          "[cli][instance]") {
  const Folder folder;
  // Nothing selected keeps its word: what the control says is wrong is right here.
  const std::string file =
      folder.file("t.json", R"({"T": 6, "tau": 2, "v": 4, "p_m": 1, "p_c": 0, "p_r": 0.5})");
  const Answer answer =
      command_line::run_popgrad("verify topic.masked-frequencies --instance " + file);
  CAPTURE(answer.out);
  CHECK(answer.status == 0);
  CHECK(answer.out.find("3/3") != std::string::npos);
  CHECK(answer.out.find("'nothing-kept' (no selected position keeps its word) says the "
                        "same as the claim on this instance\n") != std::string::npos);
  const Answer json =
      command_line::run_popgrad("verify topic.masked-frequencies -q --json - --instance " + file);
  const std::size_t at = json.out.find("\"same_as_claim\": [");
  REQUIRE(at != std::string::npos);
  CHECK(json.out.find("\"nothing-kept\"", at) < json.out.find(']', at));
}

TEST_CASE("cli: what is no instance is refused in one line", "[cli][instance]") {
  const Folder folder;
  const auto refuses = [&](const std::string& words, const std::string& part) {
    const Answer answer = command_line::run_popgrad("instance " + words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == 2);
    CHECK_THAT(answer.out, Catch::Contains(part));
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
  };
  refuses("joma.entropy-bonce", "did you mean 'joma.entropy-bounce'?");
  refuses("'joma.*'", "an instance is of one");
  refuses("joma.entropy-bounce --set tua=5", "popgrad instance: --set tua=5 is no knob of");
  refuses("joma.entropy-bounce --set tau=500", "must be a number in [0.7, 8]");
  refuses("joma.entropy-bounce --set tau", "must be KNOB=VALUE");
  refuses("joma.entropy-bounce -o /no/such/folder/i.json", "/no/such/folder");
  refuses("scb.scratch-range --seed 3 --set tokens=4",
          "reads no instance file; its instance is: popgrad verify scb.scratch-range --seed 3 "
          "--set tokens=4");
  refuses("joma.invariant-exp --set overlap=0.5",
          "not in an instance file; its instance is: popgrad verify joma.invariant-exp --seed 1 "
          "--set overlap=0.5");
  const std::string wrong = folder.file("w.json", R"({"mu": [1, 2], "check": {"sed": 3}})");
  const Answer answer = command_line::run_popgrad("verify joma.entropy-bounce --instance " + wrong);
  CHECK(answer.status == 2);
  CHECK_THAT(answer.out, Catch::Contains("check.sed as given is not known"));
}

TEST_CASE("a counterexample is handed on as a file, or by seed and knobs", "[instance]") {
  Statement s{.id = "m.claim"};
  s.knobs = {linear_knob("a", "", 0, 2, 1), linear_knob("b", "", 0, 2, 1)};
  CHECK(reproduction_line({}, s, 3, {{"a", 0.1}, {"b", 1.0}}) ==
        "popgrad verify m.claim --seed 3 --set a=0.1");
  s.reads = "flow";
  CHECK(reproduction_line({"mine"}, s, 3, {{"b", 1.0 / 3}}) ==
        "mine instance m.claim --seed 3 --set b=0.3333333333333333 -o m.claim.json");
  CHECK(reproduction_line({"mine", "my laws.toml"}, s, 3, {}) ==
        "mine instance 'my laws.toml' m.claim --seed 3 -o m.claim.json");
  s.examine = [&](const Setting& setting, Examination& it) {
    it.judge(Comparison{
        .what = "a number", .measured = {setting.value(s.knobs[0]) / 3}, .predicted = {2.0 / 3}});
  };
  Setting setting;
  setting.seed = 5;
  setting.chosen["a"] = 1.5;
  Verification v;
  v.seed = 5;
  v.findings.push_back(check(s, setting));
  REQUIRE(v.findings[0].verdict == Verdict::violated);
  const std::string line = "popgrad instance m.claim --seed 5 --set a=1.5 -o m.claim.json";
  for (const std::string& text : {verdict_table(v), verdict_details(v)}) {
    CHECK_THAT(text, Catch::Contains("counterexample: " + line));
    CHECK_THAT(text, Catch::Contains("0.5 against 0.66666666666666663"));
  }
  CHECK(Json::parse(verdict_json(v))["statements"][0]["reproduce"] == line);
  v.of_file = true;
  CHECK(verdict_table(v).find("counterexample") == std::string::npos);
  CHECK(Json::parse(verdict_json(v))["statements"][0].contains("reproduce") == false);
}

}  // namespace instance_test

void popgrad::register_instance_cases() { instance_test::register_cases(); }
