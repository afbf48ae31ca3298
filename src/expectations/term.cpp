#include "expectations/term.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "formulas/operation.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::expectations {
namespace term_cpp {
namespace {

// A factor as numbers: its kind, its array, and the colours of its labels.
using Signature = std::vector<long>;

/// Factors that share labels which are summed over.
struct Component {
  std::vector<std::size_t> factors;
  std::vector<Label> labels;
};

/// The order of the labels of one component that gives the least list of signatures. Colours of labels are refined
/// by what factors they are in; of those that stay equal one after the other is tried.
class Ordering {
 public:
  Ordering(const Term& term, const Component& component, const std::map<Label, long>& fixed) {
    std::map<Label, std::size_t> place;
    for (const Label label : component.labels) place.emplace(label, place.size());
    for (const std::size_t k : component.factors) {
      const Factor& factor = term.factors[k];
      Node node{.kind = {static_cast<long>(factor.kind), static_cast<long>(factor.array.place)},
                .labels = {},
                .unordered = factor.symmetric || factor.kind == FactorKind::hole};
      if (factor.kind == FactorKind::function)
        node.kind.push_back(static_cast<long>(factor.function));
      for (const Label label : factor.labels) {
        const auto inner = place.find(label);
        node.labels.push_back(inner == place.end() ? -1 - fixed.at(label)
                                                   : static_cast<long>(inner->second));
      }
      nodes_.push_back(std::move(node));
    }
    std::vector<long> colours;
    for (const Label label : component.labels)
      colours.push_back(static_cast<long>(term.dimensions.at(label).extent));
    search(ranked(colours));
  }

  [[nodiscard]] const std::vector<Signature>& signatures() const { return best_; }
  /// Places of the labels.
  [[nodiscard]] const std::vector<long>& order() const { return order_; }
  /// Factors of the component in the order of their signatures.
  [[nodiscard]] const std::vector<std::size_t>& factors() const { return factors_; }

 private:
  struct Node {
    Signature kind;
    std::vector<long> labels;  // below 0: fixed
    bool unordered = false;
  };

  template <class Key>
  static std::vector<long> ranked(const std::vector<Key>& keys) {
    std::vector<Key> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<long> ranks;
    for (const Key& key : keys)
      ranks.push_back(std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin());
    return ranks;
  }

  static Signature signature(const Node& node, const std::vector<long>& colours) {
    Signature made = node.kind;
    for (const long label : node.labels)
      made.push_back(label < 0 ? label : colours[static_cast<std::size_t>(label)]);
    if (node.unordered) std::sort(made.begin() + std::ssize(node.kind), made.end());
    return made;
  }

  [[nodiscard]] std::vector<long> refined(std::vector<long> colours) const {
    std::size_t count = std::set<long>(colours.begin(), colours.end()).size();
    while (count < colours.size()) {
      std::vector<Signature> of_factors;
      for (const Node& node : nodes_) of_factors.push_back(signature(node, colours));
      const std::vector<long> kinds = ranked(of_factors);
      std::vector<std::vector<std::pair<long, long>>> of_labels;
      for (const long colour : colours) of_labels.push_back({{colour, -1}});
      for (std::size_t k = 0; k < nodes_.size(); ++k) {
        long axis = 0;
        for (const long label : nodes_[k].labels) {
          if (label >= 0)
            of_labels[static_cast<std::size_t>(label)].emplace_back(kinds[k],
                                                                    nodes_[k].unordered ? 0 : axis);
          ++axis;
        }
      }
      for (auto& places : of_labels) std::sort(places.begin() + 1, places.end());
      colours = ranked(of_labels);
      const std::size_t finer = std::set<long>(colours.begin(), colours.end()).size();
      if (finer == count) break;
      count = finer;
    }
    return colours;
  }

