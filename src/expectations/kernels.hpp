#pragma once
/// Expectations of products of functions of normal projections, in closed form.
///
/// Of projections a, b of variances q, s and covariance c, D = qs - c^2, where both means are 0:
///
///   erf(a) erf(b)     2/pi atan2(2c, sqrt(1 + 2q + 2s + 4D))
///   sign(a) sign(b)   2/pi atan2(c, sqrt D)
///   sign(a) erf(b)    2/pi atan2(sqrt(2) c, sqrt(q + 2D))
///   relu(a) relu(b)   (sqrt D + c atan2(sqrt D, -c)) / (2 pi)
///   |a| |b|           2/pi (sqrt D + c atan2(c, sqrt D))
///   a g(b)            c E g'(b)
///   cos, sin          by sums and differences, with any means
///
/// relu(a) = (a + |a|)/2 and step(a) = (1 + sign(a))/2, and of an even and an odd function the product has mean 0.
/// One function may have a mean. Products of smooth functions of up to three projections that have no closed form,
/// tanh, sigmoid and softplus among them, are sums over nodes in the span of the projections, which is that of the
/// independent standard u of their Cholesky factor:
///
///   E f(u) ~ h/sqrt(2 pi) sum_k f(k h) exp(-(k h)^2/2),  |k h| <= 9
///
/// in each direction. For f analytic within d of the real axis the error falls as exp(-2 pi d/h), from d = pi/(2 s) for
/// tanh and pi/s for sigmoid and softplus of variance s^2, faster than that of Gauss-Hermite nodes.
///
/// Where the variance of the argument of relu, step, sign or abs is 0 the kernel and
/// its slopes are those of that number: of 0, all are 0.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "expectations/expectation.hpp"
#include "expectations/indexed.hpp"
#include "expectations/normal_law.hpp"

namespace popgrad::expectations {

class Kernels {
 public:
  Kernels(NormalLaw& law, Nodes nodes) : law_(law), nodes_(nodes) {}
  /// Factors whose product is the expectation of the product of these functions, weights among them; none: it is 0.
  /// Throws NotHandled where there is no closed form.
  std::optional<std::vector<Indexed>> expectation(const std::vector<Factor>& functions);
  /// Functions that were met together, such as "erf erf".
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }
  /// Whether any of these products was a sum over nodes.
  [[nodiscard]] bool by_quadrature() const { return by_quadrature_; }

 private:
  NormalLaw& law_;
  Nodes nodes_;
  std::set<std::string> names_;
  bool by_quadrature_ = false;
};

}  // namespace popgrad::expectations
