#include "popgrad/scalars/interval.hpp"

#include <mpfi.h>

#include <stdexcept>

#include "popgrad/scalars/rational.hpp"
#include "scalars/number_text.hpp"

namespace popgrad {
namespace {

mpfi_ptr raw(Interval& x) { return x.backend().data(); }
mpfi_srcptr raw(const Interval& x) { return x.backend().data(); }

Interval enclose(const Rational& x) {
  Interval result;
  mpfi_set_q(raw(result), x.backend().data());
  return result;
}

}  // namespace

template <>
Interval from_text<Interval>(std::string_view text) {
  return enclose(from_text<Rational>(text));
}

Interval make_interval(std::string_view low, std::string_view high) {
  const Interval a = from_text<Interval>(low);
  const Interval b = from_text<Interval>(high);
  if (from_text<Rational>(low) > from_text<Rational>(high)) {
    throw std::invalid_argument("interval [" + std::string(low) + ", " + std::string(high) +
                                "] is empty; give the lower end first");
  }
  Interval result;
  mpfi_union(raw(result), raw(a), raw(b));
  return result;
}

Truth ScalarAbilities<Interval>::less(const Interval& a, const Interval& b) {
  if (mpfr_less_p(&raw(a)->right, &raw(b)->left) != 0) return Truth::yes;
  if (mpfr_greaterequal_p(&raw(a)->left, &raw(b)->right) != 0) return Truth::no;
  return Truth::undecided;
}

Interval ScalarAbilities<Interval>::where_positive(const Interval& x, const Interval& if_positive,
                                                   const Interval& otherwise) {
  switch (less(Interval(0), x)) {
    case Truth::yes:
      return if_positive;
    case Truth::no:
      return otherwise;
    case Truth::undecided:
      break;
  }
  Interval hull;
  mpfi_union(raw(hull), raw(if_positive), raw(otherwise));
  return hull;
}

Interval ScalarAbilities<Interval>::erf(const Interval& x) {
  // erf increases, so its ends are the images of the ends, rounded outwards.
  Interval result;
  mpfr_erf(&raw(result)->left, &raw(x)->left, MPFR_RNDD);
  mpfr_erf(&raw(result)->right, &raw(x)->right, MPFR_RNDU);
  return result;
}

double to_double(const Interval& x) { return mpfi_get_d(raw(x)); }
double lower_double(const Interval& x) { return mpfr_get_d(&raw(x)->left, MPFR_RNDD); }
double upper_double(const Interval& x) { return mpfr_get_d(&raw(x)->right, MPFR_RNDU); }

bool contains(const Interval& x, std::string_view text) {
  const Rational number = from_text<Rational>(text);
  return mpfi_is_inside_q(number.backend().data(), raw(x)) != 0;
}

std::string to_text(const Interval& x) {
  char* low = nullptr;
  char* high = nullptr;
  mpfr_asprintf(&low, "%.20RDg", &raw(x)->left);
  mpfr_asprintf(&high, "%.20RUg", &raw(x)->right);
  std::string text = "[" + std::string(low) + ", " + std::string(high) + "]";
  mpfr_free_str(low);
  mpfr_free_str(high);
  return text;
}

Interval Constant<Interval>::pi() {
  Interval result;
  mpfi_const_pi(raw(result));
  return result;
}

}  // namespace popgrad
