#include "expectations/normal_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "expectations/contraction.hpp"
#include "formulas/operation.hpp"
#include "formulas/strided.hpp"

namespace popgrad::expectations {
namespace normal_form_cpp {
namespace {

constexpr std::size_t most_terms = 20000;
constexpr long most_power = 64;

void require_few(std::size_t terms) {
  if (terms > most_terms)
    throw NotHandled(fmt::format("it has more than {} terms as a polynomial", most_terms));
}

Polynomial product(const Polynomial& a, const Polynomial& b, const Shape& shape) {
  require_few(a.terms.size() * b.terms.size());
  TermSum sum;
  for (const Term& x : a.terms) {
    const Term left = stretched(x, shape);
    for (const Term& y : b.terms) sum.add(expectations::product(left, stretched(y, shape)));
  }
  return {shape, sum.terms()};
}

// Each of these two arrays to the label of the other's axis.
void identify_axes(Term& term, std::size_t kept, std::size_t gone) {
  const Label other = term.out[gone], label = term.out[kept];
  term.sum_over(gone);
  term.identify(label, other);
}

// 1 where entry i of the result is that of the argument, as a matrix (result, argument).
Array selection(const formulas::Range& range, const Dimension& from, formulas::Graph& graph) {
  return formulas::one_hot(
      graph.arange(range.count) * graph.constant(static_cast<long>(range.step)) +
          graph.constant(static_cast<long>(range.start)),
      from);
}

// Whether there are quotients, logarithms and the like in it, but roots, which are those of variances.
bool may_be_undefined(const Array& formula) {
  static const std::set<std::string_view> partial{"log", "asin", "atan2", "solve"};
  const std::vector<bool> needed = formulas::needed_for({formula});
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const Array node{formula.graph, k};
    if (partial.contains(node.node().operation->name)) return true;
    if (!node.is("divide") && !node.is("power")) continue;
    const std::optional<Rational> second = rational_value(node.input(1));
    if (!second || (node.is("divide") ? *second == 0 : *second < 0 || denominator(*second) != 1))
      return true;
  }
  return false;
}

// Axis of a term through a matrix with axes (new, old), or (old, new).
Term through(const Term& term, std::size_t axis, const Array& matrix, bool transposed) {
  Term made = outer_product(term, term_of(matrix));
  const std::size_t rows = term.out.size(), columns = rows + 1;
  const std::size_t old_axis = transposed ? rows : columns, new_axis = transposed ? columns : rows;
  const Label old_label = made.out[old_axis], new_label = made.out[new_axis];
  const Label own = made.out[axis];
  made.out.resize(term.out.size());
  made.out[axis] = new_label;
  made.identify(own, old_label);
  return made;
}

// A term as what is left without its coefficient, with a hole, and the coefficient: all atoms of it.
struct Split {
  Term term, rest, coefficient;

  [[nodiscard]] std::vector<Factor>::iterator hole() {
    return std::find_if(rest.factors.begin(), rest.factors.end(),
                        [](const Factor& f) { return f.kind == FactorKind::hole; });
  }
  [[nodiscard]] std::vector<Factor>::const_iterator hole() const {
    return std::find_if(rest.factors.begin(), rest.factors.end(),
                        [](const Factor& f) { return f.kind == FactorKind::hole; });
  }
  // Axes of the coefficient in ascending order of the labels of the hole.
  void order_axes() {
    std::vector<std::pair<Label, Label>> order;
    for (std::size_t k = 0; k < coefficient.out.size(); ++k)
      order.emplace_back(hole()->labels[k], coefficient.out[k]);
    std::sort(order.begin(), order.end());
    for (std::size_t k = 0; k < order.size(); ++k) {
      hole()->labels[k] = order[k].first;
      coefficient.out[k] = order[k].second;
    }
  }
};

// Nothing where the coefficient as one array has more axes than any of its factors.
std::optional<Split> split_off_coefficient(const Term& term) {
  std::set<Label> outer(term.out.begin(), term.out.end());
  Split split{term, {}, {}};
  split.rest.out = term.out;
  split.rest.dimensions = split.coefficient.dimensions = term.dimensions;
  split.coefficient.coefficient = term.coefficient;
  for (const Factor& factor : term.factors) {
    Term& to = factor.kind == FactorKind::draw ? split.rest : split.coefficient;
    to.factors.push_back(factor);
    if (factor.kind == FactorKind::draw) outer.insert(factor.labels.begin(), factor.labels.end());
  }
  // Atoms that share inner labels, as inner and outer labels.
  struct Part {
    std::set<Label> inner, outer;
  };
  std::vector<Part> parts;
  for (const Factor& factor : split.coefficient.factors) {
    Part part;
    for (const Label label : factor.labels)
      (outer.contains(label) ? part.outer : part.inner).insert(label);
    std::erase_if(parts, [&](const Part& other) {
      const bool joined = std::any_of(part.inner.begin(), part.inner.end(),
                                      [&](Label label) { return other.inner.contains(label); });
      if (joined) {
        part.inner.insert(other.inner.begin(), other.inner.end());
        part.outer.insert(other.outer.begin(), other.outer.end());
      }
      return joined;
    });
    parts.push_back(std::move(part));
  }
  std::set<Label> all;
  std::size_t most = 0;
  for (const Part& part : parts) {
    all.insert(part.outer.begin(), part.outer.end());
    most = std::max(most, part.outer.size());
  }
  if (most < all.size()) return std::nullopt;
  split.coefficient.out.assign(all.begin(), all.end());
  outer.insert(all.begin(), all.end());
  std::erase_if(split.rest.dimensions,
                [&](const auto& entry) { return !outer.contains(entry.first); });
  split.rest.factors.push_back(
      {.array = {nullptr, 0}, .labels = split.coefficient.out, .kind = FactorKind::hole});
  return split;
}

}  // namespace
}  // namespace normal_form_cpp

