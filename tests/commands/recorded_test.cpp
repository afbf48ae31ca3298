/// Runs that PyTorch recorded (tests/recorded) against the models, on the real binary.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "commands/shell.hpp"
#include "places.hpp"

namespace recorded_test {

using namespace command_line;

namespace {

struct Recorded {
  const char* model;
  const char* name;     // of the files
  const char* options;  // how the run was made, and what its columns are
  const char* rate;
};

constexpr Recorded joma{"joma sgd", "joma", "--map attention_entropy=attn_ent,loss=loss --batch 8",
                        "0.1"};
// The entropy that was logged is that of softmax(z), whatever the temperature in training.
constexpr Recorded joma_loss{"joma sgd", "joma", "--batch 8", "0.1"};
constexpr Recorded scan_snap{"scan-snap sgd", "scan_snap", "--T 32 --batch 16", "0.5"};
[[maybe_unused]] constexpr Recorded scb{"scb sgd", "scb", "--batch 64", "0.01"};
[[maybe_unused]] constexpr Recorded topic{"topic sgd", "topic", "--batch 16", "0.5"};

Answer judge(const Recorded& r, const std::string& variant, const std::string& more = {}) {
  const std::string folder = places::sources() + "/tests/recorded/";
  return run_popgrad(std::string("compare ") + r.model +
                     " --group seed --details --no-ladder --quiet --eta " + r.rate + " --clock '" +
                     r.rate + "*step' --instance " + folder + r.name + ".json --with " + folder +
                     "data/" + r.name + variant + ".csv " + r.options + " " + more);
}

// "  learning rate 0.125 +- 0.001 in place of 0.1: ..."
double fitted(const std::string& out, const std::string& setting) {
  const std::string begin = "\n  " + setting + " ";
  const std::size_t at = out.find(begin);
  return at == std::string::npos ? NAN : std::stod(out.substr(at + begin.size()));
}

// Runs of the same law are consistent, others are not.
void check_recorded(const Recorded& r) {
  const Answer same = judge(r, "");
  CHECK(same.status == 0);
  CHECK_THAT(same.out, Catch::Contains("verdict: consistent"));
  // A learning rate a quarter larger than said: what is wrong is named, with its size.
  const Answer rate = judge(r, "-other-rate");
  CHECK(rate.status == 1);
  CHECK_THAT(rate.out, Catch::Contains("verdict: NOT consistent with "));
  CHECK(fitted(rate.out, "learning rate") == Approx(1.25 * std::stod(r.rate)).epsilon(0.03));
  CHECK_THAT(rate.out, Catch::Contains("instead of " + std::string(r.rate) + ": explains them"));
  // A tenth of the labels random, temperature 1.5; how large they are is another case.
  for (const char* variant : {"-label-noise", "-temperature"}) {
    CAPTURE(variant);
    const Answer other = judge(r, variant, "--no-fit");
    CHECK(other.status == 1);
    CHECK_THAT(other.out, Catch::Contains("verdict: NOT consistent with "));
  }
  // Less label noise than none is no estimate.
  CHECK_FALSE(std::regex_search(rate.out, std::regex("\nlabel_noise +0 +-")));
}

// Runs that were made with a setting of the model: given it they do not depart, asked for it they
// tell its size.
void check_setting(const Recorded& r, const char* variant, const std::string& setting,
                   const char* value) {
  CAPTURE(r.name, setting);
  const Answer given = judge(r, variant, "--" + setting + " " + value);
  CHECK(given.status != 1);
  CHECK_THAT(given.out,
             Catch::Contains("verdict: consistent") || Catch::Contains("verdict: inconclusive\n"));
  const Answer asked = judge(r, variant, "--suspect " + setting);
  CHECK(asked.status == 1);
  // No setting is fitted that no run can have.
  CHECK_THAT(asked.out, !Catch::Contains("\n  momentum -"));
  const double found = fitted(asked.out, setting);
  const std::size_t line = asked.out.find("\n  " + setting + " ");
  REQUIRE(line != std::string::npos);
  const std::string width = "+- ";
  const double half = std::stod(asked.out.substr(asked.out.find(width, line) + width.size()));
  // An interval of 95 %, which is neither missed nor of no use.
  CHECK(std::fabs(found - std::stod(value)) <= half);
  CHECK(half < 0.2 * std::stod(value));
  const std::size_t end = asked.out.find('\n', line + 1);
  CHECK_THAT(asked.out.substr(line, end - line), Catch::Contains(": explains them"));
}

}  // namespace

TEST_CASE("recorded runs of joma: label noise and temperature are estimated",
          "[cli][recorded][unsanitized]") {
  check_setting(joma, "-label-noise", "label_noise", "0.1");
  check_setting(joma_loss, "-temperature", "temperature", "1.5");
}

TEST_CASE("recorded runs of joma are judged", "[cli][recorded]") { check_recorded(joma); }
TEST_CASE("recorded runs: where no prediction holds, an ensemble judges and the reason is told",
          "[cli][recorded][unsanitized]") {
  // Fluctuations that change the loss as much as its deviation.
  CHECK_THAT(judge(joma, "").out, Catch::Contains("(sampled: the prediction ends at t = ") ||
                                      Catch::Contains("(sampled: sampled runs and orders of"));
  // Sequences of middle length have a law.
  CHECK_THAT(judge(scan_snap, "").out, Catch::Contains("the predicted law of a run"));
}
TEST_CASE("recorded runs: the first row that departs is named before the verdict, if any does",
          "[cli][recorded]") {
  const std::string folder = places::sources() + "/tests/recorded/";
  const auto without_quiet = [&](const std::string& variant) {
    return run_popgrad(
               "compare joma sgd --group seed --no-fit --eta 0.1 --batch 8 --clock '0.1*step'"
               " --map attention_entropy=attn_ent --instance " +
               folder + "joma.json --with " + folder + "data/joma" + variant + ".csv")
        .out;
  };
  const std::string departs = without_quiet("-other-rate");
  const std::size_t word = departs.find("rows by themselves: attention_entropy departs at t = ");
  REQUIRE(word != std::string::npos);
  CHECK(word < departs.find("verdict: NOT consistent"));
  CHECK_THAT(without_quiet(""), !Catch::Contains("rows by themselves"));
}
// The same code on larger models, at minutes a case under the sanitizers.
TEST_CASE("recorded runs of scan-snap are judged", "[cli][recorded][unsanitized]") {
  check_recorded(scan_snap);
}
TEST_CASE("recorded runs of scan-snap: label noise and temperature are estimated",
          "[cli][recorded][unsanitized]") {
  check_setting(scan_snap, "-label-noise", "label_noise", "0.1");
  check_setting(scan_snap, "-temperature", "temperature", "1.5");
}
TEST_CASE("recorded runs of scb are judged", "[cli][recorded][unsanitized]") {
  check_recorded(scb);
}
TEST_CASE("recorded runs of topic are judged", "[cli][recorded][unsanitized]") {
  check_recorded(topic);
}
TEST_CASE("recorded runs of scb: label noise and temperature are estimated",
          "[cli][recorded][unsanitized]") {
  check_setting(scb, "-label-noise", "label_noise", "0.1");
  check_setting(scb, "-temperature", "temperature", "1.5");
}
TEST_CASE("recorded runs of topic: label noise and temperature are estimated",
          "[cli][recorded][slow][unsanitized]") {
  check_setting(topic, "-label-noise", "label_noise", "0.1");
  check_setting(topic, "-temperature", "temperature", "1.5");
}

// As printed, from a folder that looks like a clone.
TEST_CASE("recorded runs: each recipe of the page ends in a verdict",
          "[cli][recorded][readme][unsanitized]") {
  std::string page = content(places::sources() + "/tests/recorded/README.md");
  const std::size_t begin = page.find("## From a log to a verdict");
  REQUIRE(begin != std::string::npos);
  page = page.substr(begin, page.find("\n## ", begin) - begin);
  const Folder folder;
  const std::string clone = "cd " + folder.path.string() + "\n";
  REQUIRE(shell(clone + "ln -s " + places::sources() + "/tests tests; ln -s " + places::popgrad() +
                " run")
              .status == 0);
  int recipes = 0;
  for (std::size_t at = 0; (at = page.find("    ./run ", at)) != std::string::npos; ++recipes) {
    const std::size_t end = page.find("\n\n", at);
    const std::string command = page.substr(at, end - at);
    const Answer answer = shell("bash " + folder.file("recipe.sh", clone + command + "\n"));
    CAPTURE(command, answer.out);
    CHECK(answer.status == 0);
    CHECK_THAT(answer.out, Catch::Contains("verdict: consistent with joma sgd"));
    at = end;
  }
  CHECK(recipes == 5);
}

// A log of averages and one of single minibatches, neither made by a rung here.
TEST_CASE(
    "recorded runs: a loss averaged since the row before is distinguished from that of one "
    "minibatch",
    "[cli][recorded][averaged][unsanitized]") {
  const std::string folder = places::sources() + "/tests/recorded/";
  const auto judged = [&](const std::string& file, const std::string& more) {
    return run_popgrad(
        "compare joma sgd -q --no-ladder --no-events --eta 0.1 --batch 8 --runs 32 "
        "--instance " +
        folder + "joma.json --clock '0.1*step' --with " + folder + "formats/" + file + " " + more);
  };
  const std::string trainer = "trainer_state.json", loop = "loop.jsonl";
  const std::string single = "--map batch_loss=batch_loss ", mean = "--map batch_loss=loss ";
  CHECK(judged(trainer, mean + "--averaged").status != 1);
  CHECK(judged(loop, single).status != 1);
  const Answer averages = judged(trainer, mean);
  CHECK(averages.status == 1);
  CHECK_THAT(averages.out, Catch::Contains("not of one minibatch (--averaged)"));
  const Answer singles = judged(loop, single + "--averaged");
  CHECK(singles.status == 1);
  CHECK_THAT(singles.out, Catch::Contains("(without --averaged)"));
  const Answer none = judged(loop, "--map attention_entropy=attn_ent --averaged");
  CHECK(none.status == 2);
  CHECK_THAT(none.out, Catch::Contains("--averaged is of the column batch_loss"));
  // Rows that one of two runs has: means over the steps since the row before are of other steps.
  const Folder temporary;
  const std::string rows = "seed,step,batch_loss\n1,0,.7\n1,10,.6\n1,20,.5\n2,0,.7\n2,20,.4\n";
  const Answer sparse = run_popgrad(
      "compare joma sgd -q --eta 0.1 --batch 8 --group seed --averaged --clock '0.1*step' "
      "--instance " +
      folder + "joma.json --with " + temporary.file("rows.csv", rows));
  CHECK(sparse.status == 2);
  CHECK_THAT(sparse.out,
             Catch::Contains("rows.csv seed 2 has no row at t = 1, where others have one"));
  const Answer irregular = run_popgrad(
      "compare joma sgd -q --eta 0.1 --batch 8 --no-fit --averaged --clock '0.1*step' --map "
      "batch_loss=loss --instance " +
      folder + "joma.json --with " +
      temporary.file("irregular.csv", "step,loss\n0,.7\n10,.7\n20,.6\n50,.5\n60,.6\n"));
  CHECK_THAT(irregular.out, Catch::Contains("\n1 run shows ") && !Catch::Contains("0 runs"));
  CHECK_THAT(irregular.out, Catch::Contains("2 rows may be left out, the first after t = 2;"));
}

// A log whose loss is of 200 held-out draws and smoothed, made by the walks that judge; each other meaning departs.
TEST_CASE("recorded runs: losses of held-out draws and moving averages are judged as such",
          "[cli][recorded][sampled]") {
  const Folder folder;
  const std::string instance =
      " --eta 0.1 --instance " + places::sources() + "/tests/recorded/joma.json ";
  const auto recorded = [&](const std::string& name, const std::string& how) {
    const std::string file = folder.file(name);
    REQUIRE(run_popgrad(
                "run joma sgd --no-events --runs 3 --seed 5 --batch 8 --steps 400 --save 41 -o " +
                file + instance + how)
                .status == 0);
    return file;
  };
  const auto judged = [&](const std::string& file, const std::string& more) {
    return run_popgrad(
        "compare joma sgd -q --no-ladder --no-events --group run --clock 1 --runs 48 --batch 8" +
        instance + "--with " + file + " --map attention_entropy=attention_entropy," + more);
  };
  const std::string held_out = recorded("held-out.csv", "--held-out 200");
  CHECK(judged(held_out, "loss=loss --held-out 200").status == 0);
  CHECK(judged(held_out, "loss=loss").status == 1);
  const std::string smoothed = recorded("smoothed.csv", "--batch-loss --smoothed 0.6");
  CHECK(judged(smoothed, "batch_loss=batch_loss --smoothed 0.6").status == 0);
  const Answer as_single = judged(smoothed, "batch_loss=batch_loss");
  CHECK(as_single.status == 1);
  CHECK_THAT(as_single.out,
             Catch::Contains("a moving average over rows (--smoothed 0.6): chance "));

  struct Refusal {
    std::string words, says;
  };
  for (const Refusal& refusal : std::vector<Refusal>{
           {"loss=loss --smoothed 1", "must be"},
           {"loss=loss --held-out 0", "must be"},
           {"batch_loss=batch_loss --held-out 5", "--held-out is of the column loss"},
           {"batch_accuracy=batch_loss", "batch_accuracy"}}) {
    const Answer refused = judged(smoothed, refusal.words);
    CAPTURE(refusal.words, refused.out);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.out, Catch::Contains(refusal.says));
  }
  for (const char* words : {"run joma sgd --averaged", "run joma sgd --batch-accuracy",
                            "run joma gd --batch-loss", "compare joma sgd gd --smoothed 0.5"}) {
    CAPTURE(words);
    CHECK(run_popgrad(std::string(words) + " --t1 1").status == 2);
  }
}

