#pragma once
/// Texts of statements, errata, figures and observables mark formulas and code as Markdown does: between
/// backticks. HTML sets what is marked (presenting/math_text.hpp), Markdown keeps the marks, and all else
/// shows the text without them.

#include <string>
#include <string_view>

namespace popgrad {

inline std::string plain_text(std::string_view marked) {
  std::string text(marked);
  std::erase(text, '`');
  return text;
}

}  // namespace popgrad
