#pragma once
/// Mean and covariance of the direction of one training sample where counts of tokens are too many to
/// run through one by one and too few for an expansion: over the nodes of popgrad/fluctuations/draw_nodes.hpp,
/// or over every count, exactly.
///
/// Of each class there are two sets of nodes that are independent of each other, and all is the mean
/// of both. The mean is exact for directions that are quadratic in the frequencies, and the covariance
/// for linear ones; of the rest as much is left to chance as in so many draws, and how much that is
/// the two sets tell. The nodes are the same at every state, so that everything is as smooth in the
/// state as a sample is, and they depend on nothing but the law. Every count is its own second set.

#include <functional>
#include <vector>

#include "popgrad/fluctuations/draw_law.hpp"
#include "popgrad/fluctuations/draw_nodes.hpp"
#include "popgrad/rungs/known_draws.hpp"
#include "popgrad/rungs/rung_fwd.hpp"

namespace popgrad {

/// Directions of samples of a class, of which every column has the frequencies of its tokens: a column
/// each, in the rows that the class moves.
using DirectionsOfSamples = std::function<void(Index, const Matrix<double>&, Matrix<double>&)>;
/// Their weighted sum.
using SumOfSamples =
    std::function<void(Index, const Matrix<double>&, const Vector<double>&, Vector<double>&)>;

class SampledDraws {
 public:
  /// Are there nodes for every class?
  [[nodiscard]] static bool has(const DrawLaw& law);

  enum class Set { nodes, counts };
  /// `moved`: the rows of the state that samples of a class move. `labels`: classes of the law that
  /// follow each other and differ in the label only have the same nodes. Throws
  /// std::invalid_argument if there are none.
  SampledDraws(const DrawLaw& law, Index dimension, std::vector<std::vector<Index>> moved,
               Index labels, Set set = Set::nodes);

  /// E[g], (n). Cost: an evaluation a node.
  [[nodiscard]] Vector<double> mean(const SumOfSamples& sum_of) const;

  /// Sum over classes of matrices between the rows that a class moves, with the weights of the
  /// mean: (n x n) of what `sum_of` makes of frequencies and weights.
  using SumOfMatrices =
      std::function<void(Index, const Matrix<double>&, const Vector<double>&, Matrix<double>&)>;
  [[nodiscard]] Matrix<double> mean_matrix(const SumOfMatrices& sum_of) const;

  /// Cov[g] times the columns of `vectors` (n x m). Cost: an evaluation a node, and for each two
  /// products with the vector, or once with itself where that is less.
  [[nodiscard]] Matrix<double> covariance(const DirectionsOfSamples& directions,
                                          const Matrix<double>& vectors, NodeSet nodes) const;

  /// Nodes of all classes.
  [[nodiscard]] Index nodes() const;

 private:
  // Calls sum_of(class, frequencies, weights, made), then add(rows, probability, made), for each class.
  template <class Made, class SumOf, class Add>
  void each_class(const SumOf& sum_of, const Add& add) const;
  [[nodiscard]] const DrawNodes& set_of(Index cls, NodeSet nodes) const;

  std::vector<double> probabilities_;
  std::vector<std::vector<Index>> moved_;
  Index dimension_, labels_;
  std::vector<std::vector<DrawNodes>>
      nodes_;  ///< by class but for the label: one for each NodeSet, or one of counts
};

/// Relative error of the standard deviation that draws have at x along each of the columns, as the
/// root of the mean over them of its square:
///   |v'(S_1 - S_2) v|/(2 v'(S_1 + S_2) v), S_i the covariance of the one set of nodes and the other
/// 0 where the law is known otherwise. Cost: two covariances.
[[nodiscard]] double sampling_error(const AnyRung<double>& rung, const Vector<double>& x,
                                    const Matrix<double>& columns);

}  // namespace popgrad
