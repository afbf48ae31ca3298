#pragma once
/// Dense vectors and matrices over any scalar; shapes are given in docstrings as (rows x columns).

#include <Eigen/Core>

namespace popgrad {

using Index = Eigen::Index;

template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

}  // namespace popgrad
