// Theorem    joma.salient-first                      Status  proved in source (Theorem 4); limit
// ours Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 4 Statement  on v' = (mu - v) o
// exp(v^2/tau):  d/ds ln(1/|delta_j|) = exp(v_j^2/tau), hence
//            ln(1/|delta_j|) / ln(1/|delta_k|) = e^{(mu_j^2 - mu_k^2)/tau} (1 + Lambda),
//            Lambda ln(1/|delta_k|) -> C_j e^{-(mu_j^2 - mu_k^2)/tau} - C_k
//            K units: the exponent is sum_k mu_lk^2/tau
// Hypotheses H1 v(0) between 0 and mu; H2 exp clock s
// Check      the flow in 60 digits against the quadrature; the limit at delta_k < 1e-50
// Controls   an exponent without the difference; the constants C dropped
// Uses       rungs reduced, closed-form

#include <fmt/format.h>

#include <cmath>

#include "popgrad/joma/closed_form.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr unsigned working_digits = 80;

ReducedInstance<Real> pair_instance() {
  ReducedInstance<Real> instance;
  instance.nonlinear = true;
  instance.target.resize(2, 1);
  instance.target << Real(5) / Real(2), Real(3) / Real(2);
  instance.start = Matrix<Real>::Constant(2, 1, Real(0));
  instance.logits = Vector<Real>::Constant(2, Real(0));
  return instance;
}

// Largest |v - v_closed| of the integrated flow at the end of [0, s].
Real flow_against_quadrature(const ReducedInstance<Real>& instance, const Real& s) {
  SolveRequest<Real> request;
  request.end = s;
  request.save_at = {s};
  request.relative_tolerance = Real("1e-48");
  request.absolute_tolerance = Real("1e-48");
  request.keep_states = true;
  request.find_events = false;
  const Trajectory<Real> run = solve(forget_type(ReducedFlow<Real>(instance)), request);
  const Vector<Real> closed = closed_form_rung(instance).state_at(s);
  Real largest(0);
  for (Index l = 0; l < closed.size(); ++l) {
    const Real gap = run.states.front()[l] - closed[l];
    const Real size = gap < Real(0) ? Real(-gap) : gap;
    if (largest < size) largest = size;
  }
  return largest;
}

// Two units: the exponent of token l is sum_k mu_lk^2/tau.
double two_unit_rate_error(bool first_unit_only) {
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.target.resize(2, 2);
  instance.target << 1.2, 0.9, 0.8, 0.7;
  instance.start = Matrix<double>::Zero(2, 2);
  instance.logits = Vector<double>::Zero(2);
  const ReducedFlow<double> flow(instance);
  SolveRequest<double> request;
  request.end = 8.0;
  request.save_at = {7.0, 8.0};
  request.relative_tolerance = 1e-13;
  request.absolute_tolerance = 1e-16;
  request.keep_states = true;
  request.find_events = false;
  const Trajectory<double> run = solve(forget_type(flow), request);
  // Rate of ln(1/delta) of token 1, the slower one, between the two times.
  const auto log_delta = [&](std::size_t k) {
    return std::log(1 - run.states[k][1] / instance.target(1, 0));
  };
  const double measured = log_delta(0) - log_delta(1);
  const double exponent = first_unit_only ? 0.8 * 0.8 / 2 : (0.8 * 0.8 + 0.7 * 0.7) / 2;
  return std::fabs(measured / std::exp(exponent) - 1);
}

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  const DigitsScope scope(working_digits);
  Examination result;
  result.parameters = {{"mu", {2.5, 1.5}}, {"v0", 0}, {"tau", 2}, {"digits", working_digits}};
  const ReducedInstance<Real> instance = pair_instance();
  const Real mu_j = instance.target(0, 0);
  const Real mu_k = instance.target(1, 0);
  const Real tau = instance.tau;
  using std::exp;

  const Real gap = flow_against_quadrature(instance, Real(1));
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "flow at s = 1 in 80 digits against the quadrature",
              to_double(gap), 1e-44, "tolerance 1e-48 a step, some 1e3 steps"));

  // delta_k = e^-y with y = 120: below 1e-52. Then s follows, and y_j from s, by quadrature.
  const Real y_k(120);
  const Real s = time_to_approach<Real>(mu_k, Real(0), tau, y_k);
  const Real y_j = approach_at<Real>(mu_j, Real(0), tau, s);
  const Real exponent = variant == "no-difference" ? Real(mu_j * mu_j / tau)
                                                   : Real((mu_j * mu_j - mu_k * mu_k) / tau);
  const Real lambda = y_j / y_k / exp(exponent) - Real(1);
  const Real constant_j = approach_constant<Real>(mu_j, Real(0), tau);
  const Real constant_k = approach_constant<Real>(mu_k, Real(0), tau);
  const Real limit =
      variant == "no-constants" ? Real(0) : Real(constant_j * exp(Real(-exponent)) - constant_k);
  const Real miss = lambda * y_k - limit;
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "|Lambda ln(1/delta_k) - limit| at delta_k < 1e-50",
      std::fabs(to_double(miss)), 1e-45, "what is left is of order delta_k ln(1/delta_k) < 1e-49",
      fmt::format("Lambda ln(1/delta_k) = {}, limit {}", Real(lambda * y_k).str(18),
                  limit.str(18))));
  if (variant.empty()) {
    // The number quoted for this pair, to the digits it is quoted in.
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, "limit against 0.148037620168461851",
                std::fabs(to_double(Real(limit - Real("0.148037620168461851")))), 5e-19,
                "half a unit of its last digit"));
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "two units: rate e^{sum_k mu_lk^2/tau} of the slower token",
                                    two_unit_rate_error(variant == "no-difference"), 1e-4,
                                    "delta at t = 7 is 1e-5; the rate is approached like delta"));
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
      .hypotheses = {"v(0) between 0 and mu", "exp clock"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"no-difference", "exponent mu_j^2/tau in place of (mu_j^2 - mu_k^2)/tau"},
                   {"no-constants", "limit 0: the constants C_j, C_k dropped"}},
      .examine = examine};
}

}  // namespace popgrad::theorems::joma
