// Theorem    scb.fixed-points                        Status  derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  the reduced flow rests at (1, 1), with a slow rate K_P/(T (K_P + K_Q)) + O(1/T^2), and
//            at the saddle (0, -1/(T K_Q - 1)); it first settles at the balanced point alpha_V =
//            (K_Q/K_P)^{1/4} = 1/alpha_A and creeps to (1, 1) from there
// Hypotheses H1 from scratch; H2 T large
// Check      the field at both points, trace and determinant of the linear part at (1, 1) on
//            symbols; eigenvalues at the saddle; the balanced point on the flow, its error in T
// Controls   a balanced point (K_Q/K_P)^{1/2}; a slow rate K_P/(T K_Q)
// Uses       rung reduced

#include <fmt/format.h>

#include <Eigen/LU>
#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/identity.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

struct Symbols {
  Expression transition = symbol("K_P");
  Expression context = symbol("K_Q");
  Expression positions = symbol("T");
};

Vector<Expression> field(const Symbols& s, const Expression& v, const Expression& a) {
  const ReducedFlow<Expression> flow(s.transition, s.context, s.positions, symbol("mu2"), 0, 0);
  Vector<Expression> x(3);
  x << v, a, Expression(0);
  Vector<Expression> dx(3);
  flow.rhs(x, dx, Expression(0));
  return dx.head(2);
}

Truth rests() {
  const Symbols s;
  const Vector<Expression> one = field(s, 1, 1);
  const Vector<Expression> saddle = field(s, 0, -1 / (s.positions * s.context - 1));
  const Truth at_one = vanishes(Matrix<Expression>(one));
  return at_one == Truth::yes ? vanishes(Matrix<Expression>(saddle)) : at_one;
}

// (determinant / trace) T at (1, 1) as T grows, against minus the slow rate times T.
Truth slow_rate(std::string_view variant) {
  const Symbols s;
  const GiNaC::symbol v("v"), a("a");
  const Vector<Expression> f = field(s, v, a);
  const auto slope = [&](Index i, const GiNaC::symbol& by) {
    return f[i].diff(by).subs(GiNaC::lst{v == 1, a == 1});
  };
  const Expression trace = slope(0, v) + slope(1, a);
  const Expression determinant = slope(0, v) * slope(1, a) - slope(0, a) * slope(1, v);
  // The slow eigenvalue is determinant/trace (1 + O(determinant/trace^2)); e stands for 1/T.
  const GiNaC::symbol e("e");
  const Expression quotient = (determinant / trace).normal().subs(s.positions == 1 / e).normal();
  const Expression leading = (quotient / e).normal().subs(e == 0);
  const Expression sum = variant == "other-rate" ? s.context : s.transition + s.context;
  return vanishes(Expression(leading + s.transition / sum));
}

// The field at the saddle has one growing and one falling direction.
double saddle_determinant(double transition, double context, double positions) {
  const ReducedFlow<double> flow(transition, context, positions, 0.3, 0.0, 0.0);
  const AnyRung<double> rung = forget_type(flow);
  Vector<double> x(3);
  x << 0, -1 / (positions * context - 1), 0;
  Matrix<double> j;
  rung.jacobian(x, j, 0.0);
  return j.topLeftCorner(2, 2).determinant();
}

// alpha_V when alpha_A alpha_V reaches 0.999, relative to the balanced point.
double balanced_error(double transition, double context, double positions, double power) {
  AnyRung<double> rung =
      forget_type(ReducedFlow<double>(transition, context, positions, 0.3, 0.0, 0.0));
  const auto product = [](const Vector<double>& x, const double&) { return x[0] * x[1] - 0.9999; };
  rung.events = {{"settled", "alpha_V", EventKind::crossing, product,
                  [](const Vector<double>& x, const double&) { return x[0]; }}};
  SolveRequest<double> request;
  request.end = 40 / growth_rate(transition, context, positions);
  request.save_at = {request.end};
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-20;
  const Trajectory<double> run = solve(rung, request);
  if (run.events.empty()) return std::nan("");
  return std::fabs(run.events.front().value / std::pow(context / transition, power) - 1);
}

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  Examination result;
  result.parameters = {{"K_P", 0.09}, {"K_Q", 0.6}, {"T", "1e4 to 1e8"}};
  if (variant.empty()) {
    result.evidence.push_back(
        identity(EvidenceKind::symbolic, "the field is 0 at (1, 1) and at the saddle", rests()));
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, "determinant of the linear part at the saddle, T = 1e4",
                saddle_determinant(0.09, 0.6, 1e4), 0, "a saddle: eigenvalues of opposite signs"));
  }
  if (variant != "square-root") {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "slow rate at (1, 1) times T, as T grows",
                                       slow_rate(variant), "generic K_P, K_Q"));
  }
  if (variant != "other-rate") {
    const double power = variant == "square-root" ? 0.5 : 0.25;
    const double error = balanced_error(0.09, 0.6, 1e8, power);
    result.evidence.push_back(
        bounded(EvidenceKind::numerical,
                "alpha_V at alpha_A alpha_V = 0.9999 minus the balanced point, T = 1e8", error,
                1e-3, "the product misses 1 by 1e-4, the drift adds 1/T",
                fmt::format("{:.2e} at T = 1e4", balanced_error(0.09, 0.6, 1e4, power))));
  }
  return result;
}

}  // namespace

Statement fixed_points() {
  return {
      .id = "scb.fixed-points",
      .claim = "the flow settles at alpha_V = (K_Q/K_P)^{1/4} and creeps to (1, 1) at a rate 1/T",
      .paper = "arXiv 2410.23438, Section 3",
      .status = "derived here",
      .hypotheses = {"from scratch", "T large"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"square-root", "a balanced point (K_Q/K_P)^{1/2}"},
                   {"other-rate", "a slow rate K_P/(T K_Q)"}},
      .examine = examine};
}

}  // namespace popgrad::theorems::scb
