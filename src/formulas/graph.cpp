#include "formulas/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "formulas/operation.hpp"
#include "formulas/strided.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"

namespace popgrad::formulas {
namespace {

std::size_t at(Index axis) { return static_cast<std::size_t>(axis); }

bool stretches(const Dimension& d) { return d.extent == 1 && d.size.empty(); }

bool same_extents(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dimension& x, const Dimension& y) { return x.extent == y.extent; });
}

// Bytes that two nodes share if they are equal; made for every node, so without formats.
std::string key_of(const GraphNode& n) {
  std::string key;
  const auto add = [&key](const auto& number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto add_text = [&](const std::string& text) {
    add(text.size());
    key += text;
  };
  add(reinterpret_cast<std::uintptr_t>(n.operation));
  add(n.type);
  add(n.inputs.size());
  for (const std::size_t input : n.inputs) add(input);
  add(n.numbers.size());
  for (const Index number : n.numbers) add(number);
  add_text(n.text);
  for (const Dimension& d : n.shape) {
    add(d.extent);
    add_text(d.size);
  }
  if (n.value != 0) key += to_text(n.value);
  return key;
}

// NumPy's broadcasting, but an axis of a named size never stretches.
Shape stretched(const Shape& a, const Shape& b, std::string_view operation) {
  Shape shape(std::max(a.size(), b.size()));
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const Dimension one;
    const Dimension& x = back <= a.size() ? a[a.size() - back] : one;
    const Dimension& y = back <= b.size() ? b[b.size() - back] : one;
    if (x.extent != y.extent && !stretches(x) && !stretches(y)) {
      const bool named = x.extent == 1 || y.extent == 1;
      throw InputError(fmt::format("{}: shapes {} and {} do not match{}", operation, to_text(a),
                                   to_text(b),
                                   named ? "; an axis of a named size does not stretch" : ""));
    }
    shape[shape.size() - back] = stretches(x) || (x.extent == y.extent && x.size.empty()) ? y : x;
  }
  return shape;
}

Shape common_shape(const Operation& operation, const std::vector<Array>& arguments) {
  Shape shape;
  for (const Array& a : arguments) shape = stretched(shape, a.shape(), operation.name);
  return shape;
}

Type type_of(const Operation& operation, const std::vector<Array>& arguments) {
  if (operation.result == Result::truth) return Type::truth;
  if (operation.result == Result::real) return Type::real;
  const std::size_t first = operation.name == "where" ? 1 : 0;
  Type type = Type::whole;
  for (std::size_t i = first; i < arguments.size(); ++i)
    type = std::max(type, arguments[i].node().type);
  if (operation.name == "power" && type == Type::whole) {
    const Rational* exponent = constant_value(arguments[1]);
    if (exponent == nullptr || *exponent < 0) return Type::real;
  }
  return type;
}

// Literals; a size stays as the name that it is printed by.
std::optional<Array> folded(const Operation& operation, const std::vector<Array>& arguments) {
  if (operation.fold == nullptr) return std::nullopt;
  std::vector<Rational> values;
  for (const Array& a : arguments) {
    if (!a.is("constant") || !a.node().text.empty()) return std::nullopt;
    values.push_back(a.node().value);
  }
  if (operation.name == "power" && denominator(values[1]) != 1) return std::nullopt;
  return arguments[0].graph->constant(operation.fold(values), type_of(operation, arguments));
}

// What needs no node: sums with 0, products with 0 and 1, and so on.
std::optional<Array> simplified(std::string_view name, const std::vector<Array>& x,
                                const Shape& shape) {
  const auto of_shape = [&](const Array& a) { return broadcast(a, shape); };
  const auto zeros = [&] { return of_shape(x[0].number(0)); };
  if (name == "negative") {
    if (x[0].is("negative")) return x[0].input(0);
    if (is_number(x[0], 0)) return x[0];
    if (x[0].is("broadcast")) return of_shape(-x[0].input(0));
  } else if (name == "add") {
    if (is_number(x[0], 0)) return of_shape(x[1]);
    if (is_number(x[1], 0)) return of_shape(x[0]);
    if (x[1].is("negative")) return x[0] - x[1].input(0);
    if (x[0].is("negative")) return x[1] - x[0].input(0);
  } else if (name == "subtract") {
    if (is_number(x[1], 0)) return of_shape(x[0]);
    if (is_number(x[0], 0)) return of_shape(-x[1]);
    if (x[1].is("negative")) return x[0] + x[1].input(0);
  } else if (name == "multiply") {
    if (is_number(x[0], 0) || is_number(x[1], 0)) return zeros();
    if (is_number(x[0], 1)) return of_shape(x[1]);
    if (is_number(x[1], 1)) return of_shape(x[0]);
    if (is_number(x[0], -1)) return of_shape(-x[1]);
    if (is_number(x[1], -1)) return of_shape(-x[0]);
    if (x[0].is("negative")) return -(x[0].input(0) * x[1]);
    if (x[1].is("negative")) return -(x[0] * x[1].input(0));
  } else if (name == "divide") {
    if (is_number(x[1], 1)) return of_shape(x[0]);
    if (is_number(x[0], 0) && !is_number(x[1], 0)) return zeros();
    if (x[0].is("negative")) return -(x[0].input(0) / x[1]);
  } else if (name == "power") {
    if (is_number(x[1], 1)) return of_shape(x[0]);
    if (is_number(x[1], 0)) return of_shape(x[0].number(1));
  } else if (name == "where") {
    if (x[1] == x[2]) return of_shape(x[1]);
  }
  return std::nullopt;
}

