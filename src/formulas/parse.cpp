#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "formulas/syntax.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::formulas {

FormulaError::FormulaError(Place place, std::string_view reason)
    : InputError(fmt::format("line {}, column {}: {}", place.line, place.column, reason)),
      place_(place),
      reason_(reason) {}

namespace syntax {
namespace {

// The parser recurses.
constexpr int deepest_nesting = 100;
constexpr std::size_t most_nodes = 100'000;

// What is no formula here though it is one elsewhere, and what to write. The first that stands there counts.
struct Advice {
  std::string_view found, advice;
};
constexpr std::array advices{
    Advice{"&&", "write where(a, b, 0) for 'a and b'"},
    Advice{"&", "write where(a, b, 0) for 'a and b'"},
    Advice{"||", "write where(a, 1, b) for 'a or b'"},
    Advice{"|", "write abs(x), or where(a, 1, b) for 'a or b'"},
    Advice{"^", "write ** for a power"},
    Advice{"~", "write where(a, 0, 1) for 'not a'"},
    Advice{"!", "write where(a, 0, 1) for 'not a'"},
    Advice{"<>", "write !="},
    Advice{"<<", "write * 2**n"},
    Advice{">>", "write // 2**n"},
    Advice{":=", "an entry of its own names an intermediate result"},
    Advice{"=", "write == to compare; an entry of its own names an intermediate result"},
    Advice{"...", "write the slices, as in x[:, 0]"},
    Advice{".*", "write *, which goes by entries"},
    Advice{"./", "write /, which goes by entries"},
    Advice{".^", "write **, which goes by entries"},
    Advice{"->", "einsum takes its labels as a string, as in einsum('ij,j->i', A, x)"},
    Advice{"'", "write .T for the transposed"},
    Advice{";", "one entry is one formula"},
    Advice{"{", "write ( or ["},
    Advice{"}", "write ) or ]"},
    Advice{"$", "a formula is in NumPy's notation"},
    Advice{"\\", "a formula is in NumPy's notation"},
    Advice{"#", "a comment stands in the file, outside of the formula"},
    Advice{"\u2212", "write -"},
    Advice{"\u2013", "write -"},
    Advice{"\u00D7", "write *"},
    Advice{"\u00B7", "write *"},
    Advice{"\u22C5", "write *"},
    Advice{"\u00B2", "write **2"},
    Advice{"\u00B3", "write **3"},
    Advice{"\u22A4", "write .T"},
    Advice{"\u221A", "write sqrt"},
    Advice{"\u2211", "write sum"},
    Advice{"\u221E", "write inf"},
    Advice{"\u2264", "write <="},
    Advice{"\u2265", "write >="},
    Advice{"\u2260", "write !="},
};
constexpr std::array word_advices{
    Advice{"and", "write where(a, b, 0) for 'a and b'"},
    Advice{"or", "write where(a, 1, b) for 'a or b'"},
    Advice{"not", "write where(a, 0, 1) for 'not a'"},
    Advice{"if", "write where(condition, a, b)"},
    Advice{"else", "write where(condition, a, b)"},
    Advice{"for", "sums go over axes: sum(x, axis=0), A @ x, einsum('ij,j->i', A, x)"},
    Advice{"in", "write a comparison, as in x == 1"},
    Advice{"is", "write a comparison, as in x == 1"},
    Advice{"True", "write 1"},
    Advice{"False", "write 0"},
    Advice{"lambda", "take another name, such as lambda_"},
};
// Python's other words.
constexpr std::array<std::string_view, 23> keywords{
    "as",   "assert", "async",  "await",   "break", "class",  "continue", "def",
    "del",  "elif",   "except", "finally", "from",  "global", "import",   "nonlocal",
    "pass", "raise",  "return", "try",     "while", "with",   "yield"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return begins_name(c) || is_digit(c); }

class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> names, Place start)
      : text_(text), names_(names), place_(start) {}

