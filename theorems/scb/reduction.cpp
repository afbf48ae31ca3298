// Theorem    scb.reduction
// Status     proved in source; three numbers from a transfer start derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  from V = mu 1', A = 1/T the flow stays on
//              V   = mu 1' + alpha_V (P - mu 1')
//              a^k = 1/T + alpha_A (q^k - 1/T)
//            and obeys the reduced flow; from a transfer start V has a rest W besides, and one more
//            number closes the flow,
//              w = <W, W>
// Hypotheses H1 P mu = mu; H2 V(0) mu = mu
// Check      remainder of the field on the family for generic symbols (N = 2, T = 3, Q = 2) and in
//            rationals; both flows from both starts to 1e-10
// Controls   K_Q in place of K_Q - 1/T; w left out from a transfer start
// Uses       rungs flow, reduced

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scb/population_flow.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 5,
                      .high = 1e6,
                      .usual = 5000,
                      .spacing = Spacing::logarithmic};
constexpr Knob theta{.name = "theta",
                     .meaning = "size of the transfer start, in units of P - mu 1'",
                     .low = 0.1,
                     .high = 2,
                     .usual = 0.5,
                     .spacing = Spacing::logarithmic};
constexpr Knob correlation{.name = "correlation",
                           .meaning = "of the transferred kernel with P",
                           .low = -0.9,
                           .high = 1,
                           .usual = 0.6};
constexpr Knob tilt{.name = "tilt",
                    .meaning = "standard deviation of ln mu_k about the stationary law, drawn",
                    .low = 1e-3,
                    .high = 3,
                    .usual = 0,
                    .spacing = Spacing::logarithmic,
                    .breaks = "P mu = mu"};
constexpr Knob mean_value{.name = "mean-value",
                          .meaning = "|V(0) mu - mu| over |mu|, in a direction that is drawn",
                          .low = 1e-3,
                          .high = 3,
                          .usual = 0,
                          .spacing = Spacing::logarithmic,
                          .breaks = "V(0) mu = mu"};

// Two tokens; three positions, two of them used:
//   P  = [[1-a, b], [a, 1-b]]
//   mu = (b, a)/(a + b)
template <class T>
Training<T> two_tokens(const T& a, const T& b, const T& q0, const T& q1) {
  Training<T> made;
  Bigrams<T>& law = made.bigrams;
  law.transition.resize(2, 2);
  law.transition << T(1) - a, b, a, T(1) - b;
  law.stationary.resize(2);
  law.stationary << b / (a + b), a / (a + b);
  law.context = 3;
  law.first = {0, 2, 4};
  law.position = {0, 1, 1, 2};
  law.law.resize(4);
  law.law << q0, T(1) - q0, q1, T(1) - q1;
  made.start = law.stationary * Vector<T>::Constant(2, T(1)).transpose();
  return made;
}

// The point of the family, or its tangent along (dv, da).
template <class T>
Vector<T> on_family(const Training<T>& training, const T& alpha_V, const T& alpha_A, bool tangent) {
  const Bigrams<T>& b = training.bigrams;
  const Index n = b.tokens();
  const T share = T(1) / T(static_cast<int>(b.context));
  const T base = tangent ? T(0) : T(1);
  Vector<T> x(n * n + b.entries() + n);
  for (Index k = 0; k < n; ++k) {
    for (Index i = 0; i < n; ++i) {
      x[k * n + i] = base * b.stationary[i] + alpha_V * (b.transition(i, k) - b.stationary[i]);
    }
    const Index begin = b.first[static_cast<std::size_t>(k)];
    for (Index i = 0; i < b.support(k); ++i) {
      x[n * n + begin + k + i] = base * share + alpha_A * (b.law[begin + i] - share);
    }
    x[n * n + begin + k + b.support(k)] = base * share - alpha_A * share;
  }
  return x;
}

