#include "presenting/formula_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace popgrad::formula {

// ---- factors -----------------------------------------------------------------------------
// `spaced`: behind another factor and a space, so a word may as well be the next of the sentence.
std::optional<Piece> FormulaReader::factor(bool spaced) {
  const std::size_t mark = at;
  std::optional<Piece> base;
  const char c = peek();
  if (starts("11'")) {
    ++at;
    base = Piece{tag("mn", "1")};
    base->sure = true;
  } else if (is_digit(c)) {
    base = number();
  } else if (is_letter(c)) {
    base = name(spaced);
  } else if (c == '(' || c == '[' || c == '{') {
    base = group(spaced);
  } else if (c == '|') {
    base = absolute();
  } else if (const std::size_t end = angle_end(); end > 0) {
    base = angle(end);
  }
  if (!base) {
    at = mark;
    return std::nullopt;
  }
  return with_power(*base);
}

// "1.2..3.8" is a range.
std::optional<Piece> FormulaReader::number() {
  const std::size_t begin = at;
  const auto digits = [&] {
    while (is_digit(peek())) ++at;
    if (peek() == '.' && is_digit(peek(1))) {
      ++at;
      while (is_digit(peek())) ++at;
    }
    const std::size_t sign = peek(1) == '-' || peek(1) == '+' ? 2 : 1;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign))) {
      at += sign;
      while (is_digit(peek())) ++at;
    }
  };
  digits();
  std::string shown = decimal(text_.substr(begin, at - begin));
  if (starts("..") && is_digit(peek(2))) {
    at += 2;
    const std::size_t second = at;
    digits();
    shown += operator_element("…") + decimal(text_.substr(second, at - second));
  } else if (starts("..") && is_letter(peek(2)) && !is_letter(peek(3))) {
    shown += operator_element("…") + name_element(text_.substr(at + 2, 1));
    at += 3;
  }
  Piece piece{std::move(shown)};
  piece.plain_number = true;
  return piece;
}

// 3e5 is 3 times a power of ten.
std::string FormulaReader::decimal(View number) {
  const std::size_t e = number.find_first_of("eE");
  if (e == View::npos) return tag("mn", number);
  const View mantissa = number.substr(0, e);
  View exponent = number.substr(e + 1);
  const bool negative = exponent.front() == '-';
  while (exponent.size() > 1 && !(exponent.front() >= '1' && exponent.front() <= '9')) {
    exponent.remove_prefix(1);
  }
  const std::string power = tag(
      "msup", tag("mn", "10") +
                  row((negative ? operator_element("−") : std::string{}) + tag("mn", exponent)));
  return mantissa == "1" ? power : row(tag("mn", mantissa) + operator_element("·") + power);
}

std::optional<Piece> FormulaReader::group(bool spaced) {
  const char open = peek();
  const char close = open == '(' ? ')' : open == '[' ? ']' : '}';
  const std::size_t begin = at;
  ++at;
  ++depth_;
  const int bars = std::exchange(bars_, 0);
  auto inside = list(false);
  bars_ = bars;
  --depth_;
  if (!inside || peek() != close) return std::nullopt;
  ++at;
  // "(c)" between words is a label.
  if (at - begin == 3 && is_letter(text_[begin + 1]) && before(begin) == ' ' &&
      (spaced || depth_ == 0) && (peek() == ' ' || peek() == '\0' || peek() == ':')) {
    return std::nullopt;
  }
  // "[MASK]" and the like do not come here; a lone bracket is no group of running text.
  if (open == '[' && !spaced && depth_ == 0 && !whole_) return std::nullopt;
  Piece piece;
  piece.markup = enclosed(open, inside->markup, close);
  if (open == '(') piece.inside = inside->markup;
  piece.sure = inside->sure;
  return with_index(piece);
}

// Parentheses of running text keep their size, nothing in them is stacked.
std::string FormulaReader::enclosed(char open, std::string_view inside, char close) const {
  const std::string_view size = whole_ ? "" : " stretchy=\"false\"";
  return row(fmt::format("<mo{0}>{1}</mo>{2}<mo{0}>{3}</mo>", size, open, inside, close));
}

// Sums with commas between; of arguments also relations and the bar of a condition.
std::optional<Piece> FormulaReader::list(bool arguments) {
  Piece all;
  while (true) {
    auto part = arguments ? formula() : sum(false);
    if (!part) return std::nullopt;
    if (all.markup.empty()) {
      all = *part;
    } else {
      append(all, *part);
    }
    std::size_t comma = at;
    while (comma < text_.size() && text_[comma] == ' ') ++comma;
    const char mark = comma < text_.size() ? text_[comma] : '\0';
    if (mark == ',') {
      all.markup += "<mo separator=\"true\">,</mo>";
    } else if (mark == '|' && arguments) {
      all.markup += operator_element("∣");
    } else {
      return all;
    }
    all.inside.clear();
    at = comma + 1;
    while (peek() == ' ') ++at;
  }
}

