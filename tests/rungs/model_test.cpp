#include "popgrad/rungs/model.hpp"

#include <catch2/catch.hpp>
#include <regex>
#include <stdexcept>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"

namespace model_test {

using namespace popgrad;

namespace {

// N and L stand for whole numbers, X for a name.
bool stands_for(const std::string& name, const std::string& column) {
  const std::string numbers = std::regex_replace(name, std::regex("_[NL](?=_|$)"), "_[0-9]+");
  const std::string pattern = std::regex_replace(numbers, std::regex("^X(?=_)"), ".+");
  return std::regex_match(column, std::regex(pattern));
}

bool defines(const Rung& rung, const std::string& column) {
  return std::any_of(rung.observables.begin(), rung.observables.end(),
                     [&](const ObservableInfo& info) { return stands_for(info.name, column); });
}

Rung constant(const char* name, std::vector<ParameterInfo> reads = {}) {
  Rung rung;
  rung.info.name = name;
  rung.reads = std::move(reads);
  rung.make = [](const Parameters&, std::uint64_t) {
    AnyRung<double> made;
    made.dimension = 2;
    made.initial = Vector<double>::Constant(2, 1);
    made.state_names = {"x", "y"};
    return made;
  };
  return rung;
}

ParameterInfo parameter(const char* name) {
  ParameterInfo info;
  info.name = name;
  return info;
}

}  // namespace

TEST_CASE("model: every column of a rung is defined in its row", "[model]") {
  for (const Theory& theory : theories()) {
    const Model& model = *theory.model;
    for (const Rung& rung : model.table()) {
      INFO(model.name() << " " << rung.info.name);
      for (const ObservableInfo& info : rung.observables) {
        INFO(info.name);
        CHECK_FALSE((info.formula.empty() || info.range.empty()));
      }
      // The usual instance is too large for moments in some models; X stands for its columns.
      if (rung.info.kind == RungKind::moments) continue;
      for (const std::string& column : rung.make(Parameters(model.name()), 1).observables.columns) {
        INFO(column);
        CHECK(defines(rung, column));
        CHECK(defines(model.row("moments"), column + "_sd"));
      }
    }
  }
  CHECK(stands_for("matched_N_L", "matched_0_12"));
  CHECK_FALSE(stands_for("matched_N_L", "matched_0"));
  CHECK_FALSE(stands_for("loss", "loss_sd"));
}

TEST_CASE("model: parameters are those of the rungs, with who reads them", "[model]") {
  const auto both = parameter("both");
  const Model model({.name = "two",
                     .paper = "none",
                     .rungs = {constant("a", {both, parameter("first")}),
                               constant("b", {both, parameter("second")})}});
  const auto& infos = model.parameters();
  REQUIRE(infos.size() == 3);
  CHECK(infos[0].rungs.empty());
  CHECK(infos[1].rungs == std::vector<std::string>{"a"});
  CHECK(infos[2].rungs == std::vector<std::string>{"b"});
  CHECK_THROWS_WITH(model.rung("c", Parameters("two"), 1), Catch::Contains("rung c is not known"));
  CHECK_THROWS_AS(
      Model({.name = "twice", .paper = "none", .rungs = {constant("a"), constant("a")}}),
      std::logic_error);
}

TEST_CASE("model: a rung with a given state begins there", "[model]") {
  const Rung rung = with_given_state(constant("a"), "two a", {{"y", "Y"}});
  const auto begin = [&](Record state) {
    return rung.make(Parameters("two", {{state_key, Value(std::move(state))}}), 1).initial;
  };
  CHECK(begin({{"x", 3}}) == Vector<double>{{3, 1}});
  CHECK_THROWS_WITH(begin({{"y", 3}}), Catch::Contains("Y"));
  CHECK_FALSE(rung.make_in_digits);
}

TEST_CASE("observables are read by the names of their columns", "[model]") {
  const AnyRung<double> rung = find_model("scb").rung("reduced", Parameters("scb"), 1);
  std::vector<double> row(rung.observables.columns.size());
  rung.observables.read(rung.initial, 0.0, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(observed_at(rung, rung.initial, rung.observables.columns[i]) == row[i]);
  }
  Trajectory<double> run;
  run.columns = {"a", "b"};
  run.rows = {{1, 2}, {3, 4}};
  CHECK(run.column("b") == std::vector<double>{2, 4});
  CHECK_THROWS_WITH(run.column("c"), Catch::Contains("no column c; there are a, b"));
}

TEST_CASE("model: refusals name what is offered instead", "[model]") {
  const Model& model = find_model("scb");
  const DigitsScope digits(40);
  CHECK_THROWS_WITH(model.rung_in_digits("sgd", Parameters("scb"), 1),
                    Catch::Contains("scb sgd: --digits 40 is for flow, reduced, closed-form, "
                                    "hyperbola; this rung runs in double"));
  CHECK_THROWS_WITH(model.symbolic_rung("moments", Parameters("scb")),
                    Catch::Contains("take the rung 'flow'"));
}

}  // namespace model_test
