#include "report/math_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "report/html_page.hpp"

namespace popgrad {
namespace {

using View = std::string_view;
using Pair = std::pair<View, View>;

// ---- names ---------------------------------------------------------------------------------

constexpr std::array<Pair, 38> greek_letters{{
    {"alpha", "α"},    {"beta", "β"},   {"gamma", "γ"}, {"delta", "δ"}, {"epsilon", "ε"},
    {"eps", "ε"},      {"zeta", "ζ"},   {"eta", "η"},   {"theta", "θ"}, {"iota", "ι"},
    {"kappa", "κ"},    {"lambda", "λ"}, {"mu", "μ"},    {"nu", "ν"},    {"xi", "ξ"},
    {"pi", "π"},       {"rho", "ρ"},    {"sigma", "σ"}, {"tau", "τ"},   {"phi", "φ"},
    {"chi", "χ"},      {"psi", "ψ"},    {"omega", "ω"}, {"Gamma", "Γ"}, {"Delta", "Δ"},
    {"Theta", "Θ"},    {"Lambda", "Λ"}, {"Mu", "Μ"},    {"Xi", "Ξ"},    {"Pi", "Π"},
    {"Sigma", "Σ"},    {"Phi", "Φ"},    {"Psi", "Ψ"},   {"Omega", "Ω"}, {"inf", "∞"},
    {"infinity", "∞"}, {"ell", "ℓ"},    {"nabla", "∇"},
}};

constexpr std::array<Pair, 3> accents{{{"bar", "¯"}, {"hat", "^"}, {"tilde", "~"}}};

// Before a parenthesis, or before a factor that stands behind a space.
constexpr std::array<View, 22> functions{
    "exp", "ln",  "log",  "sqrt",    "erf", "sin",  "cos", "tan", "sinh", "cosh", "tanh",
    "max", "min", "diag", "softmax", "abs", "step", "nnz", "Var", "Pr",   "tr",   "sd"};

// Assumptions and versions of a text, not letters with an index.
constexpr std::array<View, 8> labels{"A1", "A2", "A3", "v1", "v2", "v3", "v4", "v5"};

constexpr std::array<Pair, 12> relations{{
    {"<=", "≤"},
    {">=", "≥"},
    {"!=", "≠"},
    {"->", "→"},
    {"<<", "≪"},
    {">>", "≫"},
    {"==", "="},
    {"~", "~"},
    {"=", "="},
    {"<", "&lt;"},
    {">", "&gt;"},
    {"≈", "≈"},
}};

template <class Table>
View found(const Table& table, View name) {
  for (const auto& [key, value] : table) {
    if (key == name) return value;
  }
  return {};
}

template <class List>
bool holds(const List& list, View name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_lower(View s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string tag(View name, View content) { return fmt::format("<{0}>{1}</{0}>", name, content); }
std::string name_element(View text) { return tag("mi", text); }
std::string operator_element(View text) { return tag("mo", text); }
// One element needs no row around it.
std::string row(View content) {
  const std::size_t end = content.find("</");
  const bool one = end != View::npos && content.find("</", end + 1) == View::npos;
  return one && content.ends_with('>') ? std::string(content) : tag("mrow", content);
}

/// A piece of a formula as MathML.
struct Piece {
  std::string markup = {};
  std::string inside = {};  ///< of one pair of parentheses that is all of it; or empty
  bool sure = false;        ///< no running text looks like this
  bool plain_number = false;
  bool scripted = false;  ///< has an index or a power
};

// ---- the reader ----------------------------------------------------------------------------

/// Reads a formula from a place of a text on, as far as it goes.
///
///   formula  = sum { relation sum },   sum = [sign] product { sign product }
///   product  = factor { factor | "*" factor | " o " factor | "/" tight }
///   tight    = factor { factor without a space between }
///   factor   = number | name | function | group, then primes, index, power
class Reader {
 public:
  Reader(View text, bool whole) : text_(text), whole_(whole) { note_primed_indices(); }

  std::size_t at = 0;

  std::optional<Piece> formula() {
    Piece all;
    // "by <= 2 eta_Y/M": the left side is the sentence.
    if (!whole_ && (peek() == '<' || peek() == '>') && angle_end() == 0) {
      all.markup += read_relation().value_or("");
      all.sure = true;
    }
    const auto left = sum(true);
    if (!left) return std::nullopt;
    if (all.markup.empty()) {
      all = *left;
    } else {
      append(all, *left);
    }
    while (one_more_side(all)) {
    }
    return all;
  }

 private:
  View text_;
  bool whole_;
  int depth_ = 0;      ///< of groups
  int scripts_ = 0;    ///< of indices and powers
  int arguments_ = 0;  ///< of functions, that are open
  int bars_ = 0;       ///< of absolute values that are open
  std::set<char> primed_indices_;

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at + ahead < text_.size() ? text_[at + ahead] : '\0';
  }
  [[nodiscard]] bool starts(View what) const { return text_.substr(at).starts_with(what); }
  [[nodiscard]] char before(std::size_t place) const { return place > 0 ? text_[place - 1] : ' '; }

  static void append(Piece& all, const Piece& more) {
    all.markup += more.markup;
    all.inside.clear();
    all.plain_number = false;
    all.sure = all.sure || more.sure;
  }

  // In beta_nn' the prime is that of the second index, and then so it is in f_n' of the same text.
  void note_primed_indices() {
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
  bool one_more_side(Piece& all) {
    const std::size_t mark = at;
    const auto relation = read_relation();
    const auto side = relation ? sum(false) : std::nullopt;
    if (!side) {
      at = mark;
      return false;
    }
    all.markup += *relation;
    all.sure = true;
    append(all, *side);
    return true;
  }

  // With the spaces around it.
  std::optional<std::string> read_relation() {
    const std::size_t mark = at;
    while (peek() == ' ') ++at;
    for (const auto& [plain, sign] : relations) {
      if (!starts(plain)) continue;
      at += plain.size();
      while (peek() == ' ') ++at;
      return operator_element(sign);
    }
    at = mark;
    return std::nullopt;
  }

  // A sign has spaces on both sides or on neither.
  std::optional<std::string> read_sign() {
    const std::size_t mark = at;
    const bool spaced = peek() == ' ';
    if (spaced) ++at;
    std::string sign;
    if (starts("+-")) {
      sign = "±";
      at += 2;
    } else if (peek() == '+' || (peek() == '-' && peek(1) != '>')) {
      sign = peek() == '+' ? "+" : "−";
      ++at;
    }
    if (sign.empty() || (peek() == ' ') != spaced) {
      at = mark;
      return std::nullopt;
    }
    if (spaced) ++at;
    return operator_element(sign);
  }

  // `first`: of the formula, where a sign with a space behind it is a dash unless the text begins.
  std::optional<Piece> sum(bool first) {
    const std::size_t mark = at;
    Piece all;
    if (peek() == '-' || peek() == '+') {
      const bool dash = peek(1) == ' ' && at > 0 && first && depth_ == 0 && !whole_;
      if (dash || peek(1) == '-' || peek(1) == '>') return std::nullopt;
      all.markup = operator_element(peek() == '-' ? "−" : "+");
      ++at;
      if (peek() == ' ') ++at;
    }
    auto term = product();
    if (!term) {
      at = mark;
      return std::nullopt;
    }
    if (all.markup.empty()) {
      all = *term;
    } else {
      append(all, *term);
    }
    while (true) {
      const std::size_t place = at;
      const auto sign = read_sign();
      term = sign ? product() : std::nullopt;
      if (!term) {
        at = place;
        return all;
      }
      all.markup += *sign;
      append(all, *term);
    }
  }

  [[nodiscard]] bool factor_may_start() const {
    const char c = peek();
    return is_letter(c) || is_digit(c) || c == '(' || c == '[' || c == '{' ||
           (c == '|' && bars_ == 0) || angle_end() > 0;
  }

  // What follows a factor in a product; nothing if the product ends here.
  std::optional<Piece> next_factor(const Piece& last) {
    const std::size_t mark = at;
    const auto give_up = [&]() -> std::optional<Piece> {
      at = mark;
      return std::nullopt;
    };
    if (peek() == '*' && peek(1) != ' ' && peek(1) != '*') {
      ++at;
      auto next = factor(false);
      if (!next) return give_up();
      const bool numbers = last.plain_number && next->plain_number;
      next->markup = (numbers ? operator_element("·") : space()) + next->markup;
      next->sure = true;
      return next;
    }
    // "M x M"
    if (starts(" x ") && is_upper(before(at)) && is_upper(peek(3))) {
      at += 3;
      auto next = factor(false);
      if (!next) return give_up();
      next->markup = operator_element("×") + next->markup;
      return next;
    }
    if (starts(" o ")) {
      at += 3;
      auto next = factor(false);
      if (!next) return give_up();
      next->markup = operator_element("∘") + next->markup;
      next->sure = true;
      return next;
    }
    if (whole_) return std::nullopt;
    // q^k.a^k, f_n.f_j
    if (peek() == '.' && is_letter(peek(1)) && last.scripted) {
      ++at;
      auto next = factor(false);
      if (!next || !next->scripted) return give_up();
      next->markup = operator_element("·") + next->markup;
      return next;
    }
    const bool spaced = peek() == ' ';
    if (spaced) ++at;
    if (!factor_may_start()) return give_up();
    // "Theorem 1b", "2305.16380v4"; in a group 2T is a product.
    if (!spaced && last.plain_number && is_letter(peek()) && depth_ == 0) return give_up();
    // Numbers come first in a product; "mu 1'" has the vector of ones in it.
    if (is_digit(peek()) && !(peek() == '1' && (peek(1) == '\'' || starts("11'"))))
      return give_up();
    auto next = factor(spaced);
    if (!next || (spaced && !next->sure)) return give_up();
    if (spaced) next->markup = space() + next->markup;
    return next;
  }

  static std::string space() { return "<mspace width=\"0.17em\"/>"; }

  std::optional<Piece> product() {
    auto all = factor(false);
    if (!all) return std::nullopt;
    Piece last = *all;
    bool one_factor = true;
    while (true) {
      const bool spaced = starts(" / ");
      if (spaced || (peek() == '/' && peek(1) != ' ' && peek(1) != '/')) {
        const std::size_t mark = at;
        at += spaced ? 3 : 1;
        const auto below = tight();
        if (!below || (spaced && !below->sure)) {
          at = mark;
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
  std::optional<Piece> tight() {
    auto all = factor(false);
    if (!all || whole_) return all;
    while (peek() != ' ' && peek() != '*' && factor_may_start()) {
      const std::size_t mark = at;
      const auto next = factor(false);
      if (!next) {
        at = mark;
        break;
      }
      append(*all, *next);
    }
    return all;
  }

  // Stacked on a line of its own; in running text and in powers its parts would be too small.
  [[nodiscard]] Piece fraction(const Piece& above, const Piece& below, bool one_factor) const {
    Piece made;
    made.sure = above.sure || below.sure;
    if (scripts_ > 0 || !whole_) {
      made.markup = row(above.markup + "<mo lspace=\"0\" rspace=\"0\">/</mo>" + below.markup);
      return made;
    }
    const auto bare = [](const Piece& piece, bool single) {
      return row(single && !piece.inside.empty() ? piece.inside : piece.markup);
    };
    made.markup = tag("mfrac", bare(above, one_factor) + bare(below, true));
    return made;
  }

  // ---- factors -----------------------------------------------------------------------------

  // `spaced`: behind another factor and a space, so a word may as well be the next of the sentence.
  std::optional<Piece> factor(bool spaced) {
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
  std::optional<Piece> number() {
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
  static std::string decimal(View number) {
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

  std::optional<Piece> group(bool spaced) {
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
  [[nodiscard]] std::string enclosed(char open, std::string_view inside, char close) const {
    const std::string_view size = whole_ ? "" : " stretchy=\"false\"";
    return row(fmt::format("<mo{0}>{1}</mo>{2}<mo{0}>{3}</mo>", size, open, inside, close));
  }

  // Sums with commas between; of arguments also relations and the bar of a condition.
  std::optional<Piece> list(bool arguments) {
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

  std::optional<Piece> absolute() {
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
  [[nodiscard]] std::size_t angle_end() const {
    if (peek() != '<') return 0;
    const auto name_end = [this](std::size_t place) {
      while (place < text_.size() && (is_letter(text_[place]) || text_[place] == '_')) ++place;
      return place;
    };
    const std::size_t comma = name_end(at + 1);
    if (comma == at + 1 || comma >= text_.size() || text_[comma] != ',') return 0;
    const std::size_t second =
        comma + (comma + 1 < text_.size() && text_[comma + 1] == ' ' ? 2 : 1);
    const std::size_t end = name_end(second);
    return end > second && end < text_.size() && text_[end] == '>' ? end : 0;
  }

  std::optional<Piece> angle(std::size_t end) {
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
    piece.markup = row("<mo>⟨</mo>" + left->markup + "<mo separator=\"true\">,</mo>" +
                       right->markup + "<mo>⟩</mo>");
    piece.sure = true;
    return piece;
  }

  // |f|_1, (J^2)_11.
  std::optional<Piece> with_index(Piece base) {
    if (peek() != '_') return base;
    ++at;
    const auto lower = index();
    if (!lower) return std::nullopt;
    base.markup = tag("msub", base.markup + row(*lower));
    base.inside.clear();
    base.sure = true;
    return base;
  }

  std::optional<Piece> with_power(Piece base) {
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
  std::string primes() {
    std::string upper;
    while (peek() == '\'' && !(peek(1) == 's' && !is_letter(peek(2)) && peek(2) != '_')) {
      // A quote that closes stands behind one that opens.
      if (quote_closes()) break;
      upper += operator_element("′");
      ++at;
    }
    return upper;
  }

  [[nodiscard]] bool quote_closes() const {
    bool open = false;
    for (std::size_t i = 0; i < at; ++i) {
      if (text_[i] == '\'' && (i == 0 || text_[i - 1] == ' ' || text_[i - 1] == '(')) open = true;
    }
    return open;
  }

  std::string power() {
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
  std::optional<std::string> index() {
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

  static std::string index_part(View part) {
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

  // ---- names -------------------------------------------------------------------------------

  // `spaced`: as of a factor.
  std::optional<Piece> name(bool spaced) {
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
  std::optional<Piece> function_or_sum(View letters) {
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
  [[nodiscard]] std::string word_as_variable(std::size_t begin, View letters, View number,
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
  bool read_index(std::string& base, std::string& lower, std::string& upper) {
    if (peek() == '\'' && peek(1) == '_') {  // E'_nn
      upper += operator_element("′");
      ++at;
    } else if (peek() != '_') {
      upper += primes();
    }
    if (peek() != '_') return true;
    ++at;
    const View rest = text_.substr(at);
    const auto size = static_cast<std::size_t>(
        std::find_if_not(rest.begin(), rest.end(), is_letter) - rest.begin());
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
  std::optional<Piece> with_arguments(Piece piece) {
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

  static std::string scripted(const std::string& base, const std::string& lower,
                              const std::string& upper) {
    if (lower.empty() && upper.empty()) return base;
    if (lower.empty()) return tag("msup", base + row(upper));
    if (upper.empty()) return tag("msub", base + row(lower));
    return tag("msubsup", base + row(lower) + row(upper));
  }

  // Empty for a word.
  static std::string symbol(View letters) {
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

  [[nodiscard]] bool followed_by_factor() const {
    return peek() == ' ' && (is_letter(peek(1)) || peek(1) == '(' || peek(1) == '=') &&
           (peek(2) == ')' || peek(2) == '_' || peek(2) == ' ');
  }

  // The star of alpha*, not that of a*b.
  [[nodiscard]] bool star_behind() const {
    const char next = peek(1);
    return !whole_ && !is_letter(next) && !is_digit(next);
  }

  // "a" is an article, and so is "A" that begins a sentence, unless what is around it says otherwise.
  [[nodiscard]] bool letter_means_variable(std::size_t place) const {
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
  std::optional<Piece> big_operator(View letters) {
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

  std::optional<Piece> argument_group() {
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
  std::optional<Piece> applied(View function) {
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
};

// ---- running text --------------------------------------------------------------------------

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

// Options, names of statements (joma.stable-rank), of columns (attention_entropy), of commands in
// quotes; how much of the text it is, 0 if it is none.
std::size_t code(View text) {
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
    if (const std::size_t size = code(text.substr(at)); size > 0) {
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
    Reader reader(text, false);
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
  Reader reader(formula, true);
  const auto read = reader.formula();
  if (!read || reader.at != formula.size()) return {};
  return math(read->markup, true);
}

}  // namespace popgrad
