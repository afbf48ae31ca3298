#include "formulas/written.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "formulas/operation.hpp"
#include "formulas/strided.hpp"

namespace popgrad::formulas {
namespace {

using syntax::absent;
using syntax::Kind;

constexpr std::size_t longest = 100'000;  // nodes of a formula
constexpr int highest = 500;              // of a formula; the writer recurses
constexpr std::size_t worth_a_name = 8;   // nodes of a part

bool is_whole(const Range& r, const Dimension& axis) {
  return r.start == 0 && r.step == 1 && r.count.extent == axis.extent && r.count.size == axis.size;
}

class Writer {
 public:
  explicit Writer(const std::map<std::size_t, std::string>& named) : named_(named) {}

  Written write(std::string name, const Array& array, bool defines) {
    if (defines) defined_ = array.place;
    made_.name = std::move(name);
    static_cast<void>(part(array));
    return std::move(made_);
  }

 private:
  const std::map<std::size_t, std::string>& named_;
  std::optional<std::size_t> defined_;  // is written in full
  int height_ = 0;
  Written made_;

  // ---- syntax ----

  std::size_t add(Kind kind, std::string text, std::vector<std::size_t> parts = {}, int rank = 0,
                  std::vector<std::string> keywords = {}) {
    std::vector<syntax::Node>& nodes = made_.tree.nodes;
    if (nodes.size() >= longest)
      throw InputError(
          fmt::format("a formula of more than {} parts cannot be printed as one", longest));
    nodes.push_back({kind, {}, std::move(text), std::move(parts), std::move(keywords)});
    made_.ranks.push_back(rank);
    return nodes.size() - 1;
  }
  std::size_t number(Index value) {
    const std::size_t size = add(Kind::number, std::to_string(value < 0 ? -value : value));
    return value < 0 ? add(Kind::unary, "-", {size}) : size;
  }
  std::size_t number(const Rational& value, bool real) {
    const Rational size = abs(value);
    const std::size_t part = positive(size, real);
    return value < 0 ? add(Kind::unary, "-", {part}) : part;
  }
  // As a short decimal where it is one.
  std::size_t positive(const Rational& value, bool real) {
    if (const std::optional<std::string> decimal = short_decimal(value))
      return add(Kind::number, *decimal + (real && denominator(value) == 1 ? ".0" : ""));
    const std::size_t above = add(Kind::number, to_text(Rational(numerator(value))));
    return add(Kind::binary, "/",
               {above, add(Kind::number, to_text(Rational(denominator(value))))});
  }
  std::size_t dimension(const Dimension& d) {
    if (d.size.empty()) return number(d.extent);
    const syntax::Tree size = syntax::parse(d.size);
    const std::size_t begin = made_.tree.nodes.size();
    for (syntax::Node n : size.nodes) {
      for (std::size_t& p : n.parts) {
        if (p != absent) p += begin;
      }
      add(n.kind, std::move(n.text), std::move(n.parts), 0, std::move(n.keywords));
    }
    return made_.tree.nodes.size() - 1;
  }
  std::size_t shaped(const std::string& function, const Shape& shape) {
    std::vector<std::size_t> parts;
    for (const Dimension& d : shape) parts.push_back(dimension(d));
    if (parts.empty()) parts.push_back(add(Kind::tuple, ""));
    return add(Kind::call, function, std::move(parts), static_cast<int>(shape.size()));
  }
  std::size_t identity(const Dimension& rows, const Dimension& columns) {
    const bool square = rows.extent == columns.extent && rows.size == columns.size;
    std::vector<std::size_t> parts{dimension(rows)};
    if (!square) parts.push_back(dimension(columns));
    return add(Kind::call, "eye", std::move(parts), 2);
  }
  std::size_t binary(std::string op, std::size_t left, std::size_t right, int rank) {
    return add(Kind::binary, std::move(op), {left, right}, rank);
  }
  std::size_t colon() { return add(Kind::slice, "", {absent, absent, absent}); }
  /// start + count, of a count such as "n - 1" that has a size in it.
  std::size_t end_by_count(const Range& r) {
    const std::string& count = r.count.size;
    const std::string less_start = fmt::format(" - {}", r.start);
    if (count.ends_with(less_start))
      return dimension(
          {r.start + r.count.extent, count.substr(0, count.size() - less_start.size())});
    const std::size_t start = number(r.start);
    return add(Kind::binary, "+", {start, dimension(r.count)});
  }
  /// Ends of an axis of a named size are counted from its end where that size is in their number, so that
  /// they are right at other sizes.
  std::size_t indices_of(const Range& r, const Dimension& axis) {
    if (is_whole(r, axis)) return colon();
    const bool named = !r.count.size.empty() && !axis.size.empty();
    const Index extent = axis.extent;
    // The last index that counts, and the one that would be next.
    const Index last = r.start + (r.count.extent - 1) * r.step, next = last + r.step;
    const Index end = last + (r.step > 0 ? 1 : -1);
    const bool to_the_end = r.step > 0 ? next >= extent && (named || axis.size.empty()) : next < 0;
    std::size_t from = number(r.start), to = absent;
    if (r.step > 0 && r.start == 0) from = absent;
    if (r.step < 0 && named) from = r.start == extent - 1 ? absent : number(r.start - extent);
    if (r.count.extent == 0) {
      to = number(r.start);
    } else if (named && r.start == 0 && r.step == 1) {
      to = dimension(r.count);
    } else if (!to_the_end && named && r.step == 1) {
      to = end_by_count(r);
    } else if (!to_the_end) {
      to = number(named && r.step > 0 ? end - extent : end);
    }
    return add(Kind::slice, "", {from, to, r.step == 1 ? absent : number(r.step)});
  }
  static int rank_of(const Array& a) { return static_cast<int>(a.rank()); }

