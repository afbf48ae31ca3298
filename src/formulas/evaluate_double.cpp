#include <mpfr.h>

#include "formulas/evaluate.hpp"

namespace popgrad::formulas {

double nearest_double(const Rational& value) {
  constexpr int bits = 53;
  mpfr_t nearest;
  mpfr_init2(nearest, bits);
  mpfr_set_q(nearest, value.backend().data(), MPFR_RNDN);
  const double result = mpfr_get_d(nearest, MPFR_RNDN);
  mpfr_clear(nearest);
  return result;
}

template class Evaluator<double>;

}  // namespace popgrad::formulas
