#pragma once
/// Expression: a GiNaC expression; formulas run on it give the formula back, to prove or to print.
///
/// GiNaC is not thread safe: expressions are made and destroyed on one thread at a time.

#include <ginac/ginac.h>

#include <Eigen/Core>
#include <string>
#include <string_view>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad {

using Expression = GiNaC::ex;

template <>
struct ScalarAbilities<Expression> {
  static constexpr const char* name = "Expression";
  static constexpr bool exact = true;
  static constexpr bool has_exp = true;
  static constexpr bool ordered = false;
  static constexpr bool encloses = false;
  /// Yes or no for numbers, undecided for anything with a symbol in it.
  static Truth less(const Expression& a, const Expression& b);
  /// With GiNaC's step function where the sign of x is not known.
  static Expression where_positive(const Expression& x, const Expression& if_positive,
                                   const Expression& otherwise);
  /// A GiNaC function of its own, with its derivative.
  static Expression erf(const Expression& x);
};

/// Value of an expression without free symbols. Throws std::invalid_argument if some are left.
double to_double(const Expression& x);

enum class Notation { text, latex, cpp, python };

/// The expression in a notation, the same bytes in every run: terms and factors are sorted by their
/// text, since GiNaC's own order follows addresses of the process. `cpp` and `python` can be
/// evaluated given double or float variables and exp, sqrt, erf, pow, pi and so on by these names.
std::string to_text(const Expression& x, Notation notation = Notation::text);
template <>
Expression from_text<Expression>(std::string_view text);
template <>
struct Constant<Expression> {
  static Expression pi();
};

}  // namespace popgrad

namespace Eigen {
template <>
struct NumTraits<GiNaC::ex> : GenericNumTraits<GiNaC::ex> {
  using Real = GiNaC::ex;
  using NonInteger = GiNaC::ex;
  using Nested = GiNaC::ex;
  using Literal = GiNaC::ex;
  static Real epsilon() { return {0}; }
  static Real dummy_precision() { return {0}; }
  static int digits10() { return 0; }
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 10,
    AddCost = 100,
    MulCost = 100
  };
};
}  // namespace Eigen
