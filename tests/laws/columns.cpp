#include "laws/columns.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::laws {
namespace {

using Recomputation = std::function<Columns(const Case&, const AnyRung<double>&, const Point&)>;

const std::map<std::string, Recomputation>& recomputations() {
  static const std::map<std::string, Recomputation> all{{"joma", joma_columns},
                                                        {"scan-snap", scan_snap_columns},
                                                        {"scb", scb_columns},
                                                        {"topic", topic_columns}};
  return all;
}

// Both are sums of at most some thousand terms of order one, the worst behind a linear system of
// condition below 1e4.
constexpr double rounding = 1e-9;

void check_model(const std::string& model) {
  const auto found = recomputations().find(model);
  REQUIRE(found != recomputations().end());
  for (const Case& made : cases()) {
    if (made.model->name() != model) continue;
    const AnyRung<double> rung = made.make();
    std::vector<Point> at = points(made, rung);
    const std::vector<Point> later = trained_points(made, rung);
    at.insert(at.end(), later.begin(), later.end());
    for (std::size_t p = 0; p < at.size(); ++p) {
      const std::vector<double> row = observed(rung, at[p]);
      const Columns expected = found->second(made, rung, at[p]);
      for (std::size_t c = 0; c < row.size(); ++c) {
        INFO(made.text() << " at point " << p << ": column " << rung.observables.columns[c]);
        const auto own = expected.find(rung.observables.columns[c]);
        if (own == expected.end()) {
          FAIL_CHECK(
              "has no recomputation from its definition: add it to columns.cpp of its theory's "
              "tests");
          continue;
        }
        const bool same = row[c] == own->second;  // of two infinite ones too
        CHECK((same || std::fabs(row[c] - own->second) <= rounding * (1 + std::fabs(own->second))));
      }
    }
  }
}

}  // namespace

double entropy_of(const std::vector<double>& weights) {
  double total = 0;
  for (const double w : weights) total += w;
  double entropy = 0;
  for (const double w : weights) {
    if (w > 0) entropy -= w / total * std::log(w / total);
  }
  return entropy;
}

TEST_CASE("laws: every model has its columns computed again", "[law]") {
  for (const Theory& theory : theories()) {
    const auto& model = theory.model;
    INFO(model->name() << ": add its columns to tests/laws/columns.cpp");
    CHECK(recomputations().contains(model->name()));
  }
}

TEST_CASE("laws: columns of joma are what their definitions say", "[law]") { check_model("joma"); }
TEST_CASE("laws: columns of scan-snap are what their definitions say", "[law]") {
  check_model("scan-snap");
}
TEST_CASE("laws: columns of scb are what their definitions say", "[law]") { check_model("scb"); }
TEST_CASE("laws: columns of topic are what their definitions say", "[law]") {
  check_model("topic");
}

TEST_CASE("laws: columns and states have names, each once", "[law]") {
  for (const Case& made : cases()) {
    const AnyRung<double> rung = made.make();
    INFO(made.text());
    CHECK(std::set<std::string>(rung.observables.columns.begin(), rung.observables.columns.end())
              .size() == rung.observables.columns.size());
    CHECK(std::set<std::string>(rung.state_names.begin(), rung.state_names.end()).size() ==
          rung.state_names.size());
    CHECK(rung.state_names.size() == static_cast<std::size_t>(rung.dimension));
    CHECK(rung.initial.size() == rung.dimension);
  }
}

}  // namespace popgrad::laws
