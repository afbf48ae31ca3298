#include "expectations/indexed.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "expectations/contraction.hpp"

namespace popgrad::expectations {
namespace indexed_cpp {
namespace {

// With an axis of 1 for each label that the array has not.
Array aligned(const Indexed& a, const std::vector<Label>& labels) {
  if (a.labels.empty()) return a.array;
  Shape shape;
  std::size_t own = 0;
  for (const Label label : labels) {
    const bool known = own < a.labels.size() && a.labels[own] == label;
    shape.push_back(known ? a.array.shape()[own++] : Dimension{});
  }
  return reshape(a.array, shape);
}

}  // namespace
}  // namespace indexed_cpp

Indexed indexed(Array array, std::vector<Label> labels) {
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    for (std::size_t later = labels.size(); later-- > axis + 1;) {
      if (labels[later] != labels[axis]) continue;
      array = diagonal(array, static_cast<Index>(axis), static_cast<Index>(later));
      labels.erase(labels.begin() + static_cast<Index>(later));
    }
  }
  std::vector<Index> order(labels.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return labels[static_cast<std::size_t>(a)] < labels[static_cast<std::size_t>(b)];
  });
  std::sort(labels.begin(), labels.end());
  return {transpose(array, order), std::move(labels)};
}

std::optional<Indexed> indexed(const std::vector<Term>& terms, const std::vector<Label>& labels,
                               formulas::Graph& graph) {
  std::vector<Label> different;
  std::vector<std::size_t> place;  // of each axis among the different ones
  for (const Label label : labels) {
    const auto known = std::find(different.begin(), different.end(), label);
    place.push_back(static_cast<std::size_t>(known - different.begin()));
    if (known == different.end()) different.push_back(label);
  }
  TermSum sum;
  for (Term term : terms) {
    for (std::size_t axis = labels.size(); axis-- > 0;) {
      const auto first = static_cast<std::size_t>(
          std::find(place.begin(), place.end(), place[axis]) - place.begin());
      if (first != axis) term.identify_axes(first, axis);
    }
    sum.add(std::move(term));
  }
  const std::vector<Term> left = sum.terms();
  if (left.empty()) return std::nullopt;
  return indexed(sum_of(left, left.front().shape(), graph), different);
}

Indexed entrywise(std::string_view operation, const std::vector<Indexed>& arguments) {
  std::vector<Label> labels;
  for (const Indexed& a : arguments) labels.insert(labels.end(), a.labels.begin(), a.labels.end());
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  std::vector<Array> arrays;
  for (const Indexed& a : arguments) arrays.push_back(indexed_cpp::aligned(a, labels));
  return {formulas::apply(operation, arrays), std::move(labels)};
}

Indexed operator+(const Indexed& a, const Indexed& b) { return entrywise("add", {a, b}); }
Indexed operator-(const Indexed& a, const Indexed& b) { return entrywise("subtract", {a, b}); }
Indexed operator-(const Indexed& a) { return entrywise("negative", {a}); }
Indexed operator*(const Indexed& a, const Indexed& b) { return entrywise("multiply", {a, b}); }
Indexed operator/(const Indexed& a, const Indexed& b) { return entrywise("divide", {a, b}); }
Indexed number(const Indexed& like, const Rational& value) {
  return {like.array.number(value), {}};
}
Indexed operator*(const Rational& a, const Indexed& b) { return number(b, a) * b; }
Indexed operator+(const Rational& a, const Indexed& b) { return number(b, a) + b; }
Indexed operator/(const Rational& a, const Indexed& b) { return number(b, a) / b; }

Entry sum(const Entry& a, const Entry& b) { return a && b ? *a + *b : a ? a : b; }
Entry difference(const Entry& a, const Entry& b) {
  return a && b ? Entry(*a - *b) : b ? Entry(-*b) : a;
}
Entry product(const Entry& a, const Entry& b) { return a && b ? Entry(*a * *b) : std::nullopt; }

}  // namespace popgrad::expectations
