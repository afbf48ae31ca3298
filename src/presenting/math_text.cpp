#include "presenting/math_text.hpp"

#include <fmt/format.h>

#include "presenting/formula_reader.hpp"
#include "presenting/html_page.hpp"

namespace popgrad {
namespace {

using formula::FormulaReader;

std::string marked_html(std::string_view marked) {
  const auto markup = FormulaReader(marked, false).whole_formula();
  return markup ? fmt::format("<math>{}</math>", *markup) : code_html(marked);
}

}  // namespace

std::string code_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    html += html_text(std::string_view(&c, 1));
    if (c == '_') html += "<wbr>";
  }
  return fmt::format("<code>{}</code>", html);
}

std::string math_html(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t open = text.find('`');
    html += html_text(text.substr(0, open));
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string_view::npos) return html + html_text(text.substr(open));
    html += marked_html(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  return html;
}

std::string formula_mathml(std::string_view formula) {
  const auto markup = FormulaReader(formula, true).whole_formula();
  return markup ? fmt::format("<math display=\"block\">{}</math>", *markup) : std::string{};
}

}  // namespace popgrad
