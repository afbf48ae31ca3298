#include "formulas/elaborate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/listed.hpp"
#include "formulas/operation.hpp"
#include "popgrad/base/error.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::formulas {
namespace elaborate_cpp {
namespace {

using syntax::absent;
using syntax::Kind;
using syntax::Node;

class Elaboration;

/// A call: positional arguments, then keywords.
struct Call {
  Elaboration& of;
  const Node& node;

  [[nodiscard]] std::size_t count() const { return node.parts.size() - node.keywords.size(); }
  [[nodiscard]] const Node& argument(std::size_t i) const;
  /// The part that it gives, or `absent`.
  [[nodiscard]] std::size_t keyword(std::string_view name) const;
  [[nodiscard]] Array array(std::size_t i) const;
  [[nodiscard]] Graph& graph() const;
  [[nodiscard]] Dimension dimension(std::size_t i) const;
  /// Entries of a list or tuple.
  [[nodiscard]] std::vector<Array> list(std::size_t i) const;
  /// Axes counted from 0, of a keyword or the argument `position`; none: no value.
  [[nodiscard]] std::optional<std::vector<Index>> axes(Index rank, std::size_t position) const;
  [[nodiscard]] Index axis(Index rank, std::size_t position, Index otherwise) const;
  /// Of keepdims=1.
  [[nodiscard]] bool keeps_axes() const;
  /// From argument `first` on, or one tuple.
  [[nodiscard]] Shape shape(std::size_t first) const;
  void expect(std::size_t least, std::size_t most) const;
};

struct Function {
  std::size_t least, most;  // arguments without axis
  Array (*make)(const Call&);
};

std::string bracketed(const std::string& text) {
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

// The text of a size: formulas of sizes that parse again.
std::string size_text(const Array& a) {
  const GraphNode& n = a.node();
  if (a.is("constant")) return n.text.empty() ? to_text(n.value) : n.text;
  if (const std::string sign(n.operation->sign); !sign.empty()) {
    const std::string left = size_text(a.input(0)), right = bracketed(size_text(a.input(1)));
    return (sign == "+" ? left : bracketed(left)) + (sign == "**" ? sign : " " + sign + " ") +
           right;
  }
  if (a.is("negative")) return "-" + bracketed(size_text(a.input(0)));
  const std::string name = a.is("minimum")   ? "min"
                           : a.is("maximum") ? "max"
                                             : std::string(n.operation->name);
  std::string text = name + "(";
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    text += (i > 0 ? ", " : "") + size_text(a.input(i));
  return text + ")";
}

bool has_size(const Array& a) {
  const std::vector<bool> needed = needed_for({a});
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (needed[k] && !a.graph->node(k).text.empty()) return true;
  }
  return false;
}

Dimension dimension_of(const Array& a) {
  if (a.rank() != 0 || a.node().type == Type::real)
    throw InputError("a size has to be a whole number");
  const Index extent = whole_number(a);
  if (extent < 0)
    throw InputError(fmt::format("a size of {} is not possible; sizes begin at 0", extent));
  return {extent, has_size(a) ? size_text(a) : std::string()};
}

Array with_shape(const Call& call, int value) {
  return broadcast(call.graph().constant(value), call.shape(0));
}

Array over_axes(const Call& call, std::string_view name, std::size_t position = 1) {
  Array a = call.array(0);
  std::optional<std::vector<Index>> axes = call.axes(a.rank(), position);
  if (call.keeps_axes()) {
    if (!axes) {
      axes.emplace();
      for (Index k = 0; k < a.rank(); ++k) axes->push_back(k);
    }
    std::sort(axes->begin(), axes->end());
    for (const Index axis : *axes) a = keep_axes(reduce(name, a, axis), axis, 1);
    return a;
  }
  if (!axes) return reduce(name, a);
  std::sort(axes->begin(), axes->end());
  if (axes->back() - axes->front() + 1 == static_cast<Index>(axes->size())) {
    return reduce(name, a, axes->front(), static_cast<Index>(axes->size()));
  }
  if (name == "argmax") throw InputError("argmax goes over one axis or all");
  for (std::size_t k = axes->size(); k-- > 0;) a = reduce(name, a, (*axes)[k]);
  return a;
}

template <bool smallest>
Array extremum(const Call& call) {
  const char* pairwise = smallest ? "minimum" : "maximum";
  if (call.count() < 2 || call.array(0).rank() > 0)
    return over_axes(call, smallest ? "min" : "max");
  Array a = call.array(0);  // Python's, of numbers
  for (std::size_t i = 1; i < call.count(); ++i) a = apply(pairwise, {a, call.array(i)});
  return a;
}

Array norm(const Call& call) {
  const Array a = call.array(0);
  if (call.count() == 1) return over_axes(call, "norm", absent);
  const Rational* order = constant_value(call.array(1));
  if (order == nullptr || *order != 2 || a.rank() > 2) {
    throw InputError(
        "norm(x) is the root of the sum of squares, norm(A, 2) the largest singular value; no "
        "other is there");
  }
  if (a.rank() < 2) return reduce("norm", a);
  return apply("sqrt", {reduce("max", of_square_matrix("eigvalsh", matmul(transpose(a), a)))});
}

Array diag(const Call& call) {
  const Array a = call.array(0);
  if (a.rank() == 2 && call.count() == 1) return diagonal(a);
  if (a.rank() != 1 || call.count() == 2) {
    throw InputError(fmt::format(
        "diag takes a vector, diag(v) or diag(v, rows, columns), or a matrix; this has shape {}",
        to_text(a.shape())));
  }
  if (call.count() == 1) return diagonal_matrix(a, a.shape()[0], a.shape()[0]);
  const Dimension rows = call.dimension(1), columns = call.dimension(2), count = a.shape()[0];
  if (count.extent >= std::min(rows.extent, columns.extent))
    return diagonal_matrix(a, rows, columns);
  // The rest of a longer diagonal is 0.
  return embed(diagonal_matrix(a, count, count), {{0, 1, count}, {0, 1, count}}, {rows, columns});
}

Array column(const Array& a) { return keep_axes(a, a.rank(), 1); }

Array tril(const Call& call) {
  const Array a = call.array(0);
  if (a.rank() < 2) throw InputError("tril takes a matrix");
  Graph& graph = call.graph();
  const Array rows = graph.arange(a.shape()[a.shape().size() - 2]),
              columns = graph.arange(a.shape().back());
  return where(apply("greater_equal", {column(rows), columns}), a, a.number(0));
}

Array one_hot_of(const Call& call) {
  const Array index = call.array(0);
  const Dimension classes = call.dimension(1);
  if (index.node().type == Type::real) throw InputError("one_hot takes whole numbers");
  return one_hot(index, classes);
}

Array stacked(const std::vector<Array>& parts, Index axis) {
  std::vector<Array> kept;
  for (const Array& part : parts) {
    if (part.rank() != parts.front().rank())
      throw InputError("stack: the arrays differ in their numbers of axes");
    kept.push_back(keep_axes(part, axis, 1));
  }
  return concatenate(kept, axis);
}

Array stack(const Call& call) {
  const std::vector<Array> parts = call.list(0);
  return stacked(parts, call.axis(parts.front().rank() + 1, 1, 0));
}

Array concatenation(const Call& call) {
  const std::vector<Array> parts = call.list(0);
  if (parts.front().rank() == 0) throw InputError("concatenate: numbers have no axes; write stack");
  return concatenate(parts, call.axis(parts.front().rank(), 1, 0));
}

Array block(const Call& call);

Array outer(const Call& call) {
  const Array a = call.array(0), b = call.array(1);
  const auto flat = [](const Array& x) {
    return x.rank() == 1 ? x : reshape(x, {{entries(x.shape()), {}}});
  };
  return einsum("i,j->ij", {flat(a), flat(b)});
}

Array trace(const Call& call) {
  const Array a = call.array(0);
  if (a.rank() != 2)
    throw InputError(fmt::format("trace takes a matrix; this has shape {}", to_text(a.shape())));
  return reduce("sum", diagonal(a));
}

Array inverse(const Call& call) {
  const Array a = call.array(0);
  if (a.rank() != 2)
    throw InputError(fmt::format("inv takes a matrix; this has shape {}", to_text(a.shape())));
  return solve(a, call.graph().eye(a.shape()[0], a.shape()[1]));
}

template <std::size_t which>
Array of_matrix(const Call& call) {
  static constexpr std::array names{"eigvalsh", "eigvectors", "cholesky"};
  return of_square_matrix(names[which], call.array(0));
}

// The largest eigenvalues of [[0, A], [A', 0]], which are as exact as A; those of A' A lose half of the digits.
Array singular_values(const Call& call) {
  const Array a = call.array(0);
  if (a.rank() != 2)
    throw InputError(fmt::format("svdvals takes a matrix; this has shape {}", to_text(a.shape())));
  const Dimension rows = a.shape()[0], columns = a.shape()[1];
  const Array zero = a.number(0);
  const Array above = concatenate({broadcast(zero, {rows, rows}), a}, 1),
              below = concatenate({transpose(a), broadcast(zero, {columns, columns})}, 1);
  const Array values = of_square_matrix("eigvalsh", concatenate({above, below}, 0));
  const Dimension few = rows.extent <= columns.extent ? rows : columns;
  return slice(values, {{rows.extent + columns.extent - 1, -1, few}});
}

Array contraction(const Call& call) {
  if (call.argument(0).kind != Kind::string)
    throw InputError("einsum begins with labels, such as einsum('ij,j->i', A, x)");
  std::vector<Array> operands;
  for (std::size_t i = 1; i < call.count(); ++i) operands.push_back(call.array(i));
  return einsum(call.argument(0).text, std::move(operands));
}

template <std::size_t which>
Array scanned(const Call& call) {
  static constexpr std::array names{"cumsum", "softmax", "log_softmax"};
  const Array a = call.array(0);
  if (a.rank() == 0 || (which == 0 && a.rank() > 1 && !call.axes(a.rank(), 1))) {
    throw InputError(
        fmt::format("{} goes along an axis; this has shape {}", names[which], to_text(a.shape())));
  }
  return scan(names[which], a, call.axis(a.rank(), 1, a.rank() - 1));
}

constexpr std::size_t many = 1000;

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> all{
      {"sum", {1, 2, [](const Call& c) { return over_axes(c, "sum"); }}},
      {"prod", {1, 2, [](const Call& c) { return over_axes(c, "prod"); }}},
      {"mean", {1, 2, [](const Call& c) { return over_axes(c, "mean"); }}},
      {"argmax", {1, 2, [](const Call& c) { return over_axes(c, "argmax"); }}},
      {"logsumexp", {1, 2, [](const Call& c) { return over_axes(c, "logsumexp"); }}},
      {"min", {1, many, extremum<true>}},
      {"max", {1, many, extremum<false>}},
      {"norm", {1, 2, norm}},
      {"cumsum", {1, 2, scanned<0>}},
      {"softmax", {1, 2, scanned<1>}},
      {"log_softmax", {1, 2, scanned<2>}},
      {"trace", {1, 1, trace}},
      {"inv", {1, 1, inverse}},
      {"solve", {2, 2, [](const Call& c) { return solve(c.array(0), c.array(1)); }}},
      {"eigvalsh", {1, 1, of_matrix<0>}},
      {"eigvectors", {1, 1, of_matrix<1>}},
      {"cholesky", {1, 1, of_matrix<2>}},
      {"svdvals", {1, 1, singular_values}},
      {"diag", {1, 3, diag}},
      {"outer", {2, 2, outer}},
      {"einsum", {2, many, contraction}},
      {"tril", {1, 1, tril}},
      {"one_hot", {2, 2, one_hot_of}},
      {"stack", {1, 2, stack}},
      {"concatenate", {1, 2, concatenation}},
      {"block", {1, 1, block}},
      {"eye",
       {1, 2,
        [](const Call& c) { return c.graph().eye(c.dimension(0), c.dimension(c.count() - 1)); }}},
      {"ones", {1, many, [](const Call& c) { return with_shape(c, 1); }}},
      {"zeros", {1, many, [](const Call& c) { return with_shape(c, 0); }}},
      {"arange",
       {1, 2,
        [](const Call& c) {
          if (c.count() == 1) return c.graph().arange(c.dimension(0));
          const Array start = c.array(0), count = c.array(1) - start;
          return start + c.graph().arange(dimension_of(count));
        }}},
      {"reshape", {2, many, [](const Call& c) { return reshape(c.array(0), c.shape(1)); }}},
      {"transpose", {1, 1, [](const Call& c) { return transpose(c.array(0)); }}},
  };
  return all;
}

// Functions of numbers, by the names of the table; operators are written as such.
const std::set<std::string, std::less<>>& entrywise_functions() {
  static const std::set<std::string, std::less<>> all{
      "exp",  "log",      "sqrt",    "sin",     "cos",   "tanh",         "sigmoid",
      "erf",  "floor",    "asin",    "atan2",   "abs",   "sign",         "relu",
      "gelu", "softplus", "minimum", "maximum", "where", "stop_gradient"};
  return all;
}

class Elaboration {
 public:
  Elaboration(const syntax::Tree& tree, Graph& graph, const Scope& scope)
      : tree_(tree), graph_(graph), scope_(scope), arrays_(tree.nodes.size()) {}