TEST_CASE("recorded runs: a comma between backticks is one of a name", "[cli][recorded]") {
  const Folder folder;
  const Answer named = run_popgrad(
      "compare joma sgd -q --map 'batch_loss=`train/loss, mean`,attention_entropy=entropy' "
      "--group '`run, seed`' --clock step --with " +
      folder.file("names.csv", "\"run, seed\",step,\"train/loss, mean\",entropy\na,0,one,1\n"));
  CHECK(named.status == 2);
  CHECK_THAT(named.out,
             Catch::Contains("line 2, column 'train/loss, mean': 'one' is not a number"));
}

TEST_CASE("recorded runs: formula for the clock, several files, tables and pictures",
          "[cli][recorded][unsanitized]") {
  const Folder folder;
  const std::string table = folder.file("table.csv");
  const Answer two = judge(joma, "", "--clock 'lr*step' -o " + table);
  CHECK(two.status == 2);  // --clock twice
  const std::string data = places::sources() + "/tests/recorded/";
  const std::string common =
      "compare joma sgd --details --eta 0.1 --batch 8 --runs 16 --group seed --instance " + data +
      "joma.json --map attention_entropy=attn_ent,loss=loss ";
  const Answer files =
      run_popgrad(common + "--clock 'lr*step' --plot " + folder.path.string() + " --with " + data +
                  "data/joma.csv," + data + "data/joma-temperature.csv -o " + table);
  CHECK(files.status == 1);
  CHECK_THAT(files.out, Catch::Contains("mean of 4"));
  CHECK_THAT(files.out, Catch::Contains("rungs by how well they explain"));
  CHECK_THAT(content(table), Catch::StartsWith("t,attention_entropy_expected,"));
  CHECK(std::filesystem::file_size(folder.path / "compare-joma-sgd.svg") > 1000);

  // A reduction that has no sequences says so.
  const Answer sequences =
      run_popgrad(common + "--clock 'lr*step' --length 40 --with " + data + "data/joma.csv");
  CHECK_THAT(sequences.out, Catch::Contains("; it does not read length"));
  CHECK_THAT(files.out, !Catch::Contains("does not read"));

  const auto refused = [&](const std::string& words, const std::string& says) {
    const Answer answer = run_popgrad(common + words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == 2);
    CHECK_THAT(answer.out, Catch::Contains(says));
  };
  const std::string with = "--with " + data + "data/joma.csv ";
  refused(with + "--clock 'lr*steps'", "is no formula over the columns");
  refused(with + "--clock 'lr*step' --map entropy=attn_ent", "is not an observable");
  refused(with + "--clock '0.1*step + 0.0333'", "has no step at the recorded time");
  refused("--with " + folder.file("none.csv") + " --clock 'lr*step'", "none.csv");
  // What the runs were made with is asked for, not guessed.
  const auto asked = [&](const std::string& given, const std::string& says) {
    const Answer answer = run_popgrad(
        "compare joma sgd --group seed --clock 'lr*step' --map "
        "attention_entropy=attn_ent,loss=loss " +
        with + given);
    CAPTURE(given, answer.out);
    CHECK(answer.status == 2);
    CHECK_THAT(answer.out, Catch::Contains(says));
  };
  asked("--batch 8 --instance " + data + "joma.json", "give --eta, the learning rate");
  asked("--eta 0.1 --instance " + data + "joma.json", "give --batch, the samples a step");
  asked("--eta 0.1 --batch 8", "give --instance, or parameters of the model");
  // The first row is the start: of another instance it differs.
  const std::string other = folder.file("other.json", "{\"X\": [[0.5, 0.2], [0.5, 0.8]]}");
  const Answer elsewhere = run_popgrad(
      "compare joma sgd --group seed --no-ladder -q --clock 'lr*step' --map "
      "attention_entropy=attn_ent,loss=loss --eta 0.1 --batch 8 --runs 8 --instance " +
      other + " " + with);
  CHECK(elsewhere.status == 1);
  CHECK_THAT(elsewhere.out, Catch::Contains("another instance or start?"));
}

