#include "theorems/scb/checks/family.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/instance_record.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks::reduction {
namespace {

Statement sheet{.id = "scb.reduction",
                .paper = "arXiv 2410.23438, Section 3",
                .status = "proved in source, three numbers from a transfer start derived here",
                .about = "the population flow",
                .theorem = R"(
From A = 1/T and any V with V mu = mu the flow stays on
  V   = mu 1' + alpha_V (P - mu 1') + W,  <W, P> = 0
  a^k = 1/T + alpha_A (q^k - 1/T),
where W keeps its direction. With w = <W, W>, K_P = <P, P> and K_Q = sum_k mu_k |q^k|^2,
<X, Y> = tr X'Y (diag(mu) - mu mu'), it obeys the reduced flow of three numbers,
  alpha_V' = 1/T + (K_Q - 1/T) alpha_A - alpha_V [1/T + (K_Q - 1/T) alpha_A^2]
  alpha_A' = K_P alpha_V (1 - alpha_A alpha_V) - w alpha_A
  w'       = -2 w [1/T + (K_Q - 1/T) alpha_A^2].
From V = mu 1' they are two, since w = 0.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .no_rival = "an identity in the state",
                .false_version = "two-numbers",
                .reads = "flow"};

const Clause stays = sheet.clause(
    "from a transfer start the flow stays on a family of three numbers, from scratch of two");
const Clause follows = sheet.clause("from either its state follows from them");

const Hypothesis stationary = sheet.assume("`P mu = mu`");
const Hypothesis stationary_start = sheet.assume("`V(0) mu = mu`");
const Hypothesis papers = sheet.assume("linear attention, projected, both at one rate");

const Control full_context_size =
    sheet.control("full-context-size", "`K_Q` in place of `K_Q - 1/T`");
const Control no_drift = sheet.control("no-drift", "the term `-alpha_V/T` left out");
const Control residual_rate =
    sheet.control("residual-rate", "`w` falls at the rate of `W`, not at twice that");

const Control two_numbers = sheet.control(
    "two-numbers", "two numbers do from a transfer start as well: `W` acts on nothing");

const Knob vocabulary =
    sheet.knob(whole_knob("tokens", "tokens N of the vocabulary; with 2, W = 0", 3, 6, 3));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 5, 1e6, 5000));
const Knob few_positions = sheet.knob(support_knob);
const Knob theta = sheet.knob(
    logarithmic_knob("theta", "size of the transfer start, in units of P - mu 1'", 0.1, 2, 0.5));
const Knob correlation =
    sheet.knob(linear_knob("correlation", "of the transferred kernel with P", -0.9, 1, 0.6));
const Knob tilt = sheet.knob(
    logarithmic_knob("tilt", "standard deviation of ln mu_k about the stationary law, drawn", 1e-3,
                     3, 0)
        .breaking(stationary));
const Knob mean_value = sheet.knob(
    logarithmic_knob("mean-value", "|V(0) mu - mu| over |mu|, in a drawn direction", 1e-3, 3, 0)
        .breaking(stationary_start));

constexpr double tolerance = 1e-11;  // of the solves

// The reduced flow, and slips in it.
enum class Slip { none, full_context_size, no_drift, residual_rate, two_numbers };

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
  if (slip == Slip::two_numbers) rates[1] = rates[1] + x[2] * x[1];
  return rates;
}

// Field at a point of the family minus its tangent at the reduced rates, W' = (w'/2 w) W, for any
// W: <W, P> is nonzero here and adds <W, P> (1 - 2 alpha_A alpha_V) to alpha_A'.
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

void prove(Examination& it) {
  const auto with = [](Slip slip) { return [slip] { return stays_on_family(slip); }; };
  it.judge(stays,
           identity("field on the family minus its tangent at the reduced rates", with(Slip::none))
               .unless(full_context_size, with(Slip::full_context_size))
               .unless(no_drift, with(Slip::no_drift))
               .unless(residual_rate, with(Slip::residual_rate))
               .unless(two_numbers, with(Slip::two_numbers))
               .with("generic `P`, `q`, `W`, `alpha`; `N = 3`, `T = 4`"));
}

// Starts with a kernel transferred from elsewhere, and leaves the hypotheses as knobs say.
Training<double> drawn_instance(const Setting& setting) {
  Training<double> training;
  Bigrams<double>& b = training.bigrams;
  b = random_bigrams(setting.count(vocabulary), setting.count(length), setting.count(few_positions),
                     setting.seed);
  training.start =
      transfer_start(b, setting.value(theta), setting.value(correlation), setting.seed);
  Stream stream(setting.seed, 0, 0);
  Vector<double>& mu = b.stationary;
  if (const double tilted = setting.value(tilt); tilted > 0) {
    for (double& weight : mu) weight *= std::exp(tilted * stream.normal());
    mu /= mu.sum();
    // V(0) mu = mu is kept.
    training.start.colwise() += Vector<double>(mu - training.start * mu);
  }
  if (const double moved = setting.value(mean_value); moved > 0) {
    Vector<double> direction(mu.size());
    for (double& value : direction) value = stream.normal();
    direction.array() -= direction.mean();
    training.start.colwise() += Vector<double>(direction * (moved * mu.norm() / direction.norm()));
  }
  return training;
}

// Every component of the flow's state, from the numbers of the reduced flow.
void judge_states(const Training<double>& training, const char* start_name, Examination& it) {
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
  const auto with = [&](Slip slip) { return instead([&, slip] { return predicted(slip); }); };
  it.judge(
      follows,
      equal(fmt::format("`V - mu 1'` and `A - 1/T` against the family{}", start_name),
            components_of(run, [&](const Vector<double>& x) { return Vector<double>(x - ground); }),
            predicted(Slip::none))
          .at(places.names)
          .in_units_of(places.scales)
          .unless(full_context_size, with(Slip::full_context_size))
          .unless(no_drift, with(Slip::no_drift))
          .unless(residual_rate, with(Slip::residual_rate))
          .unless(two_numbers, with(Slip::two_numbers)));
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training =
      examined(setting, scb::training<double>, [&] { return drawn_instance(setting); });
  const Bigrams<double>& b = training.bigrams;
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"seed", setting.seed}};
  // Up to the rounding of the products.
  const double rounding =
      ErrorPart::rounding(static_cast<double>(b.tokens() * b.tokens()), training.start.norm() + 1)
          .size();
  const double off = (b.transition * b.stationary - b.stationary).norm();
  const double start_off = (training.start * b.stationary - b.stationary).norm();
  it.require(stationary, rounding - off, fmt::format("`|P mu - mu| = {:.3g}`", off));
  it.require(stationary_start, rounding - start_off,
             fmt::format("`|V(0) mu - mu| = {:.3g}`", start_off));
  it.require(papers, !training.softmax && training.project && training.attention_rate == 1,
             fmt::format("{} attention, {}projected, `eta_A = {:.4g}`",
                         training.softmax ? "softmax" : "linear", training.project ? "" : "not ",
                         training.attention_rate));
  if (training.softmax) return;
  judge_states(training, "", it);
  Training<double> scratch = training;
  scratch.start = b.stationary * Vector<double>::Ones(b.tokens()).transpose();
  scratch.attention_start.resize(0, 0);
  judge_states(scratch, ", from scratch", it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scb::checks::reduction
