#pragma once
/// What statements on scan and snap read off solutions of its rungs.

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "popgrad/evidence/examination.hpp"
#include "popgrad/evidence/solved.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {

/// rhs of `reduced` at a state, with h = 1/M in its place: gamma drops out of the quotients of z'
/// and B' then, also at the start, where it is 0. For double and Real, as what follows.
template <class T>
Vector<T> rates_while_learning(const ReducedFlow<T>& rung, Index tokens, const Vector<T>& state);

/// The training on another scalar, on which the laws sum to 1 as well.
template <class T>
TrainingInstance<T> training_in(const TrainingInstance<double>& training);

/// `count` numbers at every save point of a solution, save after save.
template <class T>
std::vector<Quantity> read_all(const SolvedIn<T>& run, Index count,
                               const std::type_identity_t<FunctionalsIn<T>>& numbers);

/// Adds what inverting the Gram matrix of the features rounds to numbers that read_all has read off
/// rung reduced: K condition numbers of the largest of them, or of an entry of the inverse
/// times an overlap, from products of which xi_n is made. It need not show in how they change with
/// the state, as features at logits near 0 do not change. In Real it is far below a double's.
template <class T>
void add_rounding_of_gram(const SolvedIn<T>& run, const ReducedFlow<T>& rung,
                          std::vector<Quantity>& numbers);

/// Euclidean norm, and |a - b|/|b|.
Quantity norm(const std::vector<Quantity>& numbers);
Quantity distance(const std::vector<Quantity>& a, const std::vector<Quantity>& b);

/// P(n) = 1/K up to rounding.
inline constexpr Hypothesis equally_likely{"classes are equally likely"};
void require_equally_likely(Examination& it, const Vector<double>& weight);

}  // namespace popgrad::scan_snap::checks