TEST_CASE("recorded runs: what is missing is said, a run that diverges departs",
          "[cli][recorded]") {
  const Folder folder;
  const std::string data = places::sources() + "/tests/recorded/";
  // The recorded runs with fields changed: f(row of its run, fields seed, step, lr, attn_ent, loss).
  const auto changed = [&](const auto& f) {
    std::istringstream whole(content(data + "data/joma.csv"));
    std::string text, line;
    std::getline(whole, text);
    std::string seed;
    for (int k = 0; std::getline(whole, line); ++k) {
      std::istringstream in(line);
      std::vector<std::string> fields;
      for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
      if (fields[0] != seed) k = 0;
      seed = fields[0];
      f(k, fields);
      text += "\n" + fields[0];
      for (std::size_t c = 1; c < fields.size(); ++c) text += "," + fields[c];
    }
    return folder.file("runs.csv", text + "\n");
  };
  const auto judged = [&](const std::string& file, const std::string& more = "--clock 'lr*step'") {
    return run_popgrad(
        "compare joma sgd --no-ladder --no-events --no-fit -q --runs 16 --eta 0.1 --batch 8 "
        "--group "
        "seed --map attention_entropy=attn_ent,loss=loss --instance " +
        data + "joma.json --with " + file + " " + more);
  };
  using Fields = std::vector<std::string>;
  const std::string json = folder.file("judgement.json");
  const Answer diverged = judged(changed([](int k, Fields& row) {
                                   if (row[0] == "2" && k >= 8) row[4] = k == 9 ? "inf" : "-nan";
                                 }),
                                 "--clock 'lr*step' -o " + json);
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.out, Catch::Contains("runs.csv seed 2: 8 of 16 values of loss are missing"));
  CHECK_THAT(diverged.out, Catch::Contains(": runs.csv seed 2 diverged at t = 32: loss"));
  const auto loss = nlohmann::json::parse(content(json))["judgement"]["runs"][1]["observables"][1];
  CHECK(loss["observable"] == "loss");
  CHECK(loss["missing"] == 8);
  CHECK(loss["diverged"] == 32);
  CHECK(loss["first_outside"] == 32);
  const Answer gaps = judged(changed([](int k, Fields& row) {
                               row[0] = "seed " + row[0];
                               if (k == 3 || k == 4) row[3] = "";
                             }),
                             "--clock 'lr*step' -o " + json);
  CHECK(gaps.status != 1);
  const std::string missing =
      "runs.csv seed seed 1: 2 of 16 values of attention_entropy are missing";
  CHECK_THAT(gaps.out, Catch::Contains(missing + "\n"));
  CHECK_THAT(gaps.out, !Catch::Contains("NOT consistent"));
  // A learning rate that the file denies, on a clock that would hide it.
  const auto half = [](int, Fields& row) {
    row[2] = "0.2";
    row[1] = std::to_string(std::stoi(row[1]) / 2);
  };
  const Answer other = judged(changed(half));
  CHECK(other.status == 2);
  CHECK_THAT(other.out,
             Catch::StartsWith("popgrad compare: --eta 0.1 is not the rate of the clock: "
                               "lr of runs.csv seed 1 is 0.2 a step at t = 0; "));
  // One that changes on the way.
  const Answer decayed = judged(changed([](int k, Fields& row) {
    if (k < 8) return;
    row[2] = "0.05";
    row[1] = std::to_string(2 * std::stoi(row[1]));
  }));
  CHECK(decayed.status == 2);
  CHECK_THAT(decayed.out, Catch::Contains("is 0.05 a step at t = "));
  CHECK(judged(changed(half), "--clock 0.2*step").status != 1);
}

