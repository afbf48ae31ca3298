#include "theory_files/loss_symmetries.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/random.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::theory_files {
namespace loss_symmetries_cpp {
namespace {

constexpr Index no_entry = -1;
constexpr std::size_t most_generators = 400;
// Of the largest eigenvalue of a matrix of products, for 0: squares of 1e-6.
constexpr double vanishing = 1e-12;

// x_to moves by x_from, or without that by 1.
struct Entry {
  Index to, from;
};
using Generator = std::vector<Entry>;

// A matrix that is 1 at one place, on one axis of a state that begins there, for each axis and place.
void add_generators(const formulas::Shape& shape, Index begin, std::vector<Generator>& to) {
  const Index size = formulas::entries(shape);
  Index stride = size;
  for (std::size_t axis = 0; axis < std::max<std::size_t>(shape.size(), 1); ++axis) {
    const Index extent = shape.empty() ? 1 : shape[axis].extent;
    stride /= extent;
    for (Index place = 0; place < extent * extent; ++place) {
      const Index row = place / extent, column = place % extent;
      Generator made;
      for (Index i = 0; i < size; ++i) {
        if (i / stride % extent == row)
          made.push_back({begin + i, begin + i + (column - row) * stride});
      }
      to.push_back(std::move(made));
    }
  }
}

// Where x moves, a column for each generator.
Matrix<double> moved(const std::vector<Generator>& generators, const Vector<double>& x) {
  Matrix<double> columns = Matrix<double>::Zero(x.size(), static_cast<Index>(generators.size()));
  for (std::size_t k = 0; k < generators.size(); ++k) {
    for (const Entry& entry : generators[k])
      columns(entry.to, static_cast<Index>(k)) += entry.from == no_entry ? 1 : x[entry.from];
  }
  return columns;
}

}  // namespace
}  // namespace loss_symmetries_cpp

LossSymmetries::LossSymmetries(const learning::LossArrays& arrays, const Gradient& gradient) {
  using namespace loss_symmetries_cpp;
  const Index n = arrays.dimension();
  std::size_t count = static_cast<std::size_t>(n);
  for (const learning::StateArray& state : arrays.states) {
    for (const formulas::Dimension& d : state.variable.shape())
      count += static_cast<std::size_t>(d.extent * d.extent);
  }
  std::vector<Generator> generators;
  Index begin = 0;
  for (const learning::StateArray& state : arrays.states) {
    const formulas::Shape& shape = state.variable.shape();
    if (count <= most_generators) add_generators(shape, begin, generators);
    begin += formulas::entries(shape);
  }

  // Along which of them, or of their combinations, the gradient vanishes at points of general position.
  const auto size = static_cast<Index>(generators.size());
  Matrix<double> products = Matrix<double>::Zero(size, size);
  Vector<double> x(n), slope(n), largest = Vector<double>::Zero(n);
  Stream stream(1, 0, 0);
  constexpr Index least_points = 20;
  for (Index point = 0; point < 2 * size + least_points; ++point) {
    throw_if_stopped();
    for (double& number : x) number = stream.normal();
    gradient(x, slope);
    const double length = slope.norm();
    if (!(length > 0) || !std::isfinite(length)) continue;
    slope /= length;
    largest = largest.cwiseMax(slope.cwiseAbs());
    if (size == 0) continue;
    const Vector<double> along = moved(generators, x).transpose() * slope;
    products.noalias() += along * along.transpose();
  }
  if (!(largest.maxCoeff() > 0)) return;  // nowhere defined, or constant
  Matrix<double> directions = Matrix<double>::Zero(n, 1);
  if (size > 0 && products.trace() > 0) {
    const PrincipalAxes<double> axes = principal_axes<double>(products);
    Index null = 0;
    while (null < size && axes.values[null] <= vanishing * axes.values[size - 1]) ++null;
    if (null > 0) directions = moved(generators, x) * axes.vectors.leftCols(null);
  }
  begin = 0;
  for (const learning::StateArray& state : arrays.states) {
    const std::string& name = state.variable.node().text;
    const Index end = begin + formulas::entries(state.variable.shape());
    int without = 0;
    for (Index i = begin; i < end; ++i) {
      if (largest[i] > 0) continue;
      ++without;
      directions.row(i).setZero();
    }
    if (without > 0) unread_of.push_back(name);
    unread += without;
    const double least = std::sqrt(vanishing) * std::max(1.0, directions.cwiseAbs().maxCoeff());
    if (directions.middleRows(begin, end - begin).cwiseAbs().maxCoeff() > least)
      others_of.push_back(name);
    begin = end;
  }
  const Vector<double> squares = symmetric_eigenvalues<double>(directions.transpose() * directions);
  const double least = vanishing * std::max(1.0, squares.maxCoeff());
  others = static_cast<int>((squares.array() > least).count());
}

}  // namespace popgrad::theory_files