  Array run() {
    for (std::size_t k = 0; k < tree_.nodes.size(); ++k) {
      const Node& node = tree_.nodes[k];
      try {
        arrays_[k] = value(node);
      } catch (const FormulaError&) {
        throw;
      } catch (const std::invalid_argument& error) {
        throw FormulaError(node.place, error.what());
      }
    }
    return array(tree_.nodes.size() - 1);
  }

  [[nodiscard]] const Node& node(std::size_t k) const { return tree_.nodes[k]; }
  [[nodiscard]] Graph& graph() const { return graph_; }
  [[nodiscard]] Array array(std::size_t k) const {
    if (arrays_[k]) return *arrays_[k];
    const Node& n = tree_.nodes[k];
    throw FormulaError(n.place, n.kind == Kind::list || n.kind == Kind::tuple
                                    ? "lists and tuples stand in stack, concatenate, block, shapes "
                                      "and axes; write stack([...])"
                                    : "this is no array");
  }

 private:
  std::optional<Array> value(const Node& node) {
    switch (node.kind) {
      case Kind::number:
        return number(node.text);
      case Kind::name:
        return named(node.text);
      case Kind::unary:
        return node.text == "-" ? -array(node.parts[0]) : array(node.parts[0]);
      case Kind::binary:
        return binary(node);
      case Kind::attribute:
        if (node.text != "T")
          throw InputError(fmt::format(".{} is not there; the transpose is .T", node.text));
        return transpose(array(node.parts[0]));
      case Kind::subscript:
        return subscript(node);
      case Kind::call:
        return called(node);
      default:
        return std::nullopt;
    }
  }