  // ---- the graph ----

  std::size_t part(const Array& a) {
    if (a.place != defined_) {
      if (const auto found = named_.find(a.place); found != named_.end())
        return add(Kind::name, found->second, {}, rank_of(a));
    }
    if (++height_ > highest)
      throw InputError(fmt::format(
          "a formula of more than {} nested operations cannot be printed as one", highest));
    const std::size_t made = node(a);
    --height_;
    return made;
  }
  std::vector<std::size_t> parts(const Array& a) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < a.node().inputs.size(); ++i) all.push_back(part(a.input(i)));
    return all;
  }
  std::size_t node(const Array& a) {
    const GraphNode& n = a.node();
    const std::string name(n.operation->name);
    if (name == "constant") {
      if (!n.text.empty()) return dimension({1, n.text});
      if (n.type == Type::truth) {
        const std::size_t zero = number(Index{0});
        return binary("==", zero, number(n.value == 0 ? Index{1} : Index{0}), 0);
      }
      return number(n.value, n.type == Type::real);
    }
    if (name == "variable") return add(Kind::name, n.text, {}, rank_of(a));
    if (name == "pi") return add(Kind::name, "pi");
    if (name == "eye") return identity(n.shape[0], n.shape[1]);
    if (name == "negative") return add(Kind::unary, "-", parts(a), rank_of(a));
    if (const std::string_view sign = n.operation->sign; !sign.empty())
      return add(Kind::binary, std::string(sign), parts(a), rank_of(a));
    if (name == "transpose") return transposed(a);
    if (name == "reshape") return reshaped(a);
    if (name == "broadcast") return stretched(a);
    if (name == "slice") return add(Kind::subscript, "", indexed(a), rank_of(a));
    if (name == "embed") return embedded(a);
    if (name == "diagonal") return diagonal_of(a);
    if (name == "diagonal_matrix" && a.rank() == 2 && n.shape[0].extent == n.shape[1].extent)
      return add(Kind::call, "diag", parts(a), 2);
    if (name == "take") return taken(a);
    if (name == "put" && a.rank() <= 2 && a.input(1).rank() == 1 && n.numbers[0] == 0)
      return put(a);
    if (name == "concatenate") return joined(a);
    if (name == "einsum") return contracted(a);
    if (name == "solve" && a.input(1).is("eye"))
      return add(Kind::call, "inv", {part(a.input(0))}, 2);
    if (name == "sum" && a.rank() == 0 && a.input(0).is("diagonal") &&
        a.input(0).input(0).rank() == 2 && !named_.contains(a.input(0).place)) {
      return add(Kind::call, "trace", {part(a.input(0).input(0))});
    }
    if (n.operation->kind == OperationKind::reduction || n.operation->kind == OperationKind::scan)
      return over_axes(a, name);
    return name == "arange" ? shaped(name, n.shape) : add(Kind::call, name, parts(a), rank_of(a));
  }
  std::size_t over_axes(const Array& a, const std::string& name) {
    const GraphNode& n = a.node();
    const Index rank = a.input(0).rank();
    const Index count = n.operation->kind == OperationKind::scan ? 1 : n.numbers[1];
    std::vector<std::size_t> made = parts(a);
    if (count == rank) return add(Kind::call, name, std::move(made), rank_of(a));
    std::vector<std::size_t> axes;
    for (Index k = 0; k < count; ++k) axes.push_back(number(n.numbers[0] + k));
    made.push_back(count == 1 ? axes.front() : add(Kind::tuple, "", std::move(axes)));
    return add(Kind::call, name, std::move(made), rank_of(a), {"axis"});
  }
  static std::string letters(Index count) {
    std::string all;
    for (Index k = 0; k < count; ++k) all += static_cast<char>('i' + k);
    return all;
  }
  std::size_t contraction(const std::string& labels, std::vector<std::size_t> operands, int rank) {
    operands.insert(operands.begin(), add(Kind::string, labels));
    return add(Kind::call, "einsum", std::move(operands), rank);
  }
  std::size_t transposed(const Array& a) {
    const std::vector<Index>& axes = a.node().numbers;
    if (std::is_sorted(axes.rbegin(), axes.rend()))
      return add(Kind::attribute, "T", parts(a), rank_of(a));
    const std::string from = letters(a.rank());
    std::string to;
    for (const Index axis : axes) to += from[static_cast<std::size_t>(axis)];
    const std::size_t operand = part(a.input(0));
    return contraction(from + "->" + to, {operand}, rank_of(a));
  }
  // Axes of 1 come and go by None and 0.
  std::size_t reshaped(const Array& a) {
    const Array inner = a.input(0);
    const bool is_slice = inner.is("slice") && !named_.contains(inner.place);
    const Shape& from = inner.shape();
    const Shape& to = a.shape();
    std::vector<std::size_t> indices = is_slice ? indexed(inner) : std::vector{part(inner)};
    const std::size_t object = indices.front();
    std::vector<std::size_t> made{object};
    std::size_t i = 0;
    for (std::size_t k = 0; k < to.size() || i < from.size();) {
      const bool same = k < to.size() && i < from.size() && to[k].extent == from[i].extent;
      // An axis that goes, rather than one that is the next one's.
      const bool goes = i < from.size() && from[i].extent == 1 && from.size() - i > to.size() - k;
      if (goes || (!same && i < from.size() && from[i].extent == 1)) {
        made.push_back(number(is_slice ? inner.node().numbers[2 * i] : Index{0}));
        ++i;
      } else if (same && (to[k].extent != 1 || to.size() - k <= from.size() - i)) {
        made.push_back(is_slice ? indices[i + 1] : colon());
        ++i;
        ++k;
      } else if (k < to.size() && to[k].extent == 1) {
        made.push_back(add(Kind::new_axis, ""));
        ++k;
      } else {
        std::vector<std::size_t> shape;
        for (const Dimension& d : to) shape.push_back(dimension(d));
        const std::size_t tuple = add(Kind::tuple, "", std::move(shape));
        return add(Kind::call, "reshape", {part(inner), tuple}, rank_of(a));
      }
    }
    return add(Kind::subscript, "", std::move(made), rank_of(a));
  }
  std::size_t stretched(const Array& a) {
    const Array inner = a.input(0);
    const Rational* const value = constant_value(inner);
    if (value != nullptr && inner.node().text.empty() && (*value == 0 || *value == 1))
      return shaped(*value == 0 ? "zeros" : "ones", a.shape());
    const std::size_t operand = part(inner);
    return binary("*", operand, shaped("ones", a.shape()), rank_of(a));
  }
  // The object of a slice and its indices.
  std::vector<std::size_t> indexed(const Array& a) {
    const Shape& from = a.input(0).shape();
    const std::vector<Range> ranges = ranges_of(a.node(), a.shape());
    std::vector<std::size_t> made{part(a.input(0))};
    for (std::size_t i = 0; i < ranges.size(); ++i) made.push_back(indices_of(ranges[i], from[i]));
    return made;
  }
  // By rows of the identity.
  std::size_t embedded(const Array& a) {
    const Shape& from = a.input(0).shape();
    const std::vector<Range> ranges = ranges_of(a.node(), from);
    std::size_t made = part(a.input(0));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (is_whole(ranges[i], a.shape()[i])) continue;
      const std::size_t unit = identity(a.shape()[i], a.shape()[i]);
      const bool left = i == 0 && ranges.size() <= 2;
      const std::size_t some = indices_of(ranges[i], a.shape()[i]);
      const std::size_t all = colon();
      const std::vector<std::size_t> columns{unit, all, some}, rows{unit, some, all};
      const std::size_t matrix = add(Kind::subscript, "", left ? columns : rows, 2);
      if (ranges.size() <= 2) {
        made = left ? binary("@", matrix, made, rank_of(a)) : binary("@", made, matrix, rank_of(a));
      } else {
        std::string labels = letters(a.rank()), to = labels;
        to[i] = 'z';
        made = contraction(fmt::format("{},{}z->{}", labels, labels[i], to), {made, matrix},
                           rank_of(a));
      }
    }
    return made;
  }
  std::size_t diagonal_of(const Array& a) {
    const std::vector<Index>& axes = a.node().numbers;
    const std::size_t operand = part(a.input(0));
    if (a.rank() == 1) return add(Kind::call, "diag", {operand}, 1);
    std::string from = letters(a.input(0).rank()), to = from;
    from[static_cast<std::size_t>(axes[1])] = from[static_cast<std::size_t>(axes[0])];
    to.erase(static_cast<std::size_t>(axes[1]), 1);
    return contraction(from + "->" + to, {operand}, rank_of(a));
  }
  std::size_t taken(const Array& a) {
    std::vector<std::size_t> made{part(a.input(0))};
    for (Index k = 0; k < a.node().numbers[0]; ++k) made.push_back(colon());
    made.push_back(part(a.input(1)));
    return add(Kind::subscript, "", std::move(made), rank_of(a));
  }
  std::size_t put(const Array& a) {
    const std::size_t index = part(a.input(1));
    const std::size_t rows = add(Kind::call, "one_hot", {index, dimension(a.shape()[0])}, 2);
    const std::size_t columns = add(Kind::attribute, "T", {rows}, 2);
    return binary("@", columns, part(a.input(0)), rank_of(a));
  }
  std::size_t joined(const Array& a) {
    const std::size_t list = add(Kind::list, "", parts(a));
    const Index axis = a.node().numbers[0];
    if (axis == 0) return add(Kind::call, "concatenate", {list}, rank_of(a));
    return add(Kind::call, "concatenate", {list, number(axis)}, rank_of(a), {"axis"});
  }
  // A product of matrices where it is one.
  std::size_t contracted(const Array& a) {
    const EinsumLabels labels(a.node().text);
    std::string left = labels.operand[0], right = labels.operand[1];
    std::string summed;
    for (const char c : left) {
      if (labels.out.find(c) == std::string::npos) summed += c;
    }
    const bool turned_left = left.size() == 2 && summed == left.substr(0, 1),
               turned_right = right.size() == 2 && summed == right.substr(1);
    if (turned_left) std::reverse(left.begin(), left.end());
    if (turned_right) std::reverse(right.begin(), right.end());
    const bool product = summed.size() == 1 && left.size() <= 2 && right.size() <= 2 &&
                         left.back() == summed.front() && right.front() == summed.front() &&
                         left.substr(0, left.size() - 1) + right.substr(1) == labels.out;
    if (!product) {
      std::vector<std::size_t> operands = parts(a);
      if (a.node().text == "i,j->ij") return add(Kind::call, "outer", std::move(operands), 2);
      return contraction(a.node().text, std::move(operands), rank_of(a));
    }
    const auto factor = [&](std::size_t i, bool turned) {
      const std::size_t made = part(a.input(i));
      return turned ? add(Kind::attribute, "T", {made}, 2) : made;
    };
    const std::size_t first = factor(0, turned_left);
    return binary("@", first, factor(1, turned_right), rank_of(a));
  }
};