// A stretched argument is as good as what it was before, where another has the whole shape.
std::vector<Array> unstretched(const std::vector<Array>& arguments, const Shape& shape) {
  std::vector<Array> reduced = arguments;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i].is("broadcast")) continue;
    const bool others = std::any_of(reduced.begin(), reduced.end(), [&](const Array& other) {
      return &other != &reduced[i] && same_extents(other.shape(), shape);
    });
    if (others) reduced[i] = reduced[i].input(0);
  }
  return reduced;
}

Array make(std::string_view name, const std::vector<Array>& inputs, Shape shape,
           std::vector<Index> numbers = {}, std::string text = {}) {
  const Operation& op = operation(name);
  GraphNode node{.operation = &op,
                 .numbers = std::move(numbers),
                 .text = std::move(text),
                 .type = type_of(op, inputs),
                 .shape = std::move(shape)};
  for (const Array& a : inputs) node.inputs.push_back(a.place);
  return inputs.front().graph->add(std::move(node));
}

const Rational most_extent(1000000000000000);

Rational known_value(const Array& a) {
  if (const Rational* known = constant_value(a)) return *known;
  const Operation& op = *a.node().operation;
  if (a.rank() != 0 || op.kind != OperationKind::entrywise || op.fold == nullptr) return {1, 2};
  std::vector<Rational> values;
  for (std::size_t i = 0; i < a.node().inputs.size(); ++i)
    values.push_back(known_value(a.input(i)));
  return op.fold(values);
}

}  // namespace

std::string to_text(const Shape& shape) {
  std::vector<std::string> parts;
  for (const Dimension& d : shape) {
    const bool number = d.size.empty() || d.size == std::to_string(d.extent);
    parts.push_back(number ? std::to_string(d.extent) : fmt::format("{} = {}", d.size, d.extent));
  }
  return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
}

Index entries(const Shape& shape) {
  Index product = 1;
  for (const Dimension& d : shape) {
    if (__builtin_mul_overflow(product, d.extent, &product)) {
      throw InputError(
          fmt::format("an array of shape {} has more entries than can be counted; lower the sizes",
                      to_text(shape)));
    }
  }
  return product;
}

const GraphNode& Array::node() const { return graph->node(place); }
bool Array::is(std::string_view name) const { return node().operation->name == name; }
Array Array::number(const Rational& value) const { return graph->constant(value); }

Array Graph::add(GraphNode node) {
  constexpr std::size_t most_axes = 32;
  if (node.shape.size() > most_axes)
    throw InputError(fmt::format("an array has at most {} axes", most_axes));
  double count = 1;
  for (const Dimension& d : node.shape) count *= static_cast<double>(d.extent);
  constexpr double small = 1e6;
  if (count > small) {
    require_memory(count * sizeof(double),
                   fmt::format("the numbers of an array of shape {}", to_text(node.shape)),
                   "lower the sizes");
  }
  const auto [known, added] = known_.try_emplace(key_of(node), nodes_.size());
  if (added) nodes_.push_back(std::move(node));
  return {this, known->second};
}