  // Whether exchanging two labels gives the same factors.
  [[nodiscard]] bool exchangeable(long a, long b) const {
    std::vector<Signature> before, after;
    std::vector<long> names(order_size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = static_cast<long>(i);
    for (const Node& node : nodes_) before.push_back(signature(node, names));
    std::swap(names[static_cast<std::size_t>(a)], names[static_cast<std::size_t>(b)]);
    for (const Node& node : nodes_) after.push_back(signature(node, names));
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    return before == after;
  }
  [[nodiscard]] std::size_t order_size() const { return labels_; }

  void search(std::vector<long> colours) {
    constexpr int most_leaves = 800;
    labels_ = colours.size();
    colours = refined(std::move(colours));
    std::map<long, std::vector<long>> cells;
    for (std::size_t i = 0; i < colours.size(); ++i)
      cells[colours[i]].push_back(static_cast<long>(i));
    const auto cell =
        std::find_if(cells.begin(), cells.end(), [](const auto& c) { return c.second.size() > 1; });
    if (cell == cells.end()) {
      ++leaves_;
      compare(colours);
      return;
    }
    const std::vector<long> members = cell->second;
    for (const long member : members) {
      if (leaves_ > most_leaves) return;
      if (member != members.front() && exchangeable(members.front(), member)) continue;
      std::vector<std::pair<long, long>> split;
      for (std::size_t i = 0; i < colours.size(); ++i)
        split.emplace_back(colours[i], static_cast<long>(i) == member ? 0 : 1);
      search(ranked(split));
    }
  }

  void compare(const std::vector<long>& colours) {
    std::vector<std::pair<Signature, std::size_t>> found;
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      found.emplace_back(signature(nodes_[k], colours), k);
    std::sort(found.begin(), found.end());
    std::vector<Signature> list;
    for (const auto& [signature, k] : found) list.push_back(signature);
    if (!best_.empty() && best_ <= list) return;
    best_ = std::move(list);
    order_ = colours;
    factors_.clear();
    for (const auto& [signature, k] : found) factors_.push_back(k);
  }

  std::vector<Node> nodes_;
  std::size_t labels_ = 0;
  int leaves_ = 0;
  std::vector<Signature> best_;
  std::vector<long> order_;
  std::vector<std::size_t> factors_;
};

std::vector<Component> components_of(const Term& term, const std::map<Label, long>& fixed) {
  std::vector<Component> found;
  std::vector<bool> seen(term.factors.size());
  for (std::size_t first = 0; first < seen.size(); ++first) {
    if (seen[first]) continue;
    seen[first] = true;
    Component component{{first}, {}};
    std::set<Label> labels;
    for (std::size_t i = 0; i < component.factors.size(); ++i) {
      for (const Label label : term.factors[component.factors[i]].labels) {
        if (fixed.contains(label) || !labels.insert(label).second) continue;
        component.labels.push_back(label);
        for (std::size_t k = first + 1; k < seen.size(); ++k) {
          const std::vector<Label>& other = term.factors[k].labels;
          if (seen[k] || std::find(other.begin(), other.end(), label) == other.end()) continue;
          seen[k] = true;
          component.factors.push_back(k);
        }
      }
    }
    found.push_back(std::move(component));
  }
  return found;
}

// sqrt(a) sqrt(a) at the same entries, once.
bool fold_roots(Term& term) {
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    const Factor root = term.factors[i];
    if (root.kind != FactorKind::atom || !root.array.is("sqrt")) continue;
    for (std::size_t k = i + 1; k < term.factors.size(); ++k) {
      if (term.factors[k].array != root.array || term.factors[k].labels != root.labels) continue;
      term.factors.erase(term.factors.begin() + static_cast<Index>(k));
      term.factors.erase(term.factors.begin() + static_cast<Index>(i));
      term = with_entry(std::move(term), term_of(root.array.input(0)), root.labels);
      return true;
    }
  }
  return false;
}

// A literal times the numbers 0, 1, ..., plus a literal.
std::optional<std::pair<Rational, Rational>> steps_of(const Array& indices) {
  if (indices.is("arange")) return std::pair(Rational(1), Rational(0));
  const bool sum = indices.is("add");
  if (!sum && !indices.is("multiply")) return std::nullopt;
  const std::optional<Rational> literal = rational_value(indices.input(1));
  const auto inner = steps_of(indices.input(0));
  if (!literal || !inner) return std::nullopt;
  const auto& [step, start] = *inner;
  return sum ? std::pair(step, Rational(start + *literal))
             : std::pair(Rational(step * *literal), Rational(start * *literal));
}

bool is_mask(const Array& a) {
  if (!a.is("where")) return false;
  const std::optional<Rational> yes = rational_value(a.input(1)), no = rational_value(a.input(2));
  return yes && no && *yes == 1 && *no == 0;
}

// Entries of an axis as a matrix (result, argument): a 1 in each row, at most one in each column.
bool is_selection(const Array& a) {
  if (a.rank() != 2 || !is_mask(a) || !a.input(0).is("equal")) return false;
  const Array rows = a.input(0).input(0), columns = a.input(0).input(1);
  if (!rows.is("reshape") || rows.rank() != 2 || rows.shape()[1].extent != 1 ||
      !columns.is("arange"))
    return false;
  const auto steps = steps_of(rows.input(0));
  if (!steps || steps->first == 0) return false;
  const Rational last =
      steps->second + steps->first * Rational(static_cast<long>(a.shape()[0].extent - 1));
  const Rational end(static_cast<long>(a.shape()[1].extent));
  return steps->second >= 0 && steps->second < end && last >= 0 && last < end;
}

// Twice the same 0 or 1, once; sums over the columns of a selection S: sum_j S_ij = 1, sum_j S_ij S_kj = delta_ik.
bool fold_masks(Term& term) {
  const auto erase = [&](std::size_t k) {
    term.factors.erase(term.factors.begin() + static_cast<Index>(k));
  };
  const auto uses = [&](Label label) {
    auto count = std::count(term.out.begin(), term.out.end(), label);
    for (const Factor& factor : term.factors)
      count += std::count(factor.labels.begin(), factor.labels.end(), label);
    return count;
  };
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    const Factor mask = term.factors[i];
    if (mask.kind != FactorKind::atom || !is_mask(mask.array)) continue;
    const bool selects = is_selection(mask.array);
    if (selects && uses(mask.labels[1]) == 1) {
      term.dimensions.erase(mask.labels[1]);
      erase(i);
      return true;
    }
    for (std::size_t k = i + 1; k < term.factors.size(); ++k) {
      const Factor other = term.factors[k];
      if (other.array != mask.array) continue;
      if (other.labels == mask.labels) {
        erase(k);
        return true;
      }
      if (!selects || other.labels[1] != mask.labels[1] || uses(mask.labels[1]) != 2) continue;
      erase(k);
      erase(i);
      term.dimensions.erase(mask.labels[1]);
      term.identify(mask.labels[0], other.labels[0]);
      return true;
    }
  }
  return false;
}

}  // namespace
}  // namespace term_cpp