  Array number(const std::string& text) const {
    const std::size_t e = text.find_first_of("eE");
    constexpr std::size_t longest_exponent = 5;
    if (e != std::string::npos && text.size() - e > longest_exponent) {
      throw InputError(fmt::format("{} has an exponent beyond 999", text));
    }
    const Type type = text.find_first_of(".eE") == std::string::npos ? Type::whole : Type::real;
    const FractionText exact = parse_number(text);
    return graph_.constant(Rational(exact.numerator) / Rational(exact.denominator), type);
  }

  Array named(const std::string& name) const {
    if (const auto found = scope_.find(name); found != scope_.end()) return found->second;
    if (name == "pi") return graph_.pi();
    std::vector<std::string> known = function_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      throw InputError(fmt::format("{} is a function; call it, as in {}(x)", name, name));
    }
    known.clear();
    for (const auto& [other, array] : scope_) known.push_back(other);
    throw InputError(fmt::format("unknown name {}{}", name, suggestion(name, known)));
  }

  Array binary(const Node& node) const {
    const Array a = array(node.parts[0]), b = array(node.parts[1]);
    return node.text == "@" ? matmul(a, b) : apply(operation_of_sign(node.text).name, {a, b});
  }

  Array called(const Node& node) {
    const Call call{*this, node};
    const std::string& name = node.text;
    static const std::set<std::string, std::less<>> over_axes{"sum", "prod", "mean",     "max",
                                                              "min", "norm", "logsumexp"};
    for (const std::string& keyword : node.keywords) {
      if (keyword == "axis" || (keyword == "keepdims" && over_axes.contains(name))) continue;
      throw InputError(fmt::format("{}: there is no argument {}; axis= is", name, keyword));
    }
    if (entrywise_functions().contains(name)) {
      const Operation& op = operation(name);
      call.expect(op.arity, op.arity);
      std::vector<Array> arguments;
      for (std::size_t i = 0; i < op.arity; ++i) arguments.push_back(call.array(i));
      return formulas::apply(name, arguments);
    }
    const auto found = functions().find(name);
    if (found == functions().end()) {
      throw InputError(
          fmt::format("unknown function {}{}", name, suggestion(name, function_names())));
    }
    call.expect(found->second.least, found->second.most);
    return found->second.make(call);
  }

