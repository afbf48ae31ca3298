#include "formulas/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "scalars/latex_name.hpp"

namespace popgrad::formulas::syntax {
namespace {

// From loose to tight, as in Python.
enum Tightness { of_comparison, of_sum, of_product, of_sign, of_power, of_atom };

Tightness tightness_of(std::string_view op) {
  if (op == "+" || op == "-") return of_sum;
  if (op == "**") return of_power;
  return op == "*" || op == "/" || op == "//" || op == "%" || op == "@" ? of_product
                                                                        : of_comparison;
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& all, std::string_view word) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

struct Text {
  std::string text;
  Tightness tightness = of_atom;
};

/// One notation; the tree is visited without recursion.
class Printer {
 public:
  explicit Printer(const Tree& tree) : tree_(tree) {}
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;
  virtual ~Printer() = default;

  std::string print() {
    texts_.reserve(tree_.nodes.size());
    for (at_ = 0; at_ < tree_.nodes.size(); ++at_) texts_.push_back(node(tree_.nodes[at_]));
    return texts_.back().text;
  }

 protected:
  const Tree& tree_;
  std::size_t at_ = 0;  // the node that is printed

  [[nodiscard]] const std::string& text(std::size_t part) const { return texts_[part].text; }
  [[nodiscard]] virtual std::string bracketed(const std::string& text) const {
    return "(" + text + ")";
  }
  /// In brackets if it binds less tightly than `least`.
  [[nodiscard]] std::string within(std::size_t part, Tightness least) const {
    return texts_[part].tightness < least ? bracketed(text(part)) : text(part);
  }
  [[nodiscard]] std::string list(const std::vector<std::size_t>& parts,
                                 std::size_t begin = 0) const {
    std::string all;
    for (std::size_t k = begin; k < parts.size(); ++k)
      all += (k == begin ? "" : ", ") + text(parts[k]);
    return all;
  }

  virtual Text name(const Node& n) = 0;
  virtual Text number(const Node& n) { return {n.text}; }
  virtual Text string(const Node& n) = 0;
  virtual Text tuple(const Node& n) {
    return {bracketed(list(n.parts) + (n.parts.size() == 1 ? "," : ""))};
  }
  virtual Text entries(const Node& n) { return {"[" + list(n.parts) + "]"}; }
  virtual Text binary(const Node& n) = 0;
  virtual Text attribute(const Node& n) = 0;
  virtual Text subscript(const Node& n) = 0;
  virtual Text slice(const Node& n) {
    const auto bound = [&](std::size_t k) { return n.parts[k] == absent ? "" : text(n.parts[k]); };
    return {bound(0) + ":" + bound(1) + (n.parts[2] == absent ? "" : ":" + bound(2))};
  }
  virtual Text new_axis() = 0;
  virtual Text call(const Node& n) = 0;

  /// Left of the operation, the operation, right of it: equal ones are done from the left, powers from the right.
  [[nodiscard]] Text chain(const Node& n, std::string_view op) const {
    const Tightness own = tightness_of(n.text);
    const bool is_comparison = own == of_comparison;
    const auto tighter = static_cast<Tightness>(own + 1);
    return {within(n.parts[0], is_comparison ? tighter : own) + std::string(op) +
                within(n.parts[1], tighter),
            own};
  }

 private:
  std::vector<Text> texts_;

  Text node(const Node& n) {
    switch (n.kind) {
      case Kind::number:
        return number(n);
      case Kind::string:
        return string(n);
      case Kind::name:
        return name(n);
      case Kind::tuple:
        return tuple(n);
      case Kind::list:
        return entries(n);
      case Kind::unary:
        return {n.text + within(n.parts[0], of_sign), of_sign};
      case Kind::binary:
        return binary(n);
      case Kind::attribute:
        return attribute(n);
      case Kind::subscript:
        return subscript(n);
      case Kind::slice:
        return slice(n);
      case Kind::new_axis:
        return new_axis();
      case Kind::call:
        return call(n);
    }
    return {};
  }
};

class NumpyPrinter : public Printer {
 public:
  using Printer::Printer;

