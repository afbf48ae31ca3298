#include "theorems/scan_snap/checks/common_token_flow.hpp"

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

namespace {

CommonToken<Expression> generic_token() {
  CommonToken<Expression> token;
  token.vocabulary = symbol("M");
  token.decoder_rate = symbol("eta_Y");
  token.attention_rate = symbol("eta_Z");
  token.classes = 7;
  token.classes_of_query = 3;
  token.component = symbol("f");
  token.weight = symbol("w");
  return token;
}

}  // namespace

// d/dt of the closed forms against
//   Gamma' = eta_Z gamma,  z' = -w K_m eta_Z gamma e^(4z)/C0,  B' = w eta_Z gamma e^(4z)/C0
// with Gamma, z and B functions of the symbol h, h' = eta_Y/(K (M - 1 + e^(M h))).
Truth closed_forms_solve_equations() {
  const CommonToken<Expression> token = generic_token();
  const Expression h = symbol("h");
  const Expression accumulated = accumulated_scale(token, h);
  const Expression logit = common_logit(token, accumulated);
  const Expression gamma = backprop_scale(token.vocabulary, h);
  const Expression drive =
      token.weight * token.attention_rate * gamma * GiNaC::exp(4 * logit) / token.scale();
  const Expression speed = decoder_rate_of(token.vocabulary, token.decoder_rate, h) / token.classes;
  const auto rate = [&](const Expression& f) {
    return Expression(f.diff(GiNaC::ex_to<GiNaC::symbol>(h)) * speed);
  };
  Matrix<Expression> defect(3, 1);
  defect << rate(accumulated) - token.attention_rate * gamma,
      rate(logit) + token.classes_of_query * drive,
      rate(growth_exponent(token, accumulated)) - drive;
  return vanishes(defect);
}

}  // namespace popgrad::scan_snap::checks
