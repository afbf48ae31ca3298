// Theory files where commands take a model.

#include <catch2/catch.hpp>
#include <cmath>
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
      {"equations " + file + " flow", "d_v = X.T @ sum("},
      {"equations " + file + " flow --format latex", "\\dot{v} &= "},
      {"equations " + file + " gd --format cpp", "const auto d_v = "},
      {"equations " + example("edge") + " pair", "next_p = p - eta * (p - 1) * s"},
      {"export " + example("edge") + " --latex", "p^{+} &= p - \\eta (p - 1) s"},
      {"export " + file + " --latex", "i & \\sim \\operatorname{categorical}(p)"},
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

std::vector<std::vector<double>> numbers_of(const std::string& csv) {
  std::vector<std::vector<double>> rows;
  const std::vector<std::string> lines = lines_of(csv);
  for (std::size_t k = 1; k < lines.size(); ++k) {
    std::istringstream in(lines[k]);
    rows.emplace_back();
    for (std::string part; std::getline(in, part, ',');) rows.back().push_back(std::stod(part));
  }
  return rows;
}

// The loss is (x y - 1)^2/2 + (x^2 - y^2)^2/10 + z^2/2: where x y = 1 and x = y it is least; at the origin x y is a
// saddle, and z is at rest at 0 only.
TEST_CASE("theory files: critical points of a plane have the counts of the whole state",
          "[theory_files][cli]") {
  const Folder folder;
  const auto file = [&](const std::string& z) {
    return folder.file(
        "saddle.toml",
        "state = { x = 1.5, y = 0.5, z = " + z +
            " }\nloss = { loss = \"(x * y - 1)**2 / 2 + (x**2 - y**2)**2 / 10 + "
            "z**2 / 2\" }\n[rung.turned]\nmap = { p = \"x + y\", m = \"x - y\", q = "
            "\"z\" }\nlift = { x = \"(p + m) / 2\", y = \"(p - m) / 2\", z = \"q\" "
            "}\n[landscape.plane]\nover = { a = [-2, 2], b = [-2, 2] }\nset = { x = "
            "\"a\", y = \"b\" }\npaths = [\"flow\", \"turned\"]\n[landscape."
            "own]\nrung = \"turned\"\nover = { a = [-3, 3], b = [-3, 3] }\nset = { p = "
            "\"a\", m = \"b\" }\n");
  };
  const std::string rest = "landscape " + file("0") + " plane --critical -q";
  const std::vector<std::vector<double>> points = numbers_of(run_popgrad(rest).out);
  REQUIRE(points.size() == 3);
  const std::vector<std::vector<double>> expected{
      {-1, -1, 0, 0, 0, 0, 3}, {1, 1, 0, 0, 0, 0, 3}, {0, 0, 0.5, 0, 1, 0, 2}};
  for (std::size_t k = 0; k < points.size(); ++k) {
    for (std::size_t i = 0; i < expected[k].size(); ++i)
      CHECK(points[k].at(i) == Approx(expected[k][i]).margin(1e-9));
  }
  // In the other coordinates of the same plane.
  const auto own = numbers_of(run_popgrad("landscape " + file("0") + " own --critical -q").out);
  REQUIRE(own.size() == 3);
  CHECK(own[1].at(0) == Approx(2).margin(1e-9));
  CHECK(own[2].at(4) == 1);
  // A plane above the minimum: no point rests.
  const auto above = numbers_of(run_popgrad("landscape " + file("2") + " plane --critical -q").out);
  REQUIRE(above.size() == 3);
  CHECK(above[0].at(3) == Approx(2));
  const std::string path = "landscape " + file("2") + " plane --path ";
  const auto trained = numbers_of(run_popgrad(path + "flow --t1 9 -q").out);
  CHECK(trained.front().at(1) == Approx(1.5));
  CHECK(trained.front().at(3) == Approx(0).margin(1e-9));
  // z decays as exp(-t); the plane keeps it at 2.
  CHECK(trained.back().at(3) == Approx(2 - 2 * std::exp(-9)).epsilon(1e-6));
  CHECK(trained.back().at(1) == Approx(1).epsilon(1e-4));
  const auto turned = numbers_of(run_popgrad(path + "turned --t1 9 -q").out);
  CHECK(turned.back().at(1) == Approx(trained.back().at(1)).epsilon(1e-7));
  CHECK(run_popgrad(path + "sgd").out.find("is none of the paths of plane") != std::string::npos);
  const std::string pictures = (folder.path / "pictures").string();
  CHECK(run_popgrad(path + "flow --t1 9 -q --plot " + pictures).status == 0);
  const auto drawn = numbers_of(command_line::content(pictures + "/landscape-saddle-path.csv"));
  REQUIRE(drawn.size() == trained.size());
  CHECK(drawn.back().at(0) == Approx(trained.back().at(1)).epsilon(1e-6));
  CHECK(command_line::content(pictures + "/landscape-saddle.svg").find(">flow<") !=
        std::string::npos);
  CHECK(run_popgrad(rest + " --plot " + pictures).status == 2);
}

