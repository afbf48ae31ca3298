// Theorem    scb.fixed-points
// Status     derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  the reduced flow rests at
//              (1, 1)                with a slow rate K_P/(T (K_P + K_Q)) + O(1/T^2)
//              (0, -1/(T K_Q - 1))   a saddle;
//            it first settles at the balanced point
//              alpha_V = (K_Q/K_P)^{1/4} = 1/alpha_A
//            and creeps to (1, 1) from there
// Hypotheses H1 from scratch; H2 T large
// Check      the field at both points, trace and determinant of the linear part at (1, 1) on
//            symbols; eigenvalues at the saddle; the balanced point on the flow, its error in T
// Controls   a balanced point (K_Q/K_P)^{1/2}; a slow rate K_P/(T K_Q)
// Uses       rung reduced

#include <fmt/format.h>

#include <Eigen/LU>
#include <cmath>
#include <numbers>

#include "popgrad/identity.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 1e6,
                      .high = 1e12,
                      .usual = 1e8,
                      .spacing = Spacing::logarithmic};
constexpr Knob head_start{
    .name = "head-start",
    .meaning =
        "distance of the start from 0, in units of the balanced point's; its direction "
        "within the half plane that grows towards it is drawn",
    .low = 1e-3,
    .high = 0.9,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "from scratch"};

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
double balanced_error(double transition, double context, double positions, double power,
                      const Vector<double>& start) {
  AnyRung<double> rung =
      forget_type(ReducedFlow<double>(transition, context, positions, 0.3, 0.0, 0.0));
  rung.initial.head(2) = start;
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

// (alpha_V, alpha_A), the square roots of K_P and K_Q times which have equal shares in what grows.
Vector<double> start_at(const Setting& setting, double transition, double context) {
  const double size = setting.value(head_start);
  Vector<double> start = Vector<double>::Zero(2);
  if (size == 0) return start;
  Stream stream(setting.seed, 0, 0);
  const double angle = std::numbers::pi * (stream.uniform() - 0.25);
  const double scale = size * std::sqrt(2 * std::sqrt(transition * context));
  start << scale * std::cos(angle) / std::sqrt(transition),
      scale * std::sin(angle) / std::sqrt(context);
  return start;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double transition = setting.value(transition_size_knob);
  const double context = setting.value(context_size_knob);
  const double growth = std::sqrt(transition * context);
  const double positions = length_at(setting.value(short_context), growth, setting.value(length));
  const Vector<double> start = start_at(setting, transition, context);
  result.parameters = {{"K_P", transition},
                       {"K_Q", context},
                       {"T", positions},
                       {"alpha_V(0)", start[0]},
                       {"alpha_A(0)", start[1]}};
  result.hypotheses.push_back({"from scratch", start.norm() == 0 ? Truth::yes : Truth::no,
                               fmt::format("a start of size {:.3g}", start.norm())});
  result.hypotheses.push_back({"T large", positions * growth >= 1e5 ? Truth::yes : Truth::no,
                               fmt::format("T is {:.3g} growth times", positions * growth)});
  if (variant.empty()) {
    if (!setting.only_what_varies) {
      result.evidence.push_back(
          identity(EvidenceKind::symbolic, "the field is 0 at (1, 1) and at the saddle", rests()));
    }
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "determinant of the linear part at the saddle over K_P K_Q",
        saddle_determinant(transition, context, positions) / (transition * context), 0,
        "a saddle: eigenvalues of opposite signs"));
  }
  if (variant != "square-root" && !setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "slow rate at (1, 1) times T, as T grows",
                                       slow_rate(variant), "generic K_P, K_Q"));
  }
  if (variant != "other-rate") {
    const double power = variant == "square-root" ? 0.5 : 0.25;
    const double error = balanced_error(transition, context, positions, power, start);
    result.evidence.push_back(bounded(
        EvidenceKind::numerical,
        "alpha_V at alpha_A alpha_V = 0.9999 minus the balanced point, relative", error,
        setting.allow(1e-3), "the product misses 1 by 1e-4, the drift adds a growth time over T",
        setting.only_what_varies
            ? std::string()
            : fmt::format("{:.2e} at T = 1e4",
                          balanced_error(transition, context, 1e4, power, start))));
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
      .knobs = {transition_size_knob, context_size_knob, length, short_context, head_start},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
