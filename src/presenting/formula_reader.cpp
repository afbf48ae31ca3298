#include "presenting/formula_reader.hpp"

#include <fmt/format.h>

namespace popgrad::formula {

std::string tag(View name, View content) { return fmt::format("<{0}>{1}</{0}>", name, content); }
std::string name_element(View text) { return tag("mi", text); }
std::string operator_element(View text) { return tag("mo", text); }
std::string row(View content) {
  const std::size_t end = content.find("</");
  const bool one = end != View::npos && content.find("</", end + 1) == View::npos;
  return one && content.ends_with('>') ? std::string(content) : tag("mrow", content);
}

std::optional<std::string> FormulaReader::whole_formula() {
  const auto all = formula();
  if (!all || at_ != text_.size()) return std::nullopt;
  return all->markup;
}

std::optional<Piece> FormulaReader::formula() {
  auto left = sum();
  if (!left && !displayed_) {
    // "by `<= 2 eta/M`": the left side is the sentence.
    const auto relation = read_relation();
    left = relation ? sum() : std::nullopt;
    if (left) left = Piece{*relation + left->markup};
  }
  if (!left) return std::nullopt;
  Piece all = *left;
  while (one_more_side(all)) {
  }
  return all;
}

void FormulaReader::append(Piece& all, const Piece& more) {
  all.markup += more.markup;
  all.inside.clear();
  all.plain_number = false;
}

// In beta_nn' the prime is that of the second index, and then so it is in f_n' of the same text.
void FormulaReader::note_primed_indices() {
  for (std::size_t i = 0; i + 1 < text_.size(); ++i) {
    if (text_[i] != '_') continue;
    std::size_t end = i + 1;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    if (end - i == 3 && end < text_.size() && text_[end] == '\'') {
      primed_indices_.insert(text_[end - 1]);
    }
  }
}

// A relation is taken back if nothing follows that could stand on its right.
bool FormulaReader::one_more_side(Piece& all) {
  const std::size_t mark = at_;
  const auto relation = read_relation();
  const auto side = relation ? sum() : std::nullopt;
  if (!side) {
    at_ = mark;
    return false;
  }
  all.markup += *relation;
  append(all, *side);
  return true;
}

// With the spaces around it.
std::optional<std::string> FormulaReader::read_relation() {
  const std::size_t mark = at_;
  while (peek() == ' ') ++at_;
  for (const auto& [plain, sign] : relations) {
    if (!starts(plain)) continue;
    at_ += plain.size();
    while (peek() == ' ') ++at_;
    return operator_element(sign);
  }
  at_ = mark;
  return std::nullopt;
}

// A sign has spaces on both sides or on neither.
std::optional<std::string> FormulaReader::read_sign() {
  const std::size_t mark = at_;
  const bool spaced = peek() == ' ';
  if (spaced) ++at_;
  std::string sign;
  if (starts("+-")) {
    sign = "±";
    at_ += 2;
  } else if (peek() == '+' || (peek() == '-' && peek(1) != '>')) {
    sign = peek() == '+' ? "+" : "−";
    ++at_;
  }
  if (sign.empty() || (peek() == ' ') != spaced) {
    at_ = mark;
    return std::nullopt;
  }
  if (spaced) ++at_;
  return operator_element(sign);
}

std::optional<Piece> FormulaReader::sum() {
  const std::size_t mark = at_;
  Piece all;
  if (peek() == '-' || peek() == '+') {
    if (peek(1) == '-' || peek(1) == '>') return std::nullopt;
    all.markup = operator_element(peek() == '-' ? "−" : "+");
    ++at_;
    if (peek() == ' ') ++at_;
  }
  auto term = product();
  if (!term) {
    at_ = mark;
    return std::nullopt;
  }
  if (all.markup.empty()) {
    all = *term;
  } else {
    append(all, *term);
  }
  while (true) {
    const std::size_t place = at_;
    const auto sign = read_sign();
    term = sign ? product() : std::nullopt;
    if (!term) {
      at_ = place;
      return all;
    }
    all.markup += *sign;
    append(all, *term);
  }
}

bool FormulaReader::factor_may_start() const {
  const char c = peek();
  return is_letter(c) || is_digit(c) || c == '(' || c == '[' || c == '{' || c == '<' ||
         (c == '|' && bars_ == 0);
}

// What follows a factor in a product; nothing if the product ends here.
std::optional<Piece> FormulaReader::next_factor(const Piece& last) {
  const std::size_t mark = at_;
  const auto give_up = [&]() -> std::optional<Piece> {
    at_ = mark;
    return std::nullopt;
  };
  if (peek() == '*' && peek(1) != ' ' && peek(1) != '*') {
    ++at_;
    auto next = factor();
    if (!next) return give_up();
    const bool numbers = last.plain_number && next->plain_number;
    next->markup = (numbers ? operator_element("·") : space()) + next->markup;
    return next;
  }
  // "M x M"
  if (starts(" x ") && is_upper(before(at_)) && is_upper(peek(3))) {
    at_ += 3;
    auto next = factor();
    if (!next) return give_up();
    next->markup = operator_element("×") + next->markup;
    return next;
  }
  if (starts(" o ")) {
    at_ += 3;
    auto next = factor();
    if (!next) return give_up();
    next->markup = operator_element("∘") + next->markup;
    return next;
  }
  if (displayed_) return std::nullopt;
  // q^k.a^k, f_n.f_j
  if (peek() == '.' && is_letter(peek(1)) && last.scripted) {
    ++at_;
    auto next = factor();
    if (!next || !next->scripted) return give_up();
    next->markup = operator_element("·") + next->markup;
    return next;
  }
  const bool spaced = peek() == ' ';
  if (spaced) ++at_;
  if (!factor_may_start()) return give_up();
  auto next = factor();
  if (!next) return give_up();
  if (spaced) next->markup = space() + next->markup;
  return next;
}

std::optional<Piece> FormulaReader::product() {
  auto all = factor();
  if (!all) return std::nullopt;
  Piece last = *all;
  bool one_factor = true;
  while (true) {
    const bool spaced = starts(" / ");
    if (spaced || (peek() == '/' && peek(1) != ' ' && peek(1) != '/')) {
      const std::size_t mark = at_;
      at_ += spaced ? 3 : 1;
      const auto below = tight();
      if (!below) {
        at_ = mark;
        return all;
      }
      last = *all = fraction(*all, *below, one_factor);
      one_factor = true;
      continue;
    }
    const auto next = next_factor(last);
    if (!next) return all;
    last = *next;
    append(*all, *next);
    one_factor = false;
  }
}

// Below a fraction line without spaces: 1/2T is 1/(2T).
std::optional<Piece> FormulaReader::tight() {
  auto all = factor();
  if (!all || displayed_) return all;
  while (peek() != ' ' && peek() != '*' && factor_may_start()) {
    const std::size_t mark = at_;
    const auto next = factor();
    if (!next) {
      at_ = mark;
      break;
    }
    append(*all, *next);
  }
  return all;
}

// Stacked on a line of its own; in running text and in powers its parts would be too small.
Piece FormulaReader::fraction(const Piece& above, const Piece& below, bool one_factor) const {
  Piece made;
  if (scripts_ > 0 || !displayed_) {
    made.markup = row(above.markup + "<mo lspace=\"0\" rspace=\"0\">/</mo>" + below.markup);
    return made;
  }
  const auto bare = [](const Piece& piece, bool single) {
    return row(single && !piece.inside.empty() ? piece.inside : piece.markup);
  };
  made.markup = tag("mfrac", bare(above, one_factor) + bare(below, true));
  return made;
}

}  // namespace popgrad::formula
