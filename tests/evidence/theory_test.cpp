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
  CHECK_THAT(fault(theory), Catch::Contains("figure scb-line has no data or no script"));
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
           [](const FigureRequest&) {
             CsvText csv{"t", "x"};
             for (const double t : {0.0, 1.0, 2.0}) csv.number(t).number(t * t).end_row();
             return std::vector<FigureFile>{{"scb-line.csv", csv.text()}};
           },
       .script = "do for [kind in 'svg png pdf'] {\n  eval terminal(kind, 2)\n"
                 "  set output name.'.'.kind\n"
                 "  plot name.'.csv' every ::1 using 1:2 with lines notitle\n  unset output\n}\n"}};
  FigureRequest request;
  request.name = "scb-line";
  request.folder = folder.path;
  CHECK(make_figure({&theory, 1}, request).size() == 5);
  CHECK_THAT(command_line::content(folder.path / "scb-line.svg"), Catch::Contains("<svg"));
}

}  // namespace theory_test
