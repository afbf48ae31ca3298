// Theorem    joma.linear-growth                      Status  proved in source (Theorem 2)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 2
// Statement  v' = Delta o exp(v^2/tau), v(0) = 0:  erf(v_l/sqrt tau) sqrt(pi tau)/2 = Delta_l t;
//            the token of largest |Delta| blows up at sqrt(pi tau)/(2 |Delta|_max), the others stop
//            at sqrt(tau) erfinv(Delta_l/|Delta|_max); attention entropy falls to ln m, m ties
// Hypotheses H1 linear phi; H2 one unit; H3 v(0) = 0; H4 Delta != 0
// Check      separation of variables on symbols; integration with the blow-up as an event; limits
// of
//            the others; entropy along the way
// Controls   a factor in the blow-up time; signs lost in the limits; entropy said to rise
// Uses       rungs reduced, closed-form

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/closed_form.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

ReducedInstance<double> instance_of(const std::vector<double>& delta) {
  ReducedInstance<double> instance;
  const auto d = static_cast<Index>(delta.size());
  instance.target = Eigen::Map<const Vector<double>>(delta.data(), d);
  instance.start = Matrix<double>::Zero(d, 1);
  instance.logits = Vector<double>::Zero(d);
  return instance;
}

// d/dt [erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t] along the rung's own right-hand side.
Truth separation_of_variables() {
  ReducedInstance<Expression> instance;
  const Vector<Expression> v = symbols("v", 2);
  instance.target = symbols("Delta", 2, 1);
  instance.start = v;
  const Expression root = GiNaC::possymbol("s");
  instance.tau = root * root;
  const ReducedFlow<Expression> flow(instance);
  Vector<Expression> rate(2);
  flow.rhs(v, rate, Expression(0));
  Truth all = Truth::yes;
  for (Index l = 0; l < 2; ++l) {
    const Expression grown =
        error_function(Expression(v[l] / root)) * GiNaC::sqrt(GiNaC::Pi) * root / 2;
    const Truth one = vanishes(rate_along(grown, v, rate) - instance.target(l, 0));
    if (one == Truth::no) return Truth::no;
    if (one == Truth::undecided) all = Truth::undecided;
  }
  return all;
}

Trajectory<double> integrate(const ReducedInstance<double>& instance, double until) {
  SolveRequest<double> request;
  request.end = 10 * until;
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-13;
  // Entropy is read on a grid that ends well before the slope of v is beyond resolution.
  request.save_at = equally_spaced(0.0, 0.999 * until, 200);
  request.keep_states = true;
  return solve(forget_type(ReducedFlow<double>(instance)), request);
}

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  Examination result;
  const std::vector<double> delta{1.0, 2.0, -1.5, 0.25};
  const std::vector<double> tied{2.0, 1.0, -2.0, 0.5};
  result.parameters = {{"delta", delta}, {"tied delta", tied}, {"tau", 2}};
  result.evidence.push_back(identity(EvidenceKind::symbolic,
                                     "d/dt of erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t is 0",
                                     separation_of_variables()));
  const ReducedInstance<double> instance = instance_of(delta);
  double predicted = blow_up_time(2.0, 0.0, 2.0);
  if (variant == "blow-up-factor") predicted *= std::sqrt(2.0);
  const Trajectory<double> run = integrate(instance, blow_up_time(2.0, 0.0, 2.0));
  const auto event = std::find_if(run.events.begin(), run.events.end(),
                                  [](const Event<double>& e) { return e.name == "blow-up"; });
  const bool found = event != run.events.end() && event->column == "v_1";
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "blow-up of v_1 as an event, against the formula",
      found ? std::fabs(event->t - predicted) : std::nan(""), 1e-10,
      "tolerance 1e-12 a step over some 300 steps",
      found ? fmt::format("at {:.13g}, predicted {:.13g}", event->t, predicted) : "not found"));

  const char* limit_reason = "tolerance 1e-12 a step; v has slope of order 1 there";
  double limit_error = 0;
  for (const Index l : {0, 2, 3}) {
    double ratio = delta[static_cast<std::size_t>(l)] / 2.0;
    if (variant == "signs-lost") ratio = std::fabs(ratio);
    // linear_phi_component at the blow-up time is the limit: erf = Delta_l / |Delta|_max there.
    const double limit = linear_phi_component(2.0 * ratio, 0.0, 2.0, blow_up_time(2.0, 0.0, 2.0));
    limit_error = std::max(limit_error, std::fabs(run.last_state[l] - limit));
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "limits of the other tokens, with their signs", limit_error,
                                    1e-10, limit_reason));
  double ratio_error = 0;
  for (std::size_t k = 1; k < run.states.size(); ++k) {
    for (Index l = 0; l < 4; ++l) {
      const double grown = std::erf(run.states[k][l] / std::sqrt(2.0)) * std::sqrt(M_PI / 2);
      ratio_error =
          std::max(ratio_error, std::fabs(grown / delta[static_cast<std::size_t>(l)] - run.t[k]));
    }
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "erf(v/sqrt 2) sqrt(pi/2)/Delta = t at 200 times, 4 tokens",
                                    ratio_error, 1e-10, limit_reason));

  double largest_rise = -1;
  for (std::size_t k = 1; k < run.rows.size(); ++k) {
    const double rise = run.rows[k][0] - run.rows[k - 1][0];
    largest_rise = std::max(largest_rise, variant == "entropy-rises" ? -rise : rise);
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "largest change of the entropy between 200 times", largest_rise,
                                    0.0, "a strict decrease leaves no room"));
  const ReducedFlow<double> flow(instance);
  result.evidence.push_back(bounded(EvidenceKind::numerical, "entropy at the blow-up, one token",
                                    flow.attention_entropy(run.last_state), 1e-9,
                                    "weights of the others are e^{-v^2/2}, v about 8"));
  const ReducedInstance<double> two = instance_of(tied);
  const Trajectory<double> tie = integrate(two, blow_up_time(2.0, 0.0, 2.0));
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "entropy at the blow-up minus ln 2, two tokens tied",
              std::fabs(ReducedFlow<double>(two).attention_entropy(tie.last_state) - std::log(2.0)),
              1e-9, "as for one token; the tied ones stay equal"));
  return result;
}

}  // namespace

Statement linear_growth() {
  return {
      .id = "joma.linear-growth",
      .claim = "linear phi: erf(v_l) in proportion to Delta_l t; the salient token blows up first",
      .paper = "arXiv 2310.00535, Theorem 2",
      .status = "proved in source",
      .hypotheses = {"linear phi", "one hidden unit", "v(0) = 0", "Delta is not 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"blow-up-factor", "blow-up time too large by sqrt 2"},
                   {"signs-lost", "limits of |Delta_l| in place of Delta_l"},
                   {"entropy-rises", "entropy said to rise"}},
      .examine = examine};
}

}  // namespace popgrad::theorems::joma
