#pragma once
/// Data of the rungs with several layers: sequences of tokens, their classes, the latents behind
/// them. There are finitely many sequences, so that every expectation is a sum.
/// Source: the authors' scripts draw_table_1.py and decoder_only_hier.py (arXiv 2310.00535,
/// Table 1) for sets; Theorem 5 for the tree.

#include <cstdint>
#include <vector>

#include "popgrad/scalars/vector.hpp"
#include "theorems/joma/rungs/latent_tree.hpp"

namespace popgrad::joma {

/// Sequences of `length` tokens: padding (token 0), then the content. Latents are binary.
struct SequenceData {
  Index tokens = 0;                          ///< M, with the padding
  Index length = 0;                          ///< L
  std::vector<std::vector<Index>> content;   ///< N lists of at most L tokens 1..M-1
  Vector<double> probability;                ///< of the sequences (N), sums to 1
  Matrix<double> target;                     ///< P[class | sequence] (C x N)
  std::vector<Matrix<double>> latent_means;  ///< E[y | sequence], a level (latents x N) each

  [[nodiscard]] Index sequences() const { return probability.size(); }
  [[nodiscard]] Index classes() const { return target.rows(); }
};

/// Shape of a hierarchy of sets: level 0 lies above the tokens, the last level holds the classes.
struct LatentSets {
  Index tokens = 20;                   ///< M, with the padding
  Index length = 20;                   ///< L
  std::vector<Index> latents{20, 10};  ///< of every level; at least one level
  std::vector<Index> children{3, 3};   ///< size of the sets of every level
};

/// Every latent is a set of `children` different ones of the level below (of tokens, at level 0),
/// drawn uniformly, all sets of a level different. A sequence shows, in ascending order, the tokens
/// under its class: one sequence a class, of equal probability. `latent_means` is 1 for the latents
/// under the class, 0 for the others, of all levels but that of the classes.
/// Throws InputError naming what does not fit: too few different sets, too short sequences.
/// Cost O(sum of latents * children) draws.
SequenceData latent_sets(const LatentSets& shape, std::uint64_t seed);

/// The tree of Theorem 5, two children a node: layer-1 variables are 2, leaves 2^depth; leaf l shows
/// token l + 1 where it is 1, in the order of the leaves. `latent_means` is E[y | leaves], from the
/// layer above the leaves (level 0) up to layer 1.
/// Cost O(C 4^depth 2^(2^depth)), depth <= 4; leaves of probability 0 are left out.
SequenceData latent_tree_sequences(const LatentTree<double>& tree);

/// A sequence a row, token 0 padding before the others; its class is the number of its row. All are
/// equally likely, and there are no latents. `tokens`: M, above the largest token.
/// Throws InputError.
SequenceData given_sequences(const Matrix<double>& rows, Index tokens);

}  // namespace popgrad::joma
