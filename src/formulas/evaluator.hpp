#pragma once
/// Values of array formulas on one scalar: the graph as a list of instructions over memory that is taken once.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

/// For double, Real, Rational and Dual<double>. Operations that need exp, roots or pi are refused on rationals.
template <class T>
class Evaluator {
 public:
  /// Computes what depends on no variable. `steady` variables change between runs rarely: what depends on them only
  /// is computed by prepare(). Throws InputError where memory or the scalar does not do.
  explicit Evaluator(const std::vector<Array>& outputs,
                     const std::vector<std::string>& steady = {});
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;

  /// Entries of a variable, row after row, to write to; empty if no output depends on it.
  std::span<T> variable(std::string_view name);
  /// After steady variables were written; all begin as 0.
  void prepare();
  /// Allocates nothing on double, but for products of large matrices.
  void run();
  [[nodiscard]] std::span<const T> output(std::size_t k) const;

  /// Where an output is no finite number: the first node that is not, of finite arguments.
  [[nodiscard]] std::optional<std::size_t> undefined_node() const;
  /// Such as "log(-1) is not defined"; throws that as InputError if an output is no finite number.
  void require_defined() const;

 private:
  struct Tape;
  std::unique_ptr<Tape> tape_;
};

/// The double nearest to a rational.
double nearest_double(const Rational& value);

}  // namespace popgrad::formulas
