#pragma once
/// The search for a counterexample to a statement, over all that its hypotheses allow.
///
/// Points are knobs and a seed. Rounds of points that fill the space (Sobol's sequence, shifted at
/// random) and of random ones that favour its borders alternate with descents on the margin from
/// the smallest that was met. A miss counts only if a second examination confirms it; the search
/// goes on after one that is not. A counterexample is shrunk to few and round numbers.
///
/// The sequence of points depends on the seed and on what is found there alone: a budget in time
/// says where it ends, and a search goes on from its own record.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

/// One point that was examined.
struct Trial {
  std::map<std::string, double, std::less<>> point;  ///< of knobs
  std::uint64_t seed = 1;
  Verdict verdict = Verdict::inconclusive;  ///< not_applicable: outside the hypotheses
  /// The claim was missed and a second examination did not see it again: inconclusive, a fault of
  /// the statement.
  bool unconfirmed = false;
  double margin = 0;  ///< relative, what the search descends on; NaN where nothing was decided
  /// share_of_allowed of the comparison nearest to failing, as `verify` has it; NaN where there is none.
  double of_allowed = std::numeric_limits<double>::quiet_NaN();
  std::string what;  ///< that comparison
};

struct SearchRequest {
  std::string control;             ///< search against this control; empty: the claim
  std::uint64_t seed = 1;          ///< trial k examines with seed + k
  std::size_t evaluations = 1000;  ///< at most
  double seconds = 60;             ///< at most, for new evaluations
  double false_alarm = 1e-3;       ///< of the whole search, shared as 6 / (pi k)^2 by trial k
  int jobs = 0;                    ///< threads inside one examination
  std::vector<Trial> earlier;      ///< the record to go on from
  /// Called after every trial with how many there are; returns true to stop.
  std::function<bool(const std::vector<Trial>&)> on_progress;
};

struct SearchResult {
  std::vector<Trial> trials;    ///< in order, all that were examined
  std::size_t outside = 0;      ///< of them, outside the hypotheses
  std::size_t undecided = 0;    ///< of them, inconclusive
  std::size_t unconfirmed = 0;  ///< of those, misses that were not seen again
  std::optional<Trial> first_unconfirmed;
  std::vector<std::string> faults;         ///< of new unconfirmed misses, why
  std::optional<Trial> smallest;           ///< the trial of least margin
  std::optional<Trial> counterexample;     ///< the first that was found
  std::optional<Trial> shrunk;             ///< the same, in few and round numbers
  Finding shrunk_finding;                  ///< of `shrunk`
  std::optional<std::size_t> found_after;  ///< trials until the first counterexample
  double seconds = 0;                      ///< that the new evaluations took
  bool stopped = false;                    ///< from outside
  bool cut_short = false;                  ///< a point was, when the time was over; it is no trial
};

/// Throws InputError if `request.control` is not one of the statement's, or `earlier` is the record
/// of another search.
SearchResult falsify(const Statement& statement, const SearchRequest& request);

}  // namespace popgrad
