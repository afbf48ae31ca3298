// Theorem    joma.tree-learning                      Status  argued in source (Section 5)
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 5 with Theorems 4 and 5
// Statement  with mu_l = kappa P[y_l = 1 | y_m = 1], strong co-occurrences are learned first: their
//            ln(1/delta) grow faster by e^{kappa^2 (P_j^2 - P_k^2)/tau}
// Hypotheses H1 nonlinear phi; H2 v(0) = 0; H3 rho, rho_0 of a tree (P from joma.tree-cooccurrence)
// Check      order of learning times by height of meeting; ratio of the final rates
// Controls   the reverse order; first powers of P in the exponent
// Uses       rung reduced; latent tree

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/joma/latent_tree.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  using namespace popgrad::joma;
  Examination result;
  constexpr double kappa = 3.0;
  constexpr double tau = 2.0;
  LatentTree<double> tree;
  tree.depth = 4;
  tree.rho = 0.8;
  tree.class_law = {0.5, 0.5};
  tree.class_polarity = {0.3, -0.3};
  result.parameters = {
      {"L", 4}, {"rho", 0.8}, {"rho_0c", {0.3, -0.3}}, {"kappa", kappa}, {"tau", tau}};
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = tau;
  instance.target.resize(tree.depth, 1);
  std::vector<double> chance;
  for (int levels = 1; levels <= tree.depth; ++levels) {
    chance.push_back(cooccurrence_by_summation(tree, levels));
    instance.target(levels - 1, 0) = kappa * chance.back();
  }
  instance.start = Matrix<double>::Zero(tree.depth, 1);
  instance.logits = Vector<double>::Zero(tree.depth);

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
  request.end = 3.0;
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-14;
  request.save_at = equally_spaced(0.0, 3.0, 31);
  request.keep_states = true;
  const Trajectory<double> run = solve(rung, request);

  // delta_j < delta_k at every time for tokens that meet lower down (larger P).
  double worst = -1e300;
  const auto delta = [&](std::size_t k, Index l) {
    return 1 - run.states[k][l] / instance.target(l, 0);
  };
  for (std::size_t k = 1; k < run.states.size(); ++k) {
    for (Index l = 1; l < tree.depth; ++l) {
      const double lead = std::log(delta(k, l - 1)) - std::log(delta(k, l));
      worst = std::max(worst, variant == "reverse-order" ? -lead : lead);
    }
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "ln delta of a stronger minus that of a weaker co-occurrence",
                                    worst, 0.0, "stronger ones are ahead at all 30 times, strictly",
                                    fmt::format("P = {:.4f}, {:.4f}, {:.4f}, {:.4f}", chance[0],
                                                chance[1], chance[2], chance[3])));

  // Rates of ln(1/delta) at mu: instantaneous rate exp(v^2/tau) at the end, two weakest tokens.
  double largest = 0;
  for (Index l = 1; l < tree.depth; ++l) {
    const double v_j = run.states.back()[l - 1];
    const double v_k = run.states.back()[l];
    const double measured = std::exp((v_j * v_j - v_k * v_k) / tau);
    const double p_j = chance[static_cast<std::size_t>(l - 1)];
    const double p_k = chance[static_cast<std::size_t>(l)];
    const double exponent = variant == "first-powers"
                                ? kappa * kappa * (p_j - p_k) / tau
                                : kappa * kappa * (p_j * p_j - p_k * p_k) / tau;
    largest = std::max(largest, std::fabs(measured / std::exp(exponent) - 1));
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "rate ratio at t = 3 against e^{kappa^2 (P_j^2 - P_k^2)/tau}",
      largest, 0.01, "off by (2 mu^2/tau) delta of the weaker token, delta < 1e-3"));
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
          .examine = examine};
}

}  // namespace popgrad::theorems::joma