 protected:
  Text name(const Node& n) override {
    return {is_plain_name(n.text) ? n.text : "`" + n.text + "`"};
  }
  Text string(const Node& n) override {
    const char quote = n.text.find('\'') == std::string::npos ? '\'' : '"';
    return {quote + n.text + quote};
  }
  Text binary(const Node& n) override {
    if (n.text != "**") return chain(n, " " + n.text + " ");
    return {within(n.parts[0], of_atom) + "**" + within(n.parts[1], of_sign), of_power};
  }
  Text attribute(const Node& n) override { return {object(n) + "." + n.text}; }
  Text subscript(const Node& n) override { return {object(n) + "[" + list(n.parts, 1) + "]"}; }
  Text new_axis() override { return {"None"}; }
  Text call(const Node& n) override { return {n.text + "(" + arguments(n, "=") + ")"}; }

  [[nodiscard]] std::string arguments(const Node& n, std::string_view assign) const {
    const std::size_t plain = n.parts.size() - n.keywords.size();
    std::string all;
    for (std::size_t k = 0; k < n.parts.size(); ++k) {
      all += k == 0 ? "" : ", ";
      if (k >= plain) all += n.keywords[k - plain] + std::string(assign);
      all += text(n.parts[k]);
    }
    return all;
  }

 private:
  // A point after a number would be its own.
  [[nodiscard]] std::string object(const Node& n) const {
    const std::size_t of = n.parts[0];
    return tree_.nodes[of].kind == Kind::number ? bracketed(text(of)) : within(of, of_atom);
  }
};

class CppPrinter : public NumpyPrinter {
 public:
  CppPrinter(const Tree& tree, std::span<const int> ranks) : NumpyPrinter(tree), ranks_(ranks) {}