std::optional<Piece> FormulaReader::absolute() {
  ++at;
  ++bars_;
  const auto inside = sum(false);
  --bars_;
  if (!inside || peek() != '|') return std::nullopt;
  ++at;
  Piece piece;
  piece.markup = row("<mo>|</mo>" + inside->markup + "<mo>|</mo>");
  piece.sure = true;
  return with_index(piece);
}

// "<V,P>" and "<V, P>"; 0 if there is none.
std::size_t FormulaReader::angle_end() const {
  if (peek() != '<') return 0;
  const auto name_end = [this](std::size_t place) {
    while (place < text_.size() && (is_letter(text_[place]) || text_[place] == '_')) ++place;
    return place;
  };
  const std::size_t comma = name_end(at + 1);
  if (comma == at + 1 || comma >= text_.size() || text_[comma] != ',') return 0;
  const std::size_t second = comma + (comma + 1 < text_.size() && text_[comma + 1] == ' ' ? 2 : 1);
  const std::size_t end = name_end(second);
  return end > second && end < text_.size() && text_[end] == '>' ? end : 0;
}

std::optional<Piece> FormulaReader::angle(std::size_t end) {
  ++at;
  ++depth_;
  const auto left = name(false);
  if (peek() == ',') ++at;
  if (peek() == ' ') ++at;
  const auto right = left ? name(false) : std::nullopt;
  --depth_;
  if (!right || at != end) return std::nullopt;
  ++at;
  Piece piece;
  piece.markup = row("<mo>⟨</mo>" + left->markup + "<mo separator=\"true\">,</mo>" + right->markup +
                     "<mo>⟩</mo>");
  piece.sure = true;
  return piece;
}

// |f|_1, (J^2)_11.
std::optional<Piece> FormulaReader::with_index(Piece base) {
  if (peek() != '_') return base;
  ++at;
  const auto lower = index();
  if (!lower) return std::nullopt;
  base.markup = tag("msub", base.markup + row(*lower));
  base.inside.clear();
  base.sure = true;
  return base;
}

std::optional<Piece> FormulaReader::with_power(Piece base) {
  std::string upper;
  upper += primes();
  upper += power();
  if (upper.empty()) return base;
  base.markup = tag("msup", base.markup + row(upper));
  base.inside.clear();
  base.plain_number = false;
  base.sure = base.scripted = true;
  return base;
}

// "unit's" and "13's" have none.
std::string FormulaReader::primes() {
  std::string upper;
  while (peek() == '\'' && !(peek(1) == 's' && !is_letter(peek(2)) && peek(2) != '_')) {
    // A quote that closes stands behind one that opens.
    if (quote_closes()) break;
    upper += operator_element("′");
    ++at;
  }
  return upper;
}

bool FormulaReader::quote_closes() const {
  bool open = false;
  for (std::size_t i = 0; i < at; ++i) {
    if (text_[i] == '\'' && (i == 0 || text_[i - 1] == ' ' || text_[i - 1] == '(')) open = true;
  }
  return open;
}

std::string FormulaReader::power() {
  if (peek() != '^') return {};
  const std::size_t mark = at;
  ++at;
  ++scripts_;
  ++depth_;
  std::optional<Piece> exponent;
  if (peek() == '{') {
    ++at;
    exponent = sum(false);
    if (exponent && peek() == '}') {
      ++at;
    } else {
      exponent.reset();
    }
  } else if (peek() == '(') {
    exponent = group(false);
    if (exponent && !exponent->inside.empty()) exponent->markup = exponent->inside;
  } else {
    std::string sign;
    if (peek() == '-') {
      sign = operator_element("−");
      ++at;
    }
    exponent = is_digit(peek()) ? number() : is_letter(peek()) ? name(false) : std::nullopt;
    if (exponent) exponent->markup = sign + exponent->markup;
  }
  --depth_;
  --scripts_;
  if (!exponent) {
    at = mark;
    return {};
  }
  return exponent->markup;
}

// Behind the underscore: letters and digits, more of them behind further underscores, or braces.
std::optional<std::string> FormulaReader::index() {
  if (peek() == '{') {
    ++at;
    ++scripts_;
    ++depth_;
    const auto inside = formula();
    --depth_;
    --scripts_;
    if (!inside || peek() != '}') return std::nullopt;
    ++at;
    return inside->markup;
  }
  std::string shown;
  while (true) {
    const std::size_t begin = at;
    while (is_letter(peek()) || is_digit(peek())) ++at;
    if (at == begin) return std::nullopt;
    shown += index_part(text_.substr(begin, at - begin));
    if (peek() != '_') break;
    ++at;
    shown += "<mo separator=\"true\">,</mo>";
  }
  return shown;
}

std::string FormulaReader::index_part(View part) {
  if (const View letter = found(greek_letters, part); !letter.empty()) {
    return name_element(letter);
  }
  const bool letters = std::all_of(part.begin(), part.end(), is_letter);
  if (letters && part.size() > 2) return tag("mtext", part);
  if (std::all_of(part.begin(), part.end(), is_digit)) return tag("mn", part);
  std::string shown;
  for (const char c : part) {
    shown += is_digit(c) ? tag("mn", View(&c, 1)) : name_element(View(&c, 1));
  }
  return shown;
}

}  // namespace popgrad::formula
