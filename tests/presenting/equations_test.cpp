/// The equations of models as the report shows them.

#include "presenting/equations.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/evidence/theory.hpp"
#include "popgrad/rungs/law_model.hpp"

namespace equations_test {

using namespace popgrad;

namespace {

/// x' = -rate x, x(0) = start.
template <Transcendental T>
struct Decay {
  using Scalar = T;
  T rate, start;

  Index dimension() const { return 1; }
  Vector<T> initial() const { return Vector<T>::Constant(1, start); }
  std::vector<std::string> state_names() const { return {"x"}; }
  std::vector<std::string> columns() const { return {"square_0", "square_1"}; }
  void observe(const Vector<T>& x, const T&, std::span<T> row) const {
    row[0] = row[1] = x[0] * x[0];
  }
  void rhs(const Vector<T>& x, Vector<T>& dx, const T&) const { dx[0] = -rate * x[0]; }
};

}  // namespace

TEST_CASE("equations: of a law without a page, its equation and the names of its columns",
          "[report]") {
  const auto model = model_of_law<Decay>(
      {.name = "decay", .paper = "none", .law = "x' = -rate x", .end = 2, .step = 0.5},
      {{.name = "rate", .meaning = "decay per unit of time", .standard = "1"},
       {.name = "start", .meaning = "x(0)", .standard = "3"}});
  const std::string html = equations_html(*model, "own");
  CHECK_THAT(html, Catch::Contains("<summary><code>gd</code>, <code>flow</code></summary>"));
  CHECK_THAT(html, Catch::Contains("<msup><mi>x</mi><mo>′</mo></msup><mo>=</mo><mo>−</mo>"));
  CHECK_THAT(html, Catch::Contains("<code>square_<wbr>N</code>") && !Catch::Contains("square_0"));
}

TEST_CASE("equations: short ones are shown, long ones are named with their command", "[report]") {
  const std::string scb = equations_html(find_model(theories(), "scb"), "popgrad");
  CHECK_THAT(scb, Catch::Contains("<details open><summary><code>reduced</code></summary>"));
  CHECK_THAT(scb, Catch::Contains("No equations over symbols: <code>moments</code>"));
  CHECK_THAT(scb, Catch::Contains("Observables of scb"));
  const std::string long_ones = equations_html(find_model(theories(), "scan-snap"), "popgrad");
  CHECK_THAT(long_ones, Catch::Contains("<code>popgrad equations scan-snap quasi-static</code>"));
  // All of them can be read back as formulas.
  CHECK_THAT(scb + long_ones, !Catch::Contains("<div class=\"equation\"><code>"));
}

}  // namespace equations_test
