#include "formulas/blocks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "formulas/operation.hpp"
#include "formulas/strided.hpp"

namespace popgrad::formulas {
namespace blocks_cpp {
namespace {

using Cuts = std::vector<Dimension>;  // of one axis, one after the other
using Place = std::vector<std::size_t>;

// Beyond this an array is not worth to be taken apart.
constexpr std::size_t most_pieces = 64;

struct Blocks {
  std::vector<Cuts> cuts;     // of every axis
  std::vector<Array> pieces;  // row after row

  [[nodiscard]] std::size_t number(const Place& place) const {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < cuts.size(); ++axis)
      at = at * cuts[axis].size() + place[axis];
    return at;
  }
  [[nodiscard]] const Array& piece(const Place& place) const { return pieces[number(place)]; }
  [[nodiscard]] bool is_cut() const { return pieces.size() != 1; }
  [[nodiscard]] Shape shape_at(const Place& place) const {
    Shape shape;
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) shape.push_back(cuts[axis][place[axis]]);
    return shape;
  }
};

std::size_t pieces_of(const std::vector<Cuts>& cuts) {
  std::size_t product = 1;
  for (const Cuts& c : cuts) product *= c.size();
  return product;
}

// Calls body(place) for all pieces, row after row.
template <class Body>
void for_each_place(const std::vector<Cuts>& cuts, const Body& body) {
  Place place(cuts.size(), 0);
  for (std::size_t left = pieces_of(cuts); left > 0; --left) {
    body(place);
    for (std::size_t axis = cuts.size(); axis-- > 0;) {
      if (++place[axis] < cuts[axis].size()) break;
      place[axis] = 0;
    }
  }
}

Blocks whole(const Array& array) {
  Blocks made{{}, {array}};
  for (const Dimension& d : array.shape()) made.cuts.push_back({d});
  return made;
}

Index extent_of(const Cuts& cuts) {
  Index total = 0;
  for (const Dimension& d : cuts) total += d.extent;
  return total;
}

// At the ends of both.
Cuts joint(const Cuts& a, const Cuts& b) {
  Cuts made;
  std::size_t i = 0, j = 0;
  Index left_a = 0, left_b = 0;
  while (true) {
    while (i < a.size() && left_a == 0) left_a = a[i++].extent;
    while (j < b.size() && left_b == 0) left_b = b[j++].extent;
    const Index step = std::min(left_a, left_b);
    if (step == 0) return made.empty() ? a : made;
    const Dimension &of_a = a[i - 1], &of_b = b[j - 1];
    const bool whole_a = of_a.extent == step, whole_b = of_b.extent == step;
    made.push_back(whole_a && !of_a.size.empty()   ? of_a
                   : whole_b && !of_b.size.empty() ? of_b
                                                   : Dimension{step, {}});
    left_a -= step;
    left_b -= step;
  }
}

// A part of an array: of sums and products that of what they are made of.
Array part_of(const Array& a, const std::vector<Range>& ranges, int depth = 0) {
  constexpr int deepest = 8;
  const bool steps = std::any_of(ranges.begin(), ranges.end(),
                                 [](const Range& r) { return r.step != 1 && r.count.extent > 1; });
  const bool is_whole = std::equal(ranges.begin(), ranges.end(), a.shape().begin(),
                                   [](const Range& r, const Dimension& d) {
                                     return r.start == 0 && r.count.extent == d.extent;
                                   });
  if (steps || is_whole || depth == deepest) return slice(a, ranges);
  const auto input = [&](std::size_t i, const std::vector<Range>& of) {
    return part_of(a.input(i), of, depth + 1);
  };
  if (a.is("negative")) return -input(0, ranges);
  if (a.is("add") || a.is("subtract") || a.is("multiply")) {
    std::vector<Array> arguments;
    for (std::size_t i = 0; i < 2; ++i) {
      const Shape& own = a.input(i).shape();
      std::vector<Range> of(ranges.end() - static_cast<Index>(own.size()), ranges.end());
      for (std::size_t axis = 0; axis < own.size(); ++axis) {
        const Dimension& full = a.shape()[a.shape().size() - own.size() + axis];
        if (own[axis].extent != full.extent) of[axis] = {0, 1, own[axis]};
      }
      arguments.push_back(input(i, of));
    }
    Shape shape;
    for (const Range& r : ranges) shape.push_back(r.count);
    return broadcast(formulas::apply(a.node().operation->name, arguments), shape);
  }
  if (a.is("einsum")) {
    const EinsumLabels labels(a.node().text);
    std::array<Array, 2> operands;
    for (std::size_t i = 0; i < 2; ++i) {
      std::vector<Range> of = whole_ranges(a.input(i).shape());
      for (std::size_t axis = 0; axis < of.size(); ++axis) {
        const std::size_t at = labels.out.find(labels.operand[i][axis]);
        if (at != std::string::npos) of[axis] = ranges[at];
      }
      operands[i] = input(i, of);
    }
    return einsum(a.node().text, {operands[0], operands[1]});
  }
  if (a.is("transpose")) {
    const std::vector<Index>& axes = a.node().numbers;
    std::vector<Range> of(axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k) of[static_cast<std::size_t>(axes[k])] = ranges[k];
    return transpose(input(0, of), axes);
  }
  return slice(a, ranges);
}

// Cut at more places.
Blocks recut(const Blocks& from, const std::vector<Cuts>& cuts) {
  Blocks made{cuts, {}};
  for_each_place(cuts, [&](const Place& place) {
    Place within(cuts.size());
    std::vector<Range> ranges;
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) {
      Index begin = 0;
      for (std::size_t k = 0; k < place[axis]; ++k) begin += cuts[axis][k].extent;
      const Dimension& own = cuts[axis][place[axis]];
      std::size_t k = 0;
      while (k + 1 < from.cuts[axis].size() && begin >= from.cuts[axis][k].extent)
        begin -= from.cuts[axis][k++].extent;
      within[axis] = k;
      ranges.push_back({begin, 1, own});
    }
    made.pieces.push_back(part_of(from.piece(within), ranges));
  });
  return made;
}

