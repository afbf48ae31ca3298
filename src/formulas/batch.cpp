#include "formulas/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "formulas/operation.hpp"
#include "formulas/strided.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::formulas {
namespace batch_cpp {
namespace {

/// An argument, with or without the first axis.
struct Argument {
  Array array;
  bool batched;
};

class Batch {
 public:
  explicit Batch(Dimension dimension) : dimension_(std::move(dimension)) {}

  Array of(const Array& old, const std::vector<Argument>& x) const {
    const GraphNode& node = old.node();
    const Array& first = x.front().array;
    const std::string_view name = node.operation->name;
    switch (node.operation->kind) {
      case OperationKind::entrywise: {
        std::vector<Array> aligned;
        for (const Argument& a : x)
          aligned.push_back(a.batched ? with_rank(a.array, old.rank()) : a.array);
        return formulas::apply(name, aligned);
      }
      case OperationKind::reduction:
        return reduce(name, first, node.numbers[0] + 1, node.numbers[1]);
      case OperationKind::scan:
        return scan(name, first, node.numbers[0] + 1);
      case OperationKind::view:
        return view(old, first);
      case OperationKind::embedding:
        return embedding(old, first);
      default:
        return whole(old, x);
    }
  }

 private:
  Dimension dimension_;

  [[nodiscard]] Shape with_batch(Shape shape) const {
    shape.insert(shape.begin(), dimension_);
    return shape;
  }
  // Axes of 1 after that of the batch, as broadcasting would add before it.
  static Array with_rank(const Array& a, Index rank) {
    return keep_axes(a, 1, std::max<Index>(rank + 1 - a.rank(), 0));
  }
  [[nodiscard]] Array batched(const Argument& a) const {
    return a.batched ? a.array : broadcast(a.array, with_batch(a.array.shape()));
  }
  [[nodiscard]] std::vector<Range> ranges(const GraphNode& node, const Shape& part) const {
    std::vector<Range> all = ranges_of(node, part);
    all.insert(all.begin(), Range{0, 1, dimension_});
    return all;
  }

  [[nodiscard]] Array view(const Array& old, const Array& x) const {
    const GraphNode& node = old.node();
    if (old.is("reshape")) return reshape(x, with_batch(node.shape));
    if (old.is("broadcast")) return broadcast(with_rank(x, old.rank()), with_batch(node.shape));
    if (old.is("slice")) return slice(x, ranges(node, node.shape));
    if (old.is("diagonal")) return diagonal(x, node.numbers[0] + 1, node.numbers[1] + 1);
    std::vector<Index> axes{0};
    for (const Index axis : node.numbers) axes.push_back(axis + 1);
    return transpose(x, axes);
  }
  [[nodiscard]] Array embedding(const Array& old, const Array& x) const {
    const GraphNode& node = old.node();
    if (old.is("embed"))
      return embed(x, ranges(node, old.input(0).shape()), with_batch(node.shape));
    const auto dimension = [&](std::size_t k) {
      return node.shape[static_cast<std::size_t>(node.numbers[k])];
    };
    return diagonal_matrix(x, dimension(0), dimension(1), node.numbers[0] + 1, node.numbers[1] + 1);
  }

  [[nodiscard]] Array whole(const Array& old, const std::vector<Argument>& x) const {
    const GraphNode& node = old.node();
    if (old.is("einsum")) {
      const EinsumLabels labels(node.text);
      const auto label = [](const Argument& a) { return a.batched ? "Z" : ""; };
      return einsum(label(x[0]) + labels.operand[0] + "," + label(x[1]) + labels.operand[1] +
                        "->Z" + labels.out,
                    {x[0].array, x[1].array});
    }
    if (old.is("concatenate")) {
      std::vector<Array> parts;
      for (const Argument& a : x) parts.push_back(batched(a));
      return concatenate(parts, node.numbers[0] + 1);
    }
    if (old.is("take")) return taken(old, x);
    if (old.is("solve") && !x[0].batched) return solved(x[0].array, x[1].array);
    throw InputError(
        fmt::format("{} of what depends on a draw is not there for batches", node.operation->name));
  }

  [[nodiscard]] Array taken(const Array& old, const std::vector<Argument>& x) const {
    const Index axis = old.node().numbers[0];
    if (!x[1].batched) return take(x[0].array, x[1].array, axis + 1);
    // One long axis of all samples, the rows of each after the other's; the axis comes to the front for that.
    const Array& indices = x[1].array;
    std::vector<Index> to_front(static_cast<std::size_t>(old.input(0).rank()));
    std::iota(to_front.begin(), to_front.end(), Index{0});
    std::rotate(to_front.begin(), to_front.begin() + axis, to_front.begin() + axis + 1);
    Array rows = x[0].array, places = indices;
    if (x[0].batched) {
      std::vector<Index> axes{0};
      for (const Index a : to_front) axes.push_back(a + 1);
      rows = transpose(rows, axes);
      const Index extent = rows.shape()[1].extent;
      Shape joined(rows.shape().begin() + 1, rows.shape().end());
      joined[0] = {dimension_.extent * extent, {}};
      rows = reshape(rows, joined);
      const Array counted = where(apply("less", {indices, indices.number(0)}),
                                  indices + indices.number(extent), indices);
      places =
          keep_axes(rows.graph->arange(dimension_), 1, indices.rank() - 1) * rows.number(extent) +
          counted;
    } else {
      rows = transpose(rows, to_front);
    }
    const Array result = take(rows, places, 0);
    // Axes of the batch and of the indices, then those that stood before the axis, then the rest.
    std::vector<Index> axes{0};
    for (Index k = 0; k < axis; ++k) axes.push_back(indices.rank() + k);
    for (Index k = 1; k < indices.rank(); ++k) axes.push_back(k);
    for (Index k = indices.rank() + axis; k < result.rank(); ++k) axes.push_back(k);
    return transpose(result, axes);
  }

  // The samples are columns.
  [[nodiscard]] static Array solved(const Array& a, const Array& b) {
    if (b.rank() == 2) return transpose(solve(a, transpose(b)));
    const Array columns = transpose(b, {1, 0, 2});
    const Shape& apart = columns.shape();
    const Dimension joined{apart[1].extent * apart[2].extent, {}};
    return transpose(reshape(solve(a, reshape(columns, {apart[0], joined})), apart), {1, 0, 2});
  }
};

}  // namespace
}  // namespace batch_cpp

Array over_batch(const Array& formula, const std::vector<Samples>& samples) {
  Graph& graph = *formula.graph;
  std::map<std::size_t, Array> made;
  for (const Samples& s : samples) made.emplace(s.variable.place, s.values);
  if (samples.empty()) return formula;
  const batch_cpp::Batch batch(samples.front().values.shape().front());
  const std::vector<bool> needed = needed_for({formula});
  for (std::size_t k = 0; k <= formula.place; ++k) {
    if (!needed[k] || made.contains(k)) continue;
    std::vector<batch_cpp::Argument> arguments;
    bool any = false;
    for (const std::size_t input : graph.node(k).inputs) {
      const auto known = made.find(input);
      any = any || known != made.end();
      arguments.push_back(
          {known == made.end() ? Array{&graph, input} : known->second, known != made.end()});
    }
    if (any) made.emplace(k, batch.of({&graph, k}, arguments));
  }
  const auto found = made.find(formula.place);
  return found == made.end() ? formula : found->second;
}

}  // namespace popgrad::formulas
