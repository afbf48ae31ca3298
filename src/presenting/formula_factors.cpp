#include "presenting/formula_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace popgrad::formula {

// ---- factors -----------------------------------------------------------------------------
std::optional<Piece> FormulaReader::factor() {
  const std::size_t mark = at_;
  std::optional<Piece> base;
  const char c = peek();
  if (starts("11'")) {
    ++at_;
    base = Piece{tag("mn", "1")};
  } else if (is_digit(c)) {
    base = number();
  } else if (is_letter(c)) {
    base = name();
  } else if (c == '(' || c == '[' || c == '{') {
    base = group();
  } else if (c == '|') {
    base = absolute();
  } else if (c == '<') {
    base = angle();
  }
  if (!base) {
    at_ = mark;
    return std::nullopt;
  }
  return with_power(*base);
}

// "1.2..3.8" is a range.
std::optional<Piece> FormulaReader::number() {
  const std::size_t begin = at_;
  const auto digits = [&] {
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const std::size_t sign = peek(1) == '-' || peek(1) == '+' ? 2 : 1;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign))) {
      at_ += sign;
      while (is_digit(peek())) ++at_;
    }
  };
  digits();
  std::string shown = decimal(text_.substr(begin, at_ - begin));
  if (starts("..") && is_digit(peek(2))) {
    at_ += 2;
    const std::size_t second = at_;
    digits();
    shown += operator_element("…") + decimal(text_.substr(second, at_ - second));
  } else if (starts("..") && is_letter(peek(2)) && !is_letter(peek(3))) {
    shown += operator_element("…") + name_element(text_.substr(at_ + 2, 1));
    at_ += 3;
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

std::optional<Piece> FormulaReader::group() {
  const char open = peek();
  const char close = open == '(' ? ')' : open == '[' ? ']' : '}';
  ++at_;
  ++depth_;
  const int bars = std::exchange(bars_, 0);
  auto inside = list(false);
  bars_ = bars;
  --depth_;
  if (!inside || peek() != close) return std::nullopt;
  ++at_;
  Piece piece;
  piece.markup = enclosed(open, inside->markup, close);
  if (open == '(') piece.inside = inside->markup;
  return with_index(piece);
}

// Parentheses of running text keep their size, nothing in them is stacked.
std::string FormulaReader::enclosed(char open, std::string_view inside, char close) const {
  const std::string_view size = displayed_ ? "" : " stretchy=\"false\"";
  return row(fmt::format("<mo{0}>{1}</mo>{2}<mo{0}>{3}</mo>", size, open, inside, close));
}

// Sums with commas between; of arguments also relations and the bar of a condition.
std::optional<Piece> FormulaReader::list(bool arguments) {
  Piece all;
  while (true) {
    auto part = arguments ? formula() : sum();
    if (!part) return std::nullopt;
    if (all.markup.empty()) {
      all = *part;
    } else {
      append(all, *part);
    }
    std::size_t comma = at_;
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
    at_ = comma + 1;
    while (peek() == ' ') ++at_;
  }
}

std::optional<Piece> FormulaReader::absolute() {
  ++at_;
  ++bars_;
  const auto inside = sum();
  --bars_;
  if (!inside || peek() != '|') return std::nullopt;
  ++at_;
  Piece piece;
  piece.markup = row("<mo>|</mo>" + inside->markup + "<mo>|</mo>");
  return with_index(piece);
}

// "<V,P>" and "<w1', P>".
std::optional<Piece> FormulaReader::angle() {
  ++at_;
  ++depth_;
  const auto left = name();
  const bool comma = left && peek() == ',';
  if (comma) at_ += peek(1) == ' ' ? 2 : 1;
  const auto right = comma ? name() : std::nullopt;
  --depth_;
  if (!right || peek() != '>') return std::nullopt;
  ++at_;
  return Piece{row("<mo>⟨</mo>" + left->markup + "<mo separator=\"true\">,</mo>" + right->markup +
                   "<mo>⟩</mo>")};
}

// |f|_1, (J^2)_11.
std::optional<Piece> FormulaReader::with_index(Piece base) {
  if (peek() != '_') return base;
  ++at_;
  const auto lower = index();
  if (!lower) return std::nullopt;
  base.markup = tag("msub", base.markup + row(*lower));
  base.inside.clear();
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
  base.scripted = true;
  return base;
}

std::string FormulaReader::primes() {
  std::string upper;
  for (; peek() == '\''; ++at_) upper += operator_element("′");
  return upper;
}

std::string FormulaReader::power() {
  if (peek() != '^') return {};
  const std::size_t mark = at_;
  ++at_;
  ++scripts_;
  ++depth_;
  std::optional<Piece> exponent;
  if (peek() == '{') {
    ++at_;
    exponent = sum();
    if (exponent && peek() == '}') {
      ++at_;
    } else {
      exponent.reset();
    }
  } else if (peek() == '(') {
    exponent = group();
    if (exponent && !exponent->inside.empty()) exponent->markup = exponent->inside;
  } else {
    std::string sign;
    if (peek() == '-') {
      sign = operator_element("−");
      ++at_;
    }
    exponent = is_digit(peek()) ? number() : is_letter(peek()) ? name() : std::nullopt;
    if (exponent) exponent->markup = sign + exponent->markup;
  }
  --depth_;
  --scripts_;
  if (!exponent) {
    at_ = mark;
    return {};
  }
  return exponent->markup;
}

// Behind the underscore: letters and digits, more of them behind further underscores, or braces.
std::optional<std::string> FormulaReader::index() {
  if (peek() == '{') {
    ++at_;
    ++scripts_;
    ++depth_;
    const auto inside = formula();
    --depth_;
    --scripts_;
    if (!inside || peek() != '}') return std::nullopt;
    ++at_;
    return inside->markup;
  }
  std::string shown;
  while (true) {
    const std::size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    if (at_ == begin) return std::nullopt;
    shown += index_part(text_.substr(begin, at_ - begin));
    if (peek() != '_') break;
    ++at_;
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