  // --- brackets

  /// One end of a slice, counted from 0, and as text.
  struct End {
    Index at = 0;
    std::string text;  ///< of the size that it depends on; empty: a number
  };
  End end_of(std::size_t part, const Dimension& axis, End otherwise) const {
    if (part == absent) return otherwise;
    const Array a = array(part);
    const Index given = whole_number(a);
    if (given < -axis.extent || given > axis.extent) {
      throw FormulaError(node(part).place,
                         fmt::format("{} is outside an axis {}", given, to_text(Shape{axis})));
    }
    const bool from_end = given < 0;
    std::string text = has_size(a) ? size_text(a) : std::string();
    if (from_end && !axis.size.empty()) {
      const std::string back =
          text.empty() ? std::to_string(-given) : bracketed("-" + bracketed(text));
      text = fmt::format("{} - {}", axis.size, back);
    }
    return {from_end ? given + axis.extent : given, text};
  }

  Range range_of(const Node& slice, const Dimension& axis) const {
    const Index step = slice.parts[2] == absent ? 1 : whole_number(array(slice.parts[2]));
    if (step == 0) throw InputError("a slice with step 0 does not end");
    const bool whole = slice.parts[0] == absent && slice.parts[1] == absent;
    if (whole && step == 1) return {0, 1, axis};
    if (whole && step == -1) return {axis.extent - 1, -1, axis};
    const End first = {0, {}}, last = {axis.extent, axis.size};
    const End past_first = {-1, {}};
    const End at_last = {axis.extent - 1, axis.size.empty() ? "" : axis.size + " - 1"};
    const End from = end_of(slice.parts[0], axis, step > 0 ? first : at_last);
    const End to = end_of(slice.parts[1], axis, step > 0 ? last : past_first);
    if (step < 0 && from.at == axis.extent && axis.extent > 0) {
      throw FormulaError(node(slice.parts[0]).place,
                         fmt::format("{} is outside an axis {}", from.at, to_text(Shape{axis})));
    }
    const Index span = step > 0 ? to.at - from.at : from.at - to.at;
    const Index width = step > 0 ? step : -step;
    Dimension count{span <= 0 ? 0 : (span + width - 1) / width, {}};
    if (from.text.empty() != to.text.empty() || (!from.text.empty() && !counted_from_end(slice))) {
      const auto text = [](const End& end) {
        return end.text.empty() ? std::to_string(end.at) : end.text;
      };
      const End &high = step > 0 ? to : from, &low = step > 0 ? from : to;
      const bool from_first = low.at == 0 && low.text.empty();
      count.size =
          from_first ? text(high) : fmt::format("{} - {}", text(high), bracketed(text(low)));
      if (width > 1) count.size = fmt::format("({} + {}) // {}", count.size, width - 1, width);
    }
    return {from.at, step, count};
  }
  // As in x[-2:]: as many at every size.
  bool counted_from_end(const Node& slice) const {
    const auto literal = [&](std::size_t part) {
      return part == absent || (whole_number(array(part)) < 0 && !has_size(array(part)));
    };
    return slice.parts[0] != absent && literal(slice.parts[0]) && literal(slice.parts[1]);
  }

