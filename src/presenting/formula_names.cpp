#include "presenting/formula_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace popgrad::formula {

// ---- names -------------------------------------------------------------------------------
// `spaced`: as of a factor.
std::optional<Piece> FormulaReader::name(bool spaced) {
  const std::size_t begin = at;
  while (is_letter(peek())) ++at;
  const View letters = text_.substr(begin, at - begin);
  if (auto function = function_or_sum(letters)) return function;
  at = begin + letters.size();
  while (is_digit(peek())) ++at;
  const View number = text_.substr(begin + letters.size(), at - begin - letters.size());
  if (is_letter(peek())) return std::nullopt;  // "l2norm"
  if (!whole_ && !number.empty() &&
      (letters.size() > 1 || holds(labels, text_.substr(begin, at - begin)))) {
    return std::nullopt;  // "th1", "A2"
  }
  std::string base = symbol(letters);
  if (base.empty()) {
    base = word_as_variable(begin, letters, number, spaced);
    if (base.empty()) return std::nullopt;
  } else if (letters.size() == 1 && number.empty() && !whole_ && !letter_means_variable(begin)) {
    return std::nullopt;
  }
  std::string lower = number.empty() ? std::string{} : tag("mn", number);
  std::string upper;
  if (!read_index(base, lower, upper)) return std::nullopt;
  if (peek() == '*' && star_behind()) {
    upper += operator_element("∗");
    ++at;
  }
  upper += power();
  Piece piece;
  piece.sure = true;
  piece.scripted = !lower.empty() || !upper.empty();
  piece.markup = scripted(base, lower, upper);
  return with_arguments(piece);
}

// exp(x), ln T, sum_k, and lnln M.
std::optional<Piece> FormulaReader::function_or_sum(View letters) {
  const std::size_t mark = at;
  if (letters == "lnln") {
    at -= 2;
    return applied("ln");
  }
  if (letters == "sum" || letters == "int" || letters == "max" || letters == "min") {
    if (const auto big = big_operator(letters)) return big;
    at = mark;
  }
  if (holds(functions, letters)) return applied(letters);
  return std::nullopt;
}

// A word is a variable where it can be nothing else; empty where it may be a word.
std::string FormulaReader::word_as_variable(std::size_t begin, View letters, View number,
                                            bool spaced) const {
  if (whole_) return name_element(letters);
  if (!number.empty()) return {};
  const char next = peek();
  const char last = before(begin);
  const bool pair = letters.size() == 2;
  const bool marked = next == '_' || next == '^' || next == '\'' || next == '*';
  if (pair && next == '_') return name_element(letters);  // pt_j
  // softmax(logits), E[y | label]
  const bool argument = arguments_ > 0 && (next == ')' || next == ']') &&
                        (last == '(' || last == '[' || text_.substr(0, begin).ends_with(" | "));
  if (argument) return name_element(letters);
  if (pair && depth_ > 0 && !marked && last != ' ') {  // e^{Mt}, O(Tv)
    const std::string two = name_element(letters.substr(0, 1)) + name_element(letters.substr(1));
    return scripts_ == 0 ? row(two) : two;
  }
  const bool rate =
      letters == "rate" && (next == '^' || last == '/' || (spaced && followed_by_factor()));
  return rate || (scripts_ > 0 && !marked) ? name_element(letters) : std::string{};
}

// Primes and index behind a name. False if what is behind an underscore is no index.
bool FormulaReader::read_index(std::string& base, std::string& lower, std::string& upper) {
  if (peek() == '\'' && peek(1) == '_') {  // E'_nn
    upper += operator_element("′");
    ++at;
  } else if (peek() != '_') {
    upper += primes();
  }
  if (peek() != '_') return true;
  ++at;
  const View rest = text_.substr(at);
  const auto size = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_letter) -
                                             rest.begin());
  bool more = true;
  if (const View accent = found(accents, rest.substr(0, size)); !accent.empty()) {
    at += size;
    base = fmt::format("<mover accent=\"true\">{}<mo>{}</mo></mover>", base, accent);
    more = peek() == '_';
    if (more) ++at;
  }
  if (more) {
    const std::size_t first = at;
    const auto part = index();
    if (!part) return false;
    lower += *part;
    const bool one_or_two = at - first <= 2 && is_letter(text_[first]);
    if (peek() == '\'' && one_or_two && primed_indices_.contains(text_[at - 1])) {
      lower += operator_element("′");
      ++at;
    }
  }
  upper += primes();
  return true;
}