// As one array.
Array assembled(const Blocks& from) {
  std::vector<Array> pieces = from.pieces;
  for (std::size_t axis = from.cuts.size(); axis-- > 0;) {
    const std::size_t count = from.cuts[axis].size();
    if (count == 1) continue;
    std::vector<Array> joined;
    for (std::size_t k = 0; k < pieces.size(); k += count) {
      const auto first = pieces.begin() + static_cast<Index>(k);
      joined.push_back(
          concatenate({first, first + static_cast<Index>(count)}, static_cast<Index>(axis)));
    }
    pieces = std::move(joined);
  }
  return pieces.front();
}

// Nothing where an array has to be whole.
using Made = std::optional<Blocks>;

Made concatenated(const GraphNode& node, const std::vector<Blocks>& parts) {
  const auto along = static_cast<std::size_t>(node.numbers[0]);
  std::vector<Cuts> cuts = parts.front().cuts;
  for (const Blocks& part : parts) {
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) {
      if (axis != along) cuts[axis] = joint(cuts[axis], part.cuts[axis]);
    }
  }
  std::vector<Blocks> fitting;
  cuts[along].clear();
  for (const Blocks& part : parts) {
    std::vector<Cuts> own = cuts;
    own[along] = part.cuts[along];
    fitting.push_back(recut(part, own));
  }
  for (const Blocks& part : parts)
    cuts[along].insert(cuts[along].end(), part.cuts[along].begin(), part.cuts[along].end());
  Blocks made{cuts, {}};
  for_each_place(cuts, [&](Place place) {
    std::size_t part = 0;
    while (place[along] >= parts[part].cuts[along].size())
      place[along] -= parts[part++].cuts[along].size();
    made.pieces.push_back(fitting[part].piece(place));
  });
  return made;
}

Made entrywise(const Array& old, const std::vector<Blocks>& parts) {
  const Shape& shape = old.shape();
  const std::size_t rank = shape.size();
  std::vector<Cuts> cuts(rank);
  // Axes of the result from the one of the argument on.
  const auto offset = [&](const Blocks& part) { return rank - part.cuts.size(); };
  for (const Blocks& part : parts) {
    for (std::size_t axis = 0; axis < part.cuts.size(); ++axis) {
      Cuts& own = cuts[axis + offset(part)];
      if (extent_of(part.cuts[axis]) != shape[axis + offset(part)].extent) continue;
      own = own.empty() ? part.cuts[axis] : joint(own, part.cuts[axis]);
    }
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (cuts[axis].empty()) cuts[axis] = {shape[axis]};
  }
  if (pieces_of(cuts) > most_pieces) return std::nullopt;
  std::vector<Blocks> fitting;
  std::vector<std::vector<bool>> stretches;
  for (const Blocks& part : parts) {
    std::vector<Cuts> own = part.cuts;
    stretches.emplace_back();
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const bool stretched = extent_of(own[axis]) != shape[axis + offset(part)].extent;
      if (!stretched) own[axis] = cuts[axis + offset(part)];
      stretches.back().push_back(stretched);
    }
    fitting.push_back(recut(part, own));
  }
  Blocks made{cuts, {}};
  for_each_place(cuts, [&](const Place& place) {
    std::vector<Array> arguments;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Place own(place.begin() + static_cast<Index>(offset(parts[k])), place.end());
      for (std::size_t axis = 0; axis < own.size(); ++axis) {
        if (stretches[k][axis]) own[axis] = 0;
      }
      arguments.push_back(fitting[k].piece(own));
    }
    made.pieces.push_back(
        broadcast(formulas::apply(old.node().operation->name, arguments), made.shape_at(place)));
  });
  return made;
}

