#pragma once
/// One instruction of an evaluator, and the kernels of whole arrays.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "formulas/scalar_functions.hpp"
#include "formulas/strided.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::formulas {

/// Entries of memory of rationals that have no value, such as 1/0: `where` may leave them out, and an output must not.
struct Undefined {
  std::vector<std::size_t> entries;  ///< 0, or the number of the reason, from 1 on
  std::vector<std::string> reasons;
  std::array<std::size_t, 3> counts{};  ///< of reasons, after each stage
};

template <class T>
struct Instruction {
  /// A kernel of double: the part of the outermost loop from `first` to before `last`.
  using Part = void (*)(const Instruction&, Index first, Index last);

  void (*run)(const Instruction&) = nullptr;
  Part part = nullptr;  ///< in place of `run`
  Index count = 1;      ///< of the outermost loop
  Index step = 0;       ///< of a part for one thread; 0: all on the calling one
  const GraphNode* node = nullptr;
  T* out = nullptr;
  std::vector<const T*> in;
  std::vector<Loop> loops;
  Loop line;              ///< of reductions and scans
  std::vector<Loop> sum;  ///< of a product of arrays
  std::vector<const GraphNode*> arguments;
  T* scratch = nullptr;
  Undefined* undefined = nullptr;  ///< of rationals only
  // Places in memory before it is taken.
  Index out_place = 0, scratch_place = 0;
  std::vector<Index> in_places;
};

/// Entries over some axes of a shape, from `first` to before `last`; without a copy of it, which would allocate.
inline Index entries_of_axes(const Shape& shape, Index first, Index last = -1) {
  Index product = 1;
  for (Index i = first; i < (last < 0 ? static_cast<Index>(shape.size()) : last); ++i)
    product *= shape[static_cast<std::size_t>(i)].extent;
  return product;
}

template <class T>
void copy_entries(const Instruction<T>& s) {
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i) {
      s.out[at[0] + i * loop.stride[0]] = s.in[0][at[1] + i * loop.stride[1]];
    }
  });
}

template <class T>
Index index_of(const T& value, Index extent) {
  const auto index = static_cast<Index>(to_double(value));
  if (index < -extent || index >= extent) {
    throw InputError("index " + std::to_string(index) + " is outside an axis of " +
                     std::to_string(extent) + " entries");
  }
  return index < 0 ? index + extent : index;
}

/// Calls body(row of the whole, row of the part), rows being `inner` entries that follow each other.
template <class T, class Body>
void for_each_index(const Instruction<T>& s, const Shape& whole, const Body& body) {
  const auto axis = static_cast<std::size_t>(s.node->numbers[0]);
  const Index outer = entries_of_axes(whole, 0, s.node->numbers[0]);
  const Index inner = entries_of_axes(whole, s.node->numbers[0] + 1);
  const Index extent = whole[axis].extent, count = entries(s.arguments[1]->shape);
  for (Index o = 0; o < outer; ++o) {
    for (Index k = 0; k < count; ++k) {
      const Index row = o * extent + index_of(s.in[1][k], extent);
      body(row * inner, (o * count + k) * inner, inner);
    }
  }
}

template <class T>
void take_entries(const Instruction<T>& s) {
  for_each_index(s, s.arguments[0]->shape, [&](Index whole, Index part, Index count) {
    std::copy_n(s.in[0] + whole, count, s.out + part);
  });
}

template <class T>
void put_entries(const Instruction<T>& s) {
  std::fill_n(s.out, entries(s.node->shape), T(0));
  for_each_index(s, s.node->shape, [&](Index whole, Index part, Index count) {
    for (Index i = 0; i < count; ++i) s.out[whole + i] += s.in[0][part + i];
  });
}

template <class T>
void concatenate_parts(const Instruction<T>& s) {
  const Index axis = s.node->numbers[0];
  const Shape& shape = s.node->shape;
  const Index outer = entries_of_axes(shape, 0, axis);
  const Index row = entries_of_axes(shape, axis);
  Index start = 0;
  for (std::size_t k = 0; k < s.in.size(); ++k) {
    const Shape& part = s.arguments[k]->shape;
    const Index count = entries_of_axes(part, axis);
    for (Index o = 0; o < outer; ++o)
      std::copy_n(s.in[k] + o * count, count, s.out + o * row + start);
    start += count;
  }
}

/// X of A X = B by elimination with the largest pivot; Eigen's own allocates in every solve.
template <class T>
void solve_system(const Instruction<T>& s) {
  const Index n = s.arguments[0]->shape[0].extent;
  const Index columns = entries(s.node->shape) / std::max<Index>(n, 1);
  T* a = s.scratch;
  T* x = s.out;
  std::copy_n(s.in[0], n * n, a);
  std::copy_n(s.in[1], n * columns, x);
  const auto size = [](const T& value) { return value < T(0) ? T(-value) : value; };
  for (Index k = 0; k < n; ++k) {
    Index pivot = k;
    for (Index i = k + 1; i < n; ++i) {
      if (size(a[pivot * n + k]) < size(a[i * n + k])) pivot = i;
    }
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + k * n + n, a + pivot * n);
      std::swap_ranges(x + k * columns, x + k * columns + columns, x + pivot * columns);
    }
    for (Index i = k + 1; i < n; ++i) {
      const T factor = quotient(a[i * n + k], a[k * n + k]);
      for (Index j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      for (Index j = 0; j < columns; ++j) x[i * columns + j] -= factor * x[k * columns + j];
    }
  }
  for (Index k = n; k-- > 0;) {
    for (Index j = 0; j < columns; ++j) {
      T sum = x[k * columns + j];
      for (Index i = k + 1; i < n; ++i) sum -= a[k * n + i] * x[i * columns + j];
      x[k * columns + j] = quotient(sum, a[k * n + k]);
    }
  }
}

