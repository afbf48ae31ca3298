#include "formulas/simplify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "formulas/operation.hpp"
#include "formulas/rebuild.hpp"
#include "formulas/strided.hpp"
#include "formulas/written.hpp"

namespace popgrad::formulas {
namespace simplify_cpp {

struct Base {
  Array array;
  Rational exponent;
};
/// number * above / below, entry by entry; exponents are positive.
struct Factors {
  Rational number = 1;
  std::vector<Base> above, below;
};
struct Term {
  Array core;
  Rational number;
};

bool is_sum(const Array& a) { return a.is("add") || a.is("subtract"); }

// In the first argument; others are indices.
bool is_linear(const Array& a) {
  const auto names = {"sum",   "mean",  "cumsum",   "reshape",         "broadcast", "transpose",
                      "slice", "embed", "diagonal", "diagonal_matrix", "take",      "put"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return a.is(name); });
}

void include(std::vector<Base>& bases, const Array& a, const Rational& exponent) {
  const auto found =
      std::find_if(bases.begin(), bases.end(), [&](const Base& base) { return base.array == a; });
  if (found != bases.end()) {
    found->exponent += exponent;
  } else {
    bases.push_back({a, exponent});
  }
}

Factors factors_of(const Array& a);

void include(Factors& into, const Factors& more, const Rational& exponent) {
  const bool inverse = exponent < 0;
  const Rational size = abs(exponent);
  for (const Base& base : more.above)
    include(inverse ? into.below : into.above, base.array, base.exponent * size);
  for (const Base& base : more.below)
    include(inverse ? into.above : into.below, base.array, base.exponent * size);
  const Rational number = inverse ? 1 / more.number : more.number;
  for (Rational k = 0; k < size; k += 1) into.number *= number;
}

// Powers of a product by whole numbers are products of powers; of one factor by others, too.
std::optional<Factors> power_of(const Array& base, const Rational& exponent) {
  constexpr int most = 16;
  Factors made;
  const Factors inside = factors_of(base);
  if (exponent == 0 || abs(exponent) > most || inside.number == 0) return std::nullopt;
  if (denominator(exponent) == 1) {
    include(made, inside, exponent);
  } else {
    include(exponent < 0 ? made.below : made.above, base, abs(exponent));
  }
  return made;
}

Factors factors_of(const Array& a) {
  Factors made;
  const auto input = [&](std::size_t i) { return factors_of(a.input(i)); };
  const Rational* const value = constant_value(a);
  if (value != nullptr && a.node().text.empty() && a.node().type != Type::truth) {
    made.number = *value;
    return made;
  }
  if (a.is("broadcast")) return input(0);  // callers stretch the product
  if (a.is("negative") || a.is("multiply") || a.is("divide")) {
    made = input(0);
    if (a.is("negative")) {
      made.number = -made.number;
      return made;
    }
    const Factors other = input(1);
    if (a.is("multiply") || other.number != 0) {
      include(made, other, a.is("multiply") ? 1 : -1);
      return made;
    }
    made = {};
  }
  if (a.is("sqrt")) {
    if (const std::optional<Factors> root = power_of(a.input(0), Rational(1, 2))) return *root;
  }
  if (a.is("power")) {
    const Rational* const exponent = constant_value(a.input(1));
    if (exponent != nullptr && a.input(1).node().text.empty()) {
      if (const std::optional<Factors> power = power_of(a.input(0), *exponent)) return *power;
    }
  }
  include(made.above, a, 1);
  return made;
}

Array raised(const Base& base) {
  if (base.exponent == 1) return base.array;
  if (base.exponent == Rational(1, 2)) return apply("sqrt", {base.array});
  return power(base.array, base.array.number(base.exponent));
}

// Numbers without axes first, then as they came into being.
void order(std::vector<Base>& bases) {
  std::sort(bases.begin(), bases.end(), [](const Base& a, const Base& b) {
    return std::make_tuple(a.array.rank() > 0, a.array.place) <
           std::make_tuple(b.array.rank() > 0, b.array.place);
  });
}

Array product(Factors f, Graph& graph) {
  if (f.number == 0) return graph.constant(0);
  order(f.above);
  order(f.below);
  Rational number = abs(f.number), divisor = 1;
  if (!short_decimal(number)) {
    // Printed as a quotient of whole numbers.
    divisor = Rational(denominator(number));
    number = Rational(numerator(number));
  }
  const auto side = [&](const Rational& first, const std::vector<Base>& bases) {
    Array made = graph.constant(first);
    for (const Base& base : bases) made = made * raised(base);
    return made;
  };
  const Array above = side(number, f.above);
  const Array made = f.below.empty() && divisor == 1 ? above : above / side(divisor, f.below);
  return f.number < 0 ? -made : made;
}

void add_terms(const Array& a, const Rational& scale, std::vector<Term>& terms) {
  if (is_sum(a)) {
    add_terms(a.input(0), scale, terms);
    add_terms(a.input(1), a.is("add") ? scale : -scale, terms);
    return;
  }
  Factors f = factors_of(a);
  const Rational number = scale * f.number;
  if (f.below.empty() && f.above.size() == 1 && f.above[0].exponent == 1 &&
      is_sum(f.above[0].array)) {
    add_terms(f.above[0].array, number, terms);
    return;
  }
  if (number == 0) return;
  f.number = 1;
  const Array core = product(std::move(f), *a.graph);
  const auto found =
      std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.core == core; });
  if (found != terms.end()) {
    found->number += number;
  } else {
    terms.push_back({core, number});
  }
}

