/// Runs that PyTorch recorded (tests/recorded) against the models, on the real binary.

#include <catch2/catch.hpp>

#include "cli/shell.hpp"

using namespace command_line;

namespace {

struct Recorded {
  const char* model;
  const char* name;     // of the files
  const char* options;  // how the run was made, and what its columns are
  const char* rate;
};

constexpr Recorded all[]{
    {"joma sgd", "joma", "--map attention_entropy=attn_ent --batch 8", "0.1"},
    {"scan-snap sgd", "scan_snap", "--T 32 --batch 16", "0.5"},
    {"scb sgd", "scb", "--batch 64", "0.01"},
    {"topic sgd", "topic", "--batch 16", "0.5"},
};

Answer judge(const Recorded& r, const std::string& variant, const std::string& more = {}) {
  const std::string folder = POPGRAD_SOURCE_DIR "/tests/recorded/";
  return popgrad(std::string("compare ") + r.model + " --group seed --no-ladder --quiet --eta " +
                 r.rate + " --clock '" + r.rate + "*step' --instance " + folder + r.name +
                 ".json --with " + folder + "data/" + r.name + variant + ".csv " + r.options + " " +
                 more);
}

}  // namespace

TEST_CASE("recorded runs of the same law are consistent, others are not", "[cli][recorded]") {
  for (const Recorded& r : all) {
    CAPTURE(r.model);
    const Answer same = judge(r, "");
    CHECK(same.status == 0);
    CHECK_THAT(same.out, Catch::Contains("verdict: consistent"));
    // A learning rate a quarter larger than said, a tenth of the labels random, temperature 1.5.
    for (const char* variant : {"-other-rate", "-label-noise", "-temperature"}) {
      CAPTURE(variant);
      const Answer other = judge(r, variant);
      CHECK(other.status == 1);
      CHECK_THAT(other.out, Catch::Contains("NOT consistent: first departs at t = "));
    }
  }
}

TEST_CASE("recorded runs: formula for the clock, several files, tables and pictures",
          "[cli][recorded]") {
  const Folder folder;
  const std::string table = folder.file("table.csv");
  const Answer two = judge(all[0], "", "--clock 'lr*step' -o " + table);
  CHECK(two.status == 2);  // --clock twice
  const std::string data = POPGRAD_SOURCE_DIR "/tests/recorded/";
  const std::string common =
      "compare joma sgd --eta 0.1 --batch 8 --runs 16 --group seed --instance " + data +
      "joma.json --map attention_entropy=attn_ent ";
  const Answer files =
      popgrad(common + "--clock 'lr*step' --plot " + folder.path.string() + " --with " + data +
              "data/joma.csv," + data + "data/joma-temperature.csv -o " + table);
  CHECK(files.status == 1);
  CHECK_THAT(files.out, Catch::Contains("mean of 4"));
  CHECK_THAT(files.out, Catch::Contains("rungs by how well they explain"));
  CHECK_THAT(content(table), Catch::StartsWith("t,attention_entropy_expected,"));
  CHECK(std::filesystem::file_size(folder.path / "compare-joma-sgd.svg") > 1000);

  const auto refused = [&](const std::string& words, const std::string& says) {
    const Answer answer = popgrad(common + words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == 2);
    CHECK_THAT(answer.out, Catch::Contains(says));
  };
  const std::string with = "--with " + data + "data/joma.csv ";
  refused(with + "--clock 'lr*steps'", "is no formula over the columns");
  refused(with + "--clock 'lr*step' --map entropy=attn_ent", "is not an observable");
  refused(with + "--clock '0.0733*step'", "has no step at the recorded time");
  refused("--with " + folder.file("none.csv") + " --clock 'lr*step'", "none.csv");
}