  Array subscript(const Node& bracket) const {
    const Array object = array(bracket.parts[0]);
    std::vector<Range> ranges;
    Shape kept;                   // after whole indices went and new axes came
    std::optional<Array> picked;  // an array of indices
    Index picked_axis = 0;
    for (std::size_t k = 1; k < bracket.parts.size(); ++k) {
      const std::size_t part = bracket.parts[k];
      const Node& index = node(part);
      if (index.kind == Kind::new_axis) {
        kept.emplace_back();
        continue;
      }
      if (ranges.size() == object.shape().size()) {
        throw FormulaError(index.place,
                           fmt::format("one index too many for shape {}", to_text(object.shape())));
      }
      const Dimension& axis = object.shape()[ranges.size()];
      if (index.kind == Kind::slice) {
        ranges.push_back(range_of(index, axis));
        kept.push_back(ranges.back().count);
        continue;
      }
      const Array place = array(part);
      if (place.node().type == Type::real)
        throw FormulaError(index.place, "an index has to be a whole number");
      if (place.rank() == 0 && known(place)) {
        const Index given = whole_number(place);
        if (given < -axis.extent || given >= axis.extent) {
          throw FormulaError(index.place, fmt::format("index {} is outside an axis {}", given,
                                                      to_text(Shape{axis})));
        }
        ranges.push_back({given < 0 ? given + axis.extent : given, 1, {1, {}}});
        continue;
      }
      if (picked) throw FormulaError(index.place, "one array of indices a bracket; write A[i][j]");
      picked = place;
      picked_axis = static_cast<Index>(kept.size());
      ranges.push_back({0, 1, axis});
      kept.push_back(axis);
    }
    for (std::size_t i = ranges.size(); i < object.shape().size(); ++i) {
      ranges.push_back({0, 1, object.shape()[i]});
      kept.push_back(object.shape()[i]);
    }
    const Array part = reshape(slice(object, ranges), kept);
    return picked ? take(part, *picked, picked_axis) : part;
  }
  static bool known(const Array& a) {
    const std::vector<bool> needed = needed_for({a});
    for (std::size_t k = 0; k < needed.size(); ++k) {
      if (needed[k] && Array{a.graph, k}.is("variable")) return false;
    }
    return true;
  }

