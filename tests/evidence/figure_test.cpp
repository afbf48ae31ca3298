#include "presenting/figure.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/record.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/theories.hpp"
#include "register_case.hpp"
#include "sanitized.hpp"

namespace figure_test {

using namespace popgrad;
namespace fs = std::filesystem;

namespace {

// A new folder each: tests run side by side.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "popgrad-figure-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

FigureRequest request(const std::string& name, const fs::path& folder) {
  FigureRequest made;
  made.name = name;
  made.folder = folder;
  made.command = "popgrad figure " + name;
  return made;
}

// PATH for the life of this object.
struct SearchPath {
  std::string former = std::getenv("PATH");
  explicit SearchPath(const char* path) { setenv("PATH", path, 1); }
  ~SearchPath() { setenv("PATH", former.c_str(), 1); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;
};

}  // namespace

TEST_CASE("Figures: each has a title", "[figure]") {
  for (const FigureInfo& figure : figures(theories())) {
    INFO(figure.name);
    CHECK_FALSE(figure.title.empty());
  }
}

namespace {

// Thousands of trainings: a minute each, and longer.
const std::set<std::string>& long_ones() {
  static const std::set<std::string> names{
      "joma-latents",       "joma-bounce",          "scan-snap-entropy", "scan-snap-transfer",
      "scb-critical",       "scb-context-size",     "scb-vocabulary",    "scb-grid",
      "scb-samples",        "scb-transfer",         "scb-stages",        "scb-starts-order",
      "topic-either-alone", "topic-attention-ends", "topic-lda",         "topic-cooccurrence",
      "topic-phases",       "scb-softmax-stage"};
  return names;
}

bool takes_minutes(const std::string& name) {
  // Trainings of whole matrices, fifty times as long under the sanitizers; the rungs have tests of their own.
  if (build::sanitized() && name.starts_with("topic-") && name != "topic-optimum") return true;
  static const std::set<std::string> tested_elsewhere{
      "scb-softmax",     "scb-maps",          "scan-snap-frontiers", "scan-snap-rungs",
      "joma-audits",     "scan-snap-classes", "scb-training",        "joma-trained-rank",
      "joma-model-size", "joma-validation",   "scan-snap-steps",     "joma-softmax-growth"};
  if (build::sanitized() && tested_elsewhere.contains(name)) return true;
  return long_ones().contains(name);
}

std::string model_of(const FigureInfo& figure) {
  return figure_model(theories(), figure.name).name();
}

// A small instance, of what this figure reads.
Parameters own_instance(const FigureInfo& figure) {
  static const std::map<std::string, Record> of_model{
      {"joma", {{"mu", {0.7, 1.1, 1.9, 2.6, 0.7}}, {"v0", 0.02}, {"tau", 1.5}}},
      {"scan-snap", {{"M", 5000}, {"eta_Z", 2.0}}},
      {"scb", {{"N", 4}, {"T", 12}, {"Q", 1}}},
      {"topic", {{"T", 3}, {"tau", 2}, {"v", 2}, {"p_m", 0.2}}}};
  const std::vector<ParameterInfo> known = figure_parameters(theories(), figure.name);
  Record given;
  for (const NamedValue& one : of_model.at(model_of(figure)).entries()) {
    const bool read = std::any_of(known.begin(), known.end(), [&](const ParameterInfo& parameter) {
      return parameter.name == one.name;
    });
    if (read) given[one.name] = one.value;
  }
  return Parameters(figure.name, given);
}

std::string tables_in(const std::vector<fs::path>& made) {
  std::string all;
  for (const fs::path& path : made) {
    if (path.extension() == ".csv") all += content(path);
  }
  return all;
}

// The text of each block of each table, by file and label.
std::map<std::string, std::string> blocks_in(const std::vector<fs::path>& made) {
  std::map<std::string, std::string> blocks;
  for (const fs::path& path : made) {
    if (path.extension() != ".csv") continue;
    std::istringstream lines(content(path));
    std::string label = path.filename().string();
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) label = path.filename().string() + ": " + line.substr(2);
      blocks[label] += line + "\n";
    }
  }
  return blocks;
}

// No panel may go on showing an example of ours.
void shows_own_instance(const std::map<std::string, std::string>& usual,
                        const std::map<std::string, std::string>& own) {
  for (const auto& [label, text] : own) {
    const auto before = usual.find(label);
    INFO(label);
    // Headers by themselves, and blocks without rows, are alike.
    if (std::count(text.begin(), text.end(), '\n') <= 2) continue;
    CHECK((before == usual.end() || before->second != text));
  }
}

// Data, script and three pictures; other data for an instance of one's own; the same bytes of data on one
// thread as on all.
void is_drawn(const FigureInfo& figure) {
  const Folder folder;
  FigureRequest asked = request(figure.name, folder.path);
  auto made = make_figure(theories(), asked);
  for (const fs::path& path : made) CHECK(fs::file_size(path) > 50);
  const fs::path stem = folder.path / figure.name;
  CHECK(content(stem.string() + ".svg").find("<svg") != std::string::npos);
  CHECK(content(stem.string() + ".png").substr(1, 3) == "PNG");
  CHECK(content(stem.string() + ".pdf").substr(0, 4) == "%PDF");
  const std::string script = content(stem.string() + ".gp");
  CHECK(script.find("# Made by:  popgrad figure " + figure.name) != std::string::npos);
  if (!build::sanitized()) {
    if (!figure.parameters.empty()) {
      const auto usual = blocks_in(made);
      asked.parameters = own_instance(figure);
      made = make_figure(theories(), asked);
      shows_own_instance(usual, blocks_in(made));
    }
    const std::string before = tables_in(made);
    asked.jobs = 1;
    CHECK(tables_in(make_figure(theories(), asked)) == before);
  }
  // Nothing is left of the folder in which the pictures were drawn.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path)) {
    CHECK_FALSE(entry.is_directory());
  }
}

}  // namespace

