#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "formulas/graph.hpp"
#include "formulas/operation.hpp"
#include "formulas/strided.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::formulas {
namespace {

struct Labelled {
  std::string labels;
  Array array;
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// Labels once each: a repeated one is a diagonal.
Labelled without_repeats(Labelled x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    for (std::size_t j = x.labels.find(x.labels[i], i + 1); j != std::string::npos;
         j = x.labels.find(x.labels[i], i + 1)) {
      x.array = diagonal(x.array, static_cast<Index>(i), static_cast<Index>(j));
      x.labels.erase(j, 1);
    }
  }
  return x;
}

// Summed over what nothing else needs.
Labelled summed(Labelled x, const std::string& needed) {
  for (std::size_t i = x.labels.size(); i-- > 0;) {
    if (has(needed, x.labels[i])) continue;
    x.array = reduce("sum", x.array, static_cast<Index>(i));
    x.labels.erase(i, 1);
  }
  return x;
}

// In the order of `labels`.
Array ordered(const Labelled& x, const std::string& labels) {
  std::vector<Index> axes;
  for (const char label : labels) axes.push_back(static_cast<Index>(x.labels.find(label)));
  return transpose(x.array, axes);
}

// An operand that is a transpose is read as what it was before.
Labelled untransposed(Labelled x) {
  if (!x.array.is("transpose")) return x;
  const std::vector<Index>& axes = x.array.node().numbers;
  std::string labels(x.labels.size(), ' ');
  for (std::size_t i = 0; i < axes.size(); ++i)
    labels[static_cast<std::size_t>(axes[i])] = x.labels[i];
  return {labels, x.array.input(0)};
}

Array product(const Labelled& a, const Labelled& b, const std::string& out) {
  if (a.labels.empty()) return a.array * ordered(b, out);
  if (b.labels.empty()) return ordered(a, out) * b.array;
  const Labelled x = untransposed(a), y = untransposed(b);
  Shape shape;
  for (const char label : out) {
    const Labelled& from = has(x.labels, label) ? x : y;
    shape.push_back(from.array.shape()[from.labels.find(label)]);
  }
  const bool empty = entries(x.array.shape()) == 0 || entries(y.array.shape()) == 0;
  if (empty || is_zero(x.array) || is_zero(y.array)) return broadcast(x.array.number(0), shape);
  // The same labels for the same product, so that equal ones are one node.
  std::map<char, char> letters;
  const auto renamed = [&](const std::string& labels) {
    std::string text;
    for (const char label : labels) {
      const auto count = letters.size();
      constexpr std::size_t after_i = 'z' - 'i' + 1;
      text += letters
                  .try_emplace(label, static_cast<char>(count < after_i ? 'i' + count
                                                                        : 'A' + (count - after_i)))
                  .first->second;
    }
    return text;
  };
  std::string text = renamed(x.labels);
  text += "," + renamed(y.labels);
  text += "->" + renamed(out);
  GraphNode node{.operation = &operation("einsum"),
                 .inputs = {x.array.place, y.array.place},
                 .text = text,
                 .type = std::max({Type::whole, x.array.node().type, y.array.node().type}),
                 .shape = shape};
  return x.array.graph->add(std::move(node));
}

}  // namespace

EinsumLabels::EinsumLabels(const std::string& text) {
  const std::size_t comma = text.find(','), arrow = text.find("->");
  operand = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1)};
  out = text.substr(arrow + 2);
}

Array einsum(std::string_view given, std::vector<Array> operands) {
  std::string text;
  std::copy_if(given.begin(), given.end(), std::back_inserter(text),
               [](char c) { return c != ' '; });
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("einsum '{}': {}", given, why));
  };
  const std::size_t arrow = text.find("->");
  std::vector<std::string> labels(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      labels.emplace_back();
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.back() += c;
    } else {
      refuse(fmt::format("'{}' is no label; labels are letters, as in 'ij,j->i'", c));
    }
  }
  if (labels.size() != operands.size() || operands.empty()) {
    refuse(fmt::format("labels of {} arrays, and {} arrays", labels.size(), operands.size()));
  }
  std::map<char, std::pair<Dimension, int>> known;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Shape& shape = operands[k].shape();
    if (labels[k].size() != shape.size()) {
      refuse(fmt::format("{} labels for an array of shape {}", labels[k].size(), to_text(shape)));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      auto& [dimension, times] = known.try_emplace(labels[k][i], shape[i], 0).first->second;
      ++times;
      if (dimension.extent != shape[i].extent) {
        refuse(fmt::format("label {} is {} and {}; a label does not stretch", labels[k][i],
                           to_text(Shape{dimension}), to_text(Shape{shape[i]})));
      }
    }
  }
  std::string out;
  if (arrow == std::string::npos) {
    for (const auto& [label, seen] : known) {
      if (seen.second == 1) out += label;
    }
  } else {
    out = text.substr(arrow + 2);
    for (const char label : out) {
      if (!known.contains(label))
        refuse(fmt::format("label {} of the result is in no array", label));
      if (std::count(out.begin(), out.end(), label) > 1)
        refuse(fmt::format("label {} is twice in the result", label));
    }
  }
  // From left to right, two at a time.
  const auto later = [&](std::size_t from) {
    std::string needed = out;
    for (std::size_t k = from; k < labels.size(); ++k) needed += labels[k];
    return needed;
  };
  Labelled so_far = summed(without_repeats({labels[0], operands[0]}), later(1));
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const Labelled next =
        summed(without_repeats({labels[k], operands[k]}), so_far.labels + later(k + 1));
    so_far = summed(so_far, next.labels + later(k + 1));
    std::string rest;
    if (k + 1 == operands.size()) {
      rest = out;
    } else {
      for (const char label : so_far.labels + next.labels) {
        if (!has(rest, label) && has(later(k + 1), label)) rest += label;
      }
    }
    so_far = {rest, product(so_far, next, rest)};
  }
  return ordered(so_far, out);
}

}  // namespace popgrad::formulas
