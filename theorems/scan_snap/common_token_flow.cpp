#include "theorems/scan_snap/common_token_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/scan_snap/closed_form.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
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

// d/dt of the closed forms against
//   Gamma' = eta_Z gamma,  z' = -w K_m eta_Z gamma e^(4z)/C0,  B' = w eta_Z gamma e^(4z)/C0
// with Gamma, z and B functions of the symbol h, h' = eta_Y/(K (M - 1 + e^(M h))).
Truth solves_equations() {
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

CommonToken<double> growth_token(double decoder_rate) {
  TrainingInstance<double> instance = with_ratio(growth_classes<double>(), 2);
  CommonToken<double> token = common_token(instance);
  token.decoder_rate = decoder_rate;
  return token;
}

}  // namespace

void derive_common_token(Examination& it) {
  it.judge(Identity{.what = "the closed forms solve the equations of Gamma, z and B",
                    .holds = solves_equations,
                    .detail = "generic M, rates, f, w; K = 7, K_m = 3"});
}

Erratum phase_transition_constant() {
  return {.name = "scan-snap.theorem4-constant",
          .kind = ErratumClass::error,
          .statement = "scan-snap.phase-transition",
          .place = "arXiv 2305.16380v4, Theorem 4, Eqns 14 and 124",
          .known = "full text, v4",
          .paper_says = "Theorem 4, Eqns 14 and 124: B = ln(C0 + 4 Gamma)/4",
          .algebra_says =
              "B is an integral from 0: ln(1 + 4 Gamma/C0)/4, so the printed form is too "
              "large by ln(C0)/4 at all times",
          .evidence = [] {
            const double printed = growth_exponent_of_paper(growth_token(1), 0.0);
            const Expression accumulated = symbol("Gamma");
            CommonToken<Expression> alone = generic_token();
            alone.classes_of_query = 1;
            alone.weight = 1;
            const Expression shifted =
                growth_exponent_of_paper(alone, accumulated) - GiNaC::log(alone.scale()) / 4;
            // Logarithms by their derivative and one value.
            const Expression apart = shifted - growth_exponent(alone, accumulated);
            Matrix<Expression> defect(2, 1);
            defect << apart.diff(GiNaC::ex_to<GiNaC::symbol>(accumulated)),
                apart.subs(accumulated == 0);
            return std::vector<Evidence>{
                identity(EvidenceKind::numerical, "B(0) as printed is not 0",
                         printed > 0 ? Truth::yes : Truth::no,
                         fmt::format("{:.3g} on the growth instance", printed)),
                identity(EvidenceKind::symbolic, "the corrected form solves the equations",
                         solves_equations()),
                identity(EvidenceKind::symbolic,
                         "the printed form less ln(C0)/4 is the corrected one", vanishes(defect))};
          }};
}

Erratum growth_figure() {
  return {.name = "scan-snap.growth-figure",
          .kind = ErratumClass::could_not_reproduce,
          .statement = "scan-snap.phase-transition",
          .place = "arXiv 2305.16380v4, Figure 3",
          .known = "full text, v4",
          .paper_says =
              "Fig. 3: growth factors at K = 10, M = 1000, eta_Z = 0.5, on an axis to 600; "
              "neither C0 nor the largest value is given",
          .algebra_says =
              "could not be reproduced: Theorem 4 from 0 reaches 600 only at a C0 for "
              "which f_c exceeds 1, and less than 50 at C0 = 1",
          .evidence = [] {
            // chi = exp(2 B) = sqrt(1 + 4 Gamma/C0) at t = 700, with the clock of the paper.
            double largest = 0;
            std::string detail;
            for (const double rate : {0.5, 1.0, 2.0, 5.0}) {
              const CommonToken<double> token = growth_token(rate);
              const double h = decoder_scale(token.vocabulary, rate, 70.0);
              const double accumulated = accumulated_scale(token, h);
              largest = std::max(largest, 4 * accumulated / (600.0 * 600.0 - 1));
              detail +=
                  fmt::format("{}eta_Y = {}: chi = {:.0f} at C0 = 1", detail.empty() ? "" : "; ",
                              rate, std::sqrt(1 + 4 * accumulated));
            }
            return std::vector<Evidence>{
                bounded(EvidenceKind::numerical, "largest C0 that gives chi = 600 at t = 700",
                        largest, 1.0 / 9, "f_c <= 1 means C0 = 1/((K-1) f_c^4) >= 1/9", detail)};
          }};
}

}  // namespace popgrad::theorems::scan_snap