// A number times a sum whose first term is positive; equal sums are one node.
Array sum_of(std::vector<Term> terms, Graph& graph) {
  std::erase_if(terms, [](const Term& term) { return term.number == 0; });
  if (terms.empty()) return graph.constant(0);
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    const bool first = constant_value(a.core) != nullptr,
               second = constant_value(b.core) != nullptr;
    return std::make_tuple(first, a.core.place) < std::make_tuple(second, b.core.place);
  });
  Rational content = terms.front().number < 0 ? -1 : 1;
  const Rational size = abs(terms.front().number);
  if (std::all_of(terms.begin(), terms.end(),
                  [&](const Term& term) { return abs(term.number) == size; })) {
    content *= size;
  }
  for (Term& term : terms) term.number /= content;
  // A number that is added is written first, what is subtracted last.
  std::stable_partition(terms.begin(), terms.end(), [](const Term& term) {
    return constant_value(term.core) != nullptr && term.number > 0;
  });
  std::stable_partition(terms.begin(), terms.end(),
                        [](const Term& term) { return term.number > 0; });
  std::optional<Array> made;
  for (const Term& term : terms) {
    Factors f = factors_of(term.core);
    f.number *= abs(term.number);
    const Array part = product(std::move(f), graph);
    made = !made ? (term.number > 0 ? part : -part) : term.number > 0 ? *made + part : *made - part;
  }
  return product({.number = content, .above = {{*made, 1}}, .below = {}}, graph);
}

class Rules {
 public:
  explicit Rules(const std::vector<Array>& symmetric) {
    for (const Array& a : symmetric) transposes_.emplace(a.place, a);
  }
  Array operator()(const Array& old, const std::vector<Array>& inputs) {
    const Array made = rule(old, inputs);
    return broadcast(made, old.shape());
  }

 private:
  std::map<std::size_t, Array> transposes_;

  static Factors split(const Array& a, Array& core) {
    Factors outside = factors_of(a), inside;
    const auto keep_inside = [](std::vector<Base>& from, std::vector<Base>& to) {
      const auto scalars = std::stable_partition(
          from.begin(), from.end(), [](const Base& base) { return base.array.rank() == 0; });
      to.assign(scalars, from.end());
      from.erase(scalars, from.end());
    };
    keep_inside(outside.above, inside.above);
    keep_inside(outside.below, inside.below);
    core = broadcast(product(inside, *a.graph), a.shape());
    return outside;
  }
  static Array times(Factors outside, const Array& core) {
    include(outside, factors_of(core), 1);
    return product(std::move(outside), *core.graph);
  }

