#pragma once
/// Arrays whose axes are labels of a term, each at most once and in ascending order.

#include <optional>
#include <string_view>
#include <vector>

#include "expectations/term.hpp"

namespace popgrad::expectations {

struct Indexed {
  Array array;
  std::vector<Label> labels;
};

/// Of any axes, each with its label; equal labels are a diagonal.
Indexed indexed(Array array, std::vector<Label> labels);
/// The sum of terms whose axes have these labels; none without terms.
std::optional<Indexed> indexed(const std::vector<Term>& terms, const std::vector<Label>& labels,
                               formulas::Graph& graph);

/// An operation entry by entry, over the labels of all arguments.
Indexed entrywise(std::string_view operation, const std::vector<Indexed>& arguments);
Indexed operator+(const Indexed& a, const Indexed& b);
Indexed operator-(const Indexed& a, const Indexed& b);
Indexed operator-(const Indexed& a);
Indexed operator*(const Indexed& a, const Indexed& b);
Indexed operator/(const Indexed& a, const Indexed& b);
Indexed number(const Indexed& like, const Rational& value);
Indexed operator*(const Rational& a, const Indexed& b);
Indexed operator+(const Rational& a, const Indexed& b);
Indexed operator/(const Rational& a, const Indexed& b);

/// No entry is 0.
using Entry = std::optional<Indexed>;
Entry sum(const Entry& a, const Entry& b);
Entry difference(const Entry& a, const Entry& b);
Entry product(const Entry& a, const Entry& b);

}  // namespace popgrad::expectations
