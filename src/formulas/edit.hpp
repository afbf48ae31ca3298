#pragma once
/// Formulas changed as text, on their syntax trees: for controls.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace popgrad::formulas {

/// Every part that is written as `part` replaced by `by`; nothing where there is none. Throws FormulaError.
std::optional<std::string> with_replaced(const std::string& formula, const std::string& part,
                                         const std::string& by);
/// Names replaced by formulas.
std::string with_names(const std::string& formula,
                       const std::map<std::string, std::string>& formulas);
/// Names that stand for arrays.
std::set<std::string> names_in(const std::string& formula);

/// A comparison as `right - left` (of > and >= `left - right`), which is >= 0 where it is true; of == and !=
/// the absolute value of the difference.
struct ComparisonText {
  std::string sign;
  std::string difference;
};
/// Nothing for what is no comparison.
std::optional<ComparisonText> comparison_in(const std::string& formula);

/// One small mistake in a formula.
struct Mutant {
  std::string kind;  ///< constant, sign, exponent, index
  std::string what;  ///< "constant 2 -> 2.2 at column 7"
  std::string formula;
};
/// Every constant a tenth larger, or larger by 1 where a fraction has no place, 0.1 for 0; every sign between terms and
/// before one; every exponent, larger by 1, a square root as a cube root; every index, larger or smaller by 1.
std::vector<Mutant> mutants_of(const std::string& formula);

}  // namespace popgrad::formulas