std::string_view name_of(Function function) {
  static constexpr std::array<std::string_view, 13> names{
      "erf",  "sign",    "step",     "relu", "abs",      "sin",  "cos",
      "tanh", "sigmoid", "softplus", "exp",  "gaussian", "delta"};
  return names[static_cast<std::size_t>(function)];
}

Label Term::add_label(const Dimension& dimension) {
  const Label label = dimensions.empty() ? 0 : dimensions.rbegin()->first + 1;
  dimensions.emplace(label, dimension);
  return label;
}

void Term::identify(Label kept, Label other) {
  if (kept == other) return;
  Dimension& dimension = dimensions.at(kept);
  if (dimension.size.empty()) dimension.size = dimensions.at(other).size;
  for (Factor& factor : factors)
    std::replace(factor.labels.begin(), factor.labels.end(), other, kept);
  std::replace(out.begin(), out.end(), other, kept);
  dimensions.erase(other);
}

void Term::identify_axes(std::size_t kept, std::size_t gone) {
  const Label other = out[gone], label = out[kept];
  sum_over(gone);
  identify(label, other);
}

Shape Term::shape() const {
  Shape shape;
  for (const Label label : out) shape.push_back(dimensions.at(label));
  return shape;
}

Term term_of(const Array& array, FactorKind kind) {
  Term term;
  if (kind == FactorKind::atom) {
    if (std::optional<Coefficient> value = coefficient_of(array)) {
      term.coefficient = std::move(*value);
      return term;
    }
    const auto scaled = [&](const Coefficient& factor, const Array& rest) {
      term = term_of(rest);
      term.coefficient *= factor;
      return stretched(term, array.shape());
    };
    if (array.is("negative")) return scaled(-1, array.input(0));
    const bool is_number = array.is("reshape") && array.input(0).rank() == 0;
    if (array.is("broadcast") || is_number) return scaled(1, array.input(0));
    if (array.is("multiply")) {
      if (const auto left = coefficient_of(array.input(0))) return scaled(*left, array.input(1));
      if (const auto right = coefficient_of(array.input(1))) return scaled(*right, array.input(0));
    }
    if (array.is("divide")) {
      if (const auto right = inverse_of(array.input(1))) return scaled(*right, array.input(0));
    }
    if (array.is("transpose")) {
      const Term inner = term_of(array.input(0));
      term = inner;
      for (std::size_t i = 0; i < term.out.size(); ++i)
        term.out[i] = inner.out[static_cast<std::size_t>(array.node().numbers[i])];
      return term;
    }
    if (array.is("eye") && array.shape()[0].extent == array.shape()[1].extent) {
      term.out.assign(2, term.add_label(array.shape()[0]));
      return term;
    }
    if (array.is("diagonal_matrix")) {
      const std::vector<Index>& axes = array.node().numbers;
      const auto first = static_cast<std::size_t>(axes[0]),
                 second = static_cast<std::size_t>(axes[1]);
      if (array.shape()[first].extent == array.shape()[second].extent) {
        term = term_of(array.input(0));
        term.out.insert(term.out.begin() + axes[1], term.out[first]);
        return term;
      }
    }
  }
  for (const Dimension& dimension : array.shape()) term.out.push_back(term.add_label(dimension));
  term.factors.push_back({array, term.out, kind});
  return term;
}

