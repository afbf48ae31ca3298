#include "presenting/formula_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace popgrad::formula {

// ---- names -------------------------------------------------------------------------------
std::optional<Piece> FormulaReader::name() {
  const std::size_t begin = at_;
  while (is_letter(peek())) ++at_;
  const View letters = text_.substr(begin, at_ - begin);
  if (letters.empty()) return std::nullopt;  // "<1"
  if (auto function = function_or_sum(letters)) return function;
  at_ = begin + letters.size();
  while (is_digit(peek())) ++at_;
  const View number = text_.substr(begin + letters.size(), at_ - begin - letters.size());
  if (is_letter(peek())) return std::nullopt;  // "l2norm"
  std::string base = symbol(letters);
  if (base.empty()) base = word_as_variable(begin, letters);
  if (base.empty()) return std::nullopt;
  std::string lower = number.empty() ? std::string{} : tag("mn", number);
  std::string upper;
  if (!read_index(base, lower, upper)) return std::nullopt;
  if (peek() == '*' && star_behind()) {
    upper += operator_element("∗");
    ++at_;
  }
  upper += power();
  Piece piece;
  piece.scripted = !lower.empty() || !upper.empty();
  piece.markup = scripted(base, lower, upper);
  return with_arguments(piece);
}

// exp(x), ln T, sum_k, and lnln M.
std::optional<Piece> FormulaReader::function_or_sum(View letters) {
  const std::size_t mark = at_;
  if (letters == "lnln") {
    at_ -= 2;
    return applied("ln");
  }
  if (letters == "sum" || letters == "int" || letters == "max" || letters == "min") {
    if (const auto big = big_operator(letters)) return big;
    at_ = mark;
  }
  if (holds(functions, letters)) return applied(letters);
  return std::nullopt;
}

// What begins with a word names something (a rung, a column, a command): code. A power or the index of a
// pair of letters (pt_j) makes it a variable.
std::string FormulaReader::word_as_variable(std::size_t begin, View letters) const {
  const char next = peek();
  const bool pair = letters.size() == 2;
  if (!displayed_ && pair && depth_ > 0 && before(begin) != ' ' && next != '_' && next != '^') {
    // e^{Mt}, O(Tv)
    const std::string two = name_element(letters.substr(0, 1)) + name_element(letters.substr(1));
    return scripts_ == 0 ? row(two) : two;
  }
  const bool variable = displayed_ || begin > 0 || next == '^' || (pair && next == '_');
  return variable ? name_element(letters) : std::string{};
}

// Primes and index behind a name. False if what is behind an underscore is no index.
bool FormulaReader::read_index(std::string& base, std::string& lower, std::string& upper) {
  if (peek() == '\'' && peek(1) == '_') {  // E'_nn
    upper += operator_element("′");
    ++at_;
  } else if (peek() != '_') {
    upper += primes();
  }
  if (peek() != '_') return true;
  ++at_;
  const View rest = text_.substr(at_);
  const auto size = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_letter) -
                                             rest.begin());
  bool more = true;
  if (const View accent = found(accents, rest.substr(0, size)); !accent.empty()) {
    at_ += size;
    base = fmt::format("<mover accent=\"true\">{}<mo>{}</mo></mover>", base, accent);
    more = peek() == '_';
    if (more) ++at_;
  }
  if (more) {
    const std::size_t first = at_;
    const auto part = index();
    if (!part) return false;
    lower += *part;
    const bool one_or_two = at_ - first <= 2 && is_letter(text_[first]);
    if (peek() == '\'' && one_or_two && primed_indices_.contains(text_[at_ - 1])) {
      lower += operator_element("′");
      ++at_;
    }
  }
  upper += primes();
  return true;
}

// z(0), E[b q], h*(N/K): the arguments belong to the name.
std::optional<Piece> FormulaReader::with_arguments(Piece piece) {
  if (peek() != '(' && (peek() != '[' || displayed_)) return piece;
  const std::size_t mark = at_;
  const auto arguments = argument_group();
  if (!arguments) {
    at_ = mark;
    return piece;
  }
  append(piece, *arguments);
  piece.markup = row(piece.markup);
  return piece;
}

