// The example files: what their reductions say of the finer rungs.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file_bytes.hpp"
#include "places.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theory_files/file_against_rung.hpp"
#include "theory_files/theory_file.hpp"

namespace examples_test {
namespace {

using namespace popgrad;
using namespace popgrad::theory_files;
using Columns = std::vector<std::pair<std::string, std::string>>;

// With `from` replaced.
TheoryFile example(const std::string& name, const std::string& from = "",
                   const std::string& to = "") {
  const std::string file = name + ".toml";
  std::string text =
      bytes_of_file(std::filesystem::path(places::sources()) / "theorems/files" / file);
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return parse_theory_file(text, file);
}

Columns same(const std::vector<std::string>& names) {
  Columns columns;
  for (const std::string& name : names) columns.emplace_back(name, name);
  return columns;
}

TEST_CASE("icl: two blocks of attention close, and modes where the start commutes",
          "[theory_files]") {
  TheoryFile file = example("icl");
  const Theory theory = theory_of(file, false);
  CHECK(file.loss.samples == 0);
  const auto rung = [](const Theory& of, const std::string& name) {
    return of.model->rung(name, Parameters("icl"), 3);
  };
  file_against_rung::require_equal(
      rung(theory, "two_blocks"), rung(theory, "flow"),
      same({"u", "U_0_0", "U_0_1", "U_2_1", "loss", "error", "shifted", "distance", "rest"}),
      {0, 2, 10, 40});
  TheoryFile aligned = example("icl", "\"G / sqrt(norm(G @ G.T))\"", "\"eye(d)\"");
  const Theory of_aligned = theory_of(aligned, false);
  file_against_rung::require_equal(
      rung(of_aligned, "modes"), rung(of_aligned, "two_blocks"),
      same({"u", "U_0_0", "U_0_1", "U_1_1", "loss", "error", "distance"}), {0, 2, 10, 40});
}

TEST_CASE("icl: the limit of Theorem 4.1 and its loss under another covariance", "[theory_files]") {
  TheoryFile file = example("icl");
  const Theory theory = theory_of(file, false);
  const AnyRung<double> blocks = theory.model->rung("two_blocks", Parameters("icl"), 3);
  SolveRequest<double> request;
  request.end = 400;
  request.save_at = {400};
  request.relative_tolerance = request.absolute_tolerance = 1e-12;
  const std::vector<double> row = solve(blocks, request).rows.at(0);
  const auto column = [&](const std::string& name) {
    return row.at(place_of(blocks.observables.columns, name));
  };
  CHECK(column("distance") < 1e-6);
  CHECK(std::abs(column("error")) < 1e-10);
  // trace((Gamma^-1 L2 Gamma2 Gamma^-1 - 2 Gamma^-1 L2 + I) L2) / 2, all diagonal.
  double shifted = 0;
  const double trace = 1 + 0.5 + 1.0 / 3;
  for (const double lambda : {1.0, 0.5, 1.0 / 3}) {
    const double gamma = 1.1 * lambda + trace / 10;
    shifted += (4 * lambda * gamma / (gamma * gamma) - 4 * lambda / gamma + 1) * 2 * lambda / 2;
  }
  CHECK(std::abs(column("shifted") - shifted) < 1e-6);
}

TEST_CASE("dln: modes of an aligned start are those of the network, and twist parts them",
          "[theory_files]") {
  TheoryFile file = example("dln");
  const Theory theory = theory_of(file, false);
  const auto rung = [&](const std::string& name) {
    return theory.model->rung(name, Parameters("dln"), 1);
  };
  const Columns columns = same({"v_0", "v_1", "v_2", "u_0", "u_2", "off_diagonal", "loss"});
  file_against_rung::require_equal(rung("modes"), rung("flow"), columns, {0, 0.5, 1, 2, 4});
  const AnyRung<double> modes = rung("modes"), closed = rung("modes_closed");
  SolveRequest<double> request;
  request.end = 1.5;
  request.save_at = {1.5};
  request.relative_tolerance = request.absolute_tolerance = 1e-13;
  const std::vector<double> row = solve(modes, request).rows.at(0);
  const Vector<double> v = closed.field.state_at(1.5);
  for (const Index k : {0, 1, 2}) {
    const std::size_t place = place_of(modes.observables.columns, "v_" + std::to_string(k));
    CHECK(std::abs(row[place] - v[k]) < 1e-11);
  }
  TheoryFile twisted = example("dln", "twist = { value = 0", "twist = { value = 0.1");
  const Theory other = theory_of(twisted, false);
  const std::vector<double> flow =
      solve(other.model->rung("flow", Parameters("dln"), 1), request).rows.at(0);
  const AnyRung<double> names = rung("flow");
  CHECK(flow.at(place_of(names.observables.columns, "off_diagonal")) > 1e-3);
}

TEST_CASE("committee: teacher and start are the same for all rungs", "[theory_files]") {
  TheoryFile file = example("committee");
  CHECK(file.unread.empty());
  file.loss.sizes.at(0).value = 8;
  const Theory theory = theory_of(file, false);
  const auto first_row = [&](const std::string& name, std::uint64_t seed) {
    const AnyRung<double> rung = theory.model->rung(name, Parameters("committee"), seed);
    std::vector<double> row(rung.observables.columns.size());
    rung.observables.read(rung.initial, 0.0, row);
    return row;
  };
  CHECK(first_row("sgd", 2) == first_row("flow", 2));
  CHECK(first_row("sgd", 2) != first_row("sgd", 3));
}

std::vector<Statement> statements_of_example(const std::string& name, const std::string& from = "",
                                             const std::string& to = "") {
  TheoryFile file = example(name, from, to);
  return theory_of(file).statements;
}

TEST_CASE("examples: statements hold, and all of their controls are refuted",
          "[theory_files][slow][unsanitized]") {
  std::size_t statements = 0, controls = 0;
  for (const std::string name : {"icl", "dln", "committee", "unit"}) {
    for (const Statement& statement : statements_of_example(name)) {
      if (statement.id == "icl.blocks") continue;  // some seconds
      const Finding found = check(statement, {});
      INFO(statement.id << ": " << found.failure);
      CHECK(found.sound());
      ++statements;
      controls += found.controls.size();
    }
  }
  CHECK(statements >= 13);
  CHECK(controls >= 80);
}

TEST_CASE("examples: an equation of order parameters that is wrong is refuted with its point",
          "[theory_files][unsanitized]") {
  // As a public package had it.
  const std::vector<Statement> all =
      statements_of_example("unit",
                            "2 / pi / (1 + Q) * ((T * (1 + Q) - R**2) / sqrt((1 + Q) * (1 + T) - "
                            "R**2) - R / sqrt(1 + 2 * Q))",
                            "(T - R) / sqrt(1 + Q) - (R - T) * R / (1 + Q)**1.5");
  const auto residual = std::ranges::find(all, "unit.residual-order", &Statement::id);
  REQUIRE(residual != all.end());
  const Finding found = check(*residual, {});
  CHECK(found.verdict == Verdict::violated);
  CHECK(found.examination.evidence.front().detail.find("J = ") != std::string::npos);
}

}  // namespace
}  // namespace examples_test
