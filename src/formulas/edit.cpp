#include "formulas/edit.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "formulas/print.hpp"
#include "formulas/syntax.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad::formulas {
namespace edit_cpp {
namespace {

using syntax::absent;
using syntax::Kind;
using syntax::Node;
using syntax::parse;
using syntax::to_numpy;
using syntax::Tree;

// What stands in place of a node; nothing: the node with its parts copied.
using Instead = std::function<std::optional<Tree>(std::size_t node)>;

std::size_t append(const Tree& from, Tree& to) {
  const std::size_t offset = to.nodes.size();
  for (Node node : from.nodes) {
    for (std::size_t& part : node.parts) {
      if (part != absent) part += offset;
    }
    to.nodes.push_back(std::move(node));
  }
  return to.nodes.size() - 1;
}

// Trees are no deeper than formulas::syntax::deepest_tree.
std::size_t copy(const Tree& from, std::size_t at, const Instead& instead, Tree& to) {
  if (const std::optional<Tree> other = instead(at)) return append(*other, to);
  Node node = from.nodes[at];
  for (std::size_t& part : node.parts) {
    if (part != absent) part = copy(from, part, instead, to);
  }
  to.nodes.push_back(std::move(node));
  return to.nodes.size() - 1;
}

Tree edited(const Tree& from, std::size_t root, const Instead& instead) {
  Tree made;
  copy(from, root, instead, made);
  return made;
}
Tree part_of(const Tree& from, std::size_t root) {
  return edited(from, root, [](std::size_t) { return std::nullopt; });
}

bool equal(const Tree& a, std::size_t i, const Tree& b, std::size_t j) {
  if (i == absent || j == absent) return i == j;
  const Node &m = a.nodes[i], &n = b.nodes[j];
  if (m.kind != n.kind || m.text != n.text || m.keywords != n.keywords ||
      m.parts.size() != n.parts.size())
    return false;
  for (std::size_t k = 0; k < m.parts.size(); ++k) {
    if (!equal(a, m.parts[k], b, n.parts[k])) return false;
  }
  return true;
}

bool is_whole(const std::string& digits) {
  return digits.find_first_not_of("0123456789") == std::string::npos;
}

Tree number(const std::string& text) { return parse(text); }

// Mistakes in one tree, each of one node.
class Mistakes {
 public:
  explicit Mistakes(const Tree& tree) : tree_(tree), roles_(tree.nodes.size(), Role::plain) {
    for (const Node& node : tree.nodes) {
      if (node.kind == Kind::binary && node.text == "**") roles_[node.parts[1]] = Role::exponent;
      // Keywords such as axis shape a formula.
      for (std::size_t k = 0; k < node.keywords.size(); ++k)
        roles_[node.parts[node.parts.size() - 1 - k]] = Role::shape;
      if (node.kind != Kind::subscript) continue;
      for (std::size_t k = 1; k < node.parts.size(); ++k) mark_index(node.parts[k]);
    }
  }

  std::vector<Mutant> all() {
    for (std::size_t k = 0; k < tree_.nodes.size(); ++k) add(k);
    return std::move(made_);
  }

 private:
  enum class Role { plain, exponent, index, shape };

  void mark_index(std::size_t k) {
    if (k == absent) return;
    roles_[k] = Role::index;
    if (tree_.nodes[k].kind == Kind::slice) {
      for (const std::size_t part : tree_.nodes[k].parts) mark_index(part);
    }
  }

  void add(std::size_t k) {
    const Node& node = tree_.nodes[k];
    if (node.kind == Kind::number && roles_[k] != Role::shape) {
      add_number(k);
    } else if (node.kind == Kind::binary && (node.text == "+" || node.text == "-")) {
      Node other = node;
      other.text = node.text == "+" ? "-" : "+";
      keep(k, fmt::format("sign {} -> {}", node.text, other.text), with_parts(other));
    } else if (node.kind == Kind::unary && node.text == "-") {
      keep(k, "sign - left out", part_of(tree_, node.parts[0]));
    } else if (node.kind == Kind::call && node.text == "sqrt" && node.parts.size() == 1) {
      Tree power = part_of(tree_, node.parts[0]);
      const std::size_t base = power.nodes.size() - 1;
      const std::size_t third = append(parse("1/3"), power);
      power.nodes.push_back({.kind = Kind::binary, .text = "**", .parts = {base, third}});
      keep(k, "exponent 1/2 -> 1/3", power);
    }
  }