 protected:
  // A size is a double, and a whole number where it counts.
  Text name(const Node& n) override {
    std::string made;
    for (const char c : n.text) made += is_plain_name(std::string("a_") + c) ? c : '_';
    if (made == "pi") return {"xt::numeric_constants<double>::PI"};
    return {counts() && rank(at_) == 0 ? fmt::format("std::size_t({})", made) : made};
  }
  // 1 / 2 is a half.
  Text number(const Node& n) override {
    const bool whole = n.text.find_first_of(".eE") == std::string::npos;
    return {whole && !counts() ? n.text + ".0" : n.text};
  }
  Text string(const Node& n) override { return {"\"" + n.text + "\""}; }
  Text tuple(const Node& n) override { return {"{" + list(n.parts) + "}"}; }
  Text entries(const Node& n) override { return {"xt::xarray<double>{" + list(n.parts) + "}"}; }
  Text binary(const Node& n) override {
    const auto of = [&](std::string_view function) {
      return Text{fmt::format("{}({}, {})", function, text(n.parts[0]), text(n.parts[1]))};
    };
    if (n.text == "**") return of("pow");
    if (n.text == "@") return of("xt::linalg::dot");
    // Of arrays, the signs compare them as wholes.
    if (n.text == "==") return of("xt::equal");
    if (n.text == "!=") return of("xt::not_equal");
    const std::string quotient =
        fmt::format("{} / {}", within(n.parts[0], of_product), within(n.parts[1], of_sign));
    if (n.text == "//") return {fmt::format("floor({})", quotient)};
    // That of C++ has the sign of the first.
    if (n.text == "%")
      return {fmt::format("{} - {} * floor({})", within(n.parts[0], of_sum),
                          within(n.parts[1], of_sign), quotient),
              of_sum};
    return chain(n, " " + n.text + " ");
  }
  Text attribute(const Node& n) override {
    return {n.text == "T" ? fmt::format("transpose({})", text(n.parts[0]))
                          : NumpyPrinter::attribute(n).text};
  }
  Text subscript(const Node& n) override {
    std::string all;
    for (std::size_t k = 1; k < n.parts.size(); ++k) {
      const std::string& index = text(n.parts[k]);
      all += rank(n.parts[k]) > 0 ? fmt::format(", xt::keep({})", index) : ", " + index;
    }
    return {fmt::format("xt::view({}{})", text(n.parts[0]), all)};
  }
  Text slice(const Node& n) override {
    if (n.parts == std::vector{absent, absent, absent}) return {"xt::all()"};
    std::string all;
    for (std::size_t k = 0; k < (n.parts[2] == absent ? 2 : 3); ++k) {
      const std::size_t part = n.parts[k];
      all += (k == 0 ? "" : ", ") + (part == absent ? "xt::placeholders::_" : text(part));
    }
    return {"xt::range(" + all + ")"};
  }
  Text new_axis() override { return {"xt::newaxis()"}; }
  Text call(const Node& n) override {
    const bool is_shape = !n.parts.empty() && tree_.nodes[n.parts[0]].kind == Kind::tuple;
    const auto extents = [](const std::string& listed) {
      return fmt::format("std::vector<std::size_t>{}", listed);
    };
    if (n.text == "zeros" || n.text == "ones") {
      const std::string shape = is_shape ? text(n.parts[0]) : "{" + list(n.parts) + "}";
      return {fmt::format("xt::{}<double>({})", n.text, extents(shape))};
    }
    if (n.text == "reshape" && n.parts.size() == 2)
      return {fmt::format("xt::reshape_view({}, {})", text(n.parts[0]), extents(text(n.parts[1])))};
    if (n.text == "concatenate" && tree_.nodes[n.parts[0]].kind == Kind::list) {
      const std::string axis = n.parts.size() == 2 ? text(n.parts[1]) : "0";
      return {fmt::format("concatenate(xt::xtuple({}), {})", list(tree_.nodes[n.parts[0]].parts),
                          axis)};
    }
    if (n.text == "eye" && n.parts.size() == 2)
      return {fmt::format("xt::eye<double>({})", extents("{" + list(n.parts) + "}"))};
    if (n.text == "diag")
      return {fmt::format("xt::{}({})", rank(at_) == 1 ? "diagonal" : n.text, list(n.parts))};
    static const std::map<std::string_view, std::string_view> elsewhere{
        {"eye", "xt::eye<double>"},
        {"arange", "xt::arange<double>"},
        {"inv", "xt::linalg::inv"},
        {"solve", "xt::linalg::solve"},
        {"trace", "xt::linalg::trace"},
        {"outer", "xt::linalg::outer"},
        {"eigvalsh", "xt::linalg::eigvalsh"},
        {"cholesky", "xt::linalg::cholesky"},
        {"norm", "xt::norm_l2"},
        {"max", "amax"},
        {"min", "amin"}};
    const auto found = elsewhere.find(n.text);
    return {
        fmt::format("{}({})", found == elsewhere.end() ? n.text : found->second, arguments_of(n))};
  }

