#pragma once
/// Exact expectations over normal draws, as array formulas.
///
/// A formula is a polynomial in the draws (normal_form.hpp). Of a term a draw z is taken and paired with every other
/// of its variable, E z_i z_j G = delta_ij E G for independent standard z (Stein's lemma, also Isserlis' theorem):
/// deltas make labels one, closed loops give extents. Terms that are equal after a step are one term, so the steps
/// are those between different terms, far fewer than pairings. What is left are einsum terms without draws, for any
/// extents, whose derivatives are those of the formula that is given back.
/// Of a draw with a covariance the delta of the last axis is this matrix.
///
/// Variances enter as atoms, sqrt(var) * z, and their roots are taken together, so that rationals stay rational.

#include <optional>
#include <string>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::expectations {

/// A variable whose entries are normal with mean 0. Without a covariance they are independent, of variance 1; else
/// vectors along its last axis have this covariance matrix, and are independent.
struct NormalDraw {
  formulas::Array variable;
  std::optional<formulas::Array> covariance{};  ///< symmetric; without normal draws
};

struct Expectation {
  std::optional<formulas::Array> mean;  ///< none: `why`
  std::string why;
  std::size_t terms = 0;  ///< of the mean
  double pairings = 0;    ///< of all draws of all terms
};

/// Above this many pairings nothing is computed.
inline constexpr double most_pairings = 1e6;

/// Over these draws; other variables are held. Cost: that of the distinct
/// terms, at most one thousandth of a second each for up to a dozen factors.
Expectation expectation(const formulas::Array& formula, const std::vector<NormalDraw>& normals);

}  // namespace popgrad::expectations
