#pragma once
/// Arrays in memory: entries of an axis are a stride apart, so that views need no copies, as in NumPy.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

using Strides = std::vector<Index>;

/// Where the entries of an array are within another.
struct Places {
  Index offset = 0;
  Strides strides;  ///< one an axis
};

/// Row after row.
Strides strides_of(const Shape& shape);
/// Of a slice or an embedding, whose numbers are start and step of every axis.
Places places_of_ranges(const GraphNode& node, const Strides& full);
Places places_of_diagonal(const GraphNode& node, const Strides& full);
std::vector<Range> ranges_of(const GraphNode& node, const Shape& part);
std::vector<Range> whole_ranges(const Shape& shape);

/// "ij,j->i" in parts.
struct EinsumLabels {
  explicit EinsumLabels(const std::string& text);
  std::array<std::string, 2> operand;
  std::string out;
};

/// One loop of several operands: the result, then up to three arguments.
struct Loop {
  Index extent = 1;
  std::array<Index, 4> stride{};
};
/// Outermost first; loops that can be one are one.
std::vector<Loop> joined(const std::vector<Loop>& loops);

/// Calls inner(offsets, loop) for the innermost loop at every place of the outer ones.
template <class Inner>
void for_each_line(const std::vector<Loop>& loops, const Inner& inner) {
  constexpr std::size_t most = 32;
  std::array<Index, 4> at{};
  for (const Loop& loop : loops) {
    if (loop.extent == 0) return;
  }
  if (loops.size() < 2) {
    inner(at, loops.empty() ? Loop{} : loops.front());
    return;
  }
  std::array<Index, most> index{};
  const std::size_t depth = loops.size() - 1;
  while (true) {
    inner(at, loops.back());
    std::size_t k = depth;
    while (k > 0) {
      const Loop& loop = loops[k - 1];
      for (std::size_t j = 0; j < at.size(); ++j) at[j] += loop.stride[j];
      if (++index[k - 1] < loop.extent) break;
      for (std::size_t j = 0; j < at.size(); ++j) at[j] -= loop.extent * loop.stride[j];
      index[k - 1] = 0;
      --k;
    }
    if (k == 0) return;
  }
}

/// Entries along one axis.
template <class T>
struct Line {
  T* data;
  Index size;
  Index stride;
  T& operator[](Index i) const { return data[i * stride]; }
};

}  // namespace popgrad::formulas