template <class T>
Vector<T> remainder(const Training<T>& training, const T& alpha_V, const T& alpha_A,
                    std::string_view variant) {
  const T positions(static_cast<int>(training.bigrams.context));
  T size = context_size(training.bigrams);
  if (variant == "full-context-size") size = size + T(1) / positions;
  const ReducedFlow<T> reduced(transition_size(training.bigrams), size, positions,
                               T(training.bigrams.stationary.squaredNorm()), T(0), T(0));
  Vector<T> point(3);
  point << alpha_V, alpha_A, T(0);
  Vector<T> rates(3);
  reduced.rhs(point, rates, T(0));
  const PopulationFlow<T> flow(training);
  Vector<T> field(flow.dimension());
  flow.rhs(on_family(training, alpha_V, alpha_A, false), field, T(0));
  return field - on_family(training, rates[0], rates[1], true);
}

struct Distance {
  double largest = 0;      // of alpha_V, alpha_A and loss between the two flows over t = 0..100
  double size = 0;         // the largest of these numbers, at least 1
  double sensitivity = 0;  // by how much an error of the start grows
};
Distance distance_of_flows(const Training<double>& training, std::string_view variant) {
  SolveRequest<double> request;
  request.end = 100;
  request.save_at = equally_spaced(0.0, 100.0, 51);
  request.relative_tolerance = 1e-13;
  // From scratch all begins at the size of 1/T.
  request.absolute_tolerance =
      1e-15 * std::min(1.0, length.usual / static_cast<double>(training.bigrams.context));
  request.find_events = false;
  const Trajectory<double> full = solve(forget_type(PopulationFlow<double>(training)), request);
  AnyRung<double> reduced = forget_type(ReducedFlow<double>(training));
  if (variant == "no-residual") reduced.initial[2] = 0;
  const Trajectory<double> small = solve(reduced, request);
  constexpr double displacement = 1e-9;
  reduced.initial.head(2).array() += displacement;
  const Trajectory<double> displaced = solve(reduced, request);
  Distance found{0, 1, 0};
  for (std::size_t i = 0; i < full.rows.size(); ++i) {
    for (const std::size_t column : {0U, 1U, 4U}) {
      const double there = small.rows[i][column];
      found.largest = std::max(found.largest, std::fabs(full.rows[i][column] - there));
      found.size = std::max(found.size, std::fabs(there));
      found.sensitivity =
          std::max(found.sensitivity, std::fabs(displaced.rows[i][column] - there) / displacement);
    }
  }
  return found;
}

Evidence agreement(const Setting& setting, const std::string& start, const Distance& found) {
  // V has entries of order one, whose rounding grows as the solution does.
  const double rounding = 1e-14 * found.sensitivity;
  return bounded(
      EvidenceKind::numerical, "full minus reduced flow, from " + start, found.largest / found.size,
      setting.allow(std::max(1e-10, rounding)),
      "a thousand times the solver's 1e-13, which grow with it, or the growth of rounding",
      fmt::format("an error of the start grows {:.2g}-fold", found.sensitivity));
}

