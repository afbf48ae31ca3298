#include "fluctuations/third_cumulants.hpp"

#include <algorithm>
#include <array>

namespace popgrad {
namespace {

// The first index becomes the last.
Matrix<double> rotated(const Matrix<double>& values, Index rows) {
  const Matrix<double> turned = values.transpose();
  return turned.reshaped(rows, turned.size() / rows);
}

// T_ijk + T_jki + T_kij, for T symmetric in two of its indices.
Matrix<double> over_places(const Matrix<double>& values) {
  const Index r = values.rows();
  const Matrix<double> once = rotated(values, r);
  return values + once + rotated(once, r);
}

// The second and third index of (n x r^2), by A (s x r).
Matrix<double> squared(const Matrix<double>& a, const Matrix<double>& values) {
  const Index n = values.rows(), r = a.cols();
  Matrix<double> made = a.lazyProduct(rotated(values, r));  // (s; k, i)
  made = a.lazyProduct(rotated(made, r)).eval();            // (s; i, j)
  return rotated(made, n);
}

}  // namespace

ThirdCumulants ThirdCumulants::none(Index n) {
  if (n > most_third_axes) return {};
  return {Matrix<double>::Identity(n, n), Matrix<double>::Zero(n, n * n),
          Matrix<double>::Zero(n, n)};
}

Index ThirdCumulants::packed_size(Index n) {
  return n > most_third_axes ? 0 : 2 * n * n + n * (n + 1) * (n + 2) / 6;
}

Vector<double> ThirdCumulants::packed() const {
  const Index n = axes.rows(), r = axes.cols();
  Vector<double> numbers(packed_size(n));
  Index at = n * r;
  numbers.head(at) = axes.reshaped();
  for (Index i = 0; i < r; ++i) {
    for (Index j = i; j < r; ++j) {
      for (Index k = j; k < r; ++k) numbers[at++] = values(i, j + r * k);
    }
  }
  numbers.tail(n * n) = added.reshaped();
  return numbers;
}

ThirdCumulants ThirdCumulants::unpacked(const Vector<double>& numbers, Index n) {
  using Place = std::array<Index, 3>;
  ThirdCumulants made = none(n);
  if (n > most_third_axes) return made;
  const Index r = made.axes.cols();
  Index at = n * r;
  made.axes = numbers.head(at).reshaped(n, r);
  for (Index i = 0; i < r; ++i) {
    for (Index j = i; j < r; ++j) {
      for (Index k = j; k < r; ++k) {
        const double value = numbers[at++];
        for (const auto& [a, b, c] : {Place{i, j, k}, Place{i, k, j}, Place{j, i, k},
                                      Place{j, k, i}, Place{k, i, j}, Place{k, j, i}}) {
          made.values(a, b + r * c) = value;
        }
      }
    }
  }
  made.added = numbers.tail(n * n).reshaped(n, n);
  return made;
}

Matrix<double> cubed(const Matrix<double>& a, const Matrix<double>& third) {
  return a.lazyProduct(squared(a, third));
}

Matrix<double> ThirdCumulants::along(const Matrix<double>& other) const {
  return cubed(other.transpose() * axes, values);
}

Matrix<double> Curvature::slopes_along(const Matrix<double>& other) const {
  const Matrix<double> turn = other.transpose() * axes;
  const Index r = turn.cols(), s = turn.rows();
  Matrix<double> slopes(s * s, s);
  const Matrix<double> by_axis = noise_slopes * turn.transpose();
  for (Index k = 0; k < s; ++k) {
    slopes.col(k) = (turn * by_axis.col(k).reshaped(r, r) * turn.transpose()).reshaped();
  }
  return slopes;
}

Matrix<double> third_source(const Curvature& curvature, const Matrix<double>& power,
                            const Matrix<double>& covariance, StepSize step) {
  const Matrix<double>& axes = curvature.axes;
  const Index r = axes.cols();
  const Matrix<double> carried = axes.transpose() * power * covariance * axes;  // M C
  Matrix<double> sum =
      step.eta * squared(carried, Matrix<double>(axes.transpose() * curvature.bends));
  if (step.batch > 0) {
    const double noise = step.eta * step.eta / step.batch;
    const Matrix<double> slopes = noise * curvature.noise_slopes * carried.transpose();
    sum += slopes.reshaped(r, r * r);
  }
  sum = over_places(sum);
  if (step.batch > 0) {
    sum += step.eta * step.eta * step.eta / (step.batch * step.batch) * curvature.of_draw;
  }
  return sum;
}

Matrix<double> third_effect(const Curvature& curvature, const Matrix<double>& power,
                            const Matrix<double>& covariance, const Matrix<double>& third,
                            StepSize step) {
  const Matrix<double>& axes = curvature.axes;
  const Matrix<double> crossed =
      step.eta / 2 * curvature.bends * third.transpose() * axes.transpose() * power.transpose();
  const Matrix<double> along = axes.transpose() * covariance * axes;
  const Matrix<double> bent =
      step.eta * step.eta / 2 * squared(along, curvature.bends) * curvature.bends.transpose();
  return crossed + crossed.transpose() + bent;
}

Matrix<double> third_after(Matrix<double> a, Matrix<double> source, const Matrix<double>& third,
                           std::uint64_t count) {
  Matrix<double> made = third;
  while (count > 0) {
    if (count % 2 == 1) made = cubed(a, made) + source;
    count /= 2;
    if (count == 0) break;
    source += cubed(a, source);
    a = (a * a).eval();
  }
  return made;
}

Matrix<double> third_of_samples(const Matrix<double>& samples) {
  const Index r = samples.rows(), count = samples.cols();
  const Matrix<double> off = samples.colwise() - samples.rowwise().mean();
  Matrix<double> squares(r * r, count);
  for (Index k = 0; k < count; ++k) {
    squares.col(k) = (off.col(k) * off.col(k).transpose()).reshaped();
  }
  return off * squares.transpose() / static_cast<double>(count);
}

}  // namespace popgrad