NormalForm::NormalForm(const std::vector<Array>& draws) : draws_(draws) {}

bool NormalForm::drawn(const Array& array) {
  const auto known = drawn_.find(array.place);
  if (known != drawn_.end()) return known->second;
  bool found = std::find(draws_.begin(), draws_.end(), array) != draws_.end();
  for (std::size_t i = 0; !found && i < array.node().inputs.size(); ++i)
    found = drawn(array.input(i));
  return drawn_.emplace(array.place, found).first->second;
}

const Polynomial& NormalForm::of(const Array& array) {
  const auto known = known_.find(array.place);
  if (known != known_.end()) return known->second;
  return known_.emplace(array.place, made(array)).first->second;
}

Polynomial NormalForm::power_of(const Array& array) {
  using namespace normal_form_cpp;
  const Array base = array.input(0);
  const std::optional<Rational> exponent =
      drawn(array.input(1)) ? std::nullopt : rational_value(array.input(1));
  if (!exponent || denominator(*exponent) != 1 || *exponent < 0 || *exponent > most_power)
    throw NotHandled("a power of draws that is no whole number up to 64");
  long times = numerator(*exponent).convert_to<long>();
  Polynomial factor;
  if (base.is("norm") && times % 2 == 0) {
    const std::vector<Index>& axes = base.node().numbers;
    factor = of(reduce("sum", square(base.input(0)), axes[0], axes[1]));
    times /= 2;
  } else {
    factor = collected(of(base), *array.graph);
  }
  Polynomial result{factor.shape, {stretched(Term{}, factor.shape)}};
  for (long k = 0; k < times; ++k) result = product(result, factor, factor.shape);
  return result;
}

Polynomial NormalForm::einsum_of(const Array& array) {
  using namespace normal_form_cpp;
  const formulas::EinsumLabels labels(array.node().text);
  const bool both = drawn(array.input(0)) && drawn(array.input(1));
  const auto factor = [&](std::size_t i) {
    return both ? collected(of(array.input(i)), *array.graph) : of(array.input(i));
  };
  const Polynomial a = factor(0), b = factor(1);
  require_few(a.terms.size() * b.terms.size());
  TermSum sum;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      Term made = outer_product(x, y);
      std::string text = labels.operand[0] + labels.operand[1];
      for (std::size_t axis = 0; axis < text.size(); ++axis) {
        for (std::size_t later = text.find(text[axis], axis + 1); later != std::string::npos;
             later = text.find(text[axis], axis + 1)) {
          identify_axes(made, axis, later);
          text.erase(later, 1);
        }
      }
      std::vector<Label> out;
      for (const char label : labels.out) out.push_back(made.out[text.find(label)]);
      made.out = std::move(out);
      sum.add(std::move(made));
    }
  }
  return {array.shape(), sum.terms()};
}

