#pragma once
/// Random members of the family of optima under uniform attention (theorems/topic/rungs/value_optimum.hpp).

#include <cstdint>

#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// W_V with a u of its own for every row, block sums spread at random within the blocks; `no_pull`:
/// column 0 without u s, which is no member.
Matrix<Rational> random_value(const TopicLaw<Rational>& law, std::uint64_t seed, bool no_pull);

/// E = W_E' W_E: symmetric, one u for all rows; `disturbed`: blocks with a random positive
/// semidefinite matrix added whose rows and columns add up to 0.
Matrix<Rational> random_gram(const TopicLaw<Rational>& law, const Rational& u, bool disturbed,
                             std::uint64_t seed);

/// Is E C - c' = 0 in fractions on members of three u, disturbed or not, with `error` added to one
/// entry?
Truth gram_is_stationary(const TopicLaw<Rational>& law, std::uint64_t seed, const Rational& error);
/// Is W (C + lambda I) = c' in fractions?
Truth is_optimal(const TopicLaw<Rational>& law, const Matrix<Rational>& value,
                 const Rational& lambda);

}  // namespace popgrad::topic::checks
