#pragma once
/// Mean and covariance of the direction of one training sample, without drawing.
///
/// A sample is of a class, drawn with its probability, and made of `length` independent tokens of the
/// law of that class; its direction g depends on the class and the frequencies x of the tokens.
///   up to 4000 counts of tokens  exact, over all of them
///   more                         to second order about the law p, with S = diag(p) - pp':
///     E[g | class]   = g(p) + sum_lm S_lm d^2 g/dx_l dx_m / (2 length)
///     Cov[g | class] = (dg/dx) S (dg/dx)' / length
///   which neglects 1/length^2, of the covariance a share of order 1/length (measured in tests).

#include <functional>
#include <vector>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

struct DrawClass {
  double probability = 0;
  Vector<double> tokens;  ///< law of one token, sums to 1
};

struct DrawLaw {
  std::vector<DrawClass> classes;
  Index length = 0;  ///< tokens of a sample; 0: frequencies are the law itself
};

/// Direction of a sample: its class, the frequencies of its tokens.
using DrawField = std::function<void(Index, const Vector<double>&, Vector<double>&)>;

/// Counts that tokens can have, over every `labels`-th class: classes that follow each other and differ in
/// the label only have the same.
[[nodiscard]] double number_of_counts(const DrawLaw& law, Index labels = 1);

/// Counts are run through where there are no more than these.
inline constexpr double most_counts = 4000;

/// Are all counts run through?
[[nodiscard]] bool is_enumerated(const DrawLaw& law);

/// use(frequencies, probability) of each count of `length` tokens of this law.
void visit_counts(const Vector<double>& tokens, Index length,
                  const std::function<void(const Vector<double>&, double)>& use);

/// E[g], (n). Cost: an evaluation a class and count, or 2 m + 1 for a class of m tokens.
[[nodiscard]] Vector<double> draw_mean(const DrawLaw& law, Index dimension, const DrawField& field);

/// Cov[g] times the columns of `vectors` (n x m). Cost as above, and two products with a factor of
/// the covariance, which has a column a class and count, or a class and token.
[[nodiscard]] Matrix<double> draw_covariance(const DrawLaw& law, const DrawField& field,
                                             const Matrix<double>& vectors);

}  // namespace popgrad