TEST_CASE("theory files: directions of critical points are counted along symmetries, and of fields",
          "[theory_files][cli]") {
  const Folder folder;
  const auto points_of = [&](const std::string& law) {
    return numbers_of(
        run_popgrad("landscape " + folder.file("law.toml", law) + " plane --critical -q").out);
  };
  const auto counts = [](const std::vector<double>& point) {
    CHECK(point.at(3) == Approx(0).margin(1e-9));  // the slope
    return std::vector<double>(point.begin() + 4, point.end());
  };
  // z is set; scaling x up and y down keeps the loss, which does not read n.
  const std::string product =
      "state = { x = 1, y = 1, z = 0, n = 3 }\n"
      "loss = { loss = \"(x * y - 1)**2 / 2 + (z - 2)**2 / 2\" }\n[landscape.plane]\n"
      "over = { a = [-2, 2], b = [-2, 2] }\nset = { x = \"a\", y = \"b\" }\n";
  const auto of_product = points_of(product + "rest = { z = \"2\" }\n");
  REQUIRE(of_product.size() == 2);
  CHECK(of_product[0].at(2) == Approx(0).margin(1e-12));
  CHECK(counts(of_product[0]) == std::vector<double>{0, 2, 2});
  CHECK(counts(of_product[1]) == std::vector<double>{1, 1, 2});
  const std::string account =
      run_popgrad("check " + folder.file("product.toml", product + "rest = { z = \"2\" }\n")).out;
  CHECK(account.find("loss: does not read 1 direction of n\n"
                     "loss: symmetric along 1 direction of x, y\n") != std::string::npos);
  // Every W1 -> G W1, W2 -> W2 / G: 2 x 2 directions; and rotations of the output with the first two inputs.
  CHECK(run_popgrad(
            "check " +
            folder.file(
                "net.toml",
                "sizes = { h = 2 }\ndraw = { x = \"normal(3)\" }\n"
                "state = { W1 = { start = \"normal(h, 3)\" }, W2 = { start = \"normal(2, h)\" } "
                "}\nloss = { loss = \"sum((W2 @ W1 @ x - x[:2])**2)\" }\n"))
            .out.find("loss: symmetric along 5 directions of W1, W2\n") != std::string::npos);
  // Without, z is at its start, where the field does not rest.
  CHECK(points_of(product).at(0).at(3) == Approx(2));
  // Rotations of v, which is no critical point unless it is as long as 1: one direction of two is theirs.
  const auto ring = points_of(
      "sizes = { d = 3 }\nstate = { v = { shape = \"d\" } }\n"
      "loss = { loss = \"(v @ v - 1)**2\" }\n[landscape.plane]\nover = { a = [0.5, 2], b = [-1, 1] "
      "}\nset = { v = \"stack([a, 0 * b, 0])\" }\n");
  REQUIRE(!ring.empty());
  CHECK(std::vector<double>(ring[0].begin() + 4, ring[0].end()) == std::vector<double>{0, 2, 1});
  // Descent in x and ascent in y: the point attracts, where the loss has a saddle.
  const std::string game =
      "state = { x = 1, y = 1 }\nloss = { loss = \"x**2 / 2 + 3 * x * y - y**2 / 4\" }\n"
      "[landscape.plane]\nover = { a = [-2, 2], b = [-2, 2] }\nset = { x = \"a\", y = \"b\" }\n";
  const auto saddle = points_of(game);
  REQUIRE(saddle.size() == 1);
  CHECK(counts(saddle[0]) == std::vector<double>{1, 0, 1});
  const auto attracting = points_of(game + "[training]\nmove = { y = \"-grad(y)\" }\n");
  REQUIRE(attracting.size() == 1);
  CHECK(counts(attracting[0]) == std::vector<double>{0, 0, 2});
  const auto repelling = points_of(game + "[training]\nmove = { x = \"-2 * grad(x)\" }\n");
  CHECK(counts(repelling.at(0)) == std::vector<double>{2, 0, 0});
  CHECK(run_popgrad("check " + folder.file("twice.toml", product + "rest = { x = \"2\" }\n"))
            .out.find("landscape.plane: x is set already") != std::string::npos);
  CHECK(run_popgrad("check " + folder.file("least.toml", product + "rest = \"minimised\"\n"))
            .out.find("not read: landscape.plane") != std::string::npos);
}