Polynomial NormalForm::made(const Array& array) {
  using namespace normal_form_cpp;
  const Shape& shape = array.shape();
  const formulas::GraphNode& node = array.node();
  const std::string_view name = node.operation->name;
  if (!drawn(array)) return {shape, {term_of(array)}};
  if (name == "variable") return {shape, {term_of(array, FactorKind::draw)}};
  if (name == "power") return power_of(array);
  if (name == "einsum") return einsum_of(array);
  if (name == "add" || name == "subtract" || name == "concatenate") {
    TermSum sum;
    Index start = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Polynomial& part = of(array.input(i));
      require_few(sum.size() + part.terms.size());
      for (Term term : part.terms) {
        if (name == "subtract" && i == 1) term.coefficient = -term.coefficient;
        if (name == "concatenate") {
          const auto axis = static_cast<std::size_t>(node.numbers[0]);
          const formulas::Range range{start, 1, part.shape[axis]};
          term = through(term, axis, selection(range, shape[axis], *array.graph), true);
        }
        sum.add(stretched(std::move(term), shape));
      }
      if (name == "concatenate")
        start += part.shape[static_cast<std::size_t>(node.numbers[0])].extent;
    }
    return {shape, sum.terms()};
  }
  if (name == "multiply") {
    const Array left = array.input(0), right = array.input(1);
    return product(drawn(right) ? collected(of(left), *array.graph) : of(left),
                   drawn(left) ? collected(of(right), *array.graph) : of(right), shape);
  }
  if (name == "divide") {
    const Array divisor = array.input(1);
    if (drawn(divisor)) throw NotHandled("a division by draws");
    const std::optional<Rational> value = rational_value(divisor);
    const Array factor = value && *value != 0 ? array.graph->constant(1 / *value) : 1 / divisor;
    return product(of(array.input(0)), of(factor), shape);
  }
  if (name == "where") {
    const Array condition = array.input(0);
    if (drawn(condition)) throw NotHandled("a condition on draws");
    // 0 times what is not defined is not 0.
    for (const std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
      if (may_be_undefined(array.input(branch)))
        throw NotHandled("a choice between formulas that may not be defined");
    }
    TermSum sum;
    for (const std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
      const Array one = condition.number(branch == 1 ? 1 : 0),
                  other = condition.number(branch == 1 ? 0 : 1);
      if (is_zero(array.input(branch))) continue;
      for (Term& term :
           product(of(where(condition, one, other)), of(array.input(branch)), shape).terms)
        sum.add(std::move(term));
    }
    return {shape, sum.terms()};
  }
  if (name == "take") {
    const Array indices = array.input(1);
    if (drawn(indices)) throw NotHandled("an index that depends on draws");
    const auto axis = static_cast<std::size_t>(node.numbers[0]);
    const Dimension& from = array.input(0).shape()[axis];
    const Array chosen = formulas::one_hot(indices, from);
    TermSum sum;
    for (const Term& term : of(array.input(0)).terms) {
      Term made = outer_product(term, term_of(chosen));
      const auto first = made.out.begin() + std::ssize(term.out);
      const std::vector<Label> places(first, made.out.end() - 1);
      const Label last = made.out.back(), own = made.out[axis];
      made.out.erase(first, made.out.end());
      made.out.erase(made.out.begin() + node.numbers[0]);
      made.out.insert(made.out.begin() + node.numbers[0], places.begin(), places.end());
      made.identify(own, last);
      sum.add(std::move(made));
    }
    return {shape, sum.terms()};
  }

  // What is done to each term.
  const Polynomial& argument = of(array.input(0));
  Polynomial result{shape, {}};
  TermSum sum;
  for (Term term : argument.terms) {
    if (name == "negative") {
      term.coefficient = -term.coefficient;
    } else if (name == "sum" || name == "mean") {
      for (Index k = 0; k < node.numbers[1]; ++k) {
        const auto axis = static_cast<std::size_t>(node.numbers[0]);
        if (name == "mean")
          term.coefficient /=
              Rational(static_cast<long>(term.dimensions.at(term.out[axis]).extent));
        term.sum_over(axis);
      }
    } else if (name == "broadcast") {
      term = stretched(std::move(term), shape);
    } else if (name == "transpose") {
      std::vector<Label> out;
      for (const Index axis : node.numbers) out.push_back(term.out[static_cast<std::size_t>(axis)]);
      term.out = std::move(out);
    } else if (name == "reshape") {
      std::vector<Label> out;
      std::size_t from = 0;
      for (const Dimension& d : shape) {
        while (from < argument.shape.size() && argument.shape[from].extent == 1 && d.extent != 1)
          ++from;
        const bool same = from < argument.shape.size() && argument.shape[from].extent == d.extent;
        if (!same && d.extent != 1) throw NotHandled("a reshape of draws");
        out.push_back(same ? term.out[from++] : term.add_label(d));
      }
      for (; from < argument.shape.size(); ++from) {
        if (argument.shape[from].extent != 1) throw NotHandled("a reshape of draws");
      }
      term.out = std::move(out);
    } else if (name == "diagonal") {
      const auto first = static_cast<std::size_t>(node.numbers[0]),
                 second = static_cast<std::size_t>(node.numbers[1]);
      const Dimension& shorter =
          argument
              .shape[argument.shape[second].extent < argument.shape[first].extent ? second : first];
      for (const std::size_t axis : {first, second}) {
        const Dimension& own = argument.shape[axis];
        if (own.extent > shorter.extent)
          term = through(term, axis, selection({0, 1, shorter}, own, *array.graph), false);
      }
      identify_axes(term, first, second);
    } else if (name == "diagonal_matrix") {
      const auto first = static_cast<std::size_t>(node.numbers[0]),
                 second = static_cast<std::size_t>(node.numbers[1]);
      const Dimension& shorter = argument.shape[first];
      term.out.insert(term.out.begin() + node.numbers[1], term.out[first]);
      for (const std::size_t axis : {first, second}) {
        if (shape[axis].extent > shorter.extent)
          term = through(term, axis, selection({0, 1, shorter}, shape[axis], *array.graph), true);
      }
    } else if (name == "slice" || name == "embed") {
      const bool embeds = name == "embed";
      const Shape& whole = embeds ? shape : argument.shape;
      const Shape& parts = embeds ? argument.shape : shape;
      const std::vector<formulas::Range> ranges = formulas::ranges_of(node, parts);
      for (std::size_t axis = 0; axis < whole.size(); ++axis) {
        const formulas::Range& range = ranges[axis];
        if (range.start == 0 && range.step == 1 && range.count.extent == whole[axis].extent)
          continue;
        term = through(term, axis, selection(range, whole[axis], *array.graph), embeds);
      }
    } else if (name == "cumsum") {
      const auto axis = static_cast<std::size_t>(node.numbers[0]);
      const Array places = array.graph->arange(shape[axis]);
      const Array before =
          where(formulas::apply("greater_equal", {keep_axes(places, 1, 1), places}),
                array.number(1), array.number(0));
      term = through(term, axis, before, false);
    } else {
      throw NotHandled(fmt::format("{} of draws", name));
    }
    sum.add(std::move(term));
  }
  result.terms = sum.terms();
  return result;
}

