// Theorem    joma.salient-first
// Status     proved in source; the limit is derived here (Theorem 4)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 4
// Statement  on v' = (mu - v) o exp(v^2/tau):
//              d/ds ln(1/|delta_j|) = exp(v_j^2/tau),
//            hence
//              ln(1/|delta_j|) / ln(1/|delta_k|) = e^{(mu_j^2 - mu_k^2)/tau} (1 + Lambda)
//              Lambda ln(1/|delta_k|) -> C_j e^{-(mu_j^2 - mu_k^2)/tau} - C_k.
//            K units: token l has sum_k mu_lk^2 in place of mu_l^2
// Hypotheses H1 v(0) between 0 and mu; H2 exp clock s; H3 late: delta_k -> 0
// Check      the flow in 80 digits against the quadrature; the limit at delta_k < 1e-50
// Controls   an exponent without the difference; the constants C_j, C_k dropped
// Uses       rungs reduced, closed-form

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/joma/closed_form.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr unsigned working_digits = 80;

constexpr Knob exponent_gap{.name = "gap",
                            .meaning = "(mu_j^2 - mu_k^2)/tau of the salient and the other token",
                            .low = 0.1,
                            .high = 2,
                            .usual = 2,
                            .spacing = Spacing::logarithmic};
constexpr Knob weak{.name = "weak",
                    .meaning = "mu_k of the other token",
                    .low = 0.3,
                    .high = 3,
                    .usual = 1.5,
                    .spacing = Spacing::logarithmic};
constexpr Knob start{
    .name = "start", .meaning = "v(0), in units of mu_k", .low = 0, .high = 0.9, .usual = 0};
constexpr Knob depth{.name = "depth",
                     .meaning = "ln(delta_k(0)/delta_k) at which the limit is read",
                     .low = 0.25,
                     .high = 60,
                     .usual = 120,
                     .spacing = Spacing::logarithmic,
                     .breaks = "late: delta_k -> 0"};

ReducedInstance<Real> pair_instance(const Setting& setting) {
  ReducedInstance<Real> instance;
  instance.nonlinear = true;
  instance.target.resize(2, 1);
  instance.tau = Real(setting.value(tau));
  const Real mu(setting.value(weak));
  using std::sqrt;
  instance.target << sqrt(Real(mu * mu + Real(setting.value(exponent_gap)) * instance.tau)), mu;
  instance.start =
      Matrix<Real>::Constant(2, 1, Real(Real(setting.value(start)) * instance.target(1, 0)));
  instance.logits = Vector<Real>::Constant(2, Real(0));
  return instance;
}

// Largest |v - v_closed| of the integrated flow at s = 1, or where the salient token has all but
// arrived: later its rate only makes the flow stiff. 10^-accuracy is the tolerance of a step.
Evidence flow_against_quadrature(const Setting& setting, unsigned all_digits, int accuracy) {
  const DigitsScope scope(all_digits);
  const ReducedInstance<Real> instance = pair_instance(setting);
  const Real reached =
      time_to_approach<Real>(instance.target(0, 0), instance.start(0, 0), instance.tau, Real(30));
  const Real s = reached < Real(1) ? reached : Real(1);
  SolveRequest<Real> request;
  request.end = s;
  request.save_at = {s};
  request.relative_tolerance = Real(fmt::format("1e-{}", accuracy));
  request.absolute_tolerance = request.relative_tolerance;
  request.keep_states = true;
  request.find_events = false;
  const Trajectory<Real> run = solve(forget_type(ReducedFlow<Real>(instance)), request);
  if (!run.outcome.usable()) {
    return bounded(EvidenceKind::numerical, "a usable solve", std::nan(""), 0, "");
  }
  const Vector<Real> closed = closed_form_rung(instance).state_at(s);
  double largest = 0;
  for (Index l = 0; l < closed.size(); ++l) {
    largest = std::max(largest, std::fabs(to_double(Real(run.states.front()[l] - closed[l]))));
  }
  return bounded(EvidenceKind::numerical,
                 fmt::format("flow at s = {:.3g} in {} digits against the quadrature", to_double(s),
                             all_digits),
                 largest, std::pow(10.0, 4 - accuracy),
                 fmt::format("tolerance 1e-{} a step, some 1e3 steps", accuracy));
}