 private:
  // Whether the node is an index, a shape or an axis.
  [[nodiscard]] bool counts() {
    if (counts_.empty()) {
      counts_.assign(tree_.nodes.size(), 0);
      for (std::size_t k = tree_.nodes.size(); k-- > 0;) mark(k);
    }
    return counts_[at_] != 0;
  }
  void mark(std::size_t k) {
    const Node& n = tree_.nodes[k];
    const std::size_t plain = n.parts.size() - n.keywords.size();
    for (std::size_t i = 0; i < n.parts.size(); ++i) {
      if (n.parts[i] == absent) continue;
      const bool inherits = counts_[k] != 0 && n.kind != Kind::call && n.kind != Kind::subscript;
      const bool shape =
          n.kind == Kind::call && (n.text == "zeros" || n.text == "ones" || n.text == "eye" ||
                                   (i == 1 && (n.text == "reshape" || n.text == "one_hot")));
      const bool axis = n.kind == Kind::call && i >= plain && n.keywords[i - plain] == "axis";
      if (inherits || shape || axis || (n.kind == Kind::subscript && i > 0) ||
          n.kind == Kind::slice)
        counts_[n.parts[i]] = 1;
    }
  }
  [[nodiscard]] int rank(std::size_t part) const { return part < ranks_.size() ? ranks_[part] : 0; }
  // Reductions take a list of axes, all else one.
  [[nodiscard]] std::string arguments_of(const Node& n) const {
    static constexpr std::array<std::string_view, 6> reductions{"sum", "prod", "mean",
                                                                "max", "min",  "norm"};
    if (n.keywords != std::vector<std::string>{"axis"} || !contains(reductions, n.text) ||
        tree_.nodes[n.parts.back()].kind == Kind::tuple)
      return list(n.parts);
    return fmt::format("{}, {{{}}}", text(n.parts.front()), text(n.parts.back()));
  }
  std::span<const int> ranks_;
  std::vector<char> counts_;
};

constexpr std::array<std::string_view, 8> known_to_latex{"exp",  "log", "sin", "cos",
                                                         "tanh", "max", "min", "arg"};

// Around these, brackets grow.
constexpr std::array<std::string_view, 4> high{"\\frac", "\\sum", "\\begin", "\\left"};

class LatexPrinter : public Printer {
 public:
  LatexPrinter(const Tree& tree, std::span<const int> ranks) : Printer(tree), ranks_(ranks) {}

