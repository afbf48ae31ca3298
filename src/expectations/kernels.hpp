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
/// One function may have a mean. Where the variance of the argument of relu, step, sign or abs is 0 the kernel and
/// its slopes are those of that number: of 0, all are 0.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "expectations/indexed.hpp"
#include "expectations/normal_law.hpp"

namespace popgrad::expectations {

class Kernels {
 public:
  explicit Kernels(NormalLaw& law) : law_(law) {}
  /// Factors whose product is the expectation of the product of these functions, weights among them; none: it is 0.
  /// Throws NotHandled where there is no closed form.
  std::optional<std::vector<Indexed>> expectation(const std::vector<Factor>& functions);
  /// Functions that were met together, such as "erf erf".
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }

 private:
  NormalLaw& law_;
  std::set<std::string> names_;
};

}  // namespace popgrad::expectations