  Tree read() {
    comparison();
    if (next() != '\0' || at_ < text_.size()) refuse_here();
    return std::move(tree_);
  }

 private:
  std::string_view text_;
  std::span<const std::string> names_;
  std::size_t at_ = 0;
  std::size_t placed_ = 0;  // place_ is the place of this character
  Place place_;
  int nesting_ = 0;
  Tree tree_;
  std::vector<std::size_t> heights_;  // of the nodes, the leaves being 0

  // ---- places, messages ----

  // Columns count characters, not bytes.
  Place here() {
    for (; placed_ < at_; ++placed_) {
      const auto byte = static_cast<unsigned char>(text_[placed_]);
      if (byte == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if ((byte & 0xC0U) != 0x80U) {
        ++place_.column;
      }
    }
    return place_;
  }
  [[noreturn]] void refuse(std::string_view why) { throw FormulaError(here(), why); }

  // A character that may have several bytes.
  [[nodiscard]] std::string character() const {
    const auto first = static_cast<unsigned char>(text_[at_]);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC0 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                                            : 4;
    const std::string_view bytes = text_.substr(at_, size);
    const bool whole =
        size > 0 && bytes.size() == size && std::all_of(bytes.begin() + 1, bytes.end(), [](char c) {
          return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
        });
    return whole ? std::string(bytes) : fmt::format("\\x{:02X}", first);
  }
  [[nodiscard]] std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  void refuse_words() {
    const std::string_view found = word();
    for (const Advice& a : word_advices) {
      if (found == a.found) refuse(fmt::format("'{}' is a word of Python: {}", found, a.advice));
    }
    if (std::find(keywords.begin(), keywords.end(), found) != keywords.end())
      refuse(fmt::format("'{}' is a word of Python: take another name", found));
  }
  // What stands here is no part of a formula, or stands in a wrong place.
  [[noreturn]] void refuse_here() {
    if (at_ >= text_.size()) refuse("it ends too early: a number or a name is missing");
    refuse_words();
    const std::string_view rest = text_.substr(at_);
    for (const Advice& a : advices) {
      if (rest.starts_with(a.found))
        refuse(fmt::format("'{}' is no operation here: {}", a.found, a.advice));
    }
    const char c = rest.front();
    if (c == ')' || c == ']') refuse(fmt::format("{} closes nothing", c));
    if (c == ',') refuse("a comma separates arguments, indices and entries of a list only");
    if (c == ':') refuse("a colon stands in an index only, between at most three numbers");
    if (c == '(' || c == '[' || c == '`' || in_name(c))
      refuse("an operation is missing, such as *");
    if (c == '"' || c == '.' || std::string_view("+-*/%@<>").find(c) != std::string_view::npos)
      refuse(fmt::format("{} stands where a number or a name is missing", c));
    refuse(fmt::format(
        "{} is no part of a formula; names of other characters than letters, digits and _ "
        "stand between backticks",
        character()));
  }

  // ---- characters ----

  char next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] char after(std::size_t k = 1) const {
    return at_ + k < text_.size() ? text_[at_ + k] : '\0';
  }

  // ---- nodes ----

  std::size_t add(Node node) {
    std::size_t height = 0;
    for (const std::size_t part : node.parts) {
      if (part != absent) height = std::max(height, heights_[part] + 1);
    }
    if (height > deepest_tree) {
      throw FormulaError(node.place,
                         fmt::format("it is a chain of more than {} operations: give parts "
                                     "of it entries of their own, or use sum or prod",
                                     deepest_tree));
    }
    if (tree_.nodes.size() == most_nodes)
      refuse(fmt::format("it has more than {} parts: give arrays as data", most_nodes));
    heights_.push_back(height);
    tree_.nodes.push_back(std::move(node));
    return tree_.nodes.size() - 1;
  }
  template <class F>
  auto nested(const F& read) {
    if (++nesting_ > deepest_nesting)
      refuse(fmt::format("it is nested deeper than {}", deepest_nesting));
    const auto made = read();
    --nesting_;
    return made;
  }

