// Theorem    scb.reduction
// Status     proved in source; three numbers from a transfer start derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  from A = 1/T and any V with V mu = mu the flow stays on
//              V   = mu 1' + alpha_V (P - mu 1') + W,  <W, P> = 0
//              a^k = 1/T + alpha_A (q^k - 1/T)
//            where W keeps its direction, and with w = <W, W> it obeys the reduced flow of three
//            numbers; from V = mu 1' they are two, since w = 0
// Hypotheses H1 P mu = mu; H2 V(0) mu = mu; H3 linear attention, projected, both at one rate
// Check      remainder of the field on the family for generic P, q, W (N = 3, T = 4); every
//            component of the flow's state from the three numbers of the reduced flow
// Controls   K_Q in place of K_Q - 1/T; the term -alpha_V/T of the drift left out; w falls at the
//            rate of W
// Uses       rungs flow, reduced

#include "theorems/scb/checks/family.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/transfer_start.hpp"
#include "theorems/scb/rungs/instance_record.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks::reduction {
namespace {

constexpr double tolerance = 1e-11;  // of the solves

// The reduced flow, and slips in it.
enum class Slip { none, full_context_size, no_drift, residual_rate };

template <class T>
Vector<T> reduced_rates(const Training<T>& training, const Vector<T>& x, Slip slip) {
  const T positions(static_cast<int>(training.bigrams.context));
  T context = context_size(training.bigrams);
  if (slip == Slip::full_context_size) context = context + T(1) / positions;
  const ReducedFlow<T> flow(transition_size(training.bigrams), context, positions, T(0), T(0),
                            T(0));
  Vector<T> rates(3);
  flow.rhs(x, rates, T(0));
  if (slip == Slip::no_drift) rates[0] = rates[0] + x[0] / positions;
  if (slip == Slip::residual_rate) rates[2] = rates[2] / T(2);
  return rates;
}

// Field at a point of the family minus its tangent at the reduced rates, W' = (w'/2 w) W, for any W:
// <W, P> is nonzero here and adds <W, P> (1 - 2 alpha_A alpha_V) to alpha_A'.
Truth stays_on_family(Slip slip) {
  const Training<Expression> training = generic_training();
  const Bigrams<Expression>& b = training.bigrams;
  const PopulationFlow<Expression> flow(training);
  const Matrix<Expression> residual = centred(symbols("w", 2, 2), b.stationary);
  Vector<Expression> x(3);
  x << symbol("alpha_V"), symbol("alpha_A"), symbol("w");
  const Expression falling = reduced_rates(training, x, slip)[2] / (2 * x[2]);
  x[2] = covariance_product(residual, residual, b.stationary);
  Vector<Expression> rates = reduced_rates(training, x, slip);
  rates[1] += covariance_product(residual, b.transition, b.stationary) * (1 - 2 * x[0] * x[1]);
  Vector<Expression> field(flow.dimension());
  flow.rhs(flow.initial() + along_family(b, x[0], x[1], residual), field, Expression(0));
  const Matrix<Expression> turning = falling * residual;
  return vanishes(Matrix<Expression>(field - along_family(b, rates[0], rates[1], turning)));
}

void derive(Examination& it) {
  const auto with = [](Slip slip) { return [slip] { return stays_on_family(slip); }; };
  it.judge(Identity{.what = "field on the family minus its tangent at the reduced rates",
                    .holds = with(Slip::none),
                    .mistakes = {{"full-context-size", with(Slip::full_context_size)},
                                 {"no-drift", with(Slip::no_drift)},
                                 {"residual-rate", with(Slip::residual_rate)}},
                    .detail = "generic P, q, W, alpha; N = 3, T = 4"});
}

// Every component of the flow's state, from the numbers of the reduced flow.
void judge_states(const Training<double>& training, Examination& it) {
  const Bigrams<double>& b = training.bigrams;
  const AnyRung<double> full = forget_type(PopulationFlow<double>(training));
  const ReducedFlow<double> reduced(training);
  const Vector<double> start = reduced.initial();
  const Matrix<double> residual = residual_of<double>(b, training.start, start[0]);
  const auto on_family = [&](const Vector<double>& x) {
    const double kept = start[2] == 0 ? 0 : std::sqrt(std::max(0.0, x[2] / start[2]));
    return along_family<double>(b, x[0], x[1], kept * residual);
  };
  const std::vector<double> times = times_of_growth(training, start[0]);
  const auto predicted = [&](Slip slip) {
    AnyRung<double> rung = forget_type(reduced);
    rung.field.value = [&](const Vector<double>& x, Vector<double>& dx, const double&) {
      dx = reduced_rates(training, x, slip);
    };
    return components_of(Solved(rung, times, tolerance), on_family);
  };
  const Vector<double> ground = full.initial - on_family(start);
  const Solved run(full, times, tolerance);
  const ComponentPlaces places = places_of(run, full.state_names, ground, b.tokens() * b.tokens());
  const auto slips = [&](std::string control, Slip slip) {
    return Mistake{std::move(control), [&, slip](const auto&) { return predicted(slip); }, {}};
  };
  it.judge(Comparison{
      .what = "V - mu 1' and A - 1/T against the family",
      .measured =
          components_of(run, [&](const Vector<double>& x) { return Vector<double>(x - ground); }),
      .predicted = predicted(Slip::none),
      .scale = places.scales,
      .mistakes = {slips("full-context-size", Slip::full_context_size),
                   slips("no-drift", Slip::no_drift), slips("residual-rate", Slip::residual_rate)},
      .places = places.names});
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training =
      examined(setting, scb::training<double>, [&] { return drawn_transfer(setting); });
  it.parameters = {
      {"N", training.bigrams.tokens()}, {"T", training.bigrams.context}, {"seed", setting.seed}};
  require_stationary(training, it);
  const bool papers = !training.softmax && training.project && training.attention_rate == 1;
  it.require("linear attention, projected, both at one rate", papers ? Truth::yes : Truth::no,
             fmt::format("{} attention, {}projected, eta_A = {:.4g}",
                         training.softmax ? "softmax" : "linear", training.project ? "" : "not ",
                         training.attention_rate));
  if (!training.softmax) judge_states(training, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "scb.reduction",
      .claim = "the flow is two numbers from scratch, and three from a transfer start",
      .paper = "arXiv 2410.23438, Section 3",
      .status = "proved in source",
      .hypotheses = {"P mu = mu", "V(0) mu = mu", "linear attention, projected, both at one rate"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"full-context-size", "K_Q in place of K_Q - 1/T"},
                   {"no-drift", "the term -alpha_V/T left out"},
                   {"residual-rate", "w falls at the rate of W, not at twice that"}},
      .knobs = {vocabulary, transfer_length, support_knob, theta, correlation, tilt, mean_value},
      .reads = "flow",
      .derive = derive,
      .examine = examine};
}

}  // namespace popgrad::scb::checks::reduction