 protected:
  [[nodiscard]] std::string bracketed(const std::string& text) const override {
    const bool is_high = std::any_of(high.begin(), high.end(), [&](std::string_view part) {
      return text.find(part) != std::string::npos;
    });
    return is_high ? "\\left(" + text + "\\right)" : "(" + text + ")";
  }
  Text name(const Node& n) override { return {symbol(n.text)}; }
  Text number(const Node& n) override {
    const std::size_t e = n.text.find_first_of("eE");
    if (e == std::string::npos) return {n.text};
    const std::string power = n.text.substr(n.text[e + 1] == '+' ? e + 2 : e + 1);
    return {fmt::format("{} \\cdot 10^{{{}}}", n.text.substr(0, e), power), of_product};
  }
  Text string(const Node& n) override { return {"\\text{" + escaped(n.text) + "}"}; }
  Text entries(const Node& n) override {
    std::string rows;
    for (const std::size_t part : n.parts) {
      const bool is_row = tree_.nodes[part].kind == Kind::list;
      std::string row;
      if (is_row) {
        for (const std::size_t entry : tree_.nodes[part].parts)
          row += (row.empty() ? "" : " & ") + text(entry);
      }
      rows += (rows.empty() ? "" : is_row ? " \\\\ " : " & ") + (is_row ? row : text(part));
    }
    return {"\\begin{pmatrix} " + rows + " \\end{pmatrix}"};
  }
  Text tuple(const Node& n) override { return {bracketed(list(n.parts))}; }
  Text binary(const Node& n) override {
    const std::size_t left = n.parts[0], right = n.parts[1];
    if (n.text == "/")
      return {fmt::format("\\frac{{{}}}{{{}}}", text(left), text(right)), of_power};
    if (n.text == "//")
      return {fmt::format("\\left\\lfloor \\frac{{{}}}{{{}}} \\right\\rfloor", text(left),
                          text(right))};
    if (n.text == "**")
      return {fmt::format("{}^{{{}{}}}", base(left), is_scalar(left) ? "" : "\\odot ", text(right)),
              of_power};
    if (n.text == "%") return {product(left, " \\bmod ", right), of_product};
    if (n.text == "@") return {matrix_product(left, right), of_product};
    if (n.text == "*") {
      const bool by_entries = !is_scalar(left) && !is_scalar(right);
      const char first = text(right).front();
      const bool numbers = (first >= '0' && first <= '9') || first == '.';
      return {product(left,
                      by_entries ? " \\odot "
                      : numbers  ? " \\cdot "
                                 : " ",
                      right),
              of_product};
    }
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> signs{
        {{"<=", " \\le "}, {">=", " \\ge "}, {"==", " = "}, {"!=", " \\ne "}}};
    for (const auto& [op, sign] : signs) {
      if (n.text == op) return chain(n, sign);
    }
    Text made = chain(n, " " + n.text + " ");
    // a + (-b)
    if (text(right).front() == '-' && tightness_of(n.text) == of_sum)
      made.text = fmt::format("{} {} {}", within(left, of_sum), n.text, bracketed(text(right)));
    return made;
  }
  Text attribute(const Node& n) override {
    return {n.text == "T" ? base(n.parts[0]) + "^{\\top}" : base(n.parts[0]) + "." + symbol(n.text),
            of_power};
  }
  Text subscript(const Node& n) override { return {indexed(n.parts[0], list(n.parts, 1))}; }
  Text new_axis() override { return {"\\ast"}; }
  Text call(const Node& n) override {
    const auto argument = [&](std::size_t k) { return text(n.parts.at(k)); };
    const std::size_t plain = n.parts.size() - n.keywords.size();
    if (n.text == "einsum" && plain > 1) {
      if (const std::string made = contraction(n); !made.empty()) return {made, of_product};
    }
    if (n.text == "where" && plain == 3) {
      return {fmt::format("\\begin{{cases}} {} & {} \\\\ {} & \\text{{otherwise}} \\end{{cases}}",
                          argument(1), argument(0), argument(2))};
    }
    if (n.text == "block" && plain == 1) return {argument(0)};
    if ((n.text == "zeros" || n.text == "ones") && plain > 0)
      return {fmt::format("{}_{{{}}}", n.text == "ones" ? "\\mathbf{1}" : "\\mathbf{0}",
                          list(n.parts))};
    if (n.text == "eye" && plain > 0) return {fmt::format("I_{{{}}}", list(n.parts))};
    if (n.parts.size() == 1) {
      if (n.text == "sqrt") return {"\\sqrt{" + argument(0) + "}"};
      if (n.text == "abs") return {"\\left\\lvert " + argument(0) + " \\right\\rvert"};
      if (n.text == "norm") return {"\\left\\lVert " + argument(0) + " \\right\\rVert"};
      if (n.text == "inv") return {base(n.parts[0]) + "^{-1}", of_power};
    }
    const std::string function = n.text == "trace" ? "\\operatorname{tr}"
                                 : contains(known_to_latex, n.text)
                                     ? "\\" + n.text
                                     : "\\operatorname{" + escaped(n.text) + "}";
    std::string below, inside;
    for (std::size_t k = 0; k < n.parts.size(); ++k) {
      std::string& all = k < plain ? inside : below;
      if (!all.empty()) all += ", ";
      if (k >= plain && n.keywords[k - plain] != "axis")
        all += symbol(n.keywords[k - plain]) + " = ";
      all += argument(k);
    }
    return {function + (below.empty() ? "" : "_{" + below + "}") + bracketed(inside)};
  }

 private:
  std::span<const int> ranks_;

  std::map<std::size_t, std::string> rows_;  // vectors that are products x' A, as rows