  void add_number(std::size_t k) {
    const std::string& text = tree_.nodes[k].text;
    const Rational value = from_text<Rational>(text);
    const auto one_more = [&](int by) { return to_text(Rational(value + by)); };
    if (roles_[k] == Role::index) {
      keep(k, fmt::format("index {0} -> {1}", text, one_more(1)), number(one_more(1)));
      if (value > 0)
        keep(k, fmt::format("index {0} -> {1}", text, one_more(-1)), number(one_more(-1)));
    } else if (roles_[k] == Role::exponent && is_whole(text)) {
      keep(k, fmt::format("exponent {} -> {}", text, one_more(1)), number(one_more(1)));
    } else {
      const std::string larger =
          value == 0 ? "0.1" : fmt::format("{:.15g}", 1.1 * to_double(value));
      const char* what = roles_[k] == Role::exponent ? "exponent" : "constant";
      keep(k, fmt::format("{} {} -> {}", what, text, larger), number(larger));
      // Where only whole numbers do; the other of the two has no type then.
      if (is_whole(text) && is_argument(k))
        keep(k, fmt::format("{} {} -> {}", what, text, one_more(1)), number(one_more(1)));
    }
  }

  [[nodiscard]] bool is_argument(std::size_t k) const {
    for (const Node& node : tree_.nodes) {
      if (node.kind != Kind::call && node.kind != Kind::tuple) continue;
      for (const std::size_t part : node.parts) {
        if (part == k) return true;
      }
    }
    return false;
  }

  [[nodiscard]] Tree with_parts(const Node& node) const {
    Tree made;
    Node own = node;
    for (std::size_t& part : own.parts) part = append(part_of(tree_, part), made);
    made.nodes.push_back(std::move(own));
    return made;
  }

  void keep(std::size_t k, const std::string& what, const Tree& other) {
    const Tree made = edited(tree_, tree_.nodes.size() - 1, [&](std::size_t at) {
      return at == k ? std::optional(other) : std::nullopt;
    });
    const Place place = tree_.nodes[k].place;
    made_.push_back({what.substr(0, what.find(' ')),
                     place.line > 1
                         ? fmt::format("{} at line {}, column {}", what, place.line, place.column)
                         : fmt::format("{} at column {}", what, place.column),
                     to_numpy(made)});
  }

  const Tree& tree_;
  std::vector<Role> roles_;
  std::vector<Mutant> made_;
};

}  // namespace
}  // namespace edit_cpp

std::optional<std::string> with_replaced(const std::string& formula, const std::string& part,
                                         const std::string& by) {
  using namespace edit_cpp;
  const Tree whole = parse(formula), pattern = parse(part), other = parse(by);
  bool found = false;
  const Tree made =
      edited(whole, whole.nodes.size() - 1, [&](std::size_t at) -> std::optional<Tree> {
        if (!equal(whole, at, pattern, pattern.nodes.size() - 1)) return {};
        found = true;
        return other;
      });
  return found ? std::optional(to_numpy(made)) : std::nullopt;
}

std::string with_names(const std::string& formula,
                       const std::map<std::string, std::string>& formulas) {
  using namespace edit_cpp;
  const Tree whole = parse(formula);
  return to_numpy(edited(whole, whole.nodes.size() - 1, [&](std::size_t at) -> std::optional<Tree> {
    const Node& node = whole.nodes[at];
    if (node.kind != Kind::name) return {};
    const auto known = formulas.find(node.text);
    return known == formulas.end() ? std::nullopt : std::optional(parse(known->second));
  }));
}

std::set<std::string> names_in(const std::string& formula) {
  using namespace edit_cpp;
  std::set<std::string> names;
  for (const Node& node : parse(formula).nodes) {
    if (node.kind == Kind::name) names.insert(node.text);
  }
  return names;
}

std::optional<ComparisonText> comparison_in(const std::string& formula) {
  using namespace edit_cpp;
  const Tree tree = parse(formula);
  const Node& root = tree.root();
  if (root.kind != Kind::binary) return {};
  const std::string left = to_numpy(part_of(tree, root.parts[0]));
  const std::string right = to_numpy(part_of(tree, root.parts[1]));
  if (root.text == "<" || root.text == "<=")
    return ComparisonText{root.text, fmt::format("({}) - ({})", right, left)};
  if (root.text == ">" || root.text == ">=")
    return ComparisonText{root.text, fmt::format("({}) - ({})", left, right)};
  if (root.text == "==" || root.text == "!=")
    return ComparisonText{root.text, fmt::format("abs(({}) - ({}))", left, right)};
  return {};
}

std::vector<Mutant> mutants_of(const std::string& formula) {
  using namespace edit_cpp;
  const Tree tree = parse(formula);
  return Mistakes(tree).all();
}

}  // namespace popgrad::formulas