  Array rule(const Array& old, const std::vector<Array>& x) {
    Graph& graph = *old.graph;
    if (old.is("add") || old.is("subtract")) {
      std::vector<Term> terms;
      add_terms(x[0], 1, terms);
      add_terms(x[1], old.is("add") ? 1 : -1, terms);
      return sum_of(std::move(terms), graph);
    }
    if (old.is("negative") || old.is("multiply") || old.is("divide") || old.is("power") ||
        old.is("sqrt")) {
      return reduced_product(factors_of(same_operation(old, x)), graph);
    }
    if (old.is("prod") && x[0].is("broadcast") && x[0].input(0).rank() == 0)
      return power(x[0].input(0), count_of(x[0], old.node()));
    if (old.is("floor_divide") && is_number(x[1], 1)) return x[0];
    if (old.is("einsum")) return contracted(old.node().text, x);
    if (is_linear(old) && x[0].rank() > 0) {
      Array core = x[0];
      const Factors outside = split(x[0], core);
      if (old.is("transpose") && old.rank() == 2) return times(outside, transposed(core));
      std::vector<Array> inner = x;
      inner[0] = core;
      return times(outside, of_core(old, inner));
    }
    return same_operation(old, x);
  }

  // A number times a sum is the sum of the terms times the number.
  static Array reduced_product(const Factors& f, Graph& graph) {
    if (f.below.empty() && f.above.size() == 1 && f.above[0].exponent == 1 &&
        is_sum(f.above[0].array)) {
      std::vector<Term> terms;
      add_terms(f.above[0].array, f.number, terms);
      return sum_of(std::move(terms), graph);
    }
    return product(f, graph);
  }

