#include "presenting/math_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "presenting/formula_reader.hpp"
#include "presenting/html_page.hpp"

namespace popgrad {
namespace {

using namespace formula;

// Where a formula may end: "T-dependent" and "x.y" go on.
bool ends_here(View text, std::size_t place) {
  if (place >= text.size()) return true;
  const char c = text[place];
  if (c == ' ' || c == ')' || c == ']' || c == ',' || c == ';' || c == ':' || c == '?' ||
      c == '!' || c == '\'' || c == '"' || c == '}') {
    return true;
  }
  if (c == '.') {
    const char next = place + 1 < text.size() ? text[place + 1] : ' ';
    return !is_letter(next) && !is_digit(next);
  }
  return false;
}

bool word_in(View part) {
  std::size_t begin = 0;
  while (begin < part.size()) {
    std::size_t end = part.find('-', begin);
    if (end == View::npos) end = part.size();
    const View piece = part.substr(begin, end - begin);
    std::size_t letters = 0;
    while (letters < piece.size() && is_letter(piece[letters])) ++letters;
    if (letters > 1 && found(greek_letters, piece.substr(0, letters)).empty() &&
        (letters == piece.size() || is_digit(piece[letters]))) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

// "full-batch", "l2-normalised": hyphens, not minus signs.
std::size_t compound_word(View text) {
  std::size_t end = 0;
  bool hyphen = false;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) ||
                               (text[end] == '-' && end > 0 && end + 1 < text.size() &&
                                (is_letter(text[end + 1]) || is_digit(text[end + 1]))))) {
    hyphen = hyphen || text[end] == '-';
    ++end;
  }
  return hyphen && word_in(text.substr(0, end)) && ends_here(text, end) ? end : 0;
}

// Options, names of statements (MODEL.SUBJECT), of columns (attention_entropy), of commands in
// quotes; how much of the text it is, 0 if it is none.
std::size_t length_of_code(View text) {
  const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c); };
  if (text.starts_with("'popgrad ")) {
    const std::size_t end = text.find('\'', 1);
    return end == View::npos ? 0 : end + 1;
  }
  std::size_t end = 0;
  if (text.starts_with("--") && text.size() > 2 && is_name(text[2])) {
    end = 2;
    while (end < text.size() && (is_name(text[end]) || text[end] == '-' || text[end] == '_')) ++end;
    return end;
  }
  while (end < text.size() && (is_name(text[end]) || (text[end] == '-' && end > 0))) ++end;
  const View head = text.substr(0, end);
  if (head.size() < 3 || end + 1 >= text.size() || !is_name(text[end + 1])) return 0;
  if (text[end] == '.' && is_letter(text[end + 1])) {
    const std::size_t dot = end++;
    while (end < text.size() && (is_name(text[end]) || text[end] == '-')) ++end;
    return end - dot > 2 && ends_here(text, end) ? end : 0;
  }
  // A column has a word on both sides of an underscore; lambda_max is a symbol.
  if (text[end] == '_' && is_lower(head) && found(greek_letters, head).empty() && head != "sum" &&
      head != "max" && head != "min") {
    while (end < text.size() && (is_name(text[end]) || text[end] == '_' || text[end] == '-')) ++end;
    return ends_here(text, end) ? end : 0;
  }
  return 0;
}

// Up to a space, or into the parentheses of "O(K^2 + overlaps)", where formulas may stand.
std::size_t word_size(View text) {
  const auto is_part = [](char c) { return is_letter(c) || is_digit(c); };
  const auto letters =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_part) - text.begin());
  const bool opens = letters > 0 && letters < text.size() && text[letters] == '(';
  if (opens && !holds(labels, text.substr(0, letters))) return letters + 1;
  return std::min(text.find(' '), text.size());
}

std::string math(View markup, bool block) {
  return block ? fmt::format("<math display=\"block\">{}</math>", markup)
               : fmt::format("<math>{}</math>", markup);
}

}  // namespace

std::string math_html(std::string_view text) {
  std::string html;
  std::size_t at = 0;
  const auto copy = [&](std::size_t size) {
    html += html_text(text.substr(at, size));
    at += size;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ') {
      copy(1);
      continue;
    }
    if (const std::size_t size = length_of_code(text.substr(at)); size > 0) {
      const bool quoted = c == '\'';
      html += fmt::format("<code>{}</code>", html_text(quoted ? text.substr(at + 1, size - 2)
                                                              : text.substr(at, size)));
      at += size;
      continue;
    }
    if (const std::size_t size = compound_word(text.substr(at)); size > 0) {
      copy(size);
      continue;
    }
    if (c == '-' && text.substr(at).starts_with("-> ")) {
      html += "→";
      at += 2;
      continue;
    }
    if (c == '(' && at + 3 < text.size() && is_letter(text[at + 1]) &&
        text.substr(at + 2).starts_with(") ")) {
      copy(3);  // a label
      continue;
    }
    formula::FormulaReader reader(text, false);
    reader.at = at;
    const auto formula = reader.formula();
    if (formula && formula->sure && reader.at > at && ends_here(text, reader.at)) {
      html += math(formula->markup, false);
      at = reader.at;
      continue;
    }
    // A bracket or a quote may stand before a formula; else the word goes over as it is.
    if (c == '(' || c == '[' || c == '\'' || c == '"') {
      copy(1);
      continue;
    }
    copy(word_size(text.substr(at)));
  }
  return html;
}

std::string formula_mathml(std::string_view formula) {
  formula::FormulaReader reader(formula, true);
  const auto read = reader.formula();
  if (!read || reader.at != formula.size()) return {};
  return math(read->markup, true);
}

}  // namespace popgrad