Array Graph::constant(const Rational& value, std::optional<Type> type) {
  const Type own = denominator(value) == 1 ? Type::whole : Type::real;
  return add({.operation = &operation("constant"), .value = value, .type = type.value_or(own)});
}
Array Graph::pi() { return add({.operation = &operation("pi")}); }
Array Graph::variable(std::string_view name, Shape shape, Type type) {
  return add({.operation = &operation("variable"),
              .text = std::string(name),
              .type = type,
              .shape = std::move(shape)});
}
Array Graph::size(std::string_view name, Index value) {
  return add({.operation = &operation("constant"),
              .text = std::string(name),
              .value = Rational(value),
              .type = Type::whole});
}
Array Graph::eye(const Dimension& rows, const Dimension& columns) {
  return add({.operation = &operation("eye"), .type = Type::whole, .shape = {rows, columns}});
}
Array Graph::arange(const Dimension& count) {
  return add({.operation = &operation("arange"), .type = Type::whole, .shape = {count}});
}

const Rational* constant_value(const Array& a) {
  return a.is("constant") ? &a.node().value : nullptr;
}

std::vector<bool> needed_for(const std::vector<Array>& outputs) {
  std::size_t end = 0;
  for (const Array& output : outputs) end = std::max(end, output.place + 1);
  std::vector<bool> needed(end);
  for (const Array& output : outputs) needed[output.place] = true;
  for (std::size_t k = end; k-- > 0;) {
    if (!needed[k]) continue;
    for (const std::size_t input : outputs.front().graph->node(k).inputs) needed[input] = true;
  }
  return needed;
}

Index whole_number(const Array& a) {
  const Rational value = a.node().type == Type::real ? Rational(1, 2) : known_value(a);
  if (denominator(value) != 1 || abs(value) > most_extent) {
    throw InputError(
        "a size or index has to be a whole number made of sizes and literals, up to 1e15");
  }
  return numerator(value).convert_to<Index>();
}

bool is_number(const Array& a, int value) {
  const Array inner = a.is("broadcast") ? a.input(0) : a;
  const Rational* known =
      inner.is("constant") && inner.node().text.empty() ? &inner.node().value : nullptr;
  return known != nullptr && *known == value;
}

Array apply(std::string_view name, const std::vector<Array>& given) {
  const Operation& op = operation(name);
  if (name == "floor_divide" || name == "mod") {
    for (const Array& a : given) {
      if (a.node().type == Type::real) {
        throw InputError("// and % are for whole numbers: sizes, arange, finite draws");
      }
    }
  }
  if (std::optional<Array> number = folded(op, given)) return *number;
  const Shape shape = common_shape(op, given);
  const std::vector<Array> arguments = unstretched(given, shape);
  if (std::optional<Array> simple = simplified(name, arguments, shape)) return *simple;
  return make(name, arguments, shape);
}

Array operator-(const Array& a) { return apply("negative", {a}); }
Array operator+(const Array& a, const Array& b) { return apply("add", {a, b}); }
Array operator-(const Array& a, const Array& b) { return apply("subtract", {a, b}); }
Array operator*(const Array& a, const Array& b) { return apply("multiply", {a, b}); }
Array operator/(const Array& a, const Array& b) { return apply("divide", {a, b}); }
Array power(const Array& a, const Array& b) { return apply("power", {a, b}); }
Array square(const Array& a) { return apply("power", {a, a.number(2)}); }
Array where(const Array& condition, const Array& a, const Array& b) {
  return apply("where", {condition, a, b});
}

Array reduce(std::string_view name, const Array& a, Index axis, Index count) {
  Shape shape = a.shape();
  const auto first = shape.begin() + axis;
  for (auto d = first; d != first + count; ++d) {
    if (d->extent == 0)
      throw InputError(
          fmt::format("{} over an axis without entries, of shape {}", name, to_text(shape)));
  }
  shape.erase(first, first + count);
  if (count == 0 && name != "norm" && name != "argmax") return a;
  if (name == "sum" && is_zero(a)) return broadcast(a.number(0), shape);
  const Array reduced = make(name, {a}, shape, {axis, count});
  return reduced;
}
Array reduce(std::string_view name, const Array& a) { return reduce(name, a, 0, a.rank()); }
Array scan(std::string_view name, const Array& a, Index axis) {
  if (entries(a.shape()) == 0) return a;
  return make(name, {a}, a.shape(), {axis});
}
Array keep_axes(const Array& reduced, Index axis, Index count) {
  Shape shape = reduced.shape();
  shape.insert(shape.begin() + axis, at(count), Dimension{});
  return reshape(reduced, shape);
}