  // Of a linear operation on an array without a number in front.
  Array of_core(const Array& old, const std::vector<Array>& x) {
    const GraphNode& node = old.node();
    if (old.is("sum") && node.numbers[1] == 1) {
      const Dimension& along = x[0].shape()[static_cast<std::size_t>(node.numbers[0])];
      if (along.extent == 1 && along.size.empty()) return reshaped(x[0], old.shape());
    }
    if (old.is("slice") && x[0].is("slice")) {
      const Array inner = x[0];
      std::vector<Range> ranges = ranges_of(node, old.shape());
      const std::vector<Range> before = ranges_of(inner.node(), inner.shape());
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        ranges[i].start = before[i].start + ranges[i].start * before[i].step;
        ranges[i].step *= before[i].step;
      }
      return slice(inner.input(0), ranges);
    }
    if (old.is("reshape")) return reshaped(x[0], old.shape());
    // Of a stretched array what it was before, stretched.
    if (old.is("slice") && x[0].is("broadcast") && x[0].input(0).rank() > 0) {
      const Array inner = x[0].input(0);
      const std::vector<Range> ranges = ranges_of(node, old.shape());
      const std::size_t added = ranges.size() - inner.shape().size();
      std::vector<Range> own;
      for (std::size_t i = 0; i < inner.shape().size(); ++i) {
        const bool is_stretched = inner.shape()[i].extent != x[0].shape()[added + i].extent;
        own.push_back(is_stretched ? Range{0, 1, inner.shape()[i]} : ranges[added + i]);
      }
      return broadcast(slice(inner, own), old.shape());
    }
    // Over all axes one after the other is over all axes.
    if (old.is("sum") && old.rank() == 0 && x[0].is("sum")) return reduce("sum", x[0].input(0));
    if (old.is("sum") && x[0].is("broadcast") && x[0].input(0).rank() == 0)
      return x[0].input(0) * count_of(x[0], node);
    if (old.is("broadcast")) return broadcast(x[0], old.shape());
    if (old.is("diagonal_matrix") && old.rank() == 2 && x[0].is("broadcast") &&
        old.shape()[0].extent == old.shape()[1].extent && is_number(x[0], 1)) {
      return old.graph->eye(old.shape()[0], old.shape()[1]);
    }
    if (old.is("diagonal") && old.rank() == 1) {
      if (x[0].is("eye")) return old.graph->constant(1);
      if (x[0].is("einsum")) {
        const EinsumLabels labels(x[0].node().text);
        std::string left = labels.operand[0], right = labels.operand[1];
        const char first = labels.out[0], second = labels.out[1];
        const auto has = [](const std::string& text, char c) {
          return text.find(c) != std::string::npos;
        };
        if (!(has(left, first) && has(left, second)) &&
            !(has(right, first) && has(right, second))) {
          for (std::string* text : {&left, &right})
            std::replace(text->begin(), text->end(), second, first);
          return contracted(fmt::format("{},{}->{}", left, right, first),
                            {x[0].input(0), x[0].input(1)});
        }
      }
    }
    return same_operation(old, x);
  }
  // Of a sum that loses axes of 1, such as those that its terms got before, the sum of the terms that lose them.
  static Array reshaped(const Array& a, const Shape& shape) {
    if (a.is("broadcast") && entries(a.input(0).shape()) == entries(shape))
      return reshape(a.input(0), shape);
    const auto loses = [&](const Array& term) {
      return term.rank() == 0 || entries(term.shape()) == entries(a.shape());
    };
    if (is_sum(a) && a.rank() > static_cast<Index>(shape.size()) && loses(a.input(0)) &&
        loses(a.input(1))) {
      const auto part = [&](std::size_t i) {
        return a.input(i).rank() == 0 ? a.input(i) : reshaped(a.input(i), shape);
      };
      return a.is("add") ? part(0) + part(1) : part(0) - part(1);
    }
    const Factors f = factors_of(a);
    if ((f.above.size() > 1 || !f.below.empty() || f.number != 1) &&
        a.rank() > static_cast<Index>(shape.size())) {
      Factors made = f;
      bool all = true;
      for (auto* side : {&made.above, &made.below}) {
        for (Base& base : *side) {
          if (base.array.rank() == 0) continue;
          all = all && loses(base.array);
          if (all) base.array = reshaped(base.array, shape);
        }
      }
      if (all) return broadcast(product(made, *a.graph), shape);
    }
    return reshape(a, shape);
  }
  // Entries that a reduction takes into one, by the names of the sizes.
  static Array count_of(const Array& whole, const GraphNode& reduction) {
    Array count = whole.number(1);
    for (Index k = 0; k < reduction.numbers[1]; ++k) {
      const Dimension& d = whole.shape()[static_cast<std::size_t>(reduction.numbers[0] + k)];
      count =
          count * (d.size.empty() ? whole.number(d.extent) : whole.graph->size(d.size, d.extent));
    }
    return count;
  }
  // ---- contractions of two arrays ----

  Array contracted(const std::string& text, const std::vector<Array>& x) {
    Array first = x[0], second = x[1];
    Factors outside = split(x[0], first);
    include(outside, split(x[1], second), 1);
    const EinsumLabels labels(text);
    return times(outside,
                 of_cores({labels.operand[0], labels.operand[1]}, {first, second}, labels.out));
  }
  Array of_cores(std::vector<std::string> labels, std::vector<Array> x, const std::string& out) {
    const auto has = [](const std::string& all, char c) {
      return all.find(c) != std::string::npos;
    };
    for (std::size_t i = 0; i < 2; ++i) {
      // What was a transpose is read as what it was before.
      if (x[i].is("transpose")) {
        const std::vector<Index>& axes = x[i].node().numbers;
        std::string before(labels[i].size(), ' ');
        for (std::size_t k = 0; k < axes.size(); ++k)
          before[static_cast<std::size_t>(axes[k])] = labels[i][k];
        labels[i] = before;
        x[i] = x[i].input(0);
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      std::string& own = labels[i];
      std::string& others = labels[1 - i];
      const bool square = x[i].rank() == 2 && x[i].shape()[0].extent == x[i].shape()[1].extent;
      if (!square || !(x[i].is("eye") || x[i].is("diagonal_matrix"))) continue;
      // Its axes have one index.
      char kept = own[0], gone = own[1];
      if (has(out, gone) && has(out, kept)) continue;
      if (has(out, gone) || (has(others, gone) && !has(out, kept))) std::swap(kept, gone);
      if (has(out, gone)) continue;
      std::string merged = others;
      std::replace(merged.begin(), merged.end(), gone, kept);
      if (x[i].is("eye")) {
        if (!has(merged, kept)) continue;
        return einsum(fmt::format("{}->{}", merged, out), {x[1 - i]});
      }
      own = std::string(1, kept);
      others = merged;
      x[i] = x[i].input(0);
      return contracted(fmt::format("{},{}->{}", labels[0], labels[1], out), x);
    }
    if (const std::optional<Array> made = stretched(labels, x, out)) return *made;
    const auto same_letters = [](std::string a, std::string b) {
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      return a == b;
    };
    if (labels[0] != labels[1] && same_letters(labels[0], labels[1]) && x[0].rank() == 2) {
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (transposed(x[i]) == x[i]) labels[i] = labels[1 - i];
      }
    }
    const bool summed =
        std::any_of(labels[0].begin(), labels[0].end(), [&](char c) { return !has(out, c); });
    // Entry by entry.
    if (!summed && (same_letters(labels[0], out) || same_letters(labels[1], out)))
      return aligned(labels[0], x[0], out) * aligned(labels[1], x[1], out);
    if (labels[0].size() > 1 && same_letters(labels[0], labels[1])) {
      const Array entries =
          aligned(labels[0], x[0], labels[0]) * aligned(labels[1], x[1], labels[0]);
      const Array one = reduced_product(factors_of(entries), *x[0].graph);
      const Array whole = broadcast(one, x[0].shape());
      return out.empty() ? reduce("sum", whole)
                         : einsum(fmt::format("{}->{}", labels[0], out), {whole});
    }
    // The first index of the result is that of the first factor.
    const bool other_order = out.empty() ? x[1].place < x[0].place : !has(labels[0], out[0]);
    if (other_order) {
      std::swap(x[0], x[1]);
      std::swap(labels[0], labels[1]);
    }
    // Of a symmetric matrix either index comes first: the one that makes a product of matrices.
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      std::string& own = labels[i];
      if (own.size() == 2 && has(out, own[i]) < has(out, own[1 - i]) && transposed(x[i]) == x[i])
        std::swap(own[0], own[1]);
    }
    return einsum(fmt::format("{},{}->{}", labels[0], labels[1], out), x);
  }
  // Where no index is summed and a factor is ones, the other factor, stretched.
  static std::optional<Array> stretched(const std::vector<std::string>& labels,
                                        const std::vector<Array>& x, const std::string& out) {
    const auto is_ones = [](const Array& a) { return a.is("broadcast") && is_number(a, 1); };
    const auto within = [&](const std::string& own) {
      return std::all_of(own.begin(), own.end(), [&](char c) {
        return std::count(own.begin(), own.end(), c) == 1 && out.find(c) != std::string::npos;
      });
    };
    if (!within(labels[0]) || !within(labels[1])) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (!is_ones(x[i])) continue;
      Shape shape;
      for (const char c : out) {
        const std::size_t own = labels[0].find(c);
        shape.push_back(own != std::string::npos ? x[0].shape()[own]
                                                 : x[1].shape()[labels[1].find(c)]);
      }
      const Array& other = x[1 - i];
      return broadcast(is_ones(other) ? other.number(1) : aligned(labels[1 - i], other, out),
                       shape);
    }
    return std::nullopt;
  }
  // With the axes of `out`, of 1 where it has none.
  static Array aligned(const std::string& labels, const Array& a, const std::string& out) {
    std::vector<Index> axes;
    Shape shape;
    for (const char c : out) {
      const std::size_t at = labels.find(c);
      if (at == std::string::npos) {
        shape.emplace_back();
      } else {
        axes.push_back(static_cast<Index>(at));
        shape.push_back(a.shape()[at]);
      }
    }
    // Leading axes of 1 come by themselves.
    while (!shape.empty() && shape.front().extent == 1 && shape.front().size.empty())
      shape.erase(shape.begin());
    return reshape(transpose(a, axes), shape);
  }

  // ---- transposes, to find symmetric matrices ----

  Array transposed(const Array& a) {
    if (const auto known = transposes_.find(a.place); known != transposes_.end())
      return known->second;
    const Array made = pushed(a);
    // Only a symmetric matrix is without the sign of a transpose.
    const Array result = made == a ? a : transpose(a);
    transposes_.emplace(a.place, result);
    return result;
  }
  Array pushed(const Array& a) {
    if (a.rank() == 0) return a;
    if (a.rank() != 2) return transpose(a);
    const Shape turned{a.shape()[1], a.shape()[0]};
    const bool square = turned[0].extent == turned[1].extent;
    if (a.is("transpose")) return a.input(0);
    if (square && (a.is("eye") || a.is("diagonal_matrix"))) return a;
    if (a.is("einsum")) {
      const EinsumLabels labels(a.node().text);
      return broadcast(contracted(fmt::format("{},{}->{}{}", labels.operand[0], labels.operand[1],
                                              labels.out[1], labels.out[0]),
                                  {a.input(0), a.input(1)}),
                       turned);
    }
    if (a.is("reshape") && a.input(0).rank() == 1) return reshape(a.input(0), turned);
    if (a.is("broadcast")) {
      const Array inner = a.input(0);
      if (inner.rank() == 2) return broadcast(pushed(inner), turned);
      return inner.rank() == 0 ? broadcast(inner, turned) : transpose(a);
    }
    if (a.node().operation->kind == OperationKind::entrywise) {
      std::vector<Array> inputs;
      for (std::size_t i = 0; i < a.node().inputs.size(); ++i) {
        const Array input = a.input(i);
        if (input.rank() == 1) {
          inputs.push_back(reshape(input, {input.shape()[0], Dimension{}}));
        } else {
          inputs.push_back(pushed(input));
        }
      }
      return (*this)(formulas::apply(a.node().operation->name, inputs), inputs);
    }
    return transpose(a);
  }
};