  const syntax::Tree& tree_;
  Graph& graph_;
  const Scope& scope_;
  std::vector<std::optional<Array>> arrays_;
};

const Node& Call::argument(std::size_t i) const { return of.node(node.parts[i]); }
Array Call::array(std::size_t i) const { return of.array(node.parts[i]); }
Graph& Call::graph() const { return of.graph(); }
Dimension Call::dimension(std::size_t i) const { return dimension_of(array(i)); }

std::vector<Array> Call::list(std::size_t i) const {
  const Node& list = argument(i);
  if ((list.kind != Kind::list && list.kind != Kind::tuple) || list.parts.empty()) {
    throw InputError(fmt::format("{} takes a list, as in {}([a, b])", node.text, node.text));
  }
  std::vector<Array> parts;
  for (const std::size_t part : list.parts) parts.push_back(of.array(part));
  return parts;
}

std::optional<std::vector<Index>> Call::axes(Index rank, std::size_t position) const {
  const std::size_t by_name = keyword("axis");
  const std::size_t part = by_name == absent && position < count() ? node.parts[position] : by_name;
  if (part == absent) return std::nullopt;
  const Node& given = of.node(part);
  std::vector<std::size_t> parts{part};
  if (given.kind == Kind::tuple) parts = given.parts;
  std::vector<Index> axes;
  for (const std::size_t p : parts) {
    const Index axis = whole_number(of.array(p));
    if (axis < -rank || axis >= rank) {
      throw FormulaError(of.node(p).place,
                         fmt::format("axis {} is not there; the array has {} axes", axis, rank));
    }
    axes.push_back(axis < 0 ? axis + rank : axis);
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1)
      throw FormulaError(of.node(p).place, "an axis twice");
  }
  if (axes.empty()) throw InputError("axis=() goes over no axis; leave it out for all");
  return axes;
}