TEST_CASE("recorded runs: incomplete logs are judged with the rows that they have",
          "[cli][recorded][incomplete]") {
  const Folder folder;
  const std::string data = places::sources() + "/tests/recorded/";
  // Of each run: a third of the rows is missing at random, the loss begins late, and the last row is there twice.
  const auto judged = [&](const std::string& variant) {
    std::istringstream whole(content(data + "data/joma" + variant + ".csv"));
    std::mt19937 draw(20);
    std::string text, line, last;
    std::getline(whole, text);
    text += "\n";
    for (int k = 0; std::getline(whole, line); ++k) {
      const bool begins = line.find(",0,") == 1;
      if (begins) {
        text += last;
        k = 0;
      }
      if (k < 5) line.resize(line.rfind(',') + 1);
      last = line + "\n";
      if (begins || draw() % 3 > 0) text += last;
    }
    return run_popgrad(
        "compare joma sgd --no-ladder --no-events --no-fit -q --runs 32 --eta 0.1 --batch 8 "
        "--group seed --map "
        "attention_entropy=attn_ent,loss=loss --clock '0.1*step' --instance " +
        data + "joma.json --with " + folder.file("runs.csv", text + last));
  };
  const Answer sound = judged("");
  CHECK(sound.status == 0);
  CHECK_THAT(sound.out, Catch::Contains("learning rate off by "));
  CHECK_THAT(sound.out, Catch::Contains("runs.csv seed 1: ") &&
                            Catch::Contains(" values of loss are missing"));
  CHECK_THAT(sound.out, Catch::Contains("joined to it: 1, the first is line "));
  CHECK(judged("-other-rate").status == 1);
}