Made contracted(const Array& old, const std::vector<Blocks>& parts) {
  const EinsumLabels labels(old.node().text);
  std::map<char, Cuts> cuts;
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t axis = 0; axis < labels.operand[k].size(); ++axis) {
      Cuts& own = cuts[labels.operand[k][axis]];
      own = own.empty() ? parts[k].cuts[axis] : joint(own, parts[k].cuts[axis]);
    }
  }
  std::string summed;
  for (const auto& [label, own] : cuts) {
    if (labels.out.find(label) == std::string::npos) summed += label;
  }
  const auto of_labels = [&](const std::string& text) {
    std::vector<Cuts> made;
    for (const char label : text) made.push_back(cuts.at(label));
    return made;
  };
  if (pieces_of(of_labels(labels.out + summed)) > most_pieces) return std::nullopt;
  const std::array<Blocks, 2> operands{recut(parts[0], of_labels(labels.operand[0])),
                                       recut(parts[1], of_labels(labels.operand[1]))};
  Blocks made{of_labels(labels.out), {}};
  for_each_place(made.cuts, [&](const Place& place) {
    Array total = broadcast(old.number(0), made.shape_at(place));
    for_each_place(of_labels(summed), [&](const Place& inner) {
      std::array<Array, 2> factors;
      for (std::size_t k = 0; k < 2; ++k) {
        Place own;
        for (const char label : labels.operand[k]) {
          const std::size_t at = labels.out.find(label);
          own.push_back(at == std::string::npos ? inner[summed.find(label)] : place[at]);
        }
        factors[k] = operands[k].piece(own);
      }
      if (!is_zero(factors[0]) && !is_zero(factors[1]))
        total = total + einsum(old.node().text, {factors[0], factors[1]});
    });
    made.pieces.push_back(total);
  });
  return made;
}

Made summed(const Array& old, const Blocks& part) {
  const GraphNode& node = old.node();
  const auto first = node.numbers[0], count = node.numbers[1];
  Blocks made;
  std::vector<Cuts> gone;
  for (std::size_t axis = 0; axis < part.cuts.size(); ++axis) {
    const auto a = static_cast<Index>(axis);
    (a >= first && a < first + count ? gone : made.cuts).push_back(part.cuts[axis]);
  }
  for_each_place(made.cuts, [&](const Place& place) {
    Array total = broadcast(old.number(0), made.shape_at(place));
    for_each_place(gone, [&](const Place& inner) {
      Place own = place;
      own.insert(own.begin() + first, inner.begin(), inner.end());
      total = total + reduce("sum", part.piece(own), first, count);
    });
    if (old.is("mean"))
      total = total / old.number(entries(old.input(0).shape()) / entries(old.shape()));
    made.pieces.push_back(total);
  });
  return made;
}

Made sliced(const Array& old, const Blocks& part) {
  const std::vector<Range> ranges = ranges_of(old.node(), old.shape());
  // Of every axis the pieces that are met, and what of them is taken.
  std::vector<std::vector<std::pair<std::size_t, Range>>> met(ranges.size());
  Blocks made;
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    const Range& range = ranges[axis];
    const Cuts& cuts = part.cuts[axis];
    if (cuts.size() == 1) {
      met[axis] = {{0, range}};
      made.cuts.push_back({range.count});
      continue;
    }
    if (range.step != 1 || range.count.extent == 0) return std::nullopt;
    Index begin = 0;
    Cuts kept;
    for (std::size_t k = 0; k < cuts.size(); begin += cuts[k++].extent) {
      const Index from = std::max(begin, range.start),
                  to = std::min(begin + cuts[k].extent, range.start + range.count.extent);
      if (from >= to) continue;
      const bool all = to - from == cuts[k].extent;
      const Dimension taken = all                               ? cuts[k]
                              : to - from == range.count.extent ? range.count
                                                                : Dimension{to - from, {}};
      met[axis].push_back({k, {from - begin, 1, taken}});
      kept.push_back(taken);
    }
    made.cuts.push_back(kept);
  }
  for_each_place(made.cuts, [&](const Place& place) {
    Place own(place.size());
    std::vector<Range> within;
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      own[axis] = met[axis][place[axis]].first;
      within.push_back(met[axis][place[axis]].second);
    }
    made.pieces.push_back(part_of(part.piece(own), within));
  });
  return made;
}

