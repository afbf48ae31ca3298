#pragma once
/// Few counts of tokens in place of all: nodes x_i and weights w_i > 0 with
///   E h(counts/length) = sum_i w_i h(x_i)
/// for every polynomial h of the frequencies up to a degree, of counts that are multinomial.
///
/// The nodes are drawn from the law itself, three for every moment that they have to meet, and the
/// weights are the nearest to equal ones that meet them; nodes whose weight would be negative are
/// left out. What is beyond the degree is left to chance, as in so many draws. The same law and
/// length have the same nodes, whatever else is drawn. Derived here.

#include <cstdint>
#include <span>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

struct DrawNodes {
  Matrix<double> frequencies;  ///< a node a column, (tokens x nodes)
  Vector<double> weights;      ///< sum 1
  int degree = 0;              ///< of the polynomials that are exact
};

/// Has the law such nodes? Of 32 tokens of positive probability at most (their moments to second order
/// make a matrix of (m (m + 1)/2)^2 numbers, which is factored), each of which ten nodes or more are
/// expected to show.
bool has_draw_nodes(const Vector<double>& tokens, Index length);

/// Degree from 2 to 4, the largest of 25 moments at most; 2 at least. `which` and `part` tell
/// independent draws apart. Throws std::invalid_argument where there are none. Cost: 3 M draws of
/// `length` tokens and O(M^3) for M moments, some rounds of it.
DrawNodes draw_nodes(const Vector<double>& tokens, Index length, std::uint64_t which,
                     std::uint32_t part);

/// E prod_r (k_r/L - q_r), over the tokens r of the list, of multinomial counts k of L with law q. A
/// token may be there more than once. With mu(B) the same of one draw, over a part B of the list:
///   F(R, L) = L sum_{B contains the first of R} mu(B) F(R - B, L - 1),  E prod = F(R, L)/L^|R|
/// as the draw that the first factor is of takes some of the others with it. Cost: a term a
/// partition of the list.
double central_moment(const Vector<double>& tokens, Index length, std::span<const Index> list);

}  // namespace popgrad