TEST_CASE("theory files: a law that does not follow from its map is refused at its place",
          "[theory_files][cli]") {
  const Folder folder;
  const std::string file = folder.file(
      "open.toml",
      "draw = { x = \"normal(4)\" }\nstate = { J = { start = \"ones(4) / 2\" } }\n"
      "loss = { loss = \"(erf(J @ x) - x[0])**2 / 2\" }\n[rung.order]\nmap = { Q = \"J @ J\" }\n");
  for (const std::string& command : {"check " + file, "run " + file + " order", "verify " + file}) {
    CAPTURE(command);
    const auto refused = run_popgrad(command);
    CHECK(refused.status == 2);
    CHECK(refused.out.find(
              "open.toml:4:1: rung.order: leaves its law out, and the derivative of its "
              "map does not close: that of Q is no formula of the map") != std::string::npos);
  }
}

TEST_CASE("theory files: states of a rung may have names of observables", "[theory_files][cli]") {
  const Folder folder;
  const std::string law =
      "sizes = { N = 5, K = 2 }\nfixed = { B = \"orthogonal(K, N)\" }\ndraw = { x = \"normal(N)\" "
      "}\n"
      "state = { J = { start = \"normal(K, N) / 2\" } }\n"
      "loss = { loss = \"sum(erf(J @ x) - erf(B @ x))**2 / 2\" }\n"
      "observables = { Q = \"J @ J.T\", R = \"J @ B.T\", part = \"R[0, 0] - R[0, 1] + Q[1, 1]\" "
      "}\n";
  const std::string file =
      folder.file("order.toml", law + "[rung.order]\nmap = { Q = \"J @ J.T\", R = \"J @ B.T\" }\n");
  CHECK(run_popgrad("check " + file).status == 0);
  const auto columns = [&](const std::string& rung) {
    return lines_of(run_popgrad("run " + file + " " + rung + " --t1 2 --save 3 -q -o -").out);
  };
  const std::vector<std::string> fine = columns("flow"), coarse = columns("order");
  REQUIRE(coarse.size() == 4);
  CHECK(coarse[0] == "t,part,Q_0_0,Q_0_1,Q_1_0,Q_1_1,R_0_0,R_0_1,R_1_0,R_1_1");
  CHECK(fine[0] == "t,loss,Q_0_0,Q_0_1,Q_1_0,Q_1_1,R_0_0,R_0_1,R_1_0,R_1_1,part");
  const std::vector<double> a = numbers_of(fine[0] + "\n" + fine[3]).at(0),
                            b = numbers_of(coarse[0] + "\n" + coarse[3]).at(0);
  CHECK(a.at(10) == Approx(b.at(1)).epsilon(1e-6));
  for (std::size_t k = 2; k < 10; ++k) CHECK(a.at(k) == Approx(b.at(k)).epsilon(1e-6));
  const std::string other = folder.file(
      "other.toml", law + "[rung.order]\nmap = { Q = \"2 * J @ J.T\", R = \"J @ B.T\" }\n");
  CHECK(run_popgrad("check " + other)
            .out.find("other.toml:8:13: rung.order.map.Q: is an observable already, whose formula "
                      "is not that of its map") != std::string::npos);
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
      {"verify " + example("regression"), "has no section [statement.NAME]"},
      {"landscape -q " + example("edge"), "has no section [landscape.NAME]"},
      {"landscape " + example("regression"), "no certified minimum; give --at, --grid or --plot"},
      {"run " + taken + " flow", "runs is an option of popgrad; give it another name"},
      {"run " + example("regression") + " flwo",
       "did you mean 'flow'?; see 'popgrad list " + example("regression") + "'"},
      {"list " + example("edge") + " flwo", "see 'popgrad list " + example("edge") + "'"},
      {"verify " + example("unit") + " unit.limt", "see 'popgrad list " + example("unit") + "'"},
      {"check " + folder.file("knob.toml",
                              "state = { x = 1 }\nloss = { loss = \"x**2\" }\n"
                              "[statement.s]\nknobs = { y = { from = 0, to = 1 } }\n"
                              "measure = { value = \"x\" }\npredict = \"1\"\n"),
       "knob.toml:4:15: statement.s.knobs.y: is no size or parameter"},
      {"equations " + example("regression") + " sgd", "has no field of its own to print"},
      {"export " + example("regression"), "give one of --torch, --numpy and --latex"},
      {"export " + example("regression") + " --torch --latex", "give one of --torch"},
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
          "[theory_files][cli][unsanitized]") {
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

// Of scripts of these forms, where their library is installed.
TEST_CASE("README: the field and the verdict of its first file are what is printed",
          "[theory_files][cli]") {
  const std::string page = content(places::sources() + "/README.md");
  const auto block = [&](const std::string& language) {
    const std::string fence = "```" + language + "\n";
    const std::size_t begin = page.find(fence) + fence.size();
    return page.substr(begin, page.find("```\n", begin) - begin);
  };
  const Folder folder;
  const std::string file = folder.file("law.toml", block("toml"));
  const std::string out =
      run_popgrad("equations " + file + " flow").out + run_popgrad("verify -q " + file).out;
  std::size_t at = 0;
  std::istringstream printed(block("text"));
  for (std::string line; std::getline(printed, line);) {
    CAPTURE(line, out);
    at = out.find(line, at);
    CHECK(at != std::string::npos);
  }
  CHECK(at > 0);
}

TEST_CASE("theory files: the exported training is that of the rung",
          "[theory_files][cli][unsanitized]") {
  const Folder folder;
  const std::string script = folder.file("train.py"), log = folder.file("log.csv");
  const std::string file = example("regression"), python = "/usr/bin/python3 ";
  for (const std::string library : {"torch", "numpy"}) {
    INFO(library);
    REQUIRE(run_popgrad("export " + file + " --" + library + " --flip 0.2 -o " + script).status ==
            0);
    CHECK(content(script).find("flip = array(0.2)\n") != std::string::npos);
    CHECK(shell("python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' " + script)
              .status == 0);
    if (shell(python + "-c 'import " + library + "' 2>/dev/null").status != 0) continue;
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
}

TEST_CASE("theory files: exported scripts of all examples run, and descend without draws alike",
          "[theory_files][cli]") {
  const Folder folder;
  const std::string script = folder.file("train.py"), log = folder.file("log.csv");
  const std::string python = "/usr/bin/python3 ";
  if (shell(python + "-c 'import numpy' 2>/dev/null").status != 0) return;
  for (const char* name : {"edge", "logistic", "network", "icl"}) {
    INFO(name);
    REQUIRE(run_popgrad("export " + example(name) + " --numpy -q -o " + script).status == 0);
    const Answer trained =
        shell(python + script + " --steps 20 --every 20 --output " + log + " 2>&1");
    INFO(trained.out);
    CHECK(trained.status == 0);
    REQUIRE(lines_of(content(log)).size() == 3);
    if (std::string(name) != "edge") continue;
    // Of gradient descent, to the digits that differ by the order of operations.
    const std::string run =
        run_popgrad("run " + example(name) + " gd --steps 20 --save 2 -q -o -").out;
    const auto column = [](const std::string& line, std::size_t k) {
      std::istringstream in(line);
      std::string part;
      for (std::size_t i = 0; i <= k; ++i) std::getline(in, part, ',');
      return std::stod(part);
    };
    CHECK(column(lines_of(content(log))[2], 4) ==
          Approx(column(lines_of(run)[2], 2)).epsilon(1e-12));
  }
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