// put, the adjoint of take, has no name in NumPy: the sum over what each place is taken for.
Array summed_places(const GraphNode& put, const Array& adjoint, const Array& indices) {
  const Index axis = put.numbers[0];
  const Dimension& places = put.shape[static_cast<std::size_t>(axis)];
  std::string labels, index_labels;
  for (Index k = 0; k < adjoint.rank(); ++k) labels += static_cast<char>('a' + k);
  index_labels = labels.substr(static_cast<std::size_t>(axis), indices.shape().size());
  const std::string place(1, static_cast<char>('a' + adjoint.rank()));
  std::string out = labels;
  out.replace(static_cast<std::size_t>(axis), indices.shape().size(), place);
  return einsum(labels + "," + index_labels + place + "->" + out,
                {adjoint, one_hot(indices, places)});
}

// The factor of a product that is a number, and the other; no number: null.
struct NumberTimes {
  const Rational* number = nullptr;
  Array factor{};
};
NumberTimes number_times(const Array& product) {
  for (std::size_t i = 0; i < 2 && product.is("multiply"); ++i) {
    const Array number = product.input(i);
    if (number.rank() == 0 && number.node().text.empty() && constant_value(number) != nullptr)
      return {constant_value(number), product.input(1 - i)};
  }
  return {};
}
// 1/2 (2 x) as x, with all numbers of a product in one.
Array with_one_number(const Array& product) {
  Rational number = 1;
  Array factor = product;
  for (NumberTimes parts = number_times(factor); parts.number != nullptr;
       parts = number_times(factor)) {
    number *= *parts.number;
    factor = parts.factor;
  }
  if (factor == product || to_text(factor.shape()) != to_text(product.shape())) return product;
  return number == 1 ? factor : factor.number(number) * factor;
}