Polynomial collected(const Polynomial& form, formulas::Graph& graph) {
  using namespace normal_form_cpp;
  TermSum sum, result;
  for (const Term& term : form.terms) sum.add(term);
  std::map<std::string, std::vector<Split>> groups;
  for (const Term& term : sum.terms()) {
    if (std::optional<Split> split = split_off_coefficient(term)) {
      const std::string text = make_canonical(split->rest);
      split->order_axes();
      groups[text].push_back(std::move(*split));
    } else {
      result.add(term);
    }
  }
  for (const auto& [text, group] : groups) {
    if (group.size() == 1) {
      result.add(group.front().term);
      continue;
    }
    const Rational scale = group.front().coefficient.coefficient;
    std::vector<Term> coefficients;
    for (const Split& split : group) {
      coefficients.push_back(split.coefficient);
      coefficients.back().coefficient /= scale;
    }
    Term rest = group.front().rest;
    const std::vector<Label> labels = group.front().hole()->labels;
    std::erase_if(rest.factors, [](const Factor& f) { return f.kind == FactorKind::hole; });
    const Array whole = sum_of(coefficients, coefficients.front().shape(), graph);
    const std::size_t axes = rest.out.size();
    rest = outer_product(rest, term_of(whole));
    rest.coefficient *= scale;
    for (const Label label : labels) {
      const Label other = rest.out[axes];
      rest.sum_over(axes);
      rest.identify(label, other);
    }
    result.add(std::move(rest));
  }
  return {form.shape, result.terms()};
}

}  // namespace popgrad::expectations