// A case a figure, so that they run side by side.
static void register_cases() {
  for (const FigureInfo& figure : figures(theories())) {
    if (figure.needs_data || takes_minutes(figure.name)) continue;
    // Minutes under the sanitizers, in code that landscapes and the other figures run as well.
    static const std::set<std::string> long_ones{"topic-landscape", "topic-stages",
                                                 "topic-attention", "scan-snap-frontiers"};
    register_case(
        "Figures: " + figure.name + " is drawn",
        long_ones.contains(figure.name) ? "[figure][slow][unsanitized]" : "[figure][slow]",
        [figure] { is_drawn(figure); });
  }
}

TEST_CASE("Figures: one of a given instance states its parameters", "[figure]") {
  const Folder folder;
  FigureRequest made = request("joma-entropy", folder.path);
  const auto svg = [&] {
    make_figure(theories(), made);
    return content(folder.path / "joma-entropy.svg");
  };
  CHECK_THAT(svg(), !Catch::Contains("tau = 2"));
  made.parameters = Parameters("joma", {{"mu", {1.0, 2.0}}, {"tau", 2}});
  CHECK_THAT(svg(), Catch::Contains("mu = (1, 2), tau = 2") && Catch::Contains("seed 1"));
}

TEST_CASE("Figures: those that read no parameter refuse an instance", "[figure]") {
  for (const FigureInfo& figure : figures(theories())) {
    if (!figure.parameters.empty()) continue;
    INFO(figure.name);
    const Folder folder;
    FigureRequest made = request(figure.name, folder.path);
    made.parameters = Parameters(figure.name, {{"T", 6}});
    CHECK_THROWS_WITH(make_figure(theories(), made),
                      Catch::Contains("T is not read") && Catch::Contains("leave it out"));
    CHECK(fs::is_empty(folder.path));
  }
}

TEST_CASE("Figures: parameters that they read are those of their model", "[figure]") {
  std::size_t reading = 0;
  for (const FigureInfo& figure : figures(theories())) {
    INFO(figure.name);
    const std::vector<ParameterInfo> read = figure_parameters(theories(), figure.name);
    CHECK(read.size() == figure.parameters.size());
    reading += read.empty() ? 0 : 1;
  }
  CHECK(reading > 0);
  const std::vector<ParameterInfo> read = figure_parameters(theories(), "scb-phase");
  CHECK(read[1].name == "T");
  CHECK(read[1].default_value == "200");  // that of the figure, not of the model
}