TEST_CASE("recorded runs: usual slips in columns and clock are named",
          "[cli][recorded][unsanitized]") {
  const Folder folder;
  const std::string setting =
      " -q --eta 0.1 --instance " + places::sources() + "/tests/recorded/joma.json ";
  const auto recorded = [&](const std::string& name, const std::string& how) {
    const std::string file = folder.file(name);
    REQUIRE(run_popgrad("run joma sgd --no-events --runs 3 --seed 5 -o " + file + setting + how)
                .status == 0);
    return file;
  };
  const auto judged = [&](const std::string& file, const std::string& more) {
    return run_popgrad("compare joma sgd --no-ladder --no-events --group run --runs 32 --batch 8" +
                       setting + "--with " + file + " " + more);
  };
  std::string at = "0", one_later = "0.1";
  for (int t = 2; t <= 40; t += 2) {
    at += fmt::format(",{}", t);
    one_later += fmt::format(",{}.1", t);
  }
  const std::string sound = recorded("sound.csv", "--batch 8 --steps 400 --save-at " + at);
  const std::string columns = "--map attention_entropy=attention_entropy,loss=";
  // What --map does not name is not judged: here a column that would depart.
  const Answer one = judged(sound, "--clock 1 --map attention_entropy=attention_entropy --details");
  CHECK(one.status == 0);
  CHECK_THAT(one.out, !Catch::Contains(" loss "));

  struct Slip {
    std::string loss, clock, says;
  };
  for (const Slip& slip : std::vector<Slip>{
           {"loss/log(2)", "1", "`loss` being in bits (--map loss=COLUMN*log(2))"},
           {"100*loss", "1", "`loss` being in percent (--map loss=COLUMN/100)"},
           {"8*loss", "1", "`loss` being summed over the batch (--map loss=COLUMN/8)"},
           {"loss/2", "1", "`loss` being halved (--map loss=COLUMN*2)"},
           {"loss", "10*t", "`--clock` counting steps, where the time is learning rate * steps "},
           {"loss", "t+0.1",
            "each row holding the values of the step before its own (--clock 'CLOCK - 0.1')"}}) {
    const Answer answer =
        judged(sound, columns + "'" + slip.loss + "' --clock '" + slip.clock + "'");
    CAPTURE(slip.loss, slip.clock, answer.out);
    CHECK(answer.status == 1);
    CHECK_THAT(answer.out, Catch::Contains("xplained by") && Catch::Contains(slip.says) &&
                               !Catch::Contains("another instance"));
  }
  const std::string json = folder.file("judgement.json");
  const Answer late = judged(recorded("late.csv", "--batch 8 --steps 401 --save-at " + one_later),
                             columns + "loss --clock 't - 0.1' -o " + json);
  CHECK(late.status == 1);
  const std::string says =
      "each row holding the values of the step after its own (--clock 'CLOCK + 0.1')";
  CHECK_THAT(late.out, Catch::Contains(says));
  CHECK_THAT(nlohmann::json::parse(content(json))["judgement"]["readings"][0].get<std::string>(),
             Catch::StartsWith(says + ": chance "));
  // Nothing of that where a learning rate is wrong, or the loss is none of a minibatch.
  const Answer rate = judged(sound, columns + "loss --clock 1.25");
  CHECK(rate.status == 1);
  CHECK_THAT(rate.out, !Catch::Contains(" being ") && !Catch::Contains("each row"));

  // A constant rate of the clock that contradicts --eta, and one that is another unit of a column.
  const std::string log =
      "compare joma sgd --no-ladder -q --batch 8 --group seed --map attention_entropy=attn_ent,"
      "loss=loss" +
      setting + "--with " + places::sources() + "/tests/recorded/data/joma.csv ";
  for (const char* clock : {"0.11*step", "step", "0.11*(step + 1)"}) {
    const Answer refused = run_popgrad(log + "--clock '" + clock + "'");
    CAPTURE(clock);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.out,
               Catch::StartsWith(fmt::format("popgrad compare: --clock {} adds ", clock)) &&
                   Catch::Contains("give '0.1*step', where"));
  }
  CHECK(run_popgrad(log + "--no-fit --clock 'step/10'").status == 0);
  CHECK(run_popgrad(log + "--no-fit --clock '0.1*(2*step)'").status == 1);
}

