#include "theorems/scan_snap/rungs/decoder.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/rungs/closed_form.hpp"

namespace decoder_test {

using namespace popgrad;
using namespace popgrad::scan_snap;

namespace {

// h by bisection on the relation itself: another way than Newton's.
Real bisected_scale(const Real& m, const Real& eta, const Real& s) {
  Real low(0);
  Real high = eta * s / m;
  for (int i = 0; i < 300; ++i) {
    const Real middle = (low + high) / 2;
    const Real value = exp(Real(m * middle)) + (m - 1) * m * middle - m * eta * s - 1;
    (value > 0 ? high : low) = middle;
  }
  return low;
}

// What the closed forms integrate: h, Gamma, z, B of one common token.
struct Equations {
  using Scalar = Real;
  CommonToken<Real> token;
  [[nodiscard]] Index dimension() const { return 4; }
  [[nodiscard]] Vector<Real> initial() const { return Vector<Real>::Constant(4, Real(0)); }
  [[nodiscard]] std::vector<std::string> columns() const { return {"B"}; }
  [[nodiscard]] std::vector<std::string> state_names() const { return {"h", "Gamma", "z", "B"}; }
  void rhs(const Vector<Real>& x, Vector<Real>& dx, const Real& /*t*/) const {
    const Real& m = token.vocabulary;
    const Real weight = m - 1 + exp(Real(m * x[0]));
    const Real gamma = (m - 1) * (m - 1) * x[0] / weight;
    const Real f4 = pow(token.component, 4);
    const Real xi = gamma * exp(Real(4 * x[2])) * 9 * f4;
    dx[0] = token.decoder_rate / weight / 10;
    dx[1] = token.attention_rate * gamma;
    dx[2] = -token.attention_rate * xi;  // w K_m = 1
    dx[3] = token.attention_rate * xi / 10;
  }
  void observe(const Vector<Real>& x, const Real& /*t*/, std::span<Real> row) const {
    row[0] = x[3];
  }
};

}  // namespace

TEST_CASE("decoder: h solves its relation in double and at 60 digits", "[scan_snap]") {
  const DigitsScope scope(60);
  for (const int m : {2, 3, 30, 1000, 100000}) {
    for (const char* const eta : {"0.001", "1", "50"}) {
      for (const char* const s : {"0", "1e-12", "0.5", "7", "300", "1e6"}) {
        const Real exact = bisected_scale(Real(m), Real(eta), Real(s));
        const Real ours = decoder_scale(Real(m), Real(eta), Real(s));
        const double plain = decoder_scale(double(m), std::stod(eta), std::stod(s));
        INFO("M = " << m << ", eta_Y = " << eta << ", s = " << s);
        // Bisection ends at an absolute error of (eta s / M) 2^-300; near 0 the relation itself
        // cancels, which Newton's form with expm1 does not.
        if (exact > Real("1e-9")) {
          CHECK(to_double(Real(abs(ours / exact - 1))) < 1e-48);
          CHECK(std::fabs(plain / to_double(exact) - 1) < 1e-14);
        } else if (std::stod(s) > 0) {
          // h = eta s / M (1 - O(h))
          CHECK(plain == Approx(std::stod(eta) * std::stod(s) / m).epsilon(1e-8));
        } else {
          CHECK(plain == 0);
        }
      }
    }
  }
  CHECK(decoder_scale(1000.0, 1.0, 1e300) == Approx(std::log(1e303) / 1000).epsilon(1e-12));
  CHECK(decoder_scale(1000.0, 1.0, 1e-300) == Approx(1e-303).epsilon(1e-14));
}

TEST_CASE("decoder: h, gamma, Gamma and B agree with integration to 1e-40", "[scan_snap]") {
  const DigitsScope scope(60);
  TrainingInstance<Real> instance;
  instance.classes = growth_classes<Real>();
  instance.attention_rate = Real(1) / 2;
  const CommonToken<Real> token = common_token(instance);
  SolveRequest<Real> request;
  request.end = 700;
  request.save_at = {Real(10), Real(700)};
  request.method = Method::bulirsch_stoer;
  request.relative_tolerance = Real("1e-46");
  request.absolute_tolerance = Real("1e-50");
  request.keep_states = true;
  const Trajectory<Real> run = solve(forget_type(Equations{token}), request);
  REQUIRE(run.outcome.usable());
  const AnyRung<Real> closed = closed_form_rung(instance);
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    const Vector<Real> state = closed.field.state_at(run.t[i]);
    std::vector<Real> row(5);
    closed.observables.read(state, run.t[i], row);
    const Vector<Real>& x = run.states[i];
    const Real weight = token.vocabulary - 1 + exp(Real(token.vocabulary * x[0]));
    const Real gamma = (token.vocabulary - 1) * (token.vocabulary - 1) * x[0] / weight;
    CHECK(to_double(Real(abs(row[0] / x[0] - 1))) < 1e-40);
    CHECK(to_double(Real(abs(row[1] / gamma - 1))) < 1e-40);
    CHECK(to_double(Real(abs(row[2] / x[1] - 1))) < 1e-40);
    CHECK(to_double(Real(abs(row[3] / x[3] - 1))) < 1e-40);
    CHECK(to_double(Real(abs(state[3] / x[2] - 1))) < 1e-40);
  }
}

TEST_CASE("decoder: gamma peaks at M h = 1 + W((M-1)/e), the crossover solves its equation",
          "[scan_snap]") {
  const double m = 1000;
  const double x = crossover(m);
  CHECK(std::exp(x) == Approx((m - 1) * x).epsilon(1e-12));
  CHECK(x / std::log(m) - 1 == Approx(0.320).margin(5e-4));
  CHECK(crossover(30.0) / std::log(30.0) - 1 == Approx(0.461).margin(1e-3));
  // W by its own equation: w exp(w) = (M-1)/e at w = M h - 1.
  const auto gamma = [&](double mh) { return backprop_scale(m, mh / m); };
  double peak = 1;
  for (double mh = 1; mh < 12; mh += 1e-4) {
    if (gamma(mh) > gamma(peak)) peak = mh;
  }
  CHECK((peak - 1) * std::exp(peak - 1) == Approx((m - 1) / std::exp(1.0)).epsilon(1e-3));
}

TEST_CASE("decoder: parameters out of range are named", "[scan_snap]") {
  CHECK_THROWS_WITH(decoder_scale(1.0, 1.0, 1.0), Catch::Contains("M") && Catch::Contains(">= 2"));
  CHECK_THROWS_WITH(decoder_scale(5.0, 0.0, 1.0), Catch::Contains("eta_Y"));
  CHECK_THROWS_WITH(decoder_scale(5.0, 1.0, -1.0), Catch::Contains(">= 0"));
  CHECK_THROWS_AS(crossover(3.0), InputError);
}

}  // namespace decoder_test
