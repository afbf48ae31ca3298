#pragma once
/// The operations of array formulas, one entry each: name, arguments, value on any scalar, derivative as a graph,
/// sign in formulas. Included only where values are computed; operation.hpp is what others need.

#include <cmath>
#include <tuple>
#include <type_traits>

#include "formulas/operation.hpp"
#include "formulas/scalar_functions.hpp"
#include "formulas/strided.hpp"

namespace popgrad::formulas {

template <OperationKind, std::size_t arity, class Value, class Pull>
struct Entry {
  const char* name;
  Result result;
  bool linear;
  const char* sign;
  Value value;
  Pull pull;
  Jumps jumps = Jumps::none;
};

/// A value that needs exp, log, roots or pi says so by its type, and is refused on rationals.
template <class Value>
struct Irrational : Value {};
template <class Value>
inline constexpr bool irrational_value = false;
template <class Value>
inline constexpr bool irrational_value<Irrational<Value>> = true;

template <std::size_t arity, class Value, class Pull>
constexpr auto function(const char* name, Value value, Pull pull, Result result = Result::same,
                        const char* sign = "", bool linear = false) {
  return Entry<OperationKind::entrywise, arity, Value, Pull>{name, result, linear,
                                                             sign, value,  pull};
}
template <std::size_t arity, class Value, class Pull>
constexpr auto irrational(const char* name, Value value, Pull pull) {
  return Entry<OperationKind::entrywise, arity, Irrational<Value>, Pull>{name, Result::real, false,
                                                                         "",   {value},      pull};
}
template <std::size_t arity, class Value>
constexpr auto stepwise(const char* name, Jumps jumps, Value value, Result result = Result::same,
                        const char* sign = "") {
  return Entry<OperationKind::entrywise, arity, Value, std::nullptr_t>{name,  result,  false, sign,
                                                                       value, nullptr, jumps};
}
template <class Value>
constexpr auto comparison(const char* name, const char* sign, Value value) {
  return stepwise<2>(name, Jumps::at_equality, value, Result::truth, sign);
}
template <OperationKind kind, std::size_t arity = 1, class Value, class Pull>
constexpr auto of_kind(const char* name, Value value, Pull pull, Result result = Result::same,
                       bool linear = true, Jumps jumps = Jumps::none) {
  return Entry<kind, arity, Value, Pull>{name, result, linear, "", value, pull, jumps};
}
template <OperationKind kind, class Value, class Pull>
constexpr auto irrational_of_kind(const char* name, Value value, Pull pull) {
  return Entry<kind, 1, Irrational<Value>, Pull>{name, Result::real, false, "", {value}, pull};
}

// Parts of the derivatives below (operation.cpp).
Array zero(const Pullback& p);
Array reversed(const Array& a, Index axis);
Array products_of_others(const Array& a, Index axis, Index count);
Array shared_by_equals(const Pullback& p);
[[noreturn]] Array without_derivative(const Pullback& p);

inline constexpr auto table = std::tuple{
    // --- leaves
    of_kind<OperationKind::leaf, 0>("constant", nullptr, nullptr),
    of_kind<OperationKind::leaf, 0>("variable", nullptr, nullptr),
    of_kind<OperationKind::leaf, 0>("pi", nullptr, nullptr),
    of_kind<OperationKind::leaf, 0>(
        "eye",
        [](const auto& f) {
          const Index rows = f.node->shape[0].extent, columns = f.node->shape[1].extent;
          for (Index i = 0; i < rows * columns; ++i) f.out[i] = i / columns == i % columns ? 1 : 0;
        },
        nullptr),
    of_kind<OperationKind::leaf, 0>(
        "arange",
        [](const auto& f) {
          for (Index i = 0; i < f.node->shape[0].extent; ++i) f.out[i] = number_like(f.out[i], i);
        },
        nullptr),

    // --- entry by entry
    function<1>(
        "negative", [](const auto& x) { return -x; }, [](const Pullback& p) { return -p.adjoint; },
        Result::same, "", true),
    function<2>(
        "add", [](const auto& x, const auto& y) { return x + y; },
        [](const Pullback& p) { return p.adjoint; }, Result::same, "+", true),
    function<2>(
        "subtract", [](const auto& x, const auto& y) { return x - y; },
        [](const Pullback& p) { return p.i == 0 ? p.adjoint : -p.adjoint; }, Result::same, "-",
        true),
    function<2>(
        "multiply", [](const auto& x, const auto& y) { return x * y; },
        [](const Pullback& p) { return p.adjoint * p.inputs[1 - p.i]; }, Result::same, "*"),
    function<2>(
        "divide", [](const auto& x, const auto& y) { return quotient(x, y); },
        [](const Pullback& p) {
          return p.i == 0 ? p.adjoint / p.inputs[1] : -(p.adjoint * p.result / p.inputs[1]);
        },
        Result::real, "/"),
    function<2>(
        "floor_divide", [](const auto& x, const auto& y) { return floor_of(quotient(x, y)); },
        nullptr, Result::same, "//"),
    function<2>(
        "mod", [](const auto& x, const auto& y) { return x - y * floor_of(quotient(x, y)); },
        nullptr, Result::same, "%"),
    stepwise<1>("floor", Jumps::at_whole_numbers, [](const auto& x) { return floor_of(x); }),
    function<2>(
        "power", [](const auto& x, const auto& y) { return power_of(x, y); },
        [](const Pullback& p) {
          const Array &x = p.inputs[0], &y = p.inputs[1];
          return p.i == 0 ? p.adjoint * (y * power(x, y - 1))
                          : p.adjoint * (apply("log", {x}) * p.result);
        },
        Result::same, "**"),
    irrational<1>(
        "exp",
        [](const auto& x) {
          using std::exp;
          return exp(x);
        },
        [](const Pullback& p) { return p.adjoint * p.result; }),
    irrational<1>(
        "log",
        [](const auto& x) {
          using std::log;
          return log(x);
        },
        [](const Pullback& p) { return p.adjoint / p.input(); }),
    irrational<1>(
        "sqrt",
        [](const auto& x) {
          using std::sqrt;
          return sqrt(x);
        },
        [](const Pullback& p) { return p.adjoint / (2 * p.result); }),
    irrational<1>(
        "sin",
        [](const auto& x) {
          using std::sin;
          return sin(x);
        },
        [](const Pullback& p) { return p.adjoint * apply("cos", {p.input()}); }),
    irrational<1>(
        "cos",
        [](const auto& x) {
          using std::cos;
          return cos(x);
        },
        [](const Pullback& p) { return -(p.adjoint * apply("sin", {p.input()})); }),
    irrational<1>(
        "tanh",
        [](const auto& x) {
          using std::tanh;
          return tanh(x);
        },
        [](const Pullback& p) { return p.adjoint * (1 - square(p.result)); }),
    irrational<1>(
        "sigmoid", [](const auto& x) { return logistic(x); },
        [](const Pullback& p) { return p.adjoint * (p.result * (1 - p.result)); }),
    irrational<1>(
        "erf", [](const auto& x) { return error_function(x); },
        [](const Pullback& p) {
          const Array slope = 2 / apply("sqrt", {p.input().graph->pi()});
          return p.adjoint * (slope * apply("exp", {-square(p.input())}));
        }),
    irrational<1>(
        "asin",
        [](const auto& x) {
          using std::asin;
          return asin(x);
        },
        [](const Pullback& p) { return p.adjoint / apply("sqrt", {1 - square(p.input())}); }),
    irrational<2>(
        "atan2",
        [](const auto& y, const auto& x) {
          using std::atan2;
          return atan2(y, x);
        },
        [](const Pullback& p) {
          const Array &y = p.inputs[0], &x = p.inputs[1];
          const Array slope = (p.i == 0 ? x : -y) / (square(x) + square(y));
          return p.adjoint * slope;
        }),
    function<1>(
        "abs", [](const auto& x) { return x < zero_of(x) ? -x : x; },
        [](const Pullback& p) { return p.adjoint * apply("sign", {p.input()}); }),
    stepwise<1>(
        "sign", Jumps::at_zero,
        [](const auto& x) { return of_truth(x, zero_of(x) < x) - of_truth(x, x < zero_of(x)); }),
    function<1>(
        "relu", [](const auto& x) { return zero_of(x) < x ? x : zero_of(x); },
        [](const Pullback& p) {
          return where(apply("greater", {p.input(), zero(p)}), p.adjoint, zero(p));
        }),
    irrational<1>(
        "gelu", [](const auto& x) { return x * gaussian_cdf(x); },
        [](const Pullback& p) {
          const Array& x = p.input();
          const Array below = (1 + apply("erf", {x / apply("sqrt", {x.number(2)})})) / 2;
          const Array density = apply("exp", {-square(x) / 2}) / apply("sqrt", {2 * x.graph->pi()});
          return p.adjoint * (below + x * density);
        }),
    irrational<1>(
        "softplus", [](const auto& x) { return log_one_plus_exp(x); },
        [](const Pullback& p) { return p.adjoint * apply("sigmoid", {p.input()}); }),
    function<2>(
        "minimum", [](const auto& x, const auto& y) { return y < x ? y : x; },
        [](const Pullback& p) {
          const Array first = apply("less_equal", {p.inputs[0], p.inputs[1]});
          return p.i == 0 ? where(first, p.adjoint, zero(p)) : where(first, zero(p), p.adjoint);
        }),
    function<2>(
        "maximum", [](const auto& x, const auto& y) { return x < y ? y : x; },
        [](const Pullback& p) {
          const Array first = apply("greater_equal", {p.inputs[0], p.inputs[1]});
          return p.i == 0 ? where(first, p.adjoint, zero(p)) : where(first, zero(p), p.adjoint);
        }),
    comparison("less", "<", [](const auto& x, const auto& y) { return of_truth(x, x < y); }),
    comparison("less_equal",
               "<=", [](const auto& x, const auto& y) { return of_truth(x, x <= y); }),
    comparison("greater", ">", [](const auto& x, const auto& y) { return of_truth(x, y < x); }),
    comparison("greater_equal",
               ">=", [](const auto& x, const auto& y) { return of_truth(x, y <= x); }),
    comparison("equal", "==", [](const auto& x, const auto& y) { return of_truth(x, x == y); }),
    comparison("not_equal",
               "!=", [](const auto& x, const auto& y) { return of_truth(x, !(x == y)); }),
    // Selects in its derivative too: what comes from the branch not taken is 0, also where that is no number.
    function<3>(
        "where",
        [](const auto& c, const auto& x, const auto& y) { return c == zero_of(c) ? y : x; },
        [](const Pullback& p) {
          return p.i == 1 ? where(p.inputs[0], p.adjoint, zero(p))
                          : where(p.inputs[0], zero(p), p.adjoint);
        },
        Result::same, "", true),
    function<1>(
        "stop_gradient", [](const auto& x) { return x; }, nullptr),

    // --- over axes: x and y are entries along one line
    of_kind<OperationKind::reduction>(
        "sum",
        [](const auto& x, const auto& y) {
          auto total = x[0];
          for (Index i = 1; i < x.size; ++i) total += x[i];
          y[0] = total;
        },
        [](const Pullback& p) { return broadcast(p.kept(p.adjoint), p.input().shape()); }),
    of_kind<OperationKind::reduction>(
        "mean",
        [](const auto& x, const auto& y) {
          auto total = x[0];
          for (Index i = 1; i < x.size; ++i) total += x[i];
          y[0] = total / number_like(x[0], x.size);
        },
        [](const Pullback& p) {
          const Index count = entries(p.input().shape()) / entries(p.result.shape());
          return broadcast(p.kept(p.adjoint) / p.adjoint.number(count), p.input().shape());
        },
        Result::real),
    // Each factor's slope is the product of the others, also where it is 0.
    of_kind<OperationKind::reduction>(
        "prod",
        [](const auto& x, const auto& y) {
          auto total = x[0];
          for (Index i = 1; i < x.size; ++i) total = total * x[i];
          y[0] = total;
        },
        [](const Pullback& p) {
          return broadcast(p.kept(p.adjoint), p.input().shape()) *
                 products_of_others(p.input(), p.axis(), p.axes());
        },
        Result::same, false),
    of_kind<OperationKind::reduction>(
        "max",
        [](const auto& x, const auto& y) {
          y[0] = x[0];
          for (Index i = 1; i < x.size; ++i) {
            if (y[0] < x[i]) y[0] = x[i];
          }
        },
        [](const Pullback& p) { return shared_by_equals(p); }, Result::same, false),
    of_kind<OperationKind::reduction>(
        "min",
        [](const auto& x, const auto& y) {
          y[0] = x[0];
          for (Index i = 1; i < x.size; ++i) {
            if (x[i] < y[0]) y[0] = x[i];
          }
        },
        [](const Pullback& p) { return shared_by_equals(p); }, Result::same, false),
    of_kind<OperationKind::reduction>(
        "argmax",
        [](const auto& x, const auto& y) {
          Index best = 0;
          for (Index i = 1; i < x.size; ++i) {
            if (x[best] < x[i]) best = i;
          }
          y[0] = number_like(x[0], best);
        },
        nullptr, Result::same, false, Jumps::elsewhere),
    irrational_of_kind<OperationKind::reduction>(
        "norm",
        [](const auto& x, const auto& y) {
          using std::sqrt;
          auto total = x[0] * x[0];
          for (Index i = 1; i < x.size; ++i) total += x[i] * x[i];
          y[0] = root_of_sum(total);
        },
        [](const Pullback& p) {
          const Array norm = p.kept(p.result);
          const Array slope = p.kept(p.adjoint) * (p.input() / norm);
          return where(apply("greater", {norm, zero(p)}), slope, zero(p));
        }),
    irrational_of_kind<OperationKind::reduction>(
        "logsumexp", [](const auto& x, const auto& y) { y[0] = log_of_sum(x); },
        [](const Pullback& p) {
          return p.kept(p.adjoint) * apply("exp", {p.input() - p.kept(p.result)});
        }),
    of_kind<OperationKind::scan>(
        "cumsum",
        [](const auto& x, const auto& y) {
          y[0] = x[0];
          for (Index i = 1; i < x.size; ++i) y[i] = y[i - 1] + x[i];
        },
        [](const Pullback& p) {
          return reversed(scan("cumsum", reversed(p.adjoint, p.axis()), p.axis()), p.axis());
        }),
    irrational_of_kind<OperationKind::scan>(
        "softmax",
        [](const auto& x, const auto& y) {
          using std::exp;
          const auto total = log_of_sum(x);
          for (Index i = 0; i < x.size; ++i) y[i] = exp(x[i] - total);
        },
        [](const Pullback& p) {
          const Array mean = reduce("sum", p.adjoint * p.result, p.axis());
          return p.result * (p.adjoint - keep_axes(mean, p.axis(), 1));
        }),
    irrational_of_kind<OperationKind::scan>(
        "log_softmax",
        [](const auto& x, const auto& y) {
          const auto total = log_of_sum(x);
          for (Index i = 0; i < x.size; ++i) y[i] = x[i] - total;
        },
        [](const Pullback& p) {
          const Array total = reduce("sum", p.adjoint, p.axis());
          return p.adjoint - apply("exp", {p.result}) * keep_axes(total, p.axis(), 1);
        }),

    // --- the same entries in other places: an offset and a stride for each axis; those of reshape and broadcast
    // depend on the memory of the argument (evaluate.hpp)
    of_kind<OperationKind::view>(
        "transpose",
        [](const GraphNode& n, const Strides& in) {
          Places places;
          for (const Index axis : n.numbers)
            places.strides.push_back(in[static_cast<std::size_t>(axis)]);
          return places;
        },
        [](const Pullback& p) {
          const std::vector<Index>& axes = p.result.node().numbers;
          std::vector<Index> inverse(axes.size());
          for (std::size_t i = 0; i < axes.size(); ++i)
            inverse[static_cast<std::size_t>(axes[i])] = static_cast<Index>(i);
          return transpose(p.adjoint, inverse);
        }),
    of_kind<OperationKind::view>(
        "reshape", nullptr,
        [](const Pullback& p) { return reshape(p.adjoint, p.input().shape()); }),
    of_kind<OperationKind::view>(
        "broadcast", nullptr, [](const Pullback& p) { return fit(p.adjoint, p.input().shape()); }),
    of_kind<OperationKind::view>(
        "slice", [](const GraphNode& n, const Strides& in) { return places_of_ranges(n, in); },
        [](const Pullback& p) {
          return embed(p.adjoint, ranges_of(p.result.node(), p.result.shape()), p.input().shape());
        }),
    of_kind<OperationKind::embedding>(
        "embed", [](const GraphNode& n, const Strides& out) { return places_of_ranges(n, out); },
        [](const Pullback& p) {
          return slice(p.adjoint, ranges_of(p.result.node(), p.input().shape()));
        }),
    of_kind<OperationKind::view>(
        "diagonal", [](const GraphNode& n, const Strides& in) { return places_of_diagonal(n, in); },
        [](const Pullback& p) {
          const std::vector<Index>& axes = p.result.node().numbers;
          const Shape& full = p.input().shape();
          return diagonal_matrix(p.adjoint, full[static_cast<std::size_t>(axes[0])],
                                 full[static_cast<std::size_t>(axes[1])], axes[0], axes[1]);
        }),
    of_kind<OperationKind::embedding>(
        "diagonal_matrix",
        [](const GraphNode& n, const Strides& out) { return places_of_diagonal(n, out); },
        [](const Pullback& p) {
          return diagonal(p.adjoint, p.result.node().numbers[0], p.result.node().numbers[1]);
        }),

    // --- whole arrays
    of_kind<OperationKind::whole_array, 2>(
        "take", [](const auto& f) { take_entries(f); },
        [](const Pullback& p) {
          GraphNode put{
              .operation = &operation("put"), .numbers = {p.axis()}, .shape = p.inputs[0].shape()};
          put.inputs = {p.adjoint.place, p.inputs[1].place};
          return p.i == 0 ? p.adjoint.graph->add(std::move(put)) : zero(p);
        }),
    // The adjoint of take: rows of the first argument are added up at the indices.
    of_kind<OperationKind::whole_array, 2>(
        "put", [](const auto& f) { put_entries(f); },
        [](const Pullback& p) {
          return p.i == 0 ? take(p.adjoint, p.inputs[1], p.axis()) : zero(p);
        }),
    of_kind<OperationKind::whole_array, 0>(
        "concatenate", [](const auto& f) { concatenate_parts(f); },
        [](const Pullback& p) {
          std::vector<Range> ranges = whole_ranges(p.input().shape());
          const auto axis = static_cast<std::size_t>(p.axis());
          for (std::size_t k = 0; k < p.i; ++k)
            ranges[axis].start += p.inputs[k].shape()[axis].extent;
          return slice(p.adjoint, ranges);
        }),
    of_kind<OperationKind::whole_array, 2>(
        "einsum", [](const auto& f) { contract(f); },
        [](const Pullback& p) {
          const EinsumLabels labels(p.result.node().text);
          return einsum(labels.out + "," + labels.operand[1 - p.i] + "->" + labels.operand[p.i],
                        {p.adjoint, p.inputs[1 - p.i]});
        },
        Result::same, false),
    of_kind<OperationKind::whole_array, 2>(
        "solve", [](const auto& f) { solve_system(f); },
        [](const Pullback& p) {
          const Array right = solve(transpose(p.inputs[0]), p.adjoint);
          if (p.i == 1) return right;
          return -(p.result.rank() == 1 ? einsum("i,j->ij", {right, p.result})
                                        : matmul(right, transpose(p.result)));
        },
        Result::real, false),
    irrational_of_kind<OperationKind::whole_array>(
        "eigvalsh", [](const auto& f) { eigenvalues(f); },
        [](const Pullback& p) { return without_derivative(p); }),
    irrational_of_kind<OperationKind::whole_array>(
        "eigvectors", [](const auto& f) { eigenvectors(f); },
        [](const Pullback& p) { return without_derivative(p); }),
    irrational_of_kind<OperationKind::whole_array>(
        "cholesky", [](const auto& f) { cholesky_factor(f); },
        [](const Pullback& p) { return without_derivative(p); }),
};

}  // namespace popgrad::formulas
