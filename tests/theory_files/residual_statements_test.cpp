// Statements that a theory file has unasked.

#include "theory_files/residual_statements.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "popgrad/evidence/theory.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "theory_files/account.hpp"
#include "theory_files/theory_file.hpp"

namespace residual_statements_test {
namespace {

using namespace popgrad;
using namespace popgrad::theory_files;

const std::string edge = R"toml(theory = { name = "edge" }
[parameters]
x0 = 2.4
[state]
x = "x0"
y = "0.5"
[loss]
loss = "(x * y - 1)**2 / 2"
[invariants]
balance = "x**2 - y**2"
[rung.pair]
of   = "gd"
map  = { p = "x * y", s = "x**2 + y**2" }
step = { p = "p - eta * (p - 1) * s + eta**2 * (p - 1)**2 * p", s = "s - 4 * eta * (p - 1) * p + eta**2 * (p - 1)**2 * s" }
[rung.start]
map  = { p = "x * y" }
flow = { p = "(1 - p) * (x0**2 + 0.25)" }
approximate = true
)toml";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t place = text.find(what);
  REQUIRE(place != std::string::npos);
  return text.replace(place, what.size(), by);
}

Theory theory(const std::string& text) {
  TheoryFile file = parse_theory_file(text, "edge.toml");
  return theory_of(file);
}

TEST_CASE("own rungs and invariants of a file are statements whose program controls all fall",
          "[theory_files]") {
  const Theory made = theory(edge);
  CHECK_NOTHROW(check_theories({&made, 1}));
  std::vector<std::string> ids;
  for (const Statement& statement : made.statements) ids.push_back(statement.id);
  CHECK(ids == std::vector<std::string>{"edge.residual-pair", "edge.invariant-balance"});
  for (const Statement& statement : made.statements) {
    INFO(statement.id);
    const Finding found = check(statement, {});
    CHECK(found.verdict == Verdict::holds);
    CHECK(found.sound());
    REQUIRE(found.examination.evidence.size() == 1);
    CHECK(found.examination.evidence[0].kind == EvidenceKind::symbolic);
    CHECK(found.examination.evidence[0].detail == "proved for all values");
  }
  CHECK(made.statements[0].controls.size() == 19);
  CHECK(made.statements[1].controls.size() == 3);
}

TEST_CASE("a wrong reduction of a file is violated, with component and point", "[theory_files]") {
  const Theory wrong =
      theory(replaced(edge, "p + eta**2 * (p - 1)**2 * s", "p - eta**2 * (p - 1)**2 * s"));
  const Finding found = check(wrong.statements[0], {});
  CHECK(found.verdict == Verdict::violated);
  CHECK(found.examination.evidence[0].detail.starts_with("refuted: s at x = "));
  Parameters own("edge");
  own.set("x0", 1);
  Setting setting;
  setting.instance = &own;
  CHECK(check(wrong.statements[0], setting).verdict == Verdict::violated);
  CHECK(check(wrong.statements[1], setting).verdict == Verdict::holds);
}

TEST_CASE("check prints residuals", "[theory_files]") {
  TheoryFile file = parse_theory_file(edge, "edge.toml");
  const std::string account = account_of(file);
  CHECK(account.find("  rung.pair: proved for all values\n") != std::string::npos);
  CHECK(account.find("  invariant.balance: proved for all values\n") != std::string::npos);
  CHECK(account.find("  rung.start: measured along its flow: at most ") != std::string::npos);
  TheoryFile wrong =
      parse_theory_file(replaced(edge, "x**2 - y**2", "x**2 - 2 * y**2"), "edge.toml");
  CHECK(account_of(wrong).find("  invariant.balance: refuted: balance at x = ") !=
        std::string::npos);
}

}  // namespace
}  // namespace residual_statements_test