  // A vector is a column, and a row x' in a product from the left: x' A y, but A' x.
  std::string matrix_product(std::size_t left, std::size_t right) {
    if (rank(left) != 1 || rank(right) < 1) return product(left, " ", right);
    const auto found = rows_.find(left);
    const std::string row = found == rows_.end() ? base(left) + "^{\\top}" : found->second;
    const std::string from_left = row + " " + factor(right);
    if (rank(right) != 2) return from_left;
    rows_[at_] = from_left;
    const Node& matrix = tree_.nodes[right];
    const bool turned = matrix.kind == Kind::attribute && matrix.text == "T";
    return (turned ? within(matrix.parts[0], of_power) : base(right) + "^{\\top}") + " " +
           factor(left);
  }
  [[nodiscard]] int rank(std::size_t k) const {
    if (tree_.nodes[k].kind == Kind::number) return 0;
    return k < ranks_.size() ? ranks_[k] : -1;
  }
  [[nodiscard]] bool is_scalar(std::size_t k) const { return rank(k) == 0; }
  // A sign of its own would be taken for that of a difference.
  [[nodiscard]] std::string factor(std::size_t k) const {
    return text(k).front() == '-' ? bracketed(text(k)) : within(k, of_sign);
  }
  [[nodiscard]] std::string product(std::size_t left, std::string_view sign,
                                    std::size_t right) const {
    const bool negative = text(right).front() == '-';
    return within(left, of_product) + std::string(sign) +
           (negative ? bracketed(text(right)) : within(right, of_power));
  }
  // Of a power: a name, a number, or something within brackets of its own.
  [[nodiscard]] std::string base(std::size_t k) const {
    const Node& n = tree_.nodes[k];
    const bool function = n.kind == Kind::call && text(k).ends_with(')');
    return function ? bracketed(text(k)) : within(k, of_atom);
  }
  // A second subscript is none of the first.
  [[nodiscard]] std::string indexed(std::size_t k, const std::string& indices) const {
    const bool has_index = text(k).find('_') != std::string::npos;
    return fmt::format("{}_{{{}}}", has_index ? bracketed(text(k)) : within(k, of_atom), indices);
  }
  static std::string escaped(std::string_view text) {
    std::string made;
    for (const char c : text) {
      if (c == '\\' || c == '^' || c == '~') {
        made += fmt::format("\\char{} ", static_cast<int>(c));
      } else {
        if (std::string_view("_#$%&{}").find(c) != std::string_view::npos) made += '\\';
        made += c;
      }
    }
    return made;
  }
  static std::string symbol(std::string_view name) {
    return is_plain_name(name) ? latex_name(name) : "\\text{" + escaped(name) + "}";
  }
  // einsum('ij,j->i', A, x) as \sum_{j} A_{ij} x_{j}; nothing if the labels are not written so.
  [[nodiscard]] std::string contraction(const Node& n) const {
    if (tree_.nodes[n.parts[0]].kind != Kind::string) return {};
    std::string labels = tree_.nodes[n.parts[0]].text;
    labels.erase(std::remove(labels.begin(), labels.end(), ' '), labels.end());
    const std::size_t arrow = labels.find("->");
    if (arrow == std::string::npos) return {};
    const std::string out = labels.substr(arrow + 2);
    std::string summed, factors, operand;
    std::size_t k = 1;
    for (const char c : labels.substr(0, arrow) + ",") {
      if (c == ',') {
        if (k >= n.parts.size()) return {};
        factors += (k == 1 ? "" : " ") +
                   (operand.empty() ? base(n.parts[k]) : indexed(n.parts[k], operand));
        operand.clear();
        ++k;
      } else {
        operand += c;
        if ((out + summed).find(c) == std::string::npos) summed += c;
      }
    }
    return summed.empty() ? factors : fmt::format("\\sum_{{{}}} {}", summed, factors);
  }
};

}  // namespace

std::string to_numpy(const Tree& tree) { return NumpyPrinter(tree).print(); }
std::string to_latex(const Tree& tree, std::span<const int> ranks) {
  return LatexPrinter(tree, ranks).print();
}
std::string to_cpp(const Tree& tree, std::span<const int> ranks) {
  return CppPrinter(tree, ranks).print();
}

}  // namespace popgrad::formulas::syntax
