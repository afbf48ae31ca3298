#include "popgrad/scalars/expression.hpp"

#include <stdexcept>

#include "scalars/number_text.hpp"

namespace popgrad {
namespace {

unsigned gaussian_error_serial();

GiNaC::ex gaussian_error_derivative(const GiNaC::ex& x, unsigned /*parameter*/) {
  return 2 * GiNaC::exp(-GiNaC::pow(x, 2)) / GiNaC::sqrt(GiNaC::Pi);
}

GiNaC::ex gaussian_error_evaluation(const GiNaC::ex& x) {
  if (x.is_zero()) return 0;
  return GiNaC::function(gaussian_error_serial(), x).hold();
}

GiNaC::ex gaussian_error_number(const GiNaC::ex& x) {
  if (GiNaC::is_a<GiNaC::numeric>(x)) {
    return GiNaC::numeric(std::erf(GiNaC::ex_to<GiNaC::numeric>(x).to_double()));
  }
  return ScalarAbilities<Expression>::erf(x);
}

unsigned gaussian_error_serial() {
  static const unsigned serial =
      GiNaC::function::register_new(GiNaC::function_options("erf", 1)
                                        .eval_func(gaussian_error_evaluation)
                                        .evalf_func(gaussian_error_number)
                                        .derivative_func(gaussian_error_derivative)
                                        .latex_name("\\operatorname{erf}"));
  return serial;
}

}  // namespace

Expression ScalarAbilities<Expression>::erf(const Expression& x) {
  return GiNaC::function(gaussian_error_serial(), x);
}

Truth ScalarAbilities<Expression>::less(const Expression& a, const Expression& b) {
  const GiNaC::ex difference = (a - b).evalf();
  if (!GiNaC::is_a<GiNaC::numeric>(difference)) return Truth::undecided;
  return GiNaC::ex_to<GiNaC::numeric>(difference).is_negative() ? Truth::yes : Truth::no;
}

Expression ScalarAbilities<Expression>::where_positive(const Expression& x,
                                                       const Expression& if_positive,
                                                       const Expression& otherwise) {
  switch (less(0, x)) {
    case Truth::yes:
      return if_positive;
    case Truth::no:
      return otherwise;
    case Truth::undecided:
      break;
  }
  const Expression positive = GiNaC::step(x);
  return positive * if_positive + (1 - positive) * otherwise;
}

double to_double(const Expression& x) {
  const GiNaC::ex value = x.evalf();
  if (!GiNaC::is_a<GiNaC::numeric>(value)) {
    throw std::invalid_argument("expression '" + to_text(x) + "' still has symbols in it");
  }
  return GiNaC::ex_to<GiNaC::numeric>(value).to_double();
}

template <>
Expression from_text<Expression>(std::string_view text) {
  const FractionText fraction = parse_number(text);
  return GiNaC::numeric(fraction.numerator.c_str()) / GiNaC::numeric(fraction.denominator.c_str());
}

Expression Constant<Expression>::pi() { return GiNaC::Pi; }

}  // namespace popgrad