Array transpose(const Array& a) {
  std::vector<Index> axes(a.shape().size());
  std::iota(axes.rbegin(), axes.rend(), Index{0});
  return transpose(a, axes);
}
Array transpose(const Array& a, const std::vector<Index>& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return a;
  Shape shape;
  for (const Index axis : axes) shape.push_back(a.shape()[at(axis)]);
  if (a.is("transpose")) {
    std::vector<Index> both;
    for (const Index axis : axes) both.push_back(a.node().numbers[at(axis)]);
    return transpose(a.input(0), both);
  }
  if (a.is("broadcast") && a.input(0).rank() == 0) return broadcast(a.input(0), shape);
  return make("transpose", {a}, shape, axes);
}

Array reshape(const Array& a, const Shape& shape) {
  if (entries(a.shape()) != entries(shape)) {
    throw InputError(
        fmt::format("shape {} has not the entries of {}", to_text(shape), to_text(a.shape())));
  }
  // Only an axis of extent 1 without a name stretches.
  bool is_freed = false;
  for (std::size_t axis = 0; axis < std::min(shape.size(), a.shape().size()); ++axis) {
    const Dimension &to = shape[axis], &from = a.shape()[axis];
    is_freed = is_freed || (to.extent == 1 && to.size.empty() && !from.size.empty());
  }
  if (same_extents(shape, a.shape()) && !is_freed) return a;
  if (a.is("reshape")) return reshape(a.input(0), shape);
  if (a.is("broadcast") && a.input(0).rank() == 0) return broadcast(a.input(0), shape);
  if (a.is("constant") && a.node().text.empty()) return broadcast(a, shape);
  return make("reshape", {a}, shape);
}

Array broadcast(const Array& a, const Shape& shape) {
  if (same_extents(a.shape(), shape)) return a;
  const Shape common = stretched(a.shape(), shape, "broadcasting");
  if (!same_extents(common, shape)) {
    throw InputError(
        fmt::format("shape {} does not stretch to {}", to_text(a.shape()), to_text(shape)));
  }
  if (a.is("broadcast")) return broadcast(a.input(0), shape);
  return make("broadcast", {a}, shape);
}

Array fit(const Array& a, const Shape& shape) {
  if (same_extents(a.shape(), shape)) return a;
  // An array that did not stretch yet is broadcast first where it lacks an axis of the result.
  const Index added = a.rank() - static_cast<Index>(shape.size());
  Array sum = added > 0 ? reduce("sum", a, 0, added) : a;
  for (std::size_t axis = 0; axis < sum.shape().size(); ++axis) {
    const std::size_t target = axis + shape.size() - sum.shape().size();
    if (shape[target].extent == 1 && sum.shape()[axis].extent != 1) {
      sum = keep_axes(reduce("sum", sum, static_cast<Index>(axis)), static_cast<Index>(axis), 1);
    }
  }
  return broadcast(sum, shape);
}

Array slice(const Array& a, const std::vector<Range>& ranges) {
  Shape shape;
  std::vector<Index> numbers;
  bool whole = true;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Range r = ranges[i];
    if (r.count.extent < 2) r.step = 1;  // as good as any
    shape.push_back(r.count);
    numbers.insert(numbers.end(), {r.start, r.step});
    whole = whole && r.start == 0 && r.step == 1 && r.count.extent == a.shape()[i].extent;
  }
  if (whole) return a;
  if (a.is("broadcast") && a.input(0).rank() == 0) return broadcast(a.input(0), shape);
  return make("slice", {a}, shape, numbers);
}
Array embed(const Array& a, const std::vector<Range>& ranges, const Shape& shape) {
  if (is_zero(a)) return broadcast(a.number(0), shape);
  std::vector<Index> numbers;
  for (const Range& r : ranges) numbers.insert(numbers.end(), {r.start, r.step});
  return make("embed", {a}, shape, numbers);
}

Array diagonal(const Array& a, Index first, Index second) {
  Shape shape = a.shape();
  if (shape[at(second)].extent < shape[at(first)].extent) shape[at(first)] = shape[at(second)];
  shape.erase(shape.begin() + second);
  if (a.is("diagonal_matrix") && a.node().numbers == std::vector<Index>{first, second})
    return a.input(0);
  return make("diagonal", {a}, shape, {first, second});
}
Array diagonal_matrix(const Array& a, const Dimension& rows, const Dimension& columns, Index first,
                      Index second) {
  Shape shape = a.shape();
  if (std::min(rows.extent, columns.extent) != shape[at(first)].extent) {
    throw InputError(fmt::format("diag: {} entries are not the diagonal of shape {}",
                                 to_text(shape), to_text({rows, columns})));
  }
  shape[at(first)] = rows;
  shape.insert(shape.begin() + second, columns);
  if (is_zero(a)) return broadcast(a.number(0), shape);
  return make("diagonal_matrix", {a}, shape, {first, second});
}

