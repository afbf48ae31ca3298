#include <mpfr.h>

#include <Eigen/Core>

#include "formulas/evaluate.hpp"

namespace popgrad::formulas {
namespace {

using Stride = Eigen::OuterStride<>;
template <int order>
using Block =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, order>, 0, Stride>;
template <int order>
using ResultBlock =
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, order>, 0, Stride>;

// A matrix by the strides of its rows and columns, of which one is 1.
struct Strided {
  Index rows, columns, row_stride, column_stride;
  [[nodiscard]] bool row_major() const { return column_stride == 1 || columns == 1; }
  [[nodiscard]] bool column_major() const { return row_stride == 1 || rows == 1; }
  [[nodiscard]] Stride outer() const { return Stride(row_major() ? row_stride : column_stride); }
};

template <class Body>
void with_order(const double* data, const Strided& m, const Body& body) {
  if (m.row_major()) {
    body(Block<Eigen::RowMajor>(data, m.rows, m.columns, m.outer()));
  } else {
    body(Block<Eigen::ColMajor>(data, m.rows, m.columns, m.outer()));
  }
}

}  // namespace

bool matrix_product(const Instruction<double>& s) {
  // With fewer multiplications plain loops are as fast as the blocked product of Eigen.
  constexpr Index least_of_matrices = 2000, least_of_vectors = 64;
  if (s.sum.size() != 1 || s.loops.empty() || s.loops.size() > 2) return false;
  const Loop &i = s.loops[0], &k = s.sum[0];
  const Loop j = s.loops.size() == 2 ? s.loops[1] : Loop{1, {1}};
  const bool vector = j.extent == 1;
  if (i.extent * j.extent * k.extent < (vector ? least_of_vectors : least_of_matrices) ||
      j.stride[0] != 1)
    return false;
  const bool left_first = i.stride[2] == 0 && j.stride[1] == 0;
  if (!left_first && (i.stride[1] != 0 || j.stride[2] != 0)) return false;
  const std::size_t left = left_first ? 1 : 2, right = 3 - left;
  const Strided a{i.extent, k.extent, i.stride[left], k.stride[left]};
  if (!a.row_major() && !a.column_major()) return false;
  const double* x = s.in[left - 1];
  const double* y = s.in[right - 1];
  if (vector) {
    if (i.stride[0] != 1 || k.stride[right] != 1) return false;
    Eigen::Map<Vector<double>> result(s.out, i.extent);
    const Eigen::Map<const Vector<double>> factor(y, k.extent);
    with_order(x, a, [&](const auto& matrix) { result.noalias() = matrix * factor; });
    return true;
  }
  const Strided b{k.extent, j.extent, k.stride[right], j.stride[right]};
  if (!b.row_major() && !b.column_major()) return false;
  ResultBlock<Eigen::RowMajor> result(s.out, i.extent, j.extent, Stride(i.stride[0]));
  with_order(x, a, [&](const auto& p) {
    with_order(y, b, [&](const auto& q) { result.noalias() = p * q; });
  });
  return true;
}

double nearest_double(const Rational& value) {
  constexpr int bits = 53;
  mpfr_t nearest;
  mpfr_init2(nearest, bits);
  mpfr_set_q(nearest, value.backend().data(), MPFR_RNDN);
  const double result = mpfr_get_d(nearest, MPFR_RNDN);
  mpfr_clear(nearest);
  return result;
}

template class Evaluator<double>;

}  // namespace popgrad::formulas