// What the two hypotheses say of an instance that is tilted or displaced.
void displace(const Setting& setting, Training<double>& training) {
  Stream stream(setting.seed, 0, 0);
  Vector<double>& mu = training.bigrams.stationary;
  const Index n = mu.size();
  if (setting.value(tilt) > 0) {
    for (double& weight : mu) weight *= std::exp(setting.value(tilt) * stream.normal());
    mu /= mu.sum();
  }
  training.start = mu * Vector<double>::Ones(n).transpose();
  if (setting.value(mean_value) > 0) {
    Vector<double> direction(n);
    for (double& value : direction) value = stream.normal();
    direction.array() -= direction.mean();
    direction *= setting.value(mean_value) * mu.norm() / direction.norm();
    training.start += direction * Vector<double>::Ones(n).transpose();
  }
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Index n = setting.count(tokens);
  const Index positions = setting.count(length);
  const Index support = setting.count(support_knob);
  result.parameters = {{"symbols", "N = 2, T = 3, Q = 2"},
                       {"numerical", fmt::format("N = {}, T = {}, Q = {}", n, positions, support)},
                       {"theta", setting.value(theta)},
                       {"correlation", setting.value(correlation)},
                       {"tilt", setting.value(tilt)},
                       {"mean_value", setting.value(mean_value)},
                       {"seed", setting.seed}};
  if (variant != "no-residual" && !setting.only_what_varies) {
    const Training<Expression> generic =
        two_tokens<Expression>(symbol("a"), symbol("b"), symbol("q_0"), symbol("q_1"));
    const Vector<Expression> left =
        remainder<Expression>(generic, symbol("v"), symbol("u"), variant);
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "field on the family minus its tangent at the reduced rates",
                                       vanishes(Matrix<Expression>(left)), "generic P, q, alpha"));
    const Training<Rational> exact =
        two_tokens<Rational>(Rational(1) / 3, Rational(2) / 7, Rational(3) / 5, Rational(1) / 4);
    const Vector<Rational> rest =
        remainder<Rational>(exact, Rational(5) / 4, Rational(2) / 3, variant);
    result.evidence.push_back(identity(EvidenceKind::exact, "the same at a rational point",
                                       rest.squaredNorm() == 0 ? Truth::yes : Truth::no));
  }
  Training<double> training;
  training.bigrams = random_bigrams(n, positions, support, setting.seed);
  displace(setting, training);
  const Vector<double>& mu = training.bigrams.stationary;
  const double off = (training.bigrams.transition * mu - mu).norm();
  result.hypotheses.push_back({"P mu = mu", off <= 1e-12 ? Truth::yes : Truth::no,
                               fmt::format("|P mu - mu| = {:.3g}", off)});
  if (variant.empty()) {
    result.evidence.push_back(agreement(setting, "mu 1'", distance_of_flows(training, variant)));
  }
  const Matrix<double> ground = mu * Vector<double>::Ones(n).transpose();
  training.start += transfer_start(training.bigrams, setting.value(theta),
                                   setting.value(correlation), setting.seed) -
                    ground;
  // With two tokens nothing is left beside P, so that only a correlation of 1 keeps V(0) mu = mu.
  const double start_off = (training.start * mu - mu).norm();
  result.hypotheses.push_back({"V(0) mu = mu", start_off <= 1e-12 ? Truth::yes : Truth::no,
                               fmt::format("|V(0) mu - mu| = {:.3g}", start_off)});
  if (variant != "full-context-size") {
    result.evidence.push_back(
        agreement(setting, "a transfer start", distance_of_flows(training, variant)));
  }
  return result;
}

}  // namespace

Statement reduction() {
  return {.id = "scb.reduction",
          .claim = "the flow is two numbers from scratch, and three from a transfer start",
          .paper = "arXiv 2410.23438, Section 3",
          .status = "proved in source",
          .hypotheses = {"P mu = mu", "V(0) mu = mu"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"full-context-size", "K_Q in place of K_Q - 1/T"},
                       {"no-residual", "w = 0 from a transfer start"}},
          .knobs = {tokens, length, support_knob, theta, correlation, tilt, mean_value},
          .examine_variant = examine};
}

Erratum uniform_start() {
  return {
      .name = "scb.uniform-start",
      .statement = "scb.reduction",
      .paper_says = "V(0) = 11'/N as the other initialisation, on the constraint set",
      .algebra_says = "V mu = mu fails unless mu is uniform; projecting 11'/N gives mu 1' again",
      .evidence = [] {
        const Bigrams<double> b = random_bigrams(3, 50, 2, 1);
        const Matrix<double> uniform = Matrix<double>::Constant(3, 3, 1.0 / 3);
        // (I - 11'/N) . (I - mu 1') of the distance to mu 1', the constraint set's own point.
        const Matrix<double> ground = b.stationary * Vector<double>::Ones(3).transpose();
        Matrix<double> gap = uniform - ground;
        gap.rowwise() -= gap.colwise().mean().eval();
        gap -= (gap * b.stationary) * Vector<double>::Ones(3).transpose();
        return std::vector<Evidence>{
            bounded(EvidenceKind::numerical, "|V mu - mu| at V = 11'/N, negated",
                    -(uniform * b.stationary - b.stationary).norm(), -1e-3,
                    "mu of a random kernel is not uniform"),
            bounded(EvidenceKind::numerical, "|projection of 11'/N - mu 1'|", gap.norm(), 1e-14,
                    "rounding")};
      }};
}

}  // namespace popgrad::theorems::scb