Array one_hot(const Array& indices, const Dimension& places) {
  const Array last = keep_axes(indices, indices.rank(), 1);
  return where(apply("equal", {last, indices.graph->arange(places)}), indices.number(1),
               indices.number(0));
}

Array take(const Array& a, const Array& indices, Index axis) {
  if (indices.node().type == Type::real) throw InputError("an index has to be a whole number");
  Shape shape = a.shape();
  if (indices.is("arange") && indices.shape()[0].extent == shape[at(axis)].extent) return a;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.shape().begin(), indices.shape().end());
  return make("take", {a, indices}, shape, {axis});
}

Array concatenate(const std::vector<Array>& parts, Index axis) {
  if (parts.size() == 1) return parts.front();
  Shape shape = parts.front().shape();
  Dimension& along = shape[at(axis)];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Shape& other = parts[i].shape();
    for (std::size_t k = 0; k < std::max(shape.size(), other.size()); ++k) {
      if (shape.size() != other.size() || (k != at(axis) && shape[k].extent != other[k].extent)) {
        throw InputError(fmt::format("concatenate: shapes {} and {} differ outside axis {}",
                                     to_text(parts.front().shape()), to_text(other), axis));
      }
    }
    const auto text = [](const Dimension& d) {
      return d.size.empty() ? std::to_string(d.extent) : d.size;
    };
    along.size = along.size.empty() && other[at(axis)].size.empty()
                     ? ""
                     : text(along) + " + " + text(other[at(axis)]);
    along.extent += other[at(axis)].extent;
  }
  return make("concatenate", parts, shape, {axis});
}

Array matmul(const Array& a, const Array& b) {
  if (a.rank() == 0 || b.rank() == 0)
    throw InputError("@ needs arrays with axes; write * for a number");
  const Dimension& last = a.shape().back();
  const Dimension& first = b.shape()[b.shape().size() - std::min<std::size_t>(2, b.shape().size())];
  if (last.extent != first.extent) {
    throw InputError(
        fmt::format("@: shapes {} and {} do not match", to_text(a.shape()), to_text(b.shape())));
  }
  if (a.rank() <= 2 && b.rank() <= 2) {
    const std::string left = a.rank() == 1 ? "j" : "ij", right = b.rank() == 1 ? "j" : "jk";
    return einsum(
        left + "," + right + "->" + (a.rank() == 2 ? "i" : "") + (b.rank() == 2 ? "k" : ""),
        {a, b});
  }
  // Stacks of matrices: the axes before the last two stretch as in products entry by entry.
  const auto stack_of = [](const Array& x) {
    return Shape(x.shape().begin(), x.shape().end() - std::min<Index>(2, x.rank()));
  };
  const Shape stack = stretched(stack_of(a), stack_of(b), "@");
  const auto stretched_to = [&](const Array& x) {
    if (x.rank() == 1) return x;
    Shape shape = stack;
    shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
    return broadcast(x, shape);
  };
  std::string labels;
  for (std::size_t i = 0; i < stack.size(); ++i) labels += static_cast<char>('A' + i);
  const std::string left = a.rank() == 1 ? "j" : labels + "ij",
                    right = b.rank() == 1 ? "j" : labels + "jk";
  return einsum(
      left + "," + right + "->" + labels + (a.rank() == 1 ? "" : "i") + (b.rank() == 1 ? "" : "k"),
      {stretched_to(a), stretched_to(b)});
}

Array solve(const Array& a, const Array& b) {
  if (a.rank() != 2 || a.shape()[0].extent != a.shape()[1].extent || b.rank() < 1 || b.rank() > 2 ||
      b.shape()[0].extent != a.shape()[0].extent) {
    throw InputError(fmt::format("solve: shapes {} and {} are not a square matrix and right sides",
                                 to_text(a.shape()), to_text(b.shape())));
  }
  return make("solve", {a, b}, b.shape());
}
Array of_square_matrix(std::string_view operation, const Array& a) {
  if (a.rank() != 2 || a.shape()[0].extent != a.shape()[1].extent) {
    throw InputError(
        fmt::format("{}: shape {} is no square matrix", operation, to_text(a.shape())));
  }
  return make(operation, {a}, operation == "eigvalsh" ? Shape{a.shape()[0]} : a.shape());
}

}  // namespace popgrad::formulas