// Every formula rebuilt; make(node, inputs) gives a node with rebuilt inputs.
std::vector<Array> rebuilt(const std::vector<Array>& formulas,
                           const std::function<Array(const Array&, GraphNode)>& make) {
  Graph& graph = *formulas.front().graph;
  const std::vector<bool> needed = needed_for(formulas);
  std::vector<Array> made(needed.size());
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    GraphNode node = graph.node(k);
    for (std::size_t& input : node.inputs) input = made[input].place;
    made[k] = make({&graph, k}, std::move(node));
  }
  std::vector<Array> results;
  for (const Array& f : formulas) results.push_back(made[f.place]);
  return results;
}

}  // namespace

std::optional<std::string> short_decimal(const Rational& value) {
  if (denominator(value) == 1) return to_text(value);
  Rational scaled = value;
  for (int places = 1; places <= 6; ++places) {
    scaled *= 10;
    if (denominator(scaled) != 1) continue;
    std::string digits = to_text(scaled);
    const auto width = static_cast<std::size_t>(places);
    if (digits.size() <= width) digits.insert(0, width + 1 - digits.size(), '0');
    return digits.insert(digits.size() - width, ".");
  }
  return std::nullopt;
}

namespace {

// A diagonal along two of more than two axes, as a product with an identity matrix.
Array on_diagonal(const GraphNode& node, const Array& entries) {
  const Index first = node.numbers[0], second = node.numbers[1];
  const Dimension &rows = node.shape[static_cast<std::size_t>(first)],
                  &columns = node.shape[static_cast<std::size_t>(second)];
  if (rows.extent != columns.extent) return entries.graph->add(node);
  Array identity = entries.graph->eye(rows, columns);
  for (Index axis = 0; axis < static_cast<Index>(node.shape.size()); ++axis) {
    if (axis != first && axis != second) identity = keep_axes(identity, axis, 1);
  }
  return keep_axes(entries, second, 1) * identity;
}

}  // namespace

