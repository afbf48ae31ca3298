// Theory files where commands take a model.

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "commands/shell.hpp"
#include "places.hpp"

namespace theory_file_commands_test {
namespace {

using namespace command_line;

std::string example(const std::string& name) {
  return places::sources() + "/theorems/files/" + name + ".toml";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("theory files: commands take one where they take a model", "[theory_files][cli]") {
  const std::string file = example("regression");
  const Answer run = run_popgrad("run " + file + " flow --t1 4 --save 2 --flip 0 -q -o -");
  CHECK(run.status == 0);
  // The gradient of the loss is -A (w - v) with A = E x x', no labels flipped.
  REQUIRE(lines_of(run.out).size() == 3);
  CHECK(lines_of(run.out)[0] == "t,loss,distance,error");
  CHECK(lines_of(run.out)[1].starts_with("0,0.46875,0.5,0.9375"));
  const std::vector<std::pair<std::string, std::string>> cases{
      {"list " + file, "probability that a label is 1 larger"},
      {"list " + file + " flip", "parameter"},
      {"equations " + file + " flow", "d_v = -(sum(outer(p,"},
      {"equations " + file + " flow --format latex", "\\begin{align}\n\\dot{v} &= -"},
      {"compare " + file + " gd flow --t1 1 -q", "regression gd against flow"},
      {"ladder " + file + " --runs 4 --t1 1 -q", "sgd -> gd"},
      {"sweep " + file + " gd --over eta=0.05,0.1 --t1 1 -q -o -", "eta"},
      {"run " + file + " moments --t1 1 --save 2 -q -o -", "distance_sd"},
      {"landscape " + file + " --at 1,1/2 --flip 0", "L(1, 1/2) = 0\n"},
      {"landscape " + file + " --grid 3 --a 0,2 -q -o -", "a,b,value\n0,"},
      {"landscape " + file + " --around flow --t1 1 --points 3 -q", "first,loss"},
      {"check " + file, "summed over 8 values"},
      {"run " + file + " --help", "--flip"},
  };
  for (const auto& [words, expected] : cases) {
    INFO(words);
    const Answer answer = run_popgrad(words);
    INFO(answer.out);
    CHECK(answer.status == 0);
    CHECK(answer.out.find(expected) != std::string::npos);
  }
}

TEST_CASE("theory files: what no command can do with one is said in a line",
          "[theory_files][cli]") {
  const Folder folder;
  const std::string none = folder.file("none.toml");
  const std::string taken = folder.file(
      "taken.toml", "sizes = { runs = 2 }\nstate = { x = 1 }\nloss = { loss = \"x**2\" }\n");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"run " + none + " flow", "cannot be read"},
      {"run " + folder.file("a.py") + " flow", "no Python is run; write the theory as a .toml"},
      {"verify " + example("regression"), "takes no theory file"},
      {"landscape -q " + example("edge"), "has no section [landscape.NAME]"},
      {"landscape " + example("regression"), "no certified minimum; give --at, --grid or --plot"},
      {"run " + taken + " flow", "runs is an option of popgrad; give it another name"},
      {"run " + example("regression") + " flwo", "did you mean 'flow'?"},
      {"equations " + example("regression") + " flow --format cpp",
       "give latex, or text or python"},
      {"export " + example("regression"), "give --torch"},
      {"new " + folder.file("a.txt"), "must end in .toml"},
      {"new '" + folder.file("a b.toml") + "'", "must have a name that begins with a letter"},
      {"new " + example("edge"), "is there already"},
      {"check " + none, "cannot be read"},
  };
  for (const auto& [words, expected] : cases) {
    INFO(words);
    const Answer answer = run_popgrad(words);
    INFO(answer.out);
    CHECK(answer.status == 2);
    CHECK(lines_of(answer.out).size() == 1);
    CHECK(answer.out.find(expected) != std::string::npos);
  }
}

TEST_CASE("theory files: a new one runs as it is", "[theory_files][cli]") {
  const Folder folder;
  const std::string file = folder.file("mine.toml");
  CHECK(run_popgrad("new " + file).status == 0);
  const Answer checked = run_popgrad("check " + file);
  CHECK(checked.status == 0);
  CHECK(checked.out.find("d = 4: all shapes match") != std::string::npos);
  CHECK(run_popgrad("run " + file + " flow --t1 1 -q -o -").status == 0);
}

TEST_CASE("theory files: those in the repository run, and type at other sizes",
          "[theory_files][cli]") {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(places::sources() + "/theorems/files")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const Answer checked = run_popgrad("check " + entry.path().string());
    INFO(checked.out);
    CHECK(checked.status == 0);
    CHECK(checked.out.find("do not match") == std::string::npos);
    for (const char* rung : {"flow", "sgd"}) {
      const Answer run =
          run_popgrad("run " + entry.path().string() + " " + rung + " --t1 3.9 --save 2 -q -o -");
      INFO(run.out);
      CHECK(run.status == 0);
    }
  }
  CHECK(files >= 4);
}

TEST_CASE("theory files: the exported training is that of the rung, where PyTorch is installed",
          "[theory_files][cli]") {
  const Folder folder;
  const std::string script = folder.file("train.py"), log = folder.file("log.csv");
  const std::string file = example("regression");
  REQUIRE(run_popgrad("export " + file + " --torch --flip 0.2 -o " + script).status == 0);
  CHECK(content(script).find("flip = tensor(0.2)\n") != std::string::npos);
  CHECK(
      shell("python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' " + script).status ==
      0);
  const std::string python = "/usr/bin/python3 ";
  if (shell(python + "-c 'import torch' 2>/dev/null").status != 0) return;
  const auto verdict = [&](const std::string& eta) {
    const std::string options = " --batch 8 --steps 60 --every 4 --runs 24 --output " + log;
    const Answer trained = shell(python + script + " --eta " + eta + options + " 2>&1");
    INFO(trained.out);
    REQUIRE(trained.status == 0);
    return run_popgrad("compare " + file + " sgd --with " + log +
                       " --group run --clock 0.1*step --flip 0.2 --eta 0.1 --batch 8 -q");
  };
  const Answer agrees = verdict("0.1");
  INFO(agrees.out);
  // These few runs do not exclude a learning rate off by a tenth, one off by a half they do.
  CHECK(agrees.status != 1);
  CHECK(agrees.out.find("show no departure") != std::string::npos);
  const Answer departs = verdict("0.15");
  INFO(departs.out);
  CHECK(departs.status == 1);
}

TEST_CASE("theory files: an interrupted sweep goes on only with the same file",
          "[theory_files][cli]") {
  const Folder folder;
  const std::string file = folder.file("t.toml", "state = { x = 1 }\nloss = { loss = \"x**2\" }\n");
  const std::string table = folder.file("table.csv");
  const std::string line = "sweep " + file + " gd --over eta=0.1,0.2 --t1 1 -q -o " + table;
  CHECK(run_popgrad(line).status == 0);
  static_cast<void>(folder.file("t.toml", "state = { x = 2 }\nloss = { loss = \"x**2\" }\n"));
  const Answer changed = run_popgrad(line);
  INFO(changed.out);
  CHECK(changed.status == 2);
}

}  // namespace
}  // namespace theory_file_commands_test
