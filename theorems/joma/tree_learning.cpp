// Theorem    joma.tree-learning
// Status     argued in source (Section 5)
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 5 with Theorems 4 and 5
// Statement  with mu_l = kappa P[y_l = 1 | y_m = 1], strong co-occurrences are learned first: their
//            ln(1/delta) grow faster by the factor
//              e^{kappa^2 (P_j^2 - P_k^2)/tau}
// Hypotheses H1 nonlinear phi; H2 v(0) = 0; H3 mu_l = kappa P[y_l = 1 | y_m = 1], with rho,
//            rho_0 of a tree (P from joma.tree-cooccurrence)
// Check      order of learning times by height of meeting; ratio of the final rates
// Controls   the reverse order; first powers of P in the exponent
// Uses       rung reduced; latent tree

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "popgrad/joma/closed_form.hpp"
#include "popgrad/joma/latent_tree.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/random.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob scale{.name = "scale",
                     .meaning = "kappa: mu of a token that always occurs with the query",
                     .low = 0.5,
                     .high = 5,
                     .usual = 3,
                     .spacing = Spacing::logarithmic};
constexpr Knob depth{.name = "depth",
                     .meaning = "layers L below the label",
                     .low = 2,
                     .high = 6,
                     .usual = 4,
                     .spacing = Spacing::whole};
constexpr Knob rho{
    .name = "rho", .meaning = "correlation across an edge", .low = 0.1, .high = 0.95, .usual = 0.8};
constexpr Knob polarity{.name = "polarity",
                        .meaning = "rho_01 = -rho_02, the correlation with the label",
                        .low = 0,
                        .high = 0.95,
                        .usual = 0.3};
constexpr Knob start{.name = "start",
                     .meaning = "deviation of v(0), in units of kappa",
                     .low = 1e-4,
                     .high = 1,
                     .usual = 0,
                     .spacing = Spacing::logarithmic,
                     .breaks = "v(0) = 0"};
constexpr Knob noise{.name = "noise",
                     .meaning = "relative deviation of mu_l from kappa P[y_l = 1 | y_m = 1]",
                     .low = 1e-4,
                     .high = 1,
                     .usual = 0,
                     .spacing = Spacing::logarithmic,
                     .breaks = "mu_l = kappa P[y_l = 1 | y_m = 1]"};

/// Tolerance of the solve, a step; delta = 1 - v/mu is off by some ten times that.
constexpr double tolerance = 1e-12;
constexpr double resolved = 100 * tolerance;