Term outer_product(const Term& a, const Term& b) {
  Term made = a;
  made.coefficient *= b.coefficient;
  std::map<Label, Label> renamed;
  for (const auto& [label, dimension] : b.dimensions)
    renamed.emplace(label, made.add_label(dimension));
  for (Factor factor : b.factors) {
    for (Label& label : factor.labels) label = renamed.at(label);
    made.factors.push_back(std::move(factor));
  }
  for (const Label label : b.out) made.out.push_back(renamed.at(label));
  return made;
}

Term product(const Term& a, const Term& b) {
  Term made = outer_product(a, b);
  for (std::size_t axis = 0; axis < a.out.size(); ++axis) made.identify_axes(axis, a.out.size());
  return made;
}

Term with_entry(Term term, const Term& entry, const std::vector<Label>& labels) {
  const std::size_t axes = term.out.size();
  term.out.insert(term.out.end(), labels.begin(), labels.end());
  const std::size_t all = term.out.size();
  term = outer_product(term, entry);
  for (std::size_t axis = axes; axis < all; ++axis) term.identify_axes(axis, all);
  term.out.resize(axes);
  return term;
}

Term stretched(Term term, const Shape& shape) {
  const std::size_t added = shape.size() - term.out.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis < added) {
      term.out.insert(term.out.begin() + static_cast<Index>(axis), term.add_label(shape[axis]));
      continue;
    }
    Dimension& own = term.dimensions.at(term.out[axis]);
    if (own.extent != shape[axis].extent) {
      term.out[axis] = term.add_label(shape[axis]);
    } else if (own.size.empty()) {
      own.size = shape[axis].size;
    }
  }
  return term;
}

std::string make_canonical(Term& term) {
  using namespace term_cpp;
  while (fold_roots(term) || fold_masks(term)) {
  }
  std::set<Label> used(term.out.begin(), term.out.end());
  for (const Factor& factor : term.factors) used.insert(factor.labels.begin(), factor.labels.end());
  std::map<Label, Dimension> dimensions;
  for (const auto& [label, dimension] : term.dimensions) {
    if (!used.contains(label)) term.coefficient *= Coefficient(dimension);
  }
  std::map<Label, long> fixed;
  for (const Label label : term.out) fixed.try_emplace(label, static_cast<long>(fixed.size()));
  std::vector<std::pair<Ordering, Component>> ordered;
  for (Component& component : components_of(term, fixed))
    ordered.emplace_back(Ordering(term, component, fixed), std::move(component));
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.first.signatures() < b.first.signatures();
  });
  std::map<Label, Label> renamed;
  for (const auto& [label, place] : fixed) renamed.emplace(label, static_cast<Label>(place));
  std::vector<Factor> factors;
  std::string text;
  for (const Label label : term.out)
    text += fmt::format("{}:{} ", fixed.at(label), term.dimensions.at(label).extent);
  for (const auto& [ordering, component] : ordered) {
    const std::size_t first = renamed.size();
    for (std::size_t i = 0; i < component.labels.size(); ++i)
      renamed.emplace(component.labels[i], first + static_cast<std::size_t>(ordering.order()[i]));
    for (const std::size_t k : ordering.factors())
      factors.push_back(std::move(term.factors[component.factors[k]]));
    text += "|";
    for (const Signature& signature : ordering.signatures())
      text += fmt::format("{};", fmt::join(signature, ","));
  }
  for (Factor& factor : factors) {
    for (Label& label : factor.labels) label = renamed.at(label);
  }
  for (Label& label : term.out) label = renamed.at(label);
  for (const auto& [label, number] : renamed) dimensions.emplace(number, term.dimensions.at(label));
  term.factors = std::move(factors);
  term.dimensions = std::move(dimensions);
  return text;
}

void TermSum::add(Term term) {
  const std::string text = make_canonical(term);
  const Coefficient coefficient = term.coefficient;
  const auto [known, added] = terms_.try_emplace(text, std::move(term));
  if (!added) known->second.coefficient += coefficient;
}

std::vector<Term> TermSum::terms() const {
  std::vector<Term> left;
  for (const auto& [text, term] : terms_) {
    if (!term.coefficient.is_zero()) left.push_back(term);
  }
  return left;
}

}  // namespace popgrad::expectations
