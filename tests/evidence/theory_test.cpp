#include "popgrad/evidence/theory.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "commands/shell.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "presenting/figure.hpp"

namespace popgrad::scb {
Theory theory();
}  // namespace popgrad::scb

namespace theory_test {

using namespace popgrad;

namespace {

Statement small_statement(const std::string& id) {
  Statement s;
  s.id = id;
  s.hypotheses = {"none"};
  s.controls = {{"wrong", "a number"}};
  s.examine = [](const Setting&, Examination&) {};
  return s;
}

// Names what is wrong with a program of this theory alone.
std::string fault(const Theory& theory) {
  try {
    check_theories({&theory, 1});
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the theories of popgrad can make a program, and one of them alone as well", "[theory]") {
  CHECK_NOTHROW(check_theories(theories()));
  const Theory alone = scb::theory();
  CHECK_NOTHROW(check_theories({&alone, 1}));
  CHECK(has_model({&alone, 1}, "scb"));
  CHECK_FALSE(has_model({&alone, 1}, "joma"));
  CHECK_THROWS_WITH(find_model({&alone, 1}, "sbc"), Catch::Contains("did you mean 'scb'"));
  CHECK(statements({&alone, 1}).size() == alone.statements.size());
}

TEST_CASE("the lists are those of the theories, in their order", "[theory]") {
  std::size_t all = 0;
  for (const Theory& theory : theories()) {
    const std::string prefix = theory.model->name() + ".";
    for (const Statement& s : theory.statements) {
      CHECK(s.id.starts_with(prefix));
      CHECK(statements(theories())[all++]->id == s.id);
    }
    CHECK_FALSE(theory.figures.empty());
  }
  CHECK(all == statements(theories()).size());
}

TEST_CASE("what no program could use is refused, with the reason", "[theory]") {
  Theory theory;
  CHECK_THROWS_WITH(check_theories({}), Catch::Contains("give at least one"));
  CHECK_THAT(fault(theory), Catch::Contains("has no model"));
  theory = scb::theory();
  theory.statements = {small_statement("scb.one")};
  CHECK_THAT(fault(theory), Catch::Contains("of the figure scb-training is no statement"));
  theory.figures.clear();
  CHECK(fault(theory).empty());
  theory.figures = {{.info = {.name = "scb-line", .title = "a line"},
                     .data = [](const FigureRequest&) { return std::vector<FigureFile>{}; },
                     .script = {}}};
  CHECK_THAT(fault(theory), Catch::Contains("figure scb-line has no data or nothing to draw"));
  theory.figures.clear();
  theory.statements = {small_statement("scb.one"), small_statement("scb.one")};
  CHECK_THAT(fault(theory), Catch::Contains("statement scb.one occurs twice"));
  theory.statements = {small_statement("joma.one")};
  CHECK_THAT(fault(theory), Catch::Contains("must begin with the name of its model: scb."));
  theory.statements = {small_statement("scb.one")};
  theory.statements[0].controls.clear();
  CHECK_THAT(fault(theory), Catch::Contains("has no control"));
  theory.statements = {small_statement("scb.one")};
  theory.statements[0].hypotheses.clear();
  CHECK_THAT(fault(theory), Catch::Contains("declares no hypothesis"));
  theory.statements = {small_statement("scb.one")};
  theory.statements[0].examine = nullptr;
  CHECK_THAT(fault(theory), Catch::Contains("has no check"));
  const std::vector<Theory> twice{scb::theory(), scb::theory()};
  CHECK_THROWS_WITH(check_theories(twice), Catch::Contains("model scb occurs twice"));
}

TEST_CASE("a figure of a user's theory is drawn by its script", "[theory][figure]") {
  const command_line::Folder folder;
  Theory theory = scb::theory();
  theory.figures = {
      {.info = {.name = "scb-line", .title = "a line"},
       .data =
           [](const FigureRequest& figure) {
             FigureTable table;
             for (const char* block : {"a square", "half of it"}) {
               table.block(block);
               for (const double t : {0.0, 1.0, 2.0}) table.add("t", t, "x", t * t, "word", block);
             }
             return std::vector<FigureFile>{table.file(figure)};
           },
       .picture =
           [] {
             return Picture{
                 .height = 2,
                 .values = {{"end", "", "half of it", "x"}},
                 .panels = {{.title = "=sprintf('ends at %g', end)",
                             .x = {.label = "time t"},
                             .y = {.label = "x", .range = "0:5"},
                             .key = "top left",
                             .curves = {plot::line("t", "x").of("a square").titled("it's whole"),
                                        plot::points("t", "[x]/2").of("half of it").mark(7, 0.5),
                                        plot::formula("x**2").dashed()},
                             .guides = {{.y = "4", .text = "four"}}}}};
           }}};
  FigureRequest request;
  request.name = "scb-line";
  request.folder = folder.path;
  CHECK(make_figure({&theory, 1}, request).size() == 5);
  CHECK_THAT(
      command_line::content(folder.path / "scb-line.svg"),
      Catch::Contains("it's whole") && Catch::Contains("ends at 0") && Catch::Contains("four"));
  CHECK(command_line::content(folder.path / "scb-line.csv") ==
        "t,x,word\n# a square\n0,0,a square\n1,1,a square\n2,4,a square\n\n\n# half of it\n"
        "0,0,half of it\n1,1,half of it\n2,4,half of it\n");
  CHECK_THAT(command_line::content(folder.path / "scb-line.gp"),
             Catch::Contains("using 1:(column(2)/2)"));
}

TEST_CASE("a picture names the table, block or column that is not there", "[theory][figure]") {
  FigureRequest request;
  request.name = "scb-line";
  FigureTable table;
  table.block("all").add("t", 1, "x", 2);
  CHECK_THROWS_WITH(table.add("t", 1, "y", 2),
                    Catch::Contains("column 2 of a row is 'y', not 'x'"));
  CHECK_THROWS_WITH(table.add("t", 1), Catch::Contains("a row has 1 columns, not t, x"));
  const std::vector<FigureFile> files{table.file(request)};
  const auto script_of = [&](const Curve& curve) {
    return picture_script({.height = 2, .panels = {{.curves = {curve}}}}, request.name, files);
  };
  CHECK_THAT(script_of(plot::line("t", "x").of("all")), Catch::Contains("index 'all'"));
  CHECK_THROWS_WITH(script_of(plot::line("t", "y")), Catch::Contains("no column 'y'"));
  CHECK_THROWS_WITH(script_of(plot::line("t", "[z]+1")), Catch::Contains("no column 'z'"));
  CHECK_THROWS_WITH(script_of(plot::line("t", "x").of("al")), Catch::Contains("no block 'al'"));
  CHECK_THROWS_WITH(script_of(plot::line("t", "x").in("more")),
                    Catch::Contains("scb-line-more.csv is not made"));
}

}  // namespace theory_test
