#pragma once
/// What a statement declares once and its check uses by name: clauses of the claim, hypotheses,
/// controls, rivals. All are literals, so that a handle may be constexpr and shared by statements.

#include <string>
#include <string_view>

namespace popgrad {

/// How the truth of a hypothesis is known.
enum class Basis {
  evaluated,        ///< on the instance at hand
  by_construction,  ///< for every instance: the code has no way to break it
  assumed,          ///< not tested; said wherever the verdict is
};
std::string name_of(Basis basis);

/// A hypothesis as a statement declares it.
struct Hypothesis {
  constexpr Hypothesis(const char* own_text, Basis own_basis = Basis::evaluated,
                       const char* own_why = "")
      : text(own_text), basis(own_basis), why(own_why) {}
  std::string_view text;
  Basis basis;
  std::string_view why;  ///< why it is needed, holds by construction, or is not tested
};
/// Holds for every instance: `why` says by what.
constexpr Hypothesis by_construction(const char* text, const char* why) {
  return {text, Basis::by_construction, why};
}
/// Not tested: `why` says why it cannot be.
constexpr Hypothesis assumed(const char* text, const char* why) {
  return {text, Basis::assumed, why};
}

/// A small, plausible mistake that the check has to notice.
struct Control {
  std::string_view name;
  std::string_view what_is_wrong;  ///< the one thing that is broken, and by how much
};

/// Another explanation of the same numbers: no attention, the start, chance, a power for a logarithm. The
/// verdict is inconclusive where it passes as well.
struct Rival {
  std::string_view name;
  std::string_view what;       ///< what it says of the numbers
  std::string_view fits = {};  ///< free constants that it fits to them, "a clock"; empty: none
};

/// One assertion of a claim: a rate, a time, an order, a cause. Comparisons name the one they decide.
struct Clause {
  std::string_view text;
  bool checked = true;  ///< false: no comparison decides it, and the line of the claim says so
};

}  // namespace popgrad