  // ---- the grammar, from loose to tight ----

  std::string_view comparison_here() {
    const char c = next();
    if (c != '<' && c != '>' && c != '=' && c != '!') return {};
    if (after() == '=') return text_.substr(at_, 2);
    if ((c == '<' && after() != '>' && after() != '<') || (c == '>' && after() != '>'))
      return text_.substr(at_, 1);
    return {};
  }
  std::size_t comparison() {
    std::size_t left = sum();
    const std::string_view op = comparison_here();
    if (op.empty()) return left;
    const Place place = here();
    at_ += op.size();
    const std::size_t right = sum();
    if (!comparison_here().empty())
      refuse("comparisons are not chained: write where(a < b, b < c, 0)");
    return add({Kind::binary, place, std::string(op), {left, right}, {}});
  }
  std::size_t sum() {
    std::size_t left = product();
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      if (c == '-' && after() == '>') break;
      const Place place = here();
      ++at_;
      const std::size_t right = product();
      left = add({Kind::binary, place, std::string(1, c), {left, right}, {}});
    }
    return left;
  }
  std::size_t product() {
    std::size_t left = sign();
    for (char c = next(); c == '*' || c == '/' || c == '%' || c == '@'; c = next()) {
      const Place place = here();
      const std::string op(c == '/' && after() == '/' ? 2 : 1, c);
      at_ += op.size();
      const std::size_t right = sign();
      left = add({Kind::binary, place, op, {left, right}, {}});
    }
    return left;
  }
  std::size_t sign() {
    const char c = next();
    if (c != '-' && c != '+') return power();
    const Place place = here();
    ++at_;
    const std::size_t operand = nested([&] { return sign(); });
    return add({Kind::unary, place, std::string(1, c), {operand}, {}});
  }
  std::size_t power() {
    const std::size_t base = postfix();
    if (next() != '*' || after() != '*') return base;
    const Place place = here();
    at_ += 2;
    const std::size_t exponent = nested([&] { return sign(); });
    return add({Kind::binary, place, "**", {base, exponent}, {}});
  }
  std::size_t postfix() {
    std::size_t object = atom();
    for (;;) {
      const char c = next();
      if (c == '[') {
        object = subscript(object);
      } else if (c == '.' && begins_name(after())) {
        const Place place = here();
        ++at_;
        const std::string name(word());
        at_ += name.size();
        refuse_method(tree_.nodes[object], name, place);
        object = add({Kind::attribute, place, name, {object}, {}});
      } else {
        return object;
      }
    }
  }
  // x.sum(), np.exp(x)
  void refuse_method(const Node& object, const std::string& name, Place place) {
    if (next() != '(') return;
    const bool is_module =
        object.kind == Kind::name && (object.text == "np" || object.text == "numpy" ||
                                      object.text == "math" || object.text == "jnp");
    throw FormulaError(place, is_module
                                  ? fmt::format("functions have no prefix: write {}(...)", name)
                                  : fmt::format("arrays have no methods: write {}(x)", name));
  }

  std::size_t atom() {
    const char c = next();
    if (c == '(') return parenthesis();
    if (c == '[') {
      const Place place = here();
      ++at_;
      std::vector<std::size_t> parts = entries(']', "a ] is missing");
      return add({Kind::list, place, "", std::move(parts), {}});
    }
    if (c == '`') return quoted_name();
    if (const std::string_view name = listed_name(); !name.empty()) {
      const Place place = here();
      at_ += name.size();
      const bool plain = std::all_of(name.begin(), name.end(), in_name);
      if (plain && next() == '(') return call(std::string(name), place);
      return add({Kind::name, place, std::string(name), {}, {}});
    }
    if (is_digit(c) || (c == '.' && is_digit(after()))) return number();
    if (c == '\'' || c == '"') return string(c);
    if (!begins_name(c)) refuse_here();
    refuse_words();
    const Place place = here();
    const std::string name(word());
    if (name == "None") refuse("'None' stands in an index only, as in x[:, None]");
    at_ += name.size();
    if (next() == '(') return call(name, place);
    return add({Kind::name, place, name, {}, {}});
  }
  std::size_t parenthesis() {
    const Place place = here();
    ++at_;
    if (take(')')) return add({Kind::tuple, place, "", {}, {}});
    const std::size_t first = nested([&] { return comparison(); });
    if (take(')')) return first;
    std::vector<std::size_t> parts{first};
    if (!take(',')) refuse_open("a ) is missing");
    const std::vector<std::size_t> others = entries(')', "a ) is missing");
    parts.insert(parts.end(), others.begin(), others.end());
    return add({Kind::tuple, place, "", std::move(parts), {}});
  }
  // Separated by commas, up to the bracket that closes them.
  std::vector<std::size_t> entries(char close, std::string_view missing) {
    std::vector<std::size_t> parts;
    while (!take(close)) {
      parts.push_back(nested([&] { return comparison(); }));
      if (take(close)) break;
      if (!take(',')) refuse_open(missing);
    }
    return parts;
  }
  // In a bracket, where neither a comma nor its end stands.
  [[noreturn]] void refuse_open(std::string_view missing) {
    if (const char c = next(); c == '\0' || c == ')' || c == ']') refuse(missing);
    refuse_here();
  }

  // The longest of the listed names that stands here and does not go on.
  [[nodiscard]] std::string_view listed_name() const {
    std::string_view best;
    for (const std::string& name : names_) {
      const std::size_t end = at_ + name.size();
      const bool goes_on =
          end < text_.size() && in_name(text_[end]) && !name.empty() && in_name(name.back());
      if (name.size() > best.size() && text_.substr(at_).starts_with(name) && !goes_on) best = name;
    }
    return best;
  }
  std::size_t quoted_name() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) refuse("a ` is missing");
    const Place place = here();
    std::string name(text_.substr(at_ + 1, end - at_ - 1));
    if (name.empty()) refuse("a name is missing between the backticks");
    at_ = end + 1;
    return add({Kind::name, place, std::move(name), {}, {}});
  }
  std::size_t string(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse(fmt::format("a {} is missing", quote));
    const Place place = here();
    std::string inside(text_.substr(at_ + 1, end - at_ - 1));
    if (inside.find_first_of("\\\n") != std::string::npos)
      refuse("a string has no \\ and no end of line");
    at_ = end + 1;
    return add({Kind::string, place, std::move(inside), {}, {}});
  }
  std::size_t number() {
    const Place place = here();
    std::string digits;
    const auto run = [&](std::size_t k) {
      while (is_digit(after(k)) ||
             (after(k) == '_' && is_digit(after(k + 1)) && k > 0 && is_digit(after(k - 1)))) {
        if (after(k) != '_') digits += after(k);
        ++k;
      }
      return k;
    };
    std::size_t end = run(0);
    if (after(0) == '0' && end > 1 && after(end) != '.' && after(end) != 'e' && after(end) != 'E' &&
        digits.find_first_not_of('0') != std::string::npos) {
      refuse("a whole number does not begin with 0");
    }
    if (after(end) == '.') {
      digits += '.';
      end = run(end + 1);
    }
    if (const char e = after(end); e == 'e' || e == 'E') {
      const std::size_t sign = after(end + 1) == '-' || after(end + 1) == '+' ? 1 : 0;
      if (is_digit(after(end + 1 + sign))) {
        digits += text_.substr(at_ + end, 1 + sign);
        end = run(end + 1 + sign);
      }
    }
    if (const char c = after(end); in_name(c)) {
      if (c == 'j' || c == 'J') refuse("complex numbers are not supported");
      if (digits == "0" && std::string_view("xXoObB").find(c) != std::string_view::npos)
        refuse("write the number as a decimal");
      at_ += end;
      refuse_words();
      refuse("an operation is missing, such as *");
    }
    try {
      static_cast<void>(parse_number(digits));
    } catch (const std::invalid_argument&) {
      refuse("the exponent of a number must be between -100000 and 100000");
    }
    at_ += end;
    return add({Kind::number, place, std::move(digits), {}, {}});
  }

  std::size_t call(const std::string& name, Place place) {
    ++at_;
    Node node{Kind::call, place, name, {}, {}};
    while (!take(')')) {
      next();
      if (const std::string_view keyword = keyword_here(); !keyword.empty()) {
        if (std::find(node.keywords.begin(), node.keywords.end(), keyword) != node.keywords.end())
          refuse(fmt::format("'{}' is given twice", keyword));
        node.keywords.emplace_back(keyword);
        at_ += keyword.size();
        take('=');
      } else if (!node.keywords.empty()) {
        refuse("an argument without a name stands before those with names");
      } else if (next() == '*') {
        refuse("arguments are written one by one, without *");
      }
      node.parts.push_back(nested([&] { return comparison(); }));
      if (take(')')) break;
      if (!take(',')) refuse_open(fmt::format("{} has no ) at its end", name));
    }
    return add(std::move(node));
  }
  // The NAME of `NAME=`.
  [[nodiscard]] std::string_view keyword_here() const {
    if (at_ >= text_.size() || !begins_name(text_[at_])) return {};
    const std::string_view name = word();
    std::size_t end = at_ + name.size();
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
    const bool assigns = end < text_.size() && text_[end] == '=' &&
                         (end + 1 == text_.size() || text_[end + 1] != '=');
    return assigns ? name : std::string_view();
  }

  std::size_t subscript(std::size_t object) {
    const Place place = here();
    ++at_;
    Node node{Kind::subscript, place, "", {object}, {}};
    while (!take(']')) {
      const std::size_t part = index();
      node.parts.push_back(part);
      if (take(']')) break;
      if (!take(',')) refuse_open("a ] is missing");
    }
    if (node.parts.size() == 1) throw FormulaError(place, "an index is missing in [ ]");
    // x[(i, j)] is x[i, j].
    if (const Node& only = tree_.nodes[node.parts[1]];
        node.parts.size() == 2 && only.kind == Kind::tuple) {
      if (only.parts.empty()) throw FormulaError(place, "an index is missing in [ ]");
      const std::vector<std::size_t> parts = only.parts;
      tree_.nodes.pop_back();
      heights_.pop_back();
      node.parts.resize(1);
      node.parts.insert(node.parts.end(), parts.begin(), parts.end());
    }
    return add(std::move(node));
  }
  std::size_t index() {
    next();
    const Place place = here();
    if (const std::string_view name = word(); name == "None" || name == "newaxis") {
      at_ += name.size();
      return add({Kind::new_axis, place, "", {}, {}});
    }
    const auto bound = [&] {
      const char c = next();
      return c == ':' || c == ',' || c == ']' ? absent : nested([&] { return comparison(); });
    };
    if (next() == ']' || next() == ',') refuse("an index is missing");
    std::vector<std::size_t> bounds{bound()};
    while (bounds.size() < 3 && take(':')) bounds.push_back(bound());
    if (bounds.size() == 1) return bounds.front();
    bounds.resize(3, absent);
    return add({Kind::slice, place, "", std::move(bounds), {}});
  }
};

}  // namespace

bool is_plain_name(std::string_view name) {
  const auto is_it = [&](std::string_view word) { return word == name; };
  const auto is_found = [&](const Advice& a) { return a.found == name; };
  return !name.empty() && begins_name(name.front()) &&
         std::all_of(name.begin(), name.end(), in_name) && name != "None" &&
         std::none_of(keywords.begin(), keywords.end(), is_it) &&
         std::none_of(word_advices.begin(), word_advices.end(), is_found);
}

Tree parse(std::string_view text, std::span<const std::string> names, Place start) {
  return Parser(text, names, start).read();
}

}  // namespace syntax
}  // namespace popgrad::formulas