std::vector<Array> in_numpy(const std::vector<Array>& formulas) {
  if (formulas.empty()) return {};
  return rebuilt(formulas, [](const Array& old, GraphNode node) {
    Graph& graph = *old.graph;
    if (old.is("put"))
      return summed_places(node, {&graph, node.inputs[0]}, {&graph, node.inputs[1]});
    if (old.is("diagonal_matrix") && old.rank() > 2)
      return on_diagonal(node, {&graph, node.inputs[0]});
    // Where it was needed, derivatives are taken already.
    if (old.is("stop_gradient")) return Array{&graph, node.inputs[0]};
    // A number of Python takes no index such as None.
    if (old.is("reshape") && old.input(0).rank() == 0)
      return broadcast({&graph, node.inputs[0]}, node.shape);
    if (old.is("broadcast")) {
      const Array inner{&graph, node.inputs[0]};
      return broadcast(inner.is("broadcast") ? inner.input(0) : inner, node.shape);
    }
    return with_one_number(graph.add(std::move(node)));
  });
}

Written written(const Array& array) { return Writer({}).write("", array, false); }

std::vector<Written> written(const std::vector<NamedArray>& outputs) {
  if (outputs.empty()) return {};
  const Graph& graph = *outputs.front().array.graph;
  std::vector<std::size_t> uses(graph.size(), 0), length(graph.size(), 1);
  std::vector<int> height(graph.size(), 0);
  std::set<std::string> taken;
  for (const NamedArray& output : outputs) {
    ++uses[output.array.place];
    taken.insert(output.name);
  }
  for (std::size_t k = graph.size(); k-- > 0;) {
    if (uses[k] == 0) continue;
    for (const std::size_t input : graph.node(k).inputs) ++uses[input];
    taken.insert(graph.node(k).text);
  }
  std::map<std::size_t, std::string> named;
  std::vector<NamedArray> lines;
  std::size_t number = 0;
  for (std::size_t k = 0; k < graph.size(); ++k) {
    if (uses[k] == 0) continue;
    for (const std::size_t input : graph.node(k).inputs) {
      length[k] += named.contains(input) ? 1 : length[input];
      height[k] = std::max(height[k], named.contains(input) ? 1 : height[input] + 1);
    }
    const bool shared = uses[k] > 1 && length[k] >= worth_a_name;
    // What an operation is written with may nest, too.
    const bool is_high = height[k] > highest / 4 || length[k] > longest / 100;
    if (!shared && !is_high) continue;
    std::string name;
    do name = fmt::format("part{}", ++number);
    while (taken.contains(name));
    lines.push_back({name, {outputs.front().array.graph, k}});
    named.emplace(k, name);
  }
  std::vector<Written> made;
  for (const NamedArray& line : lines)
    made.push_back(Writer(named).write(line.name, line.array, true));
  for (const NamedArray& o : outputs) made.push_back(Writer(named).write(o.name, o.array, false));
  return made;
}

}  // namespace popgrad::formulas
