#pragma once
/// Formulas in plain notation (`alpha_V`, `mu_j^2`, `1/(T K_Q)`) as MathML.

#include <string>
#include <string_view>

namespace popgrad {

/// Running text with formulas in it, as claims and errata have it, as HTML. Only what is surely a
/// formula becomes MathML, and names of options, statements and columns become <code>; all else
/// stays the text that it is.
std::string math_html(std::string_view text);

/// A whole formula on a line of its own, as `to_text` of an expression writes it: products have a
/// `*`, and every name is that of a variable or a function. Empty if it is none.
std::string formula_mathml(std::string_view formula);

}  // namespace popgrad
