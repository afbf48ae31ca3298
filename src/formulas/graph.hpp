#pragma once
/// Array formulas as a graph: nodes are operations on whole arrays, equal nodes are one node, and shapes are known
/// before anything is computed. One graph is evaluated on any scalar (evaluator.hpp) and differentiated to another
/// graph (gradient.hpp). The operations are listed in operations.hpp.

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "popgrad/base/index.hpp"
#include "popgrad/scalars/rational.hpp"

namespace popgrad::formulas {

/// An axis. One of a named size never stretches, also where that size is 1.
struct Dimension {
  Index extent = 1;
  std::string size;  ///< such as "n" or "d + 1"; empty: a number
};
using Shape = std::vector<Dimension>;

using popgrad::to_text;
/// Such as "(n = 3, 4)".
std::string to_text(const Shape& shape);
/// Entries of an array of that shape.
Index entries(const Shape& shape);

enum class Type { truth, whole, real };

struct Operation;

struct GraphNode {
  const Operation* operation = nullptr;
  std::vector<std::size_t> inputs;  ///< places in the graph, before this one
  std::vector<Index> numbers;       ///< axes, starts and steps, as the operation has them
  std::string text;                 ///< name of a variable or of a size; labels of einsum
  Rational value = 0;               ///< of a constant
  Type type = Type::real;
  Shape shape;
};

class Graph;

/// A node of a graph. Operators on arrays make new nodes; numbers and arrays mix.
struct Array {
  Graph* graph = nullptr;
  std::size_t place = 0;

  [[nodiscard]] const GraphNode& node() const;
  [[nodiscard]] const Shape& shape() const { return node().shape; }
  [[nodiscard]] Index rank() const { return static_cast<Index>(shape().size()); }
  [[nodiscard]] Array input(std::size_t i) const { return {graph, node().inputs[i]}; }
  [[nodiscard]] bool is(std::string_view operation) const;
  /// Number p/q of the same graph.
  [[nodiscard]] Array number(const Rational& value) const;
  friend bool operator==(const Array&, const Array&) = default;
};

/// Holds the nodes; arrays point to it, so it stays where it is.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] const GraphNode& node(std::size_t place) const { return nodes_[place]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// The node, or the one that is equal to it. Throws InputError where the array cannot fit into memory.
  Array add(GraphNode node);
  /// Whole numbers are so by their value unless a type is given.
  Array constant(const Rational& value, std::optional<Type> type = {});
  Array pi();
  Array variable(std::string_view name, Shape shape, Type type = Type::real);
  /// A size by its name; formulas print the name.
  Array size(std::string_view name, Index value);
  Array eye(const Dimension& rows, const Dimension& columns);
  Array arange(const Dimension& count);

 private:
  std::deque<GraphNode> nodes_;
  std::unordered_map<std::string, std::size_t> known_;
};

/// An operation entry by entry, with NumPy's broadcasting. Throws InputError on shapes that do not match.
Array apply(std::string_view operation, const std::vector<Array>& arguments);

Array operator-(const Array& a);
Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);
inline Array operator+(const Array& a, int b) { return a + a.number(b); }
inline Array operator-(const Array& a, int b) { return a - a.number(b); }
inline Array operator+(int a, const Array& b) { return b.number(a) + b; }
inline Array operator-(int a, const Array& b) { return b.number(a) - b; }
inline Array operator*(int a, const Array& b) { return b.number(a) * b; }
inline Array operator/(int a, const Array& b) { return b.number(a) / b; }
inline Array operator/(const Array& a, int b) { return a / a.number(b); }
Array power(const Array& a, const Array& b);
Array square(const Array& a);
Array where(const Array& condition, const Array& a, const Array& b);

/// sum, prod, mean, max, min, norm, logsumexp, argmax over `count` axes from `axis` on, which go.
Array reduce(std::string_view operation, const Array& a, Index axis, Index count = 1);
/// Over all axes.
Array reduce(std::string_view operation, const Array& a);
/// cumsum, softmax, log_softmax along an axis, which stays.
Array scan(std::string_view operation, const Array& a, Index axis);
/// A reduced array with an axis of 1 in the place of each that went.
Array keep_axes(const Array& reduced, Index axis, Index count);

Array transpose(const Array& a);
Array transpose(const Array& a, const std::vector<Index>& axes);
Array reshape(const Array& a, const Shape& shape);
Array broadcast(const Array& a, const Shape& shape);
/// Sums over the axes that stretched from `shape`, and stretches to it: the adjoint of broadcasting.
Array fit(const Array& a, const Shape& shape);
/// Entries start, start + step, ... of an axis.
struct Range {
  Index start = 0;
  Index step = 1;
  Dimension count;
};
Array slice(const Array& a, const std::vector<Range>& ranges);
/// The adjoint of a slice: `a` at these places, 0 elsewhere.
Array embed(const Array& a, const std::vector<Range>& ranges, const Shape& shape);
/// The diagonal of two axes, in the place of the first.
Array diagonal(const Array& a, Index first = 0, Index second = 1);
/// Its adjoint: an axis becomes the diagonal of two, of these dimensions.
Array diagonal_matrix(const Array& a, const Dimension& rows, const Dimension& columns,
                      Index first = 0, Index second = 1);
/// 1 at these indices of a further last axis, else 0.
Array one_hot(const Array& indices, const Dimension& places);
/// a[i, ...] on an axis, by an array of indices.
Array take(const Array& a, const Array& indices, Index axis = 0);
Array concatenate(const std::vector<Array>& parts, Index axis);
Array matmul(const Array& a, const Array& b);
/// Labels as in NumPy; a label stands for one extent and never stretches.
Array einsum(std::string_view labels, std::vector<Array> operands);
/// X of A X = B, B a vector or a matrix.
Array solve(const Array& a, const Array& b);
/// Of a symmetric matrix: eigvalsh, its eigenvalues, ascending; eigvectors, orthonormal, as columns in that order;
/// cholesky, the lower L with L L' = A, for a semidefinite A.
Array of_square_matrix(std::string_view operation, const Array& a);

/// By place in the graph, up to the last of these arrays: what they are computed from, with themselves.
std::vector<bool> needed_for(const std::vector<Array>& outputs);

/// A constant whole number, sizes included. Throws InputError on anything else.
Index whole_number(const Array& a);
/// This number at any size, as one or at every entry of an array.
bool is_number(const Array& a, int value);
inline bool is_zero(const Array& a) { return is_number(a, 0); }
/// A constant number without axes, by its value; none: null.
const Rational* constant_value(const Array& a);

}  // namespace popgrad::formulas