namespace {

std::string data_at(const std::string& figure, const Record& parameters) {
  const Folder folder;
  FigureRequest made = request(figure, folder.path);
  made.parameters = Parameters(figure, parameters);
  const auto paths = make_figure(theories(), made);
  CHECK(fs::file_size(fs::path(folder.path / figure).string() + ".svg") > 1000);
  return tables_in(paths);
}

}  // namespace

TEST_CASE("Figures: every parameter changes the data, and its default does not",
          "[figure][slow][unsanitized]") {
  struct Change {
    std::string figure, name;
    Value standard, other;
  };
  const std::vector<Change> changes{
      {"joma-entropy", "tau", "3", "2"},
      {"joma-entropy", "v0", "0.05", "0.1"},
      {"joma-entropy", "attention", "softmax", "exp"},
      {"joma-entropy", "mu", {1.2, 1.5, 1.8, 2.0, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8}, {1.0, 2.0}},
      {"scan-snap-growth", "M", "1000", "5000"},
      {"scan-snap-growth", "eta_Z", "0.5", "1"},
      {"scan-snap-transition", "M", "1000", "5000"},
      {"scan-snap-transition", "eta_Z", "0.5", "1"},
      {"scan-snap-exponent", "M", "1000", "5000"},
      {"scan-snap-exponent", "eta_Z", "0.5", "1"},
      {"scan-snap-steps", "M", "1000", "5000"},
      {"scan-snap-steps", "eta_Z", "0.5", "1"},
      {"scb-phase", "N", "3", "4"},
      {"scb-phase", "T", "200", "100"},
      {"scb-phase", "Q", "2", "1"},
      {"topic-optimum", "v", "10", "5"},
      {"topic-optimum", "p_m", "0.15", "0.3"},
      {"topic-optimum", "p_c", "0.1", "0.3"},
      {"topic-optimum", "p_r", "0.1", "0.3"}};
  std::map<std::string, std::string> usual_of;
  for (const Change& change : changes) {
    INFO(change.figure << " " << change.name);
    std::string& usual = usual_of[change.figure];
    if (usual.empty()) usual = data_at(change.figure, {});
    // The list of mu comes with other defaults of v0 and tau.
    if (change.name != "mu")
      CHECK(data_at(change.figure, {{change.name, change.standard}}) == usual);
    CHECK(data_at(change.figure, {{change.name, change.other}}) != usual);
  }
}

TEST_CASE("Figures: a law of one's own", "[figure][slow]") {
  const Record law{{"P", Value::List{{0.5, 0.25}, {0.5, 0.75}}},
                   {"q", Value::List{{0.5, 0.5, 0.0}, {0.0, 0.0, 1.0}}}};
  CHECK(data_at("scb-phase", law) != data_at("scb-phase", {}));
  // Sizes are those of the law.
  CHECK(data_at("scb-starts", law).find("nan") == std::string::npos);
}

TEST_CASE("Figures: the long ones end when they are asked to", "[figure][unsanitized]") {
  const Deadline passed(std::chrono::duration<double>(0));
  for (const std::string& name : long_ones()) {
    INFO(name);
    const Folder folder;
    CHECK_THROWS_AS(make_figure(theories(), request(name, folder.path)), Stopped);
    CHECK(fs::is_empty(folder.path));
  }
}

TEST_CASE("Figures: parameters that one does not read are refused", "[figure]") {
  const Folder folder;
  FigureRequest made = request("scb-phase", folder.path);
  made.parameters = Parameters("scb", {{"lambda", "0.1"}});
  CHECK_THROWS_WITH(make_figure(theories(), made),
                    Catch::Contains("scb figure scb-phase") && Catch::Contains("allowed: N, T, Q"));
  made.name = "joma-eqn10";
  CHECK_THROWS_WITH(make_figure(theories(), made), Catch::Contains("fixed parameters"));
  made.name = "scan-snap-growth";
  made.parameters = Parameters("scan-snap", {{"M", "999"}});
  CHECK_THROWS_WITH(make_figure(theories(), made), Catch::Contains("must be >= 1000"));
}

