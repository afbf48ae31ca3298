/// Law: a rung in 50 digits says the same as in double, where vectorised kernels and shortcuts run.

#include <catch2/catch.hpp>
#include <cmath>

#include "laws/cases.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::laws::digits_laws {
namespace {

/// Sums of at most some thousand terms; entropies and correlations lose up to three digits.
constexpr double rounding = 1e-10;

}  // namespace

TEST_CASE("laws: double agrees with 50 digits", "[law]") {
  const DigitsScope scope(50);
  std::map<std::string, int> compared;
  // A digit costs what a thousand do in double; the formulas are the same at every size.
  constexpr Index largest = 150;
  for (const Case& made : cases()) {
    if (made.make().dimension > largest) continue;
    // Quadratures of 120 digits; four tokens show what ten do.
    if (made.is("joma", "closed-form") && made.make().dimension > 4) continue;
    AnyRung<Real> exact;
    try {
      exact = made.model->rung_in_digits(made.rung.name, made.parameters, made.seed);
    } catch (const InputError&) {
      continue;
    }
    const AnyRung<double> rung = made.make();
    INFO(made.text());
    REQUIRE(exact.observables.columns == rung.observables.columns);
    REQUIRE(exact.dimension == rung.dimension);
    ++compared[made.model->name() + " " + made.rung.name];
    for (Index i = 0; i < rung.dimension; ++i) {
      CHECK(std::fabs(to_double(exact.initial[i]) - rung.initial[i]) <=
            rounding * (1 + std::fabs(rung.initial[i])));
    }
    for (const Point& at : points(made, rung)) {
      Vector<Real> x = at.x.cast<Real>();
      const Real t(at.t);
      if (exact.field.state_at) {
        x = exact.field.state_at(t);
        for (Index i = 0; i < x.size(); ++i) {
          CHECK(std::fabs(to_double(x[i]) - at.x[i]) <= rounding * (1 + std::fabs(at.x[i])));
        }
        x = at.x.cast<Real>();
      }
      std::vector<Real> row(rung.observables.columns.size());
      exact.observables.read(x, t, row);
      const std::vector<double> rounded = observed(rung, at);
      for (std::size_t c = 0; c < row.size(); ++c) {
        INFO("column " << rung.observables.columns[c] << " at t = " << at.t);
        const double value = to_double(row[c]);
        const bool same = value == rounded[c];  // of two infinite ones too
        CHECK((same ||
               std::fabs(value - rounded[c]) <= 100 * rounding * (1 + std::fabs(rounded[c]))));
      }
      if (!rung.field.value) continue;
      Vector<Real> dx(x.size());
      Vector<double> rounded_dx(x.size());
      exact.field.value(x, dx, t);
      rung.field.value(at.x, rounded_dx, at.t);
      const double size = 1 + rounded_dx.cwiseAbs().maxCoeff();
      for (Index i = 0; i < x.size(); ++i) {
        INFO(rung.state_names[static_cast<std::size_t>(i)]);
        CHECK(std::fabs(to_double(dx[i]) - rounded_dx[i]) <= rounding * size);
      }
    }
  }
  // Every rung that has many digits was compared.
  for (const char* name :
       {"joma flow", "joma stationary", "joma reduced", "joma closed-form", "scan-snap flow",
        "scan-snap quasi-static", "scan-snap fast-decoder", "scan-snap reduced",
        "scan-snap closed-form", "scb flow", "scb reduced", "scb closed-form", "scb hyperbola",
        "topic symmetric", "topic block-reduced", "topic optimum"}) {
    INFO(name);
    CHECK(compared[name] > 0);
  }
}

}  // namespace popgrad::laws::digits_laws