// Two units: the exponent of token l is sum_k mu_lk^2/tau.
double two_unit_rate_error(const Setting& setting, bool first_unit_only) {
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.target.resize(2, 2);
  instance.target << 1.2, 0.9, 0.8, 0.7;
  if (setting.only_what_varies) {
    Stream stream(setting.seed, stream_of_drawn_instances, 7);
    for (double& mu : instance.target.reshaped()) mu = 0.4 + 0.8 * stream.uniform();
    instance.tau = setting.value(tau);
  }
  instance.start = Matrix<double>::Zero(2, 2);
  instance.logits = Vector<double>::Zero(2);
  const Index token =
      instance.target.row(0).squaredNorm() < instance.target.row(1).squaredNorm() ? 0 : 1;
  const double first = instance.target(token, 0);
  const double second = instance.target(token, 1);
  const double full = (first * first + second * second) / instance.tau;
  const double exponent = first_unit_only ? first * first / instance.tau : full;
  const ReducedFlow<double> flow(instance);
  SolveRequest<double> request;
  request.save_at = {7.0, 8.0};
  if (setting.only_what_varies) {
    // From v = 0 a row stays parallel to its mu_l, and its length is a unit of its own.
    const double length = std::hypot(first, second);
    request.save_at = {time_to_approach(length, 0.0, instance.tau, 14.0),
                       time_to_approach(length, 0.0, instance.tau, 16.0)};
  }
  request.end = request.save_at.back();
  request.relative_tolerance = 1e-13;
  request.absolute_tolerance = 1e-16;
  request.keep_states = true;
  request.find_events = false;
  const Trajectory<double> run = solve(forget_type(flow), request);
  // Rate of ln(1/delta) of the slower token between the two times.
  const auto log_delta = [&](std::size_t k) {
    return std::log(1 - run.states[k][token] / instance.target(token, 0));
  };
  const double measured = (log_delta(0) - log_delta(1)) / (run.t[1] - run.t[0]);
  return std::fabs(measured / std::exp(exponent) - 1);
}

Examination examine(const Setting& setting, std::string_view variant) {
  const DigitsScope scope(working_digits);
  Examination result;
  const ReducedInstance<Real> instance = pair_instance(setting);
  const Real mu_j = instance.target(0, 0);
  const Real mu_k = instance.target(1, 0);
  const Real from = instance.start(0, 0);
  const Real& scale = instance.tau;
  result.parameters = {{"mu", {to_double(mu_j), to_double(mu_k)}},
                       {"v0", to_double(from)},
                       {"tau", to_double(scale)},
                       {"digits", working_digits},
                       {"seed", setting.seed}};
  using std::exp, std::log;

  // Broken hypotheses are about the limit alone.
  if (setting.slack == 0) {
    // A search looks at more instances, in fewer digits.
    result.evidence.push_back(setting.only_what_varies
                                  ? flow_against_quadrature(setting, 40, 20)
                                  : flow_against_quadrature(setting, working_digits, 48));
  }

  // delta_k = e^-y with y = 120: below 1e-52. Then s follows, and y_j from s, by quadrature.
  const double deep = setting.value(depth);
  if (deep < depth.usual) {
    result.hypotheses.push_back(
        {"late: delta_k -> 0", Truth::no, fmt::format("delta_k = e^-{} of its start", deep)});
  }
  const Real y_k(deep);
  const Real s = time_to_approach<Real>(mu_k, from, scale, y_k);
  const Real y_j = approach_at<Real>(mu_j, from, scale, s);
  // ln(1/delta): 0 more than y for a start at 0.
  const Real log_j = y_j - log(Real(Real(1) - from / mu_j));
  const Real log_k = y_k - log(Real(Real(1) - from / mu_k));
  const Real exponent = variant == "no-difference" ? Real(mu_j * mu_j / scale)
                                                   : Real((mu_j * mu_j - mu_k * mu_k) / scale);
  const Real lambda = log_j / log_k / exp(exponent) - Real(1);
  const Real constant_j = approach_constant<Real>(mu_j, from, scale);
  const Real constant_k = approach_constant<Real>(mu_k, from, scale);
  const Real limit =
      variant == "no-constants" ? Real(0) : Real(constant_j * exp(Real(-exponent)) - constant_k);
  const Real miss = lambda * log_k - limit;
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "|Lambda ln(1/delta_k) - limit| at delta_k < 1e-50",
              std::fabs(to_double(miss)), allowance(setting, 1e-45, std::fabs(to_double(limit))),
              "what is left is of order delta_k ln(1/delta_k) < 1e-49",
              fmt::format("Lambda ln(1/delta_k) = {}, limit {}", Real(lambda * log_k).str(18),
                          limit.str(18))));
  if (setting.slack > 0) return result;
  if (variant.empty() && !setting.only_what_varies) {
    // The number quoted for this pair, to the digits it is quoted in.
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, "limit against 0.148037620168461851",
                std::fabs(to_double(Real(limit - Real("0.148037620168461851")))), 5e-19,
                "half a unit of its last digit"));
  }
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "two units: rate e^{sum_k mu_lk^2/tau} of the slower token",
              two_unit_rate_error(setting, variant == "no-difference"), 1e-4,
              "delta at the first time is 1e-5; the rate is approached like delta"));
  return result;
}

}  // namespace

Statement salient_first() {
  return {
      .id = "joma.salient-first",
      .claim =
          "nonlinear phi: salient tokens are learned first, by a factor e^{(mu_j^2-mu_k^2)/tau}",
      .paper = "arXiv 2310.00535, Theorem 4",
      .status = "proved in source; the limit is derived here",
      .hypotheses = {"v(0) between 0 and mu", "exp clock", "late: delta_k -> 0"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"no-difference", "exponent mu_j^2/tau in place of (mu_j^2 - mu_k^2)/tau"},
                   {"no-constants", "limit 0: the constants C_j, C_k dropped"}},
      .knobs = {exponent_gap, weak, start, tau, depth},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
