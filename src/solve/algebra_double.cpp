#include <cmath>

#include "solve/algebra.hpp"
#include "wide.hpp"

namespace popgrad::solving {

POPGRAD_WIDE double norm_inf(const Vector<double>& x) {
  const double* const entry = x.data();
  double largest = 0;
  double not_numbers = 0;
#pragma omp simd reduction(max : largest) reduction(+ : not_numbers)
  for (Index i = 0; i < x.size(); ++i) {
    const double size = std::fabs(entry[i]);
    largest = size > largest ? size : largest;
    not_numbers += size != size ? 1.0 : 0.0;
  }
  return not_numbers > 0 ? infinity<double>() : largest;
}

}  // namespace popgrad::solving
