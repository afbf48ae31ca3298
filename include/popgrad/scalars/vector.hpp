#pragma once
/// Dense vectors and matrices over any scalar; shapes are given in docstrings as (rows x columns).

#include <Eigen/Core>
#include <type_traits>

#include "popgrad/base/index.hpp"

namespace popgrad {

static_assert(std::is_same_v<Index, Eigen::Index>);

template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
/// Row after row in memory, for tables that are read by rows.
template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace popgrad

namespace Eigen::internal {
// Products of other scalars than machine numbers, entry by entry. Eigen's blocked kernels bring
// nothing where one multiplication costs a function call, and were a sixth of the time of a build.
template <class Lhs, class Rhs>
requires(!std::is_arithmetic_v<typename Lhs::Scalar>) struct generic_product_impl<
    Lhs, Rhs, DenseShape, DenseShape, GemmProduct>
    : generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, CoeffBasedProductMode> {
};
template <class Lhs, class Rhs>
requires(!std::is_arithmetic_v<typename Lhs::Scalar>) struct generic_product_impl<
    Lhs, Rhs, DenseShape, DenseShape, GemvProduct>
    : generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, CoeffBasedProductMode> {
};
}  // namespace Eigen::internal
