// Theorem    joma.tree-cooccurrence                  Status  proved in source (Theorem 5); H = L
// ours Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 5 Statement  P[y_l = 1 | y_m = 1] =
// (1 + rho^{2H} - 2 rho^{L-1} rho_0) / (2 (1 - rho^{L-1} rho_0)) for
//            leaves that meet H <= L - 1 levels up; at H = L, rho^{2(L-1)} E[rho_0c^2] for rho^{2H}
// Hypotheses H1 layer-1 variables independent given the label; H2 1 - rho^{L-1} rho_0 != 0
// Check      summation over the tree with generic rho, rho_0c, P_c (symbols); sampled pairs
// Controls   rho^H for rho^{2H}; E[rho_0c]^2 for E[rho_0c^2] at H = L
// Uses       latent tree

#include <fmt/format.h>

#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/latent_tree.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

LatentTree<Expression> generic_tree(int depth) {
  LatentTree<Expression> tree;
  tree.depth = depth;
  tree.rho = symbol("rho");
  // Two classes with probabilities p and 1 - p and generic polarities.
  const Expression p = symbol("p");
  tree.class_law = {p, 1 - p};
  tree.class_polarity = {symbol("a"), symbol("b")};
  return tree;
}

template <class T>
T predicted(const LatentTree<T>& tree, int levels_up, std::string_view variant) {
  if (variant == "single-power" && levels_up < tree.depth) {
    const T bias = whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
    return (T(1) + whole_power(tree.rho, levels_up) - T(2) * bias) / (T(2) * (T(1) - bias));
  }
  if (variant == "mean-squared" && levels_up == tree.depth) {
    const T bias = whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
    return (T(1) + bias * bias - T(2) * bias) / (T(2) * (T(1) - bias));
  }
  return cooccurrence_formula(tree, levels_up);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  Truth all = Truth::yes;
  for (int depth = 2; depth <= 4; ++depth) {
    const LatentTree<Expression> tree = generic_tree(depth);
    for (int levels = 1; levels <= depth; ++levels) {
      const Truth one =
          vanishes(cooccurrence_by_summation(tree, levels) - predicted(tree, levels, variant));
      if (one == Truth::no) all = Truth::no;
      if (one == Truth::undecided && all == Truth::yes) all = Truth::undecided;
    }
  }
  result.evidence.push_back(identity(EvidenceKind::symbolic,
                                     "summation over the tree = formula, L = 2..4, H = 1..L", all));

  LatentTree<double> tree;
  tree.depth = 3;
  tree.rho = 0.8;
  tree.class_law = {0.5, 0.3, 0.2};
  tree.class_polarity = {0.9, -0.4, 0.2};
  result.parameters = {{"L", 3},
                       {"rho", 0.8},
                       {"P", {0.5, 0.3, 0.2}},
                       {"rho_0c", {0.9, -0.4, 0.2}},
                       {"seed", setting.seed}};
  const std::uint32_t draws = setting.full ? 4'000'000 : 400'000;
  // One look a level; conditional on y_m = 1 the count of y_l = 1 is binomial.
  const double bound = two_sided_normal_bound(setting.false_alarm, tree.depth);
  for (int levels = 1; levels <= tree.depth; ++levels) {
    double given = 0;
    double both = 0;
    Stream stream(setting.seed, static_cast<std::uint32_t>(levels), 0);
    for (std::uint32_t k = 0; k < draws; ++k) {
      const auto [l, m] = sample_leaf_pair(tree, levels, stream);
      if (!m) continue;
      ++given;
      if (l) ++both;
    }
    const double p = predicted(tree, levels, variant);
    const double z = (both / given - p) / std::sqrt(p * (1 - p) / given);
    result.evidence.push_back(
        bounded(EvidenceKind::statistical,
                fmt::format("|Z| of sampled pairs, L = 3, H = {}", levels), std::fabs(z), bound,
                fmt::format("level {:.2g} over {} looks", setting.false_alarm, tree.depth),
                fmt::format("{:.5f} of {:.0f} pairs, predicted {:.5f}", both / given, given, p)));
  }
  return result;
}

}  // namespace

Statement tree_cooccurrence() {
  return {.id = "joma.tree-cooccurrence",
          .claim = "co-occurrence of two leaves as a function of how high they meet",
          .paper = "arXiv 2310.00535, Theorem 5",
          .status = "proved in source; the form at H = L is derived here",
          .hypotheses = {"layer-1 variables independent given the label"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::statistical},
          .controls = {{"single-power", "rho^H in place of rho^{2H}"},
                       {"mean-squared", "E[rho_0c]^2 in place of E[rho_0c^2] at H = L"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::joma