// In joma the means show the batch; in topic, where no linear law has it, the scatter between runs does.
TEST_CASE("recorded runs: half of the batch is offered as what explains them",
          "[cli][recorded][halved-batch][unsanitized]") {
  const Folder folder;
  const auto halved = [&](const std::string& made_with, int batch, const std::string& how,
                          const std::string& columns) {
    const std::string file = folder.file(made_with.substr(0, 4) + ".csv");
    const std::string setting = made_with + " --no-events -q ";
    REQUIRE(run_popgrad(fmt::format("run {}--batch {} {} -o {}", setting, batch / 2, how, file))
                .status == 0);
    return run_popgrad(fmt::format(
        "compare {}--no-ladder --group run --clock t --runs 48 --batch {} --with {} --map {}",
        setting, batch, file, columns));
  };
  const Answer of_joma = halved(
      "joma sgd --eta 0.1 --instance " + places::sources() + "/tests/recorded/joma.json", 8,
      "--seed 9 --steps 600 --save 31 --runs 10", "attention_entropy=attention_entropy,loss=loss");
  CHECK(of_joma.status == 1);
  CHECK_THAT(of_joma.out, Catch::Contains("by batch 4 (") && Catch::Contains(" instead of 8."));
  const Answer of_topic =
      halved("topic sgd --eta 0.5 --T 3 --tau 2 --v 2 --N 16", 8,
             "--seed 7 --steps 80 --save 11 --runs 8", "norm_W_V=norm_W_V,loss=loss");
  CHECK(of_topic.status == 1);
  CHECK_THAT(of_topic.out, Catch::Contains("by batch 4 (") && Catch::Contains(" instead of 8"));
}