Index Call::axis(Index rank, std::size_t position, Index otherwise) const {
  const std::optional<std::vector<Index>> given = axes(rank, position);
  if (!given) return otherwise;
  if (given->size() != 1) throw InputError(fmt::format("{} goes along one axis", node.text));
  return given->front();
}

std::size_t Call::keyword(std::string_view name) const {
  for (std::size_t k = 0; k < node.keywords.size(); ++k) {
    if (node.keywords[k] == name) return node.parts[count() + k];
  }
  return absent;
}

bool Call::keeps_axes() const {
  const std::size_t part = keyword("keepdims");
  return part != absent && whole_number(of.array(part)) != 0;
}

Shape Call::shape(std::size_t first) const {
  std::vector<std::size_t> parts(node.parts.begin() + static_cast<Index>(first),
                                 node.parts.begin() + static_cast<Index>(count()));
  if (parts.size() == 1 && of.node(parts[0]).kind == Kind::tuple) parts = of.node(parts[0]).parts;
  Shape shape;
  for (const std::size_t part : parts) shape.push_back(dimension_of(of.array(part)));
  return shape;
}

void Call::expect(std::size_t least, std::size_t most) const {
  if (count() >= least && count() <= most) return;
  throw InputError(fmt::format("{} takes {} arguments{}; here are {}", node.text, least,
                               most > least ? " or more" : "", count()));
}

// Rows of blocks: lists within a list, as NumPy has them for matrices.
Array block(const Call& call) {
  const Node& rows = call.argument(0);
  if (rows.kind != Kind::list || rows.parts.empty())
    throw InputError("block takes rows, as in block([[A, B], [C, D]])");
  const auto matrix = [](const Array& a) {
    return a.rank() >= 2 ? a : keep_axes(a, 0, 2 - a.rank());
  };
  std::vector<Array> stacked_rows;
  for (const std::size_t part : rows.parts) {
    const Node& row = call.of.node(part);
    if (row.kind != Kind::list || row.parts.empty()) {
      throw FormulaError(row.place, "block takes rows, as in block([[A, B], [C, D]])");
    }
    std::vector<Array> blocks;
    for (const std::size_t entry : row.parts) blocks.push_back(matrix(call.of.array(entry)));
    stacked_rows.push_back(concatenate(blocks, 1));
  }
  return concatenate(stacked_rows, 0);
}

}  // namespace
}  // namespace elaborate_cpp

Array elaborate(const syntax::Tree& tree, Graph& graph, const Scope& scope) {
  return elaborate_cpp::Elaboration(tree, graph, scope).run();
}

std::vector<std::string> function_names() {
  std::vector<std::string> names(elaborate_cpp::entrywise_functions().begin(),
                                 elaborate_cpp::entrywise_functions().end());
  for (const auto& [name, function] : elaborate_cpp::functions()) names.push_back(name);
  return names;
}

}  // namespace popgrad::formulas
