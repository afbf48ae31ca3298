#include "theorems/joma/rungs/stable_rank.hpp"

#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::joma {

template <class T>
T stable_rank(const Matrix<T>& v) {
  const T total = v.squaredNorm();
  if (total == T(0)) return T(0);
  if (v.cols() == 1 || v.rows() == 1) return T(1);
  const Matrix<T> gram =
      v.cols() <= v.rows() ? Matrix<T>(v.transpose() * v) : Matrix<T>(v * v.transpose());
  return total / symmetric_eigenvalues<T>(gram).maxCoeff();
}

template double stable_rank(const Matrix<double>&);
template Real stable_rank(const Matrix<Real>&);

}  // namespace popgrad::joma
