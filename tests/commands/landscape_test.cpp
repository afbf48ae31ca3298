/// `landscape` and `sweep` on the real binary, and the checker of certificates on its own.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/shell.hpp"
#include "interrupted_sweep.hpp"
#include "places.hpp"
#include "sanitized.hpp"

namespace landscape_test {

using Json = nlohmann::json;
using namespace command_line;

namespace {

Answer check_certificate(const std::string& file) {
  return shell("python3 " + places::sources() + "/theorems/topic/tests/check_certificate.py " +
               file + " 2>&1");
}

}  // namespace

TEST_CASE("landscape: certificates that an independent checker accepts, and rejects", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("certificate.json");
  for (const char* value : {"block", "diagonal", "mixture:1/3"}) {
    CAPTURE(value);
    const Answer made = run_popgrad(std::string("landscape topic --T 5 --tau 2 --v 3 --value ") +
                                    value + " --at 1/2,3 --at 2,2 -o " + file);
    REQUIRE(made.status == 0);
    CHECK_THAT(made.out, Catch::Contains("certified within"));
    const Answer accepted = check_certificate(file);
    CHECK(accepted.status == 0);
    CHECK_THAT(accepted.out, Catch::StartsWith("accepted\n"));
    CHECK_THAT(accepted.out, Catch::Contains("p_c = 1/10") && Catch::Contains(value));
    const Json untouched = Json::parse(content(file));
    const auto rejected_with = [&](const char* pointer, const Json& wrong) {
      CAPTURE(pointer);
      Json data = untouched;
      data[Json::json_pointer(pointer)] = wrong;
      const Answer rejected = check_certificate(folder.file("wrong.json", data.dump()));
      CHECK(rejected.status == 1);
      CHECK_THAT(rejected.out, Catch::Contains("rejected: "));
    };
    rejected_with("/value", std::string(value) == "block" ? "diagonal" : "block");
    // What follows is the checker's work, not ours, and the same for every value.
    if (build::sanitized() || std::string(value) != "block") continue;
    Json fewer = untouched["certificate"]["leaves"];
    fewer.erase(0);
    rejected_with("/certificate/leaves", fewer);
    rejected_with("/certificate/leaves/0/1", "near");
    rejected_with("/certificate/lower", untouched["certificate"]["upper"]);
    rejected_with("/certificate/upper", "1/2");
    rejected_with("/certificate/alpha", "1");
    rejected_with("/certificate/beta", "1/7");
    rejected_with("/certificate/box/alpha/1", "9000");
    rejected_with("/certificate/minimisers/alpha/0", "0");
    rejected_with("/certificate/W_V/w0", "0");
    rejected_with("/certificate/on_line", !untouched["certificate"]["on_line"].get<bool>());
    rejected_with("/certificate/boxes", 1);
    rejected_with("/certificate/evidence", "certified");
    rejected_with("/certificate/remark", "");
    rejected_with("/parameters/p_c", "1/9");
    rejected_with("/minimum/value", 0.5);
    rejected_with("/minimum/alpha", 0.5);
    rejected_with("/points/0/value", "1/2");
    rejected_with("/points/1/value", 0.5);
    rejected_with("/remark", "");
    rejected_with("/schema", "popgrad/landscape/2");
  }
  // Fields are missing; no text at all is not a certificate.
  CHECK(check_certificate(folder.file("none.json", "{}")).status != 0);
  CHECK(check_certificate(folder.file("empty.json", "")).status == 2);
}

TEST_CASE("landscape: the certificate of a penalised W_V names its penalty", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("certificate.json");
  REQUIRE(
      run_popgrad("landscape topic --T 5 --tau 2 --v 3 --lambda 1/50 --at 2,2 -o " + file).status ==
      0);
  const Answer accepted = check_certificate(file);
  CHECK(accepted.status == 0);
  CHECK_THAT(accepted.out, Catch::Contains("lambda = 1/50"));
  for (const char* lambda : {"1/49", "0", ""}) {
    CAPTURE(lambda);
    Json data = Json::parse(content(file));
    data["parameters"]["lambda"] = lambda;
    if (std::string(lambda).empty()) data["parameters"].erase("lambda");
    CHECK(check_certificate(folder.file("wrong.json", data.dump())).status == 1);
  }
}

TEST_CASE("landscape: points, grids and matrices from files", "[cli]") {
  const Folder folder;
  const Answer exact =
      run_popgrad("landscape topic --T 5 --tau 2 --v 3 --at 11,1/2 --no-certificate");
  CHECK(exact.status == 0);
  CHECK_THAT(exact.out, Catch::Matches("L\\(11, 1/2\\) = [0-9]+/[0-9]+\n"));
  const std::string grid = folder.file("grid.csv");
  CHECK(run_popgrad("landscape topic --T 5 --tau 2 --v 3 --grid 20 --quiet -o " + grid).status ==
        0);
  const std::string text = content(grid);
  CHECK(std::count(text.begin(), text.end(), '\n') == 401);
  // A whole matrix with the numbers of the diagonal one.
  Json rows = Json::array();
  for (int i = 0; i < 5; ++i) {
    Json row = Json::array();
    for (int j = 0; j < 5; ++j) row.push_back(i == j && i > 0 ? 2 : 0);
    rows.push_back(row);
  }
  const std::string matrix = folder.file("W.json", Json{{"W_V", rows}}.dump());
  const std::string out = folder.file("out.json");
  CHECK(run_popgrad("landscape topic --T 2 --tau 1 --v 2 --value " + matrix + " --at 1,2 -o " + out)
            .status == 0);
  CHECK_THAT(check_certificate(out).out, Catch::StartsWith("accepted\n"));
  // Points as they are typed are fractions in the file.
  CHECK(run_popgrad("landscape topic --T 3 --tau 2 --v 2 --at 0.5,4/2 -o " + out).status == 0);
  CHECK(Json::parse(content(out))["points"][0]["alpha"] == "1/2");
  CHECK_THAT(check_certificate(out).out, Catch::StartsWith("accepted\n"));
  const Answer slice = run_popgrad(
      "landscape topic --T 3 --tau 1 --v 2 --d_a 3 --around flow --t1 50 --slice 2 --points 5 -o "
      "-");
  CHECK(slice.status == 0);
  CHECK(std::count(slice.out.begin(), slice.out.end(), '\n') == 26);
}

TEST_CASE("landscape and sweep: mistakes are told in one line", "[cli]") {
  for (const char* words : {"landscape topic --tau 10",
                            "landscape topic --value nowhere.json",
                            "landscape topic --value diagonal --lambda 1",
                            "landscape topic --at 1",
                            "landscape topic --at 1,x",
                            "landscape topic --alpha 3,1",
                            "landscape joma",
                            "landscape topic --grid 10",
                            "landscape topic --slice 2",
                            "landscape topic --around optimum",
                            "landscape topic --around symmetric",
                            "landscape topic --around moments",
                            "landscape topic weights",
                            "landscape topic --tolerance 0",
                            "landscape topic --eta 3",
                            "landscape topic --around flow --at 1,2",
                            "sweep topic optimum --over tau=2 --states",
                            "landscape topic --grid 5 -o out.xyz",
                            "sweep topic optimum",
                            "sweep topic optimum --over taw=1",
                            "sweep topic optimum --over tau",
                            "sweep topic optimum --over tau=4:2:3",
                            "sweep topic optimum --over tau=2 --success 'los<=1'",
                            "sweep topic optimum --over tau=2 --success loss",
                            "run topic flow --T 40 --tau 20",
                            "run topic flow --train VK",
                            "run topic block-reduced --N 5",
                            "run topic sgd --corpus nowhere"}) {
    CAPTURE(words);
    const Answer answer = run_popgrad(words);
    CHECK(answer.status == 2);
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
  }
}

TEST_CASE("sweep: a grid, success rates, and going on where it was stopped", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("sweep.csv");
  const std::string words =
      "sweep topic optimum --over tau=2,3 --over value=block,diagonal "
      "--success 'loss<=0.95' --quiet -o " +
      file;
  REQUIRE(run_popgrad(words).status == 0);
  const std::string whole = content(file);
  CHECK(whole.starts_with("tau,value,runs,ended,successes,success,loss,"));
  CHECK(std::count(whole.begin(), whole.end(), '\n') == 5);
  // Without the last two cells: the same command makes them.
  leave_interrupted(file, {0, 1});
  CHECK(run_popgrad(words).status == 0);
  CHECK(content(file) == whole);
  CHECK(run_popgrad("sweep topic optimum --over tau=2,4 -o " + file).status == 2);
  const Answer runs = run_popgrad(
      "sweep scb sgd --T 20 --over eta=0.01,0.02 --batch 4 --steps 20 --runs 3 --quiet");
  CHECK(runs.status == 0);
  CHECK_THAT(runs.out, Catch::StartsWith(
                           "eta,runs,ended,alpha_V,alpha_V_deviation,alpha_V_q05,alpha_V_median,"));
  // Three of three: between 0.44 and 1 by Wilson's interval.
  const Answer shares = run_popgrad(
      "sweep scb sgd --T 20 --over eta=0.01 --batch 4 --steps 20 --runs 3 --success 'loss<=9' -q");
  CHECK_THAT(shares.out, Catch::StartsWith("eta,runs,ended,successes,success,success_low,") &&
                             Catch::Contains("0.01,3,3,3,1,0.43850"));
}

TEST_CASE("sweep: when conditions are first met, and what runs end at", "[cli]") {
  const Folder folder;
  // The first of a thousand times at which a run of its own meets the condition.
  const Answer flow =
      run_popgrad("sweep joma reduced --over tau=2 --t1 2 --first 'largest_delta<=0.2' -q");
  CHECK_THAT(flow.out, Catch::StartsWith("tau,runs,ended,reached,reached_share,first_time,"));
  std::istringstream rows(run_popgrad("run joma reduced --tau 2 --t1 2 --save 1001 -q -o -").out);
  std::string line;
  std::getline(rows, line);
  double t = 0, delta = 1;
  while (delta > 0.2 && std::getline(rows, line)) {
    t = std::stod(line);
    delta = std::stod(line.substr(line.rfind(',') + 1));
  }
  REQUIRE(delta <= 0.2);
  const std::string counted = "\n2,1,1,1,1,";
  REQUIRE(flow.out.find(counted) != std::string::npos);
  CHECK(std::stod(flow.out.substr(flow.out.find(counted) + counted.size())) == Approx(t));
  // Never: no time; the count and its interval say so.
  const Answer never = run_popgrad(
      "sweep scb sgd --T 20 --over eta=0.01 --batch 4 --steps 20 --runs 3 --first 'loss<=0' -q");
  CHECK_THAT(never.out, Catch::Contains("\n0.01,3,3,0,0,0,0.56149") &&
                            Catch::Contains("first_time_q05,first_time_median,first_time_q95"));
  // Means, deviations and quantiles are those of the runs themselves.
  const std::string words = "scb sgd --T 20 --batch 4 --steps 20 --runs 3 -q";
  const Json runs = [&] {
    const std::string file = folder.file("runs.json");
    REQUIRE(run_popgrad("run " + words + " --save 2 -o " + file).status == 0);
    return Json::parse(content(file));
  }();
  std::vector<double> ends;
  for (const Json& row : runs.at("rows")) {
    if (row[1].get<double>() > 0) ends.push_back(row[2].get<double>());
  }
  REQUIRE(ends.size() == 3);
  std::sort(ends.begin(), ends.end());
  const Answer swept = run_popgrad("sweep " + words + " --over eta=0.01");
  const std::string begin = "\n0.01,3,3,";
  REQUIRE(swept.out.find(begin) != std::string::npos);
  std::istringstream fields(swept.out.substr(swept.out.find(begin) + begin.size()));
  std::vector<double> told;
  for (std::string field; told.size() < 5 && std::getline(fields, field, ',');) {
    told.push_back(std::stod(field));
  }
  const double mean = (ends[0] + ends[1] + ends[2]) / 3;
  double square = 0;
  for (const double x : ends) square += (x - mean) * (x - mean);
  const std::vector<double> expected{mean, std::sqrt(square / 2),
                                     ends[0] + 0.1 * (ends[1] - ends[0]), ends[1],
                                     ends[2] - 0.1 * (ends[2] - ends[1])};
  for (std::size_t k = 0; k < 5; ++k) CHECK(told[k] == Approx(expected[k]).epsilon(1e-12));
}

}  // namespace landscape_test