void break_hypotheses(const Setting& setting, ReducedInstance<double>& instance,
                      Examination& result) {
  Stream stream(setting.seed, stream_of_drawn_instances, 13);
  if (const double size = setting.value(start); size > 0) {
    for (double& v : instance.start.reshaped()) v = size * setting.value(scale) * stream.normal();
    result.hypotheses.push_back({"v(0) = 0", Truth::no, fmt::format("{} kappa", size)});
  }
  if (const double size = setting.value(noise); size > 0) {
    for (double& mu : instance.target.reshaped()) mu *= std::exp(size * stream.normal());
    result.hypotheses.push_back({"mu_l = kappa P[y_l = 1 | y_m = 1]", Truth::no,
                                 fmt::format("off by a factor e^{}", size)});
  }
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double kappa = setting.value(scale);
  const double tau_value = setting.value(tau);
  LatentTree<double> tree;
  tree.depth = static_cast<int>(setting.count(depth));
  tree.rho = setting.value(rho);
  tree.class_law = {0.5, 0.5};
  tree.class_polarity = {setting.value(polarity), -setting.value(polarity)};
  result.parameters = {{"L", tree.depth}, {"rho", tree.rho},  {"rho_0c", tree.class_polarity},
                       {"kappa", kappa},  {"tau", tau_value}, {"seed", setting.seed}};
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = tau_value;
  instance.target.resize(tree.depth, 1);
  std::vector<double> chance;
  for (int levels = 1; levels <= tree.depth; ++levels) {
    chance.push_back(cooccurrence_by_summation(tree, levels));
    instance.target(levels - 1, 0) = kappa * chance.back();
  }
  instance.start = Matrix<double>::Zero(tree.depth, 1);
  instance.logits = Vector<double>::Zero(tree.depth);
  break_hypotheses(setting, instance, result);
  // Until delta of the weakest token is below 1e-3, and no shorter than 3.
  const double end =
      std::max(3.0, time_to_approach(kappa * chance.back(), 0.0, tau_value, -std::log(1e-4)));

  AnyRung<double> rung = forget_type(ReducedFlow<double>(instance));
  rung.events.clear();
  for (Index l = 0; l < tree.depth; ++l) {
    const double half = instance.target(l, 0) / 2;
    rung.events.push_back(
        {"half", fmt::format("v_{}", l), EventKind::crossing,
         [l, half](const Vector<double>& x, const double&) { return x[l] - half; },
         [l](const Vector<double>& x, const double&) { return x[l]; }});
  }
  SolveRequest<double> request;
  request.end = end;
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = 1e-14;
  request.save_at = equally_spaced(0.0, end, 31);
  request.keep_states = true;
  const Trajectory<double> run = solve(rung, request);

  if (!run.outcome.usable()) return result;

  // delta_j < delta_k at every time for tokens that meet lower down (larger P).
  double worst = -1e300;
  const auto delta = [&](std::size_t k, Index l) {
    return std::max(resolved, std::fabs(1 - run.states[k][l] / instance.target(l, 0)));
  };
  for (std::size_t k = 1; k < run.states.size(); ++k) {
    for (Index l = 1; l < tree.depth; ++l) {
      if (delta(k, l) == resolved) continue;  // both have arrived
      const double lead = std::log(delta(k, l - 1)) - std::log(delta(k, l));
      const double unresolved = 10 * tolerance / delta(k, l - 1);
      worst = std::max(worst, (variant == "reverse-order" ? -lead : lead) - unresolved);
    }
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "ln delta of a stronger minus that of a weaker co-occurrence", worst,
      0.0, "stronger ones are ahead at all 30 times, as far as resolved",
      fmt::format("P = {:.4f}", fmt::join(chance, ", "))));

  // Rates of ln(1/delta) at mu: instantaneous rate exp(v^2/tau) at the end, neighbours.
  double largest = 0;
  // Off by (2 mu^2/tau) delta of the weaker token, both in the exponent.
  double allowed = 0.01;
  for (Index l = 1; l < tree.depth; ++l) {
    const double v_j = run.states.back()[l - 1];
    const double v_k = run.states.back()[l];
    const double measured = std::exp((v_j * v_j - v_k * v_k) / tau_value);
    const double left = std::fabs(1 - v_k / instance.target(l, 0));
    const double mu = kappa * chance[static_cast<std::size_t>(l)];
    allowed = std::max(allowed, std::expm1(4 * mu * mu / tau_value * left));
    const double p_j = chance[static_cast<std::size_t>(l - 1)];
    const double p_k = chance[static_cast<std::size_t>(l)];
    const double exponent = variant == "first-powers"
                                ? kappa * kappa * (p_j - p_k) / tau_value
                                : kappa * kappa * (p_j * p_j - p_k * p_k) / tau_value;
    largest = std::max(largest, std::fabs(measured / std::exp(exponent) - 1));
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "rate ratio at the end against e^{kappa^2 (P_j^2 - P_k^2)/tau}",
      largest, allowed, "off by (2 mu^2/tau) delta of the weaker token, delta < 1e-3"));
  return result;
}

}  // namespace

Statement tree_learning() {
  return {.id = "joma.tree-learning",
          .claim = "on the latent tree strong co-occurrences are learned first",
          .paper = "arXiv 2310.00535, Section 5",
          .status = "argued in source",
          .hypotheses = {"nonlinear phi", "v(0) = 0", "mu_l = kappa P[y_l = 1 | y_m = 1]"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"reverse-order", "weak co-occurrences first"},
                       {"first-powers", "P in place of P^2 in the exponent"}},
          .knobs = {tau, scale, depth, rho, polarity, start, noise},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