TEST_CASE("Figures: recorded runs", "[figure]") {
  const Folder folder;
  CHECK_THROWS_WITH(make_figure(theories(), request("joma-measured", folder.path)),
                    Catch::Contains("--data"));
  fs::create_directories(folder.path);
  const fs::path data = folder.path / "runs.csv";
  {
    std::ofstream rows(data);
    rows << "nlayers,lr,seed,minibatch,layer,entropy,val_loss\n";
    for (const char* rate : {"1e-3", "1e-4"}) {
      for (int step = 0; step < 20; ++step) {
        for (int layer = 0; layer < 2; ++layer) {
          rows << "2," << rate << ",1," << 1000 * step << ',' << layer << ','
               << 2.5 - 0.1 * (layer + 1) * (10 - std::abs(step - 10)) << ',' << 10 - 0.2 * step
               << '\n';
        }
      }
    }
  }
  FigureRequest with_data = request("joma-measured", folder.path);
  with_data.data_file = data.string();
  CHECK(make_figure(theories(), with_data).size() == 7);
}

TEST_CASE("Figures: a text", "[figure]") {
  const Folder folder;
  CHECK_THROWS_WITH(make_figure(theories(), request("scan-snap-text", folder.path)),
                    Catch::Contains("--data"));
  const fs::path text = folder.path / "text";
  {
    std::ofstream words(text);
    for (int i = 0; i < 400; ++i) words << 'w' << (i * i + i / 7) % 23 << " \"x,y\" ";
  }
  FigureRequest with_text = request("scan-snap-text", folder.path);
  with_text.data_file = text.string();
  CHECK(make_figure(theories(), with_text).size() == 6);
}

TEST_CASE("Figures: what goes wrong is said", "[figure]") {
  const Folder folder;
  CHECK_THROWS_WITH(make_figure(theories(), request("joma-entropi", folder.path)),
                    Catch::Contains("did you mean 'joma-entropy'"));
  const SearchPath nowhere("/nonexistent");
  CHECK_THROWS_WITH(make_figure(theories(), request("joma-component-growth", folder.path)),
                    Catch::Contains("gnuplot-nox"));
  // What could be made is there.
  CHECK(fs::exists(folder.path / "joma-component-growth.csv"));
  CHECK(fs::exists(folder.path / "joma-component-growth.gp"));
  CHECK_FALSE(fs::exists(folder.path / "joma-component-growth.svg"));
}

// Minutes under the sanitizers, in code that the other figures run as well.
TEST_CASE("Figures: the topic landscape shows paths and minimisers whole, at own parameters",
          "[figure][slow][unsanitized]") {
  FigureRequest own = request("topic-landscape", {});
  own.parameters = Parameters("topic", {{"T", 6}, {"tau", 2}, {"v", 5}});
  for (const char* name : {"p_m", "p_c", "p_r"}) {
    own.parameters.set(name, std::string(name) == "p_m" ? "0.15" : "0.1");
  }
  std::vector<FigureFile> files;
  for (const Theory& theory : theories()) {
    for (const FigureMaker& maker : theory.figures) {
      if (maker.info.name == own.name) files = maker.data(own);
    }
  }
  REQUIRE(files.size() == 3);
  // Largest and least number of the first two columns.
  const auto ranges = [](const std::string& csv) {
    std::array<std::pair<double, double>, 2> found{{{0, 0}, {0, 0}}};
    std::istringstream in(csv);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream fields(line);
      std::string field;
      for (auto& [low, high] : found) {
        if (!std::getline(fields, field, ',') || field.empty() || std::isalpha(field[0])) break;
        low = std::min(low, std::stod(field));
        high = std::max(high, std::stod(field));
      }
    }
    return found;
  };
  const auto paths = ranges(files[0].content), grid = ranges(files[1].content),
             optimum = ranges(files[2].content);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(optimum.at(k).first >= 0);
    CHECK(optimum.at(k).second <= grid.at(k).second);
    CHECK(paths.at(k).second <= grid.at(k).second);
  }
}

}  // namespace figure_test

void popgrad::register_figure_cases() { figure_test::register_cases(); }
