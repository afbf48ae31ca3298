#pragma once
/// What is known of an operation without its values: the table of operations.hpp, for code that computes nothing.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

enum class OperationKind { leaf, entrywise, reduction, scan, view, embedding, whole_array };
/// Type of the result: real; as the arguments; a truth value.
enum class Result { real, same, truth };
/// Where a value that is constant in between jumps: where both arguments are equal, the argument is 0 or a whole
/// number, or at other places.
enum class Jumps { none, at_equality, at_zero, at_whole_numbers, elsewhere };

/// The derivative of an operation, as a graph: given the adjoint of the result, that of input `i`.
struct Pullback {
  Array adjoint;
  Array result;
  std::vector<Array> inputs;
  std::size_t i = 0;
  [[nodiscard]] const Array& input() const { return inputs[i]; }
  [[nodiscard]] Index axis() const { return result.node().numbers.at(0); }
  [[nodiscard]] Index axes() const { return result.node().numbers.at(1); }
  /// A reduced array, to stretch over the axes that went.
  [[nodiscard]] Array kept(const Array& reduced) const {
    return keep_axes(reduced, axis(), axes());
  }
};

struct Operation {
  std::string_view name;
  OperationKind kind;
  std::size_t arity;  ///< 0: any number
  Result result;
  Jumps jumps;
  bool exact;             ///< computes on rationals
  bool linear;            ///< in each argument: a slope has no value of the argument in it
  std::string_view sign;  ///< between two arguments, in NumPy's notation; empty: written as a call
  Array (*pull)(const Pullback&);                         ///< null: slope 0
  Rational (*fold)(std::span<const Rational> arguments);  ///< null: no value on rationals
};

/// In the order of the table.
std::span<const Operation> operations();
/// Null if there is none of that name.
const Operation* find_operation(std::string_view name);
/// Throws std::out_of_range.
const Operation& operation(std::string_view name);
/// The one that has this sign, of those that have one.
const Operation& operation_of_sign(std::string_view sign);
/// Its place in the table.
std::size_t place_of(const Operation& operation);

}  // namespace popgrad::formulas