std::string FormulaReader::scripted(const std::string& base, const std::string& lower,
                                    const std::string& upper) {
  if (lower.empty() && upper.empty()) return base;
  if (lower.empty()) return tag("msup", base + row(upper));
  if (upper.empty()) return tag("msub", base + row(lower));
  return tag("msubsup", base + row(lower) + row(upper));
}

// Empty for a word.
std::string FormulaReader::symbol(View letters) {
  if (const View letter = found(greek_letters, letters); !letter.empty()) {
    return name_element(letter);
  }
  if (letters.size() == 1) return letters == "o" ? std::string{} : name_element(letters);
  // dt, dL, dalpha: no English words.
  if (letters.front() == 'd' && letters.size() > 1) {
    const View rest = letters.substr(1);
    const View letter = found(greek_letters, rest);
    if (!letter.empty()) return row(name_element("d") + name_element(letter));
    if (rest == "t" || rest == "s" || rest == "x" || rest == "L" || rest == "v" || rest == "y" ||
        rest == "r") {
      return row(name_element("d") + name_element(rest));
    }
  }
  return {};
}

// The star of alpha*, not that of a*b.
bool FormulaReader::star_behind() const {
  const char next = peek(1);
  return !displayed_ && !is_letter(next) && !is_digit(next);
}

// sum_k, sum_{k != n}, max_i: what follows is the next factor.
std::optional<Piece> FormulaReader::big_operator(View letters) {
  std::string limits;
  bool both = false;
  if (peek() == '_') {
    ++at_;
    const auto part = index();
    if (!part) return std::nullopt;
    limits = row(*part);
    const std::string upper = power();
    both = !upper.empty();
    if (both) limits += row(upper);
  } else if (letters != "sum" || displayed_) {
    return std::nullopt;
  }
  if (peek() == ' ') ++at_;
  const auto next = factor();
  if (!next) return std::nullopt;
  const std::string sign = operator_element(letters == "sum"   ? "∑"
                                            : letters == "int" ? "∫"
                                                               : letters);
  Piece piece = *next;
  const std::string head = limits.empty() ? sign : tag(both ? "msubsup" : "msub", sign + limits);
  piece.markup = head + space() + next->markup;
  piece.inside.clear();
  piece.plain_number = false;
  return piece;
}

std::optional<Piece> FormulaReader::argument_group() {
  const char close = peek() == '(' ? ')' : ']';
  const char open = peek();
  ++at_;
  ++depth_;
  const int bars = std::exchange(bars_, 0);
  auto inside = list(true);
  bars_ = bars;
  --depth_;
  if (!inside || peek() != close) return std::nullopt;
  ++at_;
  Piece piece;
  piece.markup = enclosed(open, inside->markup, close);
  piece.inside = inside->markup;
  return piece;
}

// exp(x), ln T, max|z|.
std::optional<Piece> FormulaReader::applied(View function) {
  std::string upper = power();
  std::optional<Piece> argument;
  bool spaced = false;
  if (starts("ln")) {  // lnln
    at_ += 2;
    argument = applied("ln");
    spaced = true;
  } else if (peek() == '(') {
    argument = argument_group();
  } else if (!displayed_ && (peek() == ' ' || (peek() == '|' && bars_ == 0))) {
    spaced = peek() == ' ';
    if (spaced) ++at_;
    if (!factor_may_start() && peek() != '|') return std::nullopt;
    argument = factor();
  }
  if (!argument) return std::nullopt;
  Piece piece;
  if (function == "sqrt" && upper.empty()) {
    piece.markup =
        tag("msqrt", row(argument->inside.empty() ? argument->markup : argument->inside));
    return piece;
  }
  if (function == "abs") {
    piece.markup = row("<mo>|</mo>" + argument->inside + "<mo>|</mo>");
    return piece;
  }
  const std::string head =
      upper.empty() ? name_element(function) : tag("msup", name_element(function) + row(upper));
  piece.markup = row(head + (spaced ? space() : "") + argument->markup);
  return with_index(piece);
}

}  // namespace popgrad::formula