TEST_CASE("recorded runs: few digits are no departure, and still show a rate", "[cli][recorded]") {
  const Folder folder;
  std::istringstream whole(content(places::sources() + "/tests/recorded/data/joma.csv"));
  std::string text, line;
  std::getline(whole, text);
  while (std::getline(whole, line)) {
    std::istringstream in(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
    for (const std::size_t c : {3U, 4U}) fields[c] = fmt::format("{:.4f}", std::stod(fields[c]));
    text += fmt::format("\n{}", fmt::join(fields, ","));
  }
  const std::string file = folder.file("digits.csv", text + "\n");
  const auto judged = [&](const std::string& more) {
    return run_popgrad(
        "compare joma sgd --no-ladder --no-fit -q --batch 8 --group seed --map "
        "attention_entropy=attn_ent,loss=loss --instance " +
        places::sources() + "/tests/recorded/joma.json --with " + file + " " + more);
  };
  const Answer sound = judged("--eta 0.1 --clock 0.1*step");
  CHECK(sound.status == 0);
  CHECK_THAT(sound.out, Catch::Contains("noticed: learning rate off by 0."));
  CHECK(judged("--eta 0.105 --clock 0.105*step").status == 1);
  // A precision that they do not have.
  CHECK(judged("--eta 0.1 --clock 0.1*step --resolution 1e-9").status == 1);
}

TEST_CASE("recorded runs of scb: a query in the last position is found where queries look there",
          "[cli][recorded][slow][unsanitized]") {
  const Folder folder;
  // Query 0 looks at the last position alone, or none does.
  const auto instance = [&](const std::string& name, const char* first) {
    return " --instance " +
           folder.file(name, std::string(R"({"P": [[0.6, 0.1, 0.2], [0.3, 0.7, 0.1], )") +
                                 R"([0.1, 0.2, 0.7]], "q": [)" + first +
                                 R"(, [0, 0.7, 0.3, 0], [1, 0, 0, 0]]})");
  };
  const std::string looks = instance("looks.json", "[0, 0, 0, 1]");
  const std::string away = instance("away.json", "[0.5, 0.5, 0, 0]");
  const std::string steps = " --eta 0.02 --batch 16 -q ";
  const auto recorded = [&](const std::string& name, const std::string& how) {
    const std::string file = folder.file(name);
    REQUIRE(run_popgrad("run scb sgd --no-events --save 51 --steps 2000 --seed 77 --runs 3 -o " +
                        file + steps + how)
                .status == 0);
    return file;
  };
  const auto judged = [&](const std::string& file, const std::string& how) {
    return run_popgrad("compare scb sgd --no-ladder --no-events --group run --clock 1 --with " +
                       file + steps + how);
  };
  const std::string free = recorded("free.csv", looks);
  const std::string last = recorded("last.csv", looks + " --query_position last");
  const Answer sound = judged(free, looks);
  CHECK(sound.status != 1);
  CHECK_THAT(sound.out, Catch::Contains("last (power 100 %)"));
  // Three runs of which a learning rate a tenth off may not be seen: anything but a departure.
  CHECK(judged(last, looks + " --query_position last").status != 1);
  CHECK(judged(free, looks + " --query_position last --no-fit").status == 1);
  const std::string json = folder.file("judgement.json");
  const Answer found = judged(last, looks + " -o " + json);
  CHECK(found.status == 1);
  CHECK_THAT(found.out, Catch::Contains("Explained by query_position last instead of free."));
  const auto written = nlohmann::json::parse(content(json))["judgement"];
  const auto named = [](const auto& items) {
    return *std::find_if(items.begin(), items.end(),
                         [](const auto& item) { return item["setting"] == "query_position"; });
  };
  const auto setting = named(written["settings"]);
  CHECK(setting["departs"] == true);
  CHECK(setting["choice"]["assumed"] == "free");
  CHECK(setting["choice"]["other"] == "last");
  CHECK(setting["choice"]["power"] > 0.99);
  CHECK(named(written["fits"])["explains"] == true);
  CHECK(written["unseen"].empty());

  // Where no query looks there it leaves next to nothing in these rows, and that is said.
  const std::string hidden = recorded("hidden.csv", away + " --query_position last");
  const Answer unseen = judged(hidden, away + " -o " + json);
  CHECK(unseen.status != 1);
  CHECK_THAT(unseen.out, Catch::Contains("not tested: query_position last instead of free (power "
                                         "only 0."));
  CHECK(nlohmann::json::parse(content(json))["judgement"]["unseen"][0]["power"] < 0.05);
  // Unless it is doubted.
  const Answer doubted = judged(hidden, away + " --suspect query_position");
  CHECK(doubted.status != 1);
  CHECK_THAT(doubted.out, Catch::Contains("\nquery_position "));
}

TEST_CASE("recorded runs as wholes: what no row shows, what could be seen, what is asked for",
          "[cli][recorded][unsanitized]") {
  const Folder folder;
  const std::string instance = " --instance " + places::sources() + "/tests/recorded/";
  const std::string setting = "--eta 0.02 --batch 16 -q" + instance + "scb.json ";
  const auto recorded = [&](const std::string& name, const std::string& how, int runs = 3) {
    const std::string file = folder.file(name);
    REQUIRE(run_popgrad("run scb sgd -q --no-events --save 51 --steps 2000 --seed 77 --runs " +
                        std::to_string(runs) + " -o " + file + instance + "scb.json " + how)
                .status == 0);
    return file;
  };
  const std::string with =
      "compare scb sgd --details --no-ladder --no-events --group run " + setting;
  const std::string honest = recorded("honest.csv", "--eta 0.02 --batch 16");
  // One run of a small batch: a tenth of the learning rate is not seen, and that is said.
  const std::string alone = recorded("alone.csv", "--eta 0.02 --batch 16", 1);
  const std::string with_alone =
      "compare scb sgd --no-ladder --no-events " + setting + "--clock 1 --with " + alone;
  const std::string json = folder.file("judgement.json");
  const Answer blind = run_popgrad(with_alone + " -o " + json);
  CHECK(blind.status == 3);
  CHECK_THAT(blind.out,
             Catch::Contains("verdict: inconclusive\n1 run shows no departure from scb sgd "));
  // Three show it, by rows that are weighted as predicted.
  const Answer seeing = run_popgrad(with + "--clock 1 --with " + honest);
  CHECK(seeing.status == 0);
  CHECK_THAT(seeing.out, Catch::Contains("by the predicted law of a run"));
  // What is read first: the verdict, and what would have been noticed.
  CHECK_THAT(
      seeing.out,
      Catch::StartsWith("verdict: consistent with scb sgd\n3 runs agree with scb sgd at learning "
                        "rate 0.02 and batch 16. Changes that would have been noticed: learning "
                        "rate off by ") &&
          Catch::Contains("\n\nsetting "));
  CHECK_THAT(
      run_popgrad("compare scb sgd -q --group run " + setting + "--clock 1 --with " + honest).out,
      !Catch::Contains("expected fluctuation") && !Catch::Contains("rungs by how well"));
  // A learning rate a fifth larger, and momentum that nobody spoke of.
  const std::string with_rate =
      with + "--clock 0.8333333333 --with " + recorded("rate.csv", "--eta 0.024 --batch 16");
  const Answer rate = run_popgrad(with_rate);
  CHECK(rate.status == 1);
  CHECK(fitted(rate.out, "learning rate") == Approx(0.024).epsilon(0.08));
  const Answer momentum = run_popgrad(
      with + "--suspect momentum --clock 1 --with " +
      recorded("momentum.csv", "--eta 0.02 --batch 16 --optimiser momentum --momentum 0.2"));
  CHECK(momentum.status == 1);
  CHECK(fitted(momentum.out, "momentum") == Approx(0.2).margin(0.06));
  // The batch, from the scatter alone: a ninth.
  const Answer batch = run_popgrad(
      "compare scb sgd --no-ladder --no-fit --no-events --group run --eta 0.02 --batch 144 -q" +
      instance + "scb.json --clock 1 --with " + honest);
  CHECK(batch.status == 1);

  // By prediction where that holds, by sampled runs where those are asked for, and it is said
  // which.
  CHECK_THAT(seeing.out, Catch::Contains("the predicted law of a run of sgd"));
  const std::string sampled_json = folder.file("sampled.json");
  const Answer sampled =
      run_popgrad(with + "--ensemble --clock 1 --with " + honest + " -o " + sampled_json);
  CHECK(sampled.status == 0);
  CHECK_THAT(sampled.out, Catch::Contains("expected fluctuation: 64 runs of sgd"));
  CHECK_THAT(run_popgrad(with + "--runs 40 --clock 1 --with " + honest).out,
             Catch::Contains("expected fluctuation: 40 runs of sgd"));
  const auto of_sampled = nlohmann::json::parse(content(sampled_json))["judgement"];
  CHECK(of_sampled["fluctuation"] == "sampled");
  CHECK(of_sampled["neglected"] == 0);
  // What explains runs that depart is left out where nobody asks for it.
  const Answer no_fit = run_popgrad(with_rate + " --no-fit");
  CHECK(no_fit.status == 1);
  CHECK_THAT(no_fit.out, !Catch::Contains("what would explain the runs"));

  const Answer every = run_popgrad(with + "--suspect all --clock 1 --with " + honest);
  CHECK_THAT(every.out, Catch::Contains("\neta_A "));
  // The judgement as JSON: the numbers that are printed.
  const auto written = nlohmann::json::parse(content(json))["judgement"];
  CHECK(written["verdict"] == "inconclusive");
  CHECK(written["recorded_runs"] == 1);
  CHECK(written["weights"] == "predicted");
  CHECK(written["fluctuation"] == "predicted");
  CHECK(written["neglected"].get<double>() > 0);
  CHECK(written["neglected"].get<double>() < 0.25);
  CHECK(written["settings"][0]["setting"] == "learning rate");
  CHECK(written["settings"][0]["assumed"] == 0.02);
  CHECK(std::fabs(written["settings"][0]["linear_estimate"].get<double>() - 0.02) < 0.004);
  CHECK(written["settings"][0]["would_have_been_found"].get<double>() > 0.002);
  CHECK(written["batch"]["low"].get<double>() < 16);
  CHECK(written["batch"]["high"].get<double>() > 16);
  CHECK(written["fits"].empty());
  // A setting that is doubted has most of the level, what nobody doubts the rest; threads change nothing.
  const auto settings_of = [&](const std::string& options) {
    const std::string file = folder.file("settings.json");
    CHECK(run_popgrad(with + options + " --clock 1 --with " + honest + " -o " + file).status == 0);
    return nlohmann::json::parse(content(file))["judgement"]["settings"];
  };
  const auto unasked = settings_of("--jobs 2");
  CHECK(settings_of("--jobs 1") == unasked);
  const auto doubted = settings_of("--suspect eta");
  for (const std::size_t other : {1U, 2U, 3U}) {
    CHECK(doubted[other]["bound"] > 1.05 * unasked[other]["bound"].get<double>());
  }
  // Normal quantiles of 0.8e-3/6 and of 0.9 * 0.8e-3, both sides: 3.82 and 3.38; skewness moves both alike.
  CHECK(doubted[0]["bound"].get<double>() / unasked[0]["bound"].get<double>() ==
        Approx(3.38 / 3.82).epsilon(0.03));
  CHECK(doubted[0]["would_have_been_found"] < unasked[0]["would_have_been_found"]);
  const Answer unknown = run_popgrad(with + "--suspect eta_B --clock 1 --with " + honest);
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.out, Catch::Contains("suspect eta_B is not a setting of scb sgd"));
}