void signed_parts(const Array& a, bool positive, std::vector<Array>& added,
                  std::vector<Array>& subtracted) {
  if (!is_sum(a)) {
    (positive ? added : subtracted).push_back(a);
    return;
  }
  signed_parts(a.input(0), positive, added, subtracted);
  signed_parts(a.input(1), positive == a.is("add"), added, subtracted);
}

// -a with the sign inside a difference; none: null.
std::optional<Array> negated(const Array& a) {
  if (a.is("negative")) return a.input(0);
  if (is_sum(a)) {
    std::vector<Array> added, subtracted;
    signed_parts(a, true, added, subtracted);
    if (subtracted.empty()) return std::nullopt;
    Array made = subtracted.front();
    for (std::size_t i = 1; i < subtracted.size(); ++i) made = made + subtracted[i];
    for (const Array& part : added) made = made - part;
    return made;
  }
  if (a.is("multiply")) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (const std::optional<Array> other = negated(a.input(i)))
        return i == 0 ? *other * a.input(1) : a.input(0) * *other;
    }
  }
  if (a.is("divide")) {
    if (const std::optional<Array> other = negated(a.input(0))) return *other / a.input(1);
  }
  if (is_linear(a)) {
    const std::optional<Array> other = negated(a.input(0));
    if (!other) return std::nullopt;
    std::vector<Array> inputs{broadcast(*other, a.input(0).shape())};
    for (std::size_t i = 1; i < a.node().inputs.size(); ++i) inputs.push_back(a.input(i));
    return same_operation(a, inputs);
  }
  if (a.is("einsum")) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      std::vector<Array> inputs{a.input(0), a.input(1)};
      if (const std::optional<Array> other = negated(a.input(i))) {
        inputs[i] = *other;
        return same_operation(a, inputs);
      }
    }
  }
  return std::nullopt;
}

}  // namespace simplify_cpp

std::vector<Array> simplified(const std::vector<Array>& formulas,
                              const std::vector<Array>& symmetric) {
  using namespace simplify_cpp;
  Rules rules(symmetric);
  std::vector<Array> made = rebuilt(
      formulas, [&](const Array& old, const std::vector<Array>& inputs) -> std::optional<Array> {
        if (old.node().operation->kind == OperationKind::leaf) return std::nullopt;
        return rules(old, inputs);
      });
  return rebuilt(made,
                 [](const Array& old, const std::vector<Array>& inputs) -> std::optional<Array> {
                   if (!old.is("negative")) return std::nullopt;
                   const std::optional<Array> other = negated(inputs[0]);
                   return other ? std::optional(broadcast(*other, old.shape())) : std::nullopt;
                 });
}

}  // namespace popgrad::formulas
