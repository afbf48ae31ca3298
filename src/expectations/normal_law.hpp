#pragma once
/// Means and covariances of what is affine in normal draws, also where their density is multiplied by weights.
///
/// With one weight g(w) of a projection w of mean m and variance q the law stays normal:
///
///   weight      mass                                mean of y               covariance of x, y, less
///   exp(w)      exp(m + q/2)                        + cov(y, w)             0
///   exp(-w^2)   exp(-m^2 / (1+2q)) / sqrt(1+2q)     - 2 cov(y, w) m / (1+2q)   2 cov(x, w) cov(w, y) / (1+2q)
///   delta(w)    exp(-m^2 / (2q)) / sqrt(2 pi q)     - cov(y, w) m / q       cov(x, w) cov(w, y) / q
///
/// Further weights change the law that the ones before have left. delta(w) where q is 0 counts as 0: slopes of
/// relu at 0 are 0.

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "expectations/expectation.hpp"
#include "expectations/indexed.hpp"
#include "expectations/normal_form.hpp"

namespace popgrad::expectations {

class NormalLaw {
 public:
  /// The form outlives the law.
  NormalLaw(std::vector<NormalDraw> draws, NormalForm& form)
      : draws_(std::move(draws)), form_(form) {}

  /// Of a draw, or of the argument of a function.
  const Affine& affine(const Array& array);
  [[nodiscard]] bool reads(const Array& array, std::size_t draw);
  /// Axes of `a`, then those of `b`.
  const std::vector<Term>& covariance(const Array& a, const Array& b);

 private:
  std::vector<NormalDraw> draws_;
  NormalForm& form_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Term>> covariances_;
};

/// The law of the draws times the weights among the functions of a term.
class WeightedLaw {
 public:
  WeightedLaw(NormalLaw& law, const std::vector<Factor>& functions);

  [[nodiscard]] const std::vector<Factor>& weights() const { return weights_; }
  /// E of the product of weights: its factors.
  std::vector<Indexed> mass();
  Entry mean(const Factor& a) { return mean_after(weights_.size(), a); }
  Entry covariance(const Factor& a, const Factor& b) {
    return covariance_after(weights_.size(), a, b);
  }
  Indexed variance(const Factor& a) { return variance_after(weights_.size(), a); }
  /// Without the weights.
  Indexed own_variance(const Factor& a) { return variance_after(0, a); }

  /// For draws x and y, which are kept as factors of terms:
  ///   E x = sum_k shift(k) cov(x, w_k),
  ///   cov(x, y) = cov_0(x, y) - sum_kl coupling(k, l) cov_0(x, w_k) cov_0(w_l, y)
  Entry shift(std::size_t k);
  Entry coupling(std::size_t k, std::size_t l);

 private:
  // Under the first weights.
  Entry mean_after(std::size_t weights, const Factor& a);
  Entry covariance_after(std::size_t weights, const Factor& a, const Factor& b);
  Indexed variance_after(std::size_t weights, const Factor& a);
  // cov under the weights before k of w_k and y is the sum over l of this times cov_0(w_l, y).
  Entry part_of_weight(std::size_t k, std::size_t l);
  // What is taken off a covariance is this times the covariances with weight k.
  Entry reduction(std::size_t k);
  Entry shift_by(std::size_t k);

  NormalLaw& law_;
  formulas::Graph& graph_;
  std::vector<Factor> weights_;
  std::set<std::size_t> paired_;  // arrays that are there with different labels
};

/// Whether two projections with variances q and s and this determinant q s - c^2 are at an angle: of parallel ones the
/// determinant is what rounding leaves of it, and its root has half of the digits. So those at an angle below 1e-7 count
/// as parallel, which is wrong by that angle for two signs, and by its cube for kinks. Variances and a covariance do not
/// hold more: at larger angles they give them to 1e-16 over the angle.
Indexed is_apart(const Indexed& determinant, const Indexed& q, const Indexed& s);
/// Where x > 0 this value, else another; neither has to be defined where it is not chosen.
Indexed where_positive(const Indexed& x, const Indexed& value, const Indexed& otherwise);
/// x, or 1 where it is not above 0.
Indexed positive_or_one(const Indexed& x);

}  // namespace popgrad::expectations
