#pragma once
/// Random classes inside Assumption 2 of the paper, both of its bounds included.
///
///   |lambda_1(E)| < 1/K,  |lambda_i(E)| >= 6/sqrt(M) for all i, which imply M > 36 K^2
/// Source: arXiv 2305.16380, Assumption 2.

#include <optional>

#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

/// What random classes are to be like.
struct OverlapDraw {
  Index classes = 2;   ///< K
  Index commons = 1;   ///< common tokens; one is in every class, several each in 0.7 of them
  Index distinct = 3;  ///< distinct tokens a class
  double share = 0.5;  ///< lambda_1(E) in units of 1/K, below 1
};

/// Classes of one query: weights uniform in (0.1, 1), those of common tokens scaled so that lambda_1
/// is as asked for; with the smallest |lambda_i|. Nothing if some class shares no token.
struct OverlapClasses {
  SequenceClasses<double> classes;  ///< M: the tokens that it has
  double least = 0;                 ///< min |lambda_i(E)|
};
std::optional<OverlapClasses> drawn_overlap(Stream& stream, const OverlapDraw& draw);

/// The first drawn classes that meet Assumption 2 at some M <= 1e6, with M = part (6/least)^2, part
/// >= 1. Throws std::invalid_argument if a thousand draws do not.
SequenceClasses<double> inside_assumption_2(Stream& stream, const OverlapDraw& draw, double part);

/// Eigenvalues of E at z = 0, ascending (K).
Vector<double> overlap_spectrum(const SequenceClasses<double>& classes);

}  // namespace popgrad::scan_snap::checks
