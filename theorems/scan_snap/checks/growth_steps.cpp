// Theorem    scan-snap.growth-steps
// Status     derived here: how far each step of Theorem 4 is off
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Eqns 10 and 13, Theorem 4, Remark 1
// Statement  one common token in all K classes, f_c^2 = rho, C0 = 1/(K rho^2). From Eqn 13,
//              z' = -eta_Z gamma e^(4z)/C0,  B_n' = eta_Z gamma e^(4z)/C0,
//            follows B_n = ln(1 + 4 Gamma/C0)/4: the conditional part of Theorem 4. As t -> 0 that
//            is too large against Eqn 10 and Eqn 10 against the flow by
//              B_13/B_10   -> K rho (1 - rho) (1 + (K-1) rho) (M-1)/(M (K-1) (rho + 1/(M-1)))
//              B_10/B_flow -> K (1 + rho (M-K)/(1 + (K-1) rho))/(1 - rho),
//            K/(K-1) and K (1 + rho M) where overlap is small and rho M large: K is the clock of
//            Eqn 10, rho M what Lemma 3 does to the gradient
// Hypotheses H1 one common token; H2 classes are alike
// Check      Eqn 13 integrated at t0/4, t0 and 3 t0 against its B_n; both quotients of B_n of the
//            rungs as t -> 0 (figure scan-snap-steps has them at all times)
// Controls   the constant as printed, ln(C0 + 4 Gamma)/4; 3.6 for 4; K for K - 1; an effective rate
//            (1 - rho) eta_Y, as Remark 1 has it; 1.1 times the second quotient
// Uses       rungs reduced, flow; decoder

#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/checks/one_common_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::growth_steps {
namespace {

void judge_conditional(const OneCommonToken& instance, Examination& it) {
  const CommonToken<double> token = instance.token();
  const double t0 = transition_time_of(instance);
  const Solved run(eqn_13(token), {t0 / 4, t0, 3 * t0}, growth_tolerance);
  std::vector<Quantity> claimed, printed, lower;
  for (const double t : run.times()) {
    claimed.emplace_back(growth_from_eqn_13(token, t));
    printed.emplace_back(growth_exponent_of_paper(token, accumulated_at(token, t)));
    lower.emplace_back(growth_from_eqn_13(token, t, 3.6));
  }
  it.judge(Comparison{.what = "B_n of Eqn 13 integrated against ln(1 + 4 Gamma/C0)/4",
                      .measured = run.along([](const Vector<double>& x) { return x[2]; }),
                      .predicted = claimed,
                      .mistakes = {predicts("printed", printed), predicts("exponent", lower)},
                      .places = run.places()});
}

void judge_quotients(const OneCommonToken& instance, Examination& it) {
  const CommonToken<double> token = instance.token();
  const double unit = token.classes / token.decoder_rate;
  const std::vector<double> falling = falling_parameters(unit / 16, 2, 3);
  const std::vector<double> times(falling.rbegin(), falling.rend());
  const Growths found = growths(instance, times);
  std::vector<Quantity> first, second;
  for (std::size_t i = times.size(); i-- > 0;) {
    first.push_back(Quantity(growth_from_eqn_13(token, times[i])) / found.reduced[i]);
    second.push_back(found.reduced[i] / found.flow[i]);
  }
  const auto [to_reduced, to_flow] = early_quotients(token);
  const double k = token.classes;
  const double rho = token.component * token.component;
  it.judge(Comparison{.what = "quotients of B_n as t -> 0",
                      .measured = {limit_in(falling, first), limit_in(falling, second)},
                      .predicted = {to_reduced, to_flow},
                      .mistakes = {predicts("all-classes", {to_reduced * (k - 1) / k, to_flow}),
                                   predicts("effective-rate", {to_reduced, k / (1 - rho)}),
                                   predicts("factor", {to_reduced, 1.1 * to_flow})},
                      .places = {"Eqn 13 over Eqn 10", "Eqn 10 over the flow"}});
}

void examine(const Setting& setting, Examination& it) {
  const OneCommonToken instance = one_common_token(setting);
  it.parameters = common_token_parameters(instance);
  it.parameters["seed"] = setting.seed;
  if (!require_one_common_token(instance, it)) return;
  judge_conditional(instance, it);
  judge_quotients(instance, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "scan-snap.growth-steps",
      .claim = "Theorem 4 follows from Eqn 13, which is off against Eqn 10, and that off the flow",
      .paper = "arXiv 2305.16380, Eqns 10 and 13, Theorem 4",
      .status = "derived here",
      .hypotheses = {"one common token", "classes are alike"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"printed", "B = ln(C0 + 4 Gamma)/4"},
                   {"exponent", "z' falls with exp(3.6 z)"},
                   {"all-classes", "K in place of K - 1 in Eqn 13 over Eqn 10"},
                   {"effective-rate", "Eqn 10 over the flow as a rate (1 - rho) eta_Y"},
                   {"factor", "Eqn 10 over the flow 10 % larger"}},
      .knobs = one_common_token_knobs(),
      .reads = "reduced",
      .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::growth_steps
