#pragma once
/// Exact expectations over normal draws, as array formulas.
///
/// A formula is a polynomial in the draws and in functions of what is affine in them (normal_form.hpp). Of a term a
/// draw is taken, E z_i G = E dG/dz_i for independent standard z (Stein's lemma): paired with every other of its
/// variable, where deltas make labels one and closed loops give extents, and with every function, which gets its
/// slope. Slopes that are weights, as that of erf, change the law of what is left (normal_law.hpp). Products of
/// functions without draws have closed forms or are integrated (kernels.hpp). Terms that are equal after a step are one term, so the steps
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
  std::vector<std::string>
      kernels{};               ///< functions of draws that are met together, such as "erf erf"
  bool by_quadrature = false;  ///< some of them
};

/// Of quadrature: the difference to fewer nodes, two thirds as many in each direction, is an estimate of the error, and as a
/// rule far above it.
enum class Nodes { usual, fewer };

/// Above this many pairings nothing is computed.
inline constexpr double most_pairings = 1e6;

/// Over these draws; other variables are held. Cost: that of the distinct
/// terms, at most one thousandth of a second each for up to a dozen factors.
Expectation expectation(const formulas::Array& formula, const std::vector<NormalDraw>& normals,
                        Nodes nodes = Nodes::usual);

/// Covariance of two formulas, E[f g] - E f E g: axes of `f`, then those of `g`. Of polynomials only the pairings that
/// join a draw of `f` to one of `g` are there, so that nothing cancels; where there are functions of draws the means are
/// taken off, which loses digits by E f E g over the result.
Expectation covariance(const formulas::Array& f, const formulas::Array& g,
                       const std::vector<NormalDraw>& normals);

}  // namespace popgrad::expectations
