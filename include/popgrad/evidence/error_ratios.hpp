#pragma once
/// True errors of measurements over the bounds that are stated for them.
///
/// One instance is examined twice, the second time with sharper solves, shorter steps or limits taken
/// further (popgrad/scalars/refinement.hpp). What a measurement then moves by, over the error parts of both, is at
/// most 1 if the parts are bounds; more is a fault of a part, also where every claim holds.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

struct ErrorRatioRequest {
  std::uint64_t seed = 1;      ///< instance i is drawn and examined with seed + i
  std::size_t instances = 30;  ///< drawn, and as many of least margin of a search
  double seconds = 15;         ///< a third each for drawn ones, the search, and those that it found
  int jobs = 0;                ///< threads inside one examination
  std::function<bool()> on_progress = {};  ///< called after every instance; returns true to stop
};

/// What sharper measurements of one kind changed, over all instances.
struct ErrorRatios {
  std::string sharper;        ///< "solves", "limits", "digits"
  std::size_t instances = 0;  ///< examined twice, inside the hypotheses
  std::size_t numbers = 0;    ///< compared
  /// Of them, with parts in the second examination of at most half of those in the first.
  std::size_t known_better = 0;
  double largest = 0;  ///< ratio
  double moved = 0;    ///< there
  double stated = 0;   ///< there, in the first examination
  std::string what;    ///< the comparison
  std::uint64_t seed = 1;
  std::map<std::string, double, std::less<>> point;  ///< of knobs
};

/// One entry a kind of measurement that can be made sharper, empty if the statement has none.
/// Cost: five examinations an instance at most.
std::vector<ErrorRatios> error_ratios(const Statement& statement, const ErrorRatioRequest& request);

/// The same on one instance, added to what is there; with solves in 40 digits only if `in_digits`.
void add_error_ratios(const Statement& statement, const Setting& setting,
                      std::vector<ErrorRatios>& found, bool in_digits);

}  // namespace popgrad