TEST_CASE("recorded runs as wholes: a rate of attention that is off, and a batch that is too large",
          "[cli][recorded][unsanitized]") {
  const Folder folder;
  const std::string setting = " --instance " + places::sources() + "/tests/recorded/scb.json -q ";
  // Settings of the judgement of three runs that are made with `how` and said to be of batch 16.
  const auto judged = [&](const std::string& how) {
    const std::string file = folder.file("runs.csv"), json = folder.file("judgement.json");
    REQUIRE(run_popgrad(
                "run scb sgd --no-events --save 51 --steps 2000 --seed 78 --runs 3 --eta 0.02 -o " +
                file + setting + how)
                .status == 0);
    const Answer answer = run_popgrad(
        "compare scb sgd --no-ladder --no-events --no-fit --group run --clock 1 --eta 0.02 --batch "
        "16 "
        "--with " +
        file + setting + "-o " + json);
    auto judgement = nlohmann::json::parse(content(json))["judgement"];
    CHECK((answer.status == 1) == (judgement["verdict"] == "departs"));
    return judgement;
  };
  const auto of = [](const auto& judgement, const std::string& name) {
    const auto& items = judgement["settings"];
    return *std::find_if(items.begin(), items.end(),
                         [&](const auto& item) { return item["setting"] == name; });
  };
  // A tenth of the rate of attention is 8 deviations of its own test, which nobody asked for.
  const auto attention = judged("--batch 16 --eta_A 1.1");
  CHECK(attention["verdict"] == "departs");
  const auto rate = of(attention, "eta_A");
  CHECK(rate["departs"] == true);
  CHECK(rate["linear_estimate"].get<double>() == Approx(1.1).margin(0.04));
  // A quarter more of the batch is some 4 deviations, and the bound on that side is less than a normal
  // one, 3.82 at this chance.
  const auto larger = of(judged("--batch 20"), "batch");
  CHECK(larger["t"].get<double>() > 2);
  CHECK(larger["bound"].get<double>() < 3.75);
  const auto smaller = of(judged("--batch 12"), "batch");
  CHECK(smaller["departs"] == true);
  CHECK(smaller["bound"].get<double>() > 3.9);
}

}  // namespace recorded_test
