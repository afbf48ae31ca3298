#pragma once
/// Formulas in plain notation (`alpha_V`, `mu_j^2`, `1/(T K_Q)`) as MathML.

#include <string>
#include <string_view>

namespace popgrad {

/// Text whose formulas and code stand between backticks, as HTML: what reads as a formula becomes MathML,
/// anything else between backticks (options, names of rungs, statements and columns) <code>.
std::string math_html(std::string_view text);

/// As <code>, which may be broken after an underscore: names of columns are long.
std::string code_html(std::string_view text);

/// A whole formula on a line of its own, as `to_text` of an expression writes it: products have a
/// `*`, and every name is that of a variable or a function. Empty if it is none.
std::string formula_mathml(std::string_view formula);

}  // namespace popgrad
