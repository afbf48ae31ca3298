#pragma once
/// Latent trees that statements on Theorem 5 draw, and mistakes in its formula.

#include "popgrad/evidence/statement.hpp"
#include "theorems/joma/rungs/latent_tree.hpp"

namespace popgrad::joma::checks {

inline constexpr Knob tree_depth = whole_knob("depth", "layers L below the label", 2, 6, 4);
inline constexpr Knob label_count = whole_knob("labels", "values of the label", 1, 6, 3);
inline constexpr Knob polarity =
    linear_knob("polarity", "largest |rho_0c|, the correlation with the label", 0.2, 1, 0.9);

/// Labels drawn by those knobs and the seed, edges of correlation rho.
LatentTree<double> drawn_tree(const Setting& setting, double rho);

/// What is wrong in the formula of Theorem 5.
struct TreeMistake {
  int edges_missed = 0;       ///< rho^{2H - this}, and likewise at H = L
  int edges_added = 0;        ///< rho^{L - 1 + this} rho_0
  bool mean_squared = false;  ///< E[rho_0c]^2 for E[rho_0c^2] at H = L
  bool no_bias = false;       ///< no rho_0
  bool operator==(const TreeMistake&) const = default;
};

/// The formula of the library, if nothing is wrong.
template <class T>
T cooccurrence_with(const LatentTree<T>& tree, int levels_up, const TreeMistake& mistake) {
  if (mistake == TreeMistake{}) return cooccurrence_formula(tree, levels_up);
  const T mean = mean_polarity(tree);
  const T bias = mistake.no_bias
                     ? T(0)
                     : T(whole_power(tree.rho, tree.depth - 1 + mistake.edges_added) * mean);
  T square(1);
  int edges = 2 * levels_up;
  if (levels_up == tree.depth) {
    edges = 2 * (tree.depth - 1);
    square = mean * mean;
    if (!mistake.mean_squared) {
      square = T(0);
      for (std::size_t c = 0; c < tree.class_law.size(); ++c) {
        square = square + tree.class_law[c] * tree.class_polarity[c] * tree.class_polarity[c];
      }
    }
  }
  square = square * whole_power(tree.rho, edges - mistake.edges_missed);
  return (T(1) + square - T(2) * bias) / (T(2) * (T(1) - bias));
}

}  // namespace popgrad::joma::checks
