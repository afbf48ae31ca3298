#pragma once
/// The hierarchical binary latent tree: where co-occurrence of tokens comes from.
///
///   root label c with P_c; layer-1 variables independent given c, E[2y - 1 | c] = -rho_0c;
///   L - 1 noisy edges below layer 1, child = parent with probability (1 + rho)/2; leaves: layer L.
/// Source: arXiv 2310.00535, Theorem 5 and its appendix; the form at H = L is popgrad's.

#include <vector>

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad::joma {

template <class T>
struct LatentTree {
  int depth = 2;                  ///< L >= 2
  T rho{0};                       ///< correlation across an edge, in [-1, 1]
  std::vector<T> class_law;       ///< P_c
  std::vector<T> class_polarity;  ///< rho_0c
};

/// E[rho_0c].
template <class T>
T mean_polarity(const LatentTree<T>& tree) {
  T mean(0);
  for (std::size_t c = 0; c < tree.class_law.size(); ++c) {
    mean = mean + tree.class_law[c] * tree.class_polarity[c];
  }
  return mean;
}

/// P[y_l = 1 | y_m = 1] of two leaves that meet H levels up (1 <= H <= L; H = L: at the label
/// only), by summation over the variables on their paths. Cost O(classes L). Scalars: all.
template <class T>
T cooccurrence_by_summation(const LatentTree<T>& tree, int levels_up) {
  const T stay = (T(1) + tree.rho) / T(2);
  const T flip = (T(1) - tree.rho) / T(2);
  // P[leaf = 1 | ancestor = value] after `edges` noisy edges, summed edge by edge.
  const auto reach = [&](int edges) {
    T from_one(1);
    T from_zero(0);
    for (int e = 0; e < edges; ++e) {
      const T one = stay * from_one + flip * from_zero;
      const T zero = flip * from_one + stay * from_zero;
      from_one = one;
      from_zero = zero;
    }
    return std::pair<T, T>{from_one, from_zero};
  };
  const bool at_label = levels_up == tree.depth;
  T joint(0);
  T single(0);
  for (std::size_t c = 0; c < tree.class_law.size(); ++c) {
    const T one = (T(1) - tree.class_polarity[c]) / T(2);
    const T zero = (T(1) + tree.class_polarity[c]) / T(2);
    const auto [down_one, down_zero] = reach(tree.depth - 1);
    const T leaf = one * down_one + zero * down_zero;
    single = single + tree.class_law[c] * leaf;
    if (at_label) {
      joint = joint + tree.class_law[c] * leaf * leaf;
      continue;
    }
    // The common ancestor lies levels_up above the leaves, depth - levels_up - 1
    // edges below layer 1.
    const auto [to_one, to_zero] = reach(tree.depth - levels_up - 1);
    const T ancestor_one = one * to_one + zero * to_zero;
    const auto [leaf_one, leaf_zero] = reach(levels_up);
    joint = joint + tree.class_law[c] * (ancestor_one * leaf_one * leaf_one +
                                         (T(1) - ancestor_one) * leaf_zero * leaf_zero);
  }
  return joint / single;
}

/// rho^n by repeated multiplication, for every scalar.
template <class T>
T whole_power(const T& base, int exponent) {
  T product(1);
  for (int i = 0; i < exponent; ++i) product = product * base;
  return product;
}

/// Theorem 5:
///   P[y_l = 1 | y_m = 1] = 1/2 (1 + rho^{2H} - 2 rho^{L-1} rho_0) / (1 - rho^{L-1} rho_0)
/// For H = L, rho^{2(L-1)} E[rho_0c^2] stands for rho^{2H}.
template <class T>
T cooccurrence_formula(const LatentTree<T>& tree, int levels_up) {
  const T bias = whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
  T square(0);
  if (levels_up == tree.depth) {
    for (std::size_t c = 0; c < tree.class_law.size(); ++c) {
      square = square + tree.class_law[c] * tree.class_polarity[c] * tree.class_polarity[c];
    }
    square = square * whole_power(tree.rho, 2 * (tree.depth - 1));
  } else {
    square = whole_power(tree.rho, 2 * levels_up);
  }
  return (T(1) + square - T(2) * bias) / (T(2) * (T(1) - bias));
}

/// One draw of the two leaves.
std::pair<bool, bool> sample_leaf_pair(const LatentTree<double>& tree, int levels_up,
                                       Stream& stream);

}  // namespace popgrad::joma
