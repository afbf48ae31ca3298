#include "formulas/operation.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <utility>

#include "formulas/operations.hpp"

namespace popgrad::formulas {
namespace {

template <class Value, std::size_t... i>
Rational folded(std::span<const Rational> x, std::index_sequence<i...>) {
  return Value{}(x[i]...);
}

template <OperationKind kind, std::size_t arity, class Value, class Pull>
Operation without_values(const Entry<kind, arity, Value, Pull>& entry) {
  Operation operation{.name = entry.name,
                      .kind = kind,
                      .arity = arity,
                      .result = entry.result,
                      .jumps = entry.jumps,
                      .exact = !irrational_value<Value> && std::string_view(entry.name) != "pi",
                      .linear = entry.linear,
                      .sign = entry.sign,
                      .pull = nullptr,
                      .fold = nullptr};
  if constexpr (!std::is_same_v<Pull, std::nullptr_t>) operation.pull = entry.pull;
  if constexpr (kind == OperationKind::entrywise && !irrational_value<Value>) {
    operation.fold = [](std::span<const Rational> x) {
      return folded<Value>(x, std::make_index_sequence<arity>());
    };
  }
  return operation;
}

constexpr auto table_size = std::tuple_size_v<std::remove_const_t<decltype(table)>>;

}  // namespace

std::span<const Operation> operations() {
  static const std::array<Operation, table_size> all = std::apply(
      [](const auto&... entry) {
        return std::array<Operation, table_size>{without_values(entry)...};
      },
      table);
  return all;
}

const Operation& operation_of_sign(std::string_view sign) {
  const std::span<const Operation> all = operations();
  return *std::find_if(all.begin(), all.end(), [&](const Operation& o) { return o.sign == sign; });
}

const Operation* find_operation(std::string_view name) {
  static const std::map<std::string_view, const Operation*> by_name = [] {
    std::map<std::string_view, const Operation*> names;
    for (const Operation& operation : operations()) names.emplace(operation.name, &operation);
    return names;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Operation& operation(std::string_view name) {
  const Operation* found = find_operation(name);
  if (found == nullptr) throw std::out_of_range("no operation " + std::string(name));
  return *found;
}

std::size_t place_of(const Operation& operation) {
  return static_cast<std::size_t>(&operation - operations().data());
}

Array zero(const Pullback& p) { return p.adjoint.number(0); }

Array reversed(const Array& a, Index axis) {
  std::vector<Range> ranges = whole_ranges(a.shape());
  Range& range = ranges[static_cast<std::size_t>(axis)];
  range.start = range.count.extent - 1;
  range.step = -1;
  return slice(a, ranges);
}

// With 1 in the place of the factor that is left out, on a diagonal of factors times factors.
Array products_of_others(const Array& a, Index axis, Index count) {
  Shape lines = a.shape();
  const auto first = lines.begin() + axis;
  const Dimension factors{entries(Shape(first, first + count)), {}};
  lines.erase(first, first + count);
  lines.insert(lines.begin() + axis, factors);
  Shape square = lines;
  square.insert(square.begin() + axis, factors);
  std::vector<Dimension> mask(square.size() - static_cast<std::size_t>(axis));
  mask[0] = mask[1] = factors;
  Graph& graph = *a.graph;
  const Array others = where(reshape(graph.eye(factors, factors), mask), a.number(1),
                             broadcast(keep_axes(reshape(a, lines), axis, 1), square));
  return reshape(reduce("prod", others, axis + 1), a.shape());
}

// Equal entries share the slope of the largest or smallest.
Array shared_by_equals(const Pullback& p) {
  const Array chosen = apply("equal", {p.input(), p.kept(p.result)});
  const Array slope = p.adjoint / reduce("sum", chosen, p.axis(), p.axes());
  return where(chosen, p.kept(slope), zero(p));
}

Array without_derivative(const Pullback& p) {
  throw InputError(
      fmt::format("{} has no derivative here; it stands in constants and observables only",
                  p.result.node().operation->name));
}

Strides strides_of(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i].extent;
  return strides;
}

Places places_of_ranges(const GraphNode& node, const Strides& full) {
  Places places;
  for (std::size_t i = 0; i < full.size(); ++i) {
    places.offset += node.numbers[2 * i] * full[i];
    places.strides.push_back(node.numbers[2 * i + 1] * full[i]);
  }
  return places;
}

Places places_of_diagonal(const GraphNode& node, const Strides& full) {
  const auto first = static_cast<std::size_t>(node.numbers[0]),
             second = static_cast<std::size_t>(node.numbers[1]);
  Places places{0, full};
  places.strides[first] += full[second];
  places.strides.erase(places.strides.begin() + node.numbers[1]);
  return places;
}

std::vector<Range> ranges_of(const GraphNode& node, const Shape& part) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < part.size(); ++i) {
    ranges.push_back({node.numbers[2 * i], node.numbers[2 * i + 1], part[i]});
  }
  return ranges;
}

std::vector<Range> whole_ranges(const Shape& shape) {
  std::vector<Range> ranges;
  for (const Dimension& d : shape) ranges.push_back({0, 1, d});
  return ranges;
}

std::vector<Loop> joined(const std::vector<Loop>& loops) {
  std::vector<Loop> all;
  for (const Loop& loop : loops) {
    if (loop.extent == 0) return {{0, {}}};
    if (loop.extent == 1) continue;
    bool joins = !all.empty();
    for (std::size_t k = 0; joins && k < loop.stride.size(); ++k) {
      joins = all.back().stride[k] == loop.stride[k] * loop.extent;
    }
    if (joins) {
      all.back() = {all.back().extent * loop.extent, loop.stride};
    } else {
      all.push_back(loop);
    }
  }
  return all;
}

}  // namespace popgrad::formulas