/// The matrix of an instruction of one, n x n.
template <class T>
Matrix<T> square_argument(const Instruction<T>& s) {
  const Index n = s.node->shape[0].extent;
  return Eigen::Map<const RowMatrix<T>>(s.in[0], n, n);
}

template <class T>
void eigenvalues(const Instruction<T>& s) {
  const Index n = s.node->shape[0].extent;
  if constexpr (std::is_same_v<T, Dual<double>>) {
    // d lambda_i = v_i' dA v_i.
    const Matrix<T> matrix = square_argument(s);
    const PrincipalAxes<double> axes =
        principal_axes(Matrix<double>(matrix.unaryExpr([](const T& x) { return x.value; })));
    const Matrix<double> slopes = matrix.unaryExpr([](const T& x) { return x.slope; });
    for (Index i = 0; i < n; ++i)
      s.out[i] = {axes.values[i], axes.vectors.col(i).dot(slopes * axes.vectors.col(i))};
  } else {
    const Vector<T> values = symmetric_eigenvalues(square_argument(s));
    std::copy_n(values.data(), n, s.out);
  }
}

/// As columns. The sign of each makes the first entry that is at least half as large as its largest positive, so that
/// rounding decides no sign.
template <class T>
void eigenvectors(const Instruction<T>& s) {
  if constexpr (std::is_same_v<T, Dual<double>>) {
    const Matrix<T> matrix = square_argument(s);
    Instruction<double> values;
    values.node = s.node;
    const RowMatrix<double> in = matrix.unaryExpr([](const T& x) { return x.value; });
    RowMatrix<double> out(in.rows(), in.cols());
    values.in = {in.data()};
    values.out = out.data();
    eigenvectors(values);
    for (Index i = 0; i < in.size(); ++i) {
      if (s.in[0][i].slope != 0)
        throw InputError("eigvectors has no derivative here; it stands in constants only");
      s.out[i] = T(out.data()[i]);
    }
  } else {
    const Index n = s.node->shape[0].extent;
    Matrix<T> vectors = principal_axes(square_argument(s)).vectors;
    using std::abs;
    for (Index j = 0; j < n; ++j) {
      const auto column = vectors.col(j);
      const T half = column.cwiseAbs().maxCoeff() / T(2);
      Index first = 0;
      while (first + 1 < n && T(abs(column[first])) < half) ++first;
      if (column[first] < T(0)) vectors.col(j) = -vectors.col(j).eval();
    }
    Eigen::Map<RowMatrix<T>>(s.out, n, n) = vectors;
  }
}

/// Lower L with L L' = A: columns of 0 where a semidefinite A has no rank, no number where A is indefinite.
template <class T>
void cholesky_factor(const Instruction<T>& s) {
  using std::sqrt;
  const Index n = s.node->shape[0].extent;
  constexpr double rounding = 1e-14;
  const T* a = s.in[0];
  T* l = s.out;
  std::fill_n(l, n * n, T(0));
  for (Index k = 0; k < n; ++k) {
    T pivot = a[k * n + k];
    for (Index j = 0; j < k; ++j) pivot -= l[k * n + j] * l[k * n + j];
    const double least = rounding * static_cast<double>(n) * std::abs(to_double(a[k * n + k]));
    if (std::abs(to_double(pivot)) <= least) continue;
    l[k * n + k] = sqrt(pivot);
    for (Index i = k + 1; i < n; ++i) {
      T entry = a[i * n + k];
      for (Index j = 0; j < k; ++j) entry -= l[i * n + j] * l[k * n + j];
      l[i * n + k] = entry / l[k * n + k];
    }
  }
}

template <class T>
void contract(const Instruction<T>& s) {
  const T* a = s.in[0];
  const T* b = s.in[1];
  // Without a sum, or with one of a single loop, nothing is called per entry.
  const Loop single = s.sum.empty() ? Loop{} : s.sum.front();
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i) {
      const T* x = a + at[1] + i * loop.stride[1];
      const T* y = b + at[2] + i * loop.stride[2];
      T total(0);
      if (s.sum.size() <= 1) {
        if (single.extent > 0) total = x[0] * y[0];
        for (Index k = 1; k < single.extent; ++k)
          total += x[k * single.stride[1]] * y[k * single.stride[2]];
      } else {
        for_each_line(s.sum, [&](const auto& inner, const Loop& line) {
          for (Index k = 0; k < line.extent; ++k) {
            total += x[inner[1] + k * line.stride[1]] * y[inner[2] + k * line.stride[2]];
          }
        });
      }
      s.out[at[0] + i * loop.stride[0]] = total;
    }
  });
}

}  // namespace popgrad::formulas
