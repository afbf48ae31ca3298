#include "popgrad/statistics.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>

namespace popgrad {

double normal_quantile(double p) { return quantile(boost::math::normal(), p); }

double two_sided_normal_bound(double false_alarm, int looks) {
  return -normal_quantile(false_alarm / (2.0 * looks));
}

double chi_square_quantile(double degrees_of_freedom, double p) {
  return quantile(boost::math::chi_squared(degrees_of_freedom), p);
}

}  // namespace popgrad
