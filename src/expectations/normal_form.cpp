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
    throw TooLong(fmt::format("it has more than {} terms as a polynomial", most_terms));
}

double factors_of(const Polynomial& form) {
  double factors = 0;
  for (const Term& term : form.terms) factors += static_cast<double>(term.factors.size());
  return factors;
}

// 1 where entry i of the result is that of the argument, as a matrix (result, argument).
Array selection(const Array& start, Index step, const Dimension& count, const Dimension& from) {
  formulas::Graph& graph = *start.graph;
  return formulas::one_hot(graph.arange(count) * graph.constant(static_cast<long>(step)) + start,
                           from);
}
Array selection(const formulas::Range& range, const Dimension& from, formulas::Graph& graph) {
  return selection(graph.constant(static_cast<long>(range.start)), range.step, range.count, from);
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
    Term& to = factor.is_random() ? split.rest : split.coefficient;
    to.factors.push_back(factor);
    if (factor.is_random()) outer.insert(factor.labels.begin(), factor.labels.end());
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

NormalForm::NormalForm(const std::vector<Array>& draws, bool of_functions, double most_factors)
    : draws_(draws), of_functions_(of_functions), most_factors_(most_factors) {}

void NormalForm::count_factors(const Polynomial& a, const Polynomial& b) {
  using namespace normal_form_cpp;
  const std::size_t left = a.terms.size(), right = b.terms.size();
  require_few(left * right);
  factors_ +=
      static_cast<double>(right) * factors_of(a) + static_cast<double>(left) * factors_of(b);
  if (factors_ > most_factors_) {
    throw TooLong(
        fmt::format("it takes more than {:g} factors to write it as a polynomial", most_factors_));
  }
}

Polynomial NormalForm::product(const Polynomial& a, const Polynomial& b, const Shape& shape) {
  count_factors(a, b);
  TermSum sum;
  for (const Term& x : a.terms) {
    const Term left = stretched(x, shape);
    for (const Term& y : b.terms) sum.add(expectations::product(left, stretched(y, shape)));
  }
  return {shape, sum.terms()};
}

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
  count_factors(a, b);
  TermSum sum;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      Term made = outer_product(x, y);
      std::string text = labels.operand[0] + labels.operand[1];
      for (std::size_t axis = 0; axis < text.size(); ++axis) {
        for (std::size_t later = text.find(text[axis], axis + 1); later != std::string::npos;
             later = text.find(text[axis], axis + 1)) {
          made.identify_axes(axis, later);
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

const Affine* NormalForm::affine(const Array& array) {
  const auto known = affine_.find(array.place);
  if (known != affine_.end()) return known->second ? &*known->second : nullptr;
  std::optional<Affine>& made = affine_[array.place];
  Affine found;
  for (const Term& term : collected(of(array), *array.graph).terms) {
    const auto random = [](const Factor& factor) { return factor.is_random(); };
    const auto count = std::count_if(term.factors.begin(), term.factors.end(), random);
    if (count == 0) {
      found.offset.push_back(term);
      continue;
    }
    const auto draw = std::find_if(term.factors.begin(), term.factors.end(), random);
    if (count > 1 || draw->kind != FactorKind::draw) return nullptr;
    Affine::Part part{draw->array.place, term};
    part.coefficient.factors.erase(part.coefficient.factors.begin() +
                                   (draw - term.factors.begin()));
    part.coefficient.out.insert(part.coefficient.out.end(), draw->labels.begin(),
                                draw->labels.end());
    found.parts.push_back(std::move(part));
  }
  made = std::move(found);
  return &*made;
}

Polynomial NormalForm::entries_of(Function function, const Array& argument) {
  using namespace normal_form_cpp;
  if (argument.is("broadcast")) {
    TermSum sum;
    for (const Term& term : entries_of(function, argument.input(0)).terms)
      sum.add(stretched(term, argument.shape()));
    return {argument.shape(), sum.terms()};
  }
  const bool odd = function == Function::erf || function == Function::sign ||
                   function == Function::sine || function == Function::tanh;
  const bool even = function == Function::abs || function == Function::cosine;
  if (argument.is("negative") && (odd || even)) {
    Polynomial made = entries_of(function, argument.input(0));
    if (odd) {
      for (Term& term : made.terms) term.coefficient = -term.coefficient;
    }
    return made;
  }
  if (affine(argument) == nullptr) {
    if (std::optional<Polynomial> parted = over_sign(function, argument)) return std::move(*parted);
    throw NotHandled(fmt::format("{} of products of draws", name_of(function)));
  }
  Term term = term_of(argument, FactorKind::function);
  term.factors.front().function = function;
  return {argument.shape(), {std::move(term)}};
}

// f(sign(b) a) = ((1 + sign(b)) f(a) + (1 - sign(b)) f(-a)) / 2.
std::optional<Polynomial> NormalForm::over_sign(Function function, const Array& argument) {
  using namespace normal_form_cpp;
  const Array factors = argument.is("negative") ? argument.input(0) : argument;
  if (!factors.is("multiply")) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Array sign = factors.input(i), other = factors.input(1 - i);
    if (!sign.is("sign") || !drawn(sign) || affine(other) == nullptr) continue;
    const Array own = broadcast(argument.is("negative") ? -other : other, argument.shape());
    TermSum sum;
    for (const int way : {1, -1}) {
      const Array chosen = (1 + (way == 1 ? sign : -sign)) / 2;
      for (Term& term :
           product(of(chosen), entries_of(function, way == 1 ? own : -own), argument.shape()).terms)
        sum.add(std::move(term));
    }
    return Polynomial{argument.shape(), sum.terms()};
  }
  return std::nullopt;
}

// exp(-k a^2), and products of exponentials that are written as one.
Polynomial NormalForm::exponential_of(const Array& array) {
  using namespace normal_form_cpp;
  const Array exponent = array.input(0);
  if (affine(exponent) != nullptr) return entries_of(Function::exponential, exponent);
  const auto exponential = [](const Array& a) { return formulas::apply("exp", {a}); };
  if (exponent.is("add") || exponent.is("subtract")) {
    const Array second = exponent.is("add") ? exponent.input(1) : -exponent.input(1);
    return product(of(exponential(exponent.input(0))), of(exponential(second)), array.shape());
  }
  Array scale = array.number(1), rest = exponent;
  while (true) {
    if (rest.is("negative")) {
      scale = -scale;
    } else if (rest.is("divide") && !drawn(rest.input(1))) {
      scale = scale / rest.input(1);
    } else if (rest.is("multiply") && drawn(rest.input(0)) != drawn(rest.input(1))) {
      const std::size_t i = drawn(rest.input(0)) ? 1 : 0;
      scale = scale * rest.input(i);
      rest = rest.input(1 - i);
      continue;
    } else if (!rest.is("broadcast")) {
      break;
    }
    rest = rest.input(0);
  }
  const std::optional<Rational> power =
      rest.is("power") && !drawn(rest.input(1)) ? rational_value(rest.input(1)) : std::nullopt;
  const bool square =
      (power && *power == 2) || (rest.is("multiply") && rest.input(0) == rest.input(1));
  const std::optional<Rational> value = rational_value(scale);
  if (!square || (value && *value >= 0)) throw NotHandled("exp of products of draws");
  const Array root = formulas::apply("sqrt", {-scale}) * rest.input(0);
  return entries_of(Function::gaussian, broadcast(root, array.shape()));
}

// Of two entries softmax is a function of their difference.
std::optional<Polynomial> NormalForm::of_two(const Array& array) {
  using namespace normal_form_cpp;
  const Array a = array.input(0);
  const std::vector<Index>& numbers = array.node().numbers;
  const bool reduces = array.is("logsumexp");
  const auto axis = static_cast<std::size_t>(numbers[0]);
  if ((reduces && numbers[1] != 1) || a.shape()[axis].extent != 2) return std::nullopt;
  const auto taken = [&](const formulas::Range& along) {
    std::vector<formulas::Range> ranges;
    for (const Dimension& d : a.shape()) ranges.push_back({0, 1, d});
    ranges[axis] = along;
    return slice(a, ranges);
  };
  if (reduces) {
    const auto entry = [&](Index k) { return reshape(taken({k, 1, {}}), array.shape()); };
    return of(entry(0) + formulas::apply("softplus", {entry(1) - entry(0)}));
  }
  const Array other = taken({1, -1, a.shape()[axis]});
  return of(array.is("softmax") ? formulas::apply("sigmoid", {a - other})
                                : -formulas::apply("softplus", {other - a}));
}

std::optional<Polynomial> NormalForm::function_of(const Array& array) {
  using namespace normal_form_cpp;
  if (!of_functions_) return std::nullopt;
  const std::string_view name = array.node().operation->name;
  const Array a = array.input(0);
  for (const Function function :
       {Function::erf, Function::sign, Function::relu, Function::abs, Function::sine,
        Function::cosine, Function::tanh, Function::sigmoid, Function::softplus}) {
    if (name == name_of(function)) return entries_of(function, a);
  }
  if (name == "exp") return exponential_of(array);
  if (name == "softmax" || name == "log_softmax" || name == "logsumexp") return of_two(array);
  if (name == "gelu") {
    const Array normal = formulas::apply("erf", {a / formulas::apply("sqrt", {a.number(2)})});
    return of(a * (1 + normal) / 2);
  }
  const auto steps = [&](const Array& argument, bool complement) {
    Polynomial made = entries_of(Function::step, broadcast(argument, array.shape()));
    if (!complement) return made;
    for (Term& term : made.terms) term.coefficient = -term.coefficient;
    made.terms.push_back(stretched(Term{}, array.shape()));
    return made;
  };
  if (name == "greater") return steps(a - array.input(1), false);
  if (name == "less") return steps(array.input(1) - a, false);
  if (name == "less_equal") return steps(a - array.input(1), true);
  if (name == "greater_equal") return steps(array.input(1) - a, true);
  if (name == "maximum") return of(a + formulas::apply("relu", {array.input(1) - a}));
  if (name == "minimum") return of(a - formulas::apply("relu", {a - array.input(1)}));
  return std::nullopt;
}

Polynomial NormalForm::chosen_by_draws(const Array& array) {
  using namespace normal_form_cpp;
  const Array condition = array.input(0);
  if (!of_functions_ || condition.node().type != formulas::Type::truth)
    throw NotHandled("a condition on draws");
  const Shape& shape = array.shape();
  const Polynomial& chosen = of(condition);
  TermSum sum;
  for (const std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
    const Polynomial& value = of(array.input(branch));
    for (Term& term : product(chosen, value, shape).terms) {
      if (branch == 2) term.coefficient = -term.coefficient;
      sum.add(std::move(term));
    }
    for (const Term& term : value.terms) {
      if (branch == 2) sum.add(stretched(term, shape));
    }
  }
  return {shape, sum.terms()};
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
    Array start = array.number(0);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Polynomial& part = of(array.input(i));
      require_few(sum.size() + part.terms.size());
      for (Term term : part.terms) {
        if (name == "subtract" && i == 1) term.coefficient = -term.coefficient;
        if (name == "concatenate") {
          const auto axis = static_cast<std::size_t>(node.numbers[0]);
          term = through(term, axis, selection(start, 1, part.shape[axis], shape[axis]), true);
        }
        sum.add(stretched(std::move(term), shape));
      }
      if (name == "concatenate") {
        const Dimension& along = part.shape[static_cast<std::size_t>(node.numbers[0])];
        start = start + Coefficient(along).array(*array.graph);
      }
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
    // Roots of inverses, which are taken together where they meet.
    const Array factor =
        divisor.is("sqrt") ? formulas::apply("sqrt", {1 / divisor.input(0)}) : 1 / divisor;
    return product(of(array.input(0)), of(factor), shape);
  }
  if (name == "where") {
    const Array condition = array.input(0);
    // 0 times what is not defined is not 0.
    for (const std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
      if (may_be_undefined(array.input(branch)))
        throw NotHandled("a choice between formulas that may not be defined");
    }
    if (drawn(condition)) return chosen_by_draws(array);
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
  if (std::optional<Polynomial> known = function_of(array)) return std::move(*known);
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
          term.coefficient *=
              Coefficient(term.dimensions.at(term.out[axis])).inverse().value_or(Coefficient(0));
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
      term.identify_axes(first, second);
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
    const Coefficient leading = group.front().coefficient.coefficient.leading();
    const std::optional<Coefficient> inverse = leading.inverse();
    const Coefficient scale = inverse ? leading : Coefficient();
    std::vector<Term> coefficients;
    for (const Split& split : group) {
      coefficients.push_back(split.coefficient);
      coefficients.back().coefficient *= inverse.value_or(Coefficient());
    }
    Term rest = group.front().rest;
    const std::vector<Label> labels = group.front().hole()->labels;
    std::erase_if(rest.factors, [](const Factor& f) { return f.kind == FactorKind::hole; });
    const Array whole = sum_of(coefficients, coefficients.front().shape(), graph);
    rest.coefficient *= scale;
    result.add(with_entry(std::move(rest), term_of(whole), labels));
  }
  return {form.shape, result.terms()};
}

}  // namespace popgrad::expectations