// z(0), E[b q], h*(N/K): the arguments belong to the name.
std::optional<Piece> FormulaReader::with_arguments(Piece piece) {
  if (peek() != '(' && (peek() != '[' || whole_)) return piece;
  const std::size_t mark = at;
  const auto arguments = argument_group();
  if (!arguments) {
    at = mark;
    // A word that goes on, as in "T(s)": it is not known what it is.
    if (!whole_ && depth_ == 0) return std::nullopt;
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

bool FormulaReader::followed_by_factor() const {
  return peek() == ' ' && (is_letter(peek(1)) || peek(1) == '(' || peek(1) == '=') &&
         (peek(2) == ')' || peek(2) == '_' || peek(2) == ' ');
}

// The star of alpha*, not that of a*b.
bool FormulaReader::star_behind() const {
  const char next = peek(1);
  return !whole_ && !is_letter(next) && !is_digit(next);
}

// "a" is an article, and so is "A" that begins a sentence, unless what is around it says otherwise.
bool FormulaReader::letter_means_variable(std::size_t place) const {
  const char letter = text_[place];
  if (letter != 'a' && letter != 'A' && letter != 'I') return true;
  std::size_t next = place + 1;
  const bool attached = next < text_.size() && text_[next] != ' ';
  while (next < text_.size() && text_[next] == ' ') ++next;
  const View rest = text_.substr(next);
  // With a space behind it, what follows is no text but has marks of its own.
  if (rest.empty() || attached) return attached || next == place + 1;
  if (rest.starts_with("o ") || View("=+*/^<>").find(rest.front()) != View::npos) return true;
  if (rest.starts_with("- ") || rest.starts_with("-> ")) return true;
  if (letter != 'a') return place > 0 && !View(text_.substr(0, place)).ends_with(". ");
  // "sum a dt_exp" and "a a'", but not "1/K a class".
  std::size_t end = 0;
  while (end < rest.size() && is_letter(rest[end])) ++end;
  const bool word = end > 1 && symbol(rest.substr(0, end)).empty();
  const View left = text_.substr(0, place);
  if (left.ends_with(" o ")) return true;
  if (word) return false;
  return depth_ > 0 || left.ends_with("sum ") || left.ends_with("- ") || left.ends_with("+ ") ||
         left.ends_with("= ");
}

// sum_k, sum_{k != n}, max_i: what follows is the next factor.
std::optional<Piece> FormulaReader::big_operator(View letters) {
  std::string limits;
  bool both = false;
  if (peek() == '_') {
    ++at;
    const auto part = index();
    if (!part) return std::nullopt;
    limits = row(*part);
    const std::string upper = power();
    both = !upper.empty();
    if (both) limits += row(upper);
  } else if (letters != "sum" || whole_) {
    return std::nullopt;
  }
  const bool spaced = peek() == ' ';
  if (spaced) ++at;
  const auto next = factor(spaced);
  if (!next || (spaced && limits.empty() && !next->sure)) return std::nullopt;
  const std::string sign = operator_element(letters == "sum"   ? "∑"
                                            : letters == "int" ? "∫"
                                                               : letters);
  Piece piece = *next;
  const std::string head = limits.empty() ? sign : tag(both ? "msubsup" : "msub", sign + limits);
  piece.markup = head + space() + next->markup;
  piece.inside.clear();
  piece.plain_number = false;
  piece.sure = true;
  return piece;
}

std::optional<Piece> FormulaReader::argument_group() {
  const char close = peek() == '(' ? ')' : ']';
  const char open = peek();
  ++at;
  ++depth_;
  ++arguments_;
  const int bars = std::exchange(bars_, 0);
  auto inside = list(true);
  bars_ = bars;
  --arguments_;
  --depth_;
  if (!inside || peek() != close) return std::nullopt;
  ++at;
  Piece piece;
  piece.markup = enclosed(open, inside->markup, close);
  piece.inside = inside->markup;
  piece.sure = true;
  return piece;
}

// exp(x), ln T, max|z|.
std::optional<Piece> FormulaReader::applied(View function) {
  std::string upper = power();
  std::optional<Piece> argument;
  bool spaced = false;
  if (starts("ln")) {  // lnln
    at += 2;
    argument = applied("ln");
    spaced = true;
  } else if (peek() == '(') {
    argument = argument_group();
  } else if (!whole_ && (peek() == ' ' || (peek() == '|' && bars_ == 0))) {
    spaced = peek() == ' ';
    if (spaced) ++at;
    if (!factor_may_start() && peek() != '|') return std::nullopt;
    argument = factor(spaced);
    if (argument && spaced && !argument->sure && !argument->plain_number) return std::nullopt;
  }
  if (!argument) return std::nullopt;
  Piece piece;
  piece.sure = true;
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
  return piece;
}

}  // namespace popgrad::formula