// Where axes of 1 come or go only.
Made reshaped(const Array& old, const Blocks& part) {
  const Shape& from = old.input(0).shape();
  const Shape& to = old.shape();
  std::vector<std::optional<std::size_t>> source;  // of every axis
  std::size_t i = 0;
  for (const Dimension& d : to) {
    while (i < from.size() && from[i].extent == 1 && d.extent != 1) ++i;
    const bool same = i < from.size() && from[i].extent == d.extent;
    if (!same && d.extent != 1) return std::nullopt;
    source.push_back(same ? std::optional(i++) : std::nullopt);
  }
  for (; i < from.size(); ++i) {
    if (from[i].extent != 1) return std::nullopt;
  }
  Blocks made;
  for (std::size_t axis = 0; axis < to.size(); ++axis)
    made.cuts.push_back(source[axis] ? part.cuts[*source[axis]] : Cuts{to[axis]});
  for_each_place(made.cuts, [&](const Place& place) {
    Place own(from.size(), 0);
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      if (source[axis]) own[*source[axis]] = place[axis];
    }
    made.pieces.push_back(reshape(part.piece(own), made.shape_at(place)));
  });
  return made;
}

Made stretched(const Array& old, const Blocks& part) {
  const Shape& to = old.shape();
  const std::size_t offset = to.size() - part.cuts.size();
  Blocks made;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const bool kept = axis >= offset && extent_of(part.cuts[axis - offset]) == to[axis].extent;
    made.cuts.push_back(kept ? part.cuts[axis - offset] : Cuts{to[axis]});
  }
  for_each_place(made.cuts, [&](const Place& place) {
    Place own(place.begin() + static_cast<Index>(offset), place.end());
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      if (part.cuts[axis].size() == 1) own[axis] = 0;
    }
    made.pieces.push_back(broadcast(part.piece(own), made.shape_at(place)));
  });
  return made;
}

Made turned(const Array& old, const Blocks& part) {
  const std::vector<Index>& axes = old.node().numbers;
  Blocks made;
  for (const Index axis : axes) made.cuts.push_back(part.cuts[static_cast<std::size_t>(axis)]);
  for_each_place(made.cuts, [&](const Place& place) {
    Place own(place.size());
    for (std::size_t k = 0; k < axes.size(); ++k) own[static_cast<std::size_t>(axes[k])] = place[k];
    made.pieces.push_back(transpose(part.piece(own), axes));
  });
  return made;
}

Made made_of(const Array& old, const std::vector<Blocks>& parts) {
  if (old.is("concatenate")) {
    std::size_t total = 0;
    for (const Blocks& part : parts) total += part.pieces.size();
    return total > most_pieces ? std::nullopt : concatenated(old.node(), parts);
  }
  if (old.is("slice")) return sliced(old, parts.front());
  if (std::none_of(parts.begin(), parts.end(), [](const Blocks& b) { return b.is_cut(); }))
    return std::nullopt;
  if (old.node().operation->kind == OperationKind::entrywise) return entrywise(old, parts);
  if (old.is("einsum")) return contracted(old, parts);
  if (old.is("sum") || old.is("mean")) return summed(old, parts.front());
  if (old.is("reshape")) return reshaped(old, parts.front());
  if (old.is("broadcast")) return stretched(old, parts.front());
  if (old.is("transpose")) return turned(old, parts.front());
  return std::nullopt;
}

}  // namespace
}  // namespace blocks_cpp

Array by_blocks(const Array& formula) {
  using namespace blocks_cpp;
  Graph& graph = *formula.graph;
  const std::vector<bool> needed = needed_for({formula});
  std::vector<Blocks> made(needed.size());
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const Array old{&graph, k};
    std::vector<Blocks> parts;
    for (const std::size_t input : graph.node(k).inputs) parts.push_back(made[input]);
    if (Made blocks = made_of(old, parts)) {
      made[k] = std::move(*blocks);
      continue;
    }
    GraphNode node = old.node();
    for (std::size_t i = 0; i < parts.size(); ++i) node.inputs[i] = assembled(parts[i]).place;
    made[k] = whole(node.inputs == old.node().inputs ? old : graph.add(std::move(node)));
  }
  return assembled(made[formula.place]);
}

}  // namespace popgrad::formulas
