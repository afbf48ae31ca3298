#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/checks/one_common_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::growth_steps {
namespace {

Statement sheet{.id = "scan-snap.growth-steps",
                .paper = "arXiv 2305.16380, Eqns 10 and 13, Theorem 4, Remark 1",
                .status = "derived here",
                .about = "Eqn 13, the reduced flow and the population flow",
                .theorem = R"(
How far each step of Theorem 4 is off. One common token in all K classes, f_c^2 = rho, C0 = 1/(K
rho^2). From Eqn 13,
  z' = -eta_Z gamma e^(4z)/C0,  B_n' = eta_Z gamma e^(4z)/C0,
follows B_n = ln(1 + 4 Gamma/C0)/4: the conditional part of Theorem 4. As t -> 0 that is too
large against Eqn 10 and Eqn 10 against the flow by
  B_13/B_10   -> K rho (1 - rho) (1 + (K-1) rho) (M-1)/(M (K-1) (rho + 1/(M-1)))
  B_10/B_flow -> K (1 + rho (M-K)/(1 + (K-1) rho))/(1 - rho),
K/(K-1) and K (1 + rho M) where overlap is small and rho M large: K is the clock of Eqn 10, rho M
what Lemma 3 does to the gradient. Figure scan-snap-steps has both quotients at all times.)",
                .hypotheses = {one_common, classes_alike},
                .reaches = {EvidenceKind::numerical},
                .false_version = "effective-rate",
                .knobs = one_common_token_knobs(),
                .reads = "reduced"};

const Clause conditional = sheet.clause("Theorem 4 follows from Eqn 13");
const Clause off_by = sheet.clause(
    "which is off against Eqn 10, and that off the flow, by known factors as `t -> 0`");

const Control as_printed = sheet.control("printed", "`B = ln(C0 + 4 Gamma)/4`");
const Control smaller_exponent = sheet.control("exponent", "`z'` falls with `exp(3.6 z)`");
const Control all_classes =
    sheet.control("all-classes", "`K` in place of `K - 1` in Eqn 13 over Eqn 10");
const Control effective_rate =
    sheet.control("effective-rate", "Eqn 10 over the flow as a rate `(1 - rho) eta_Y`");
const Control larger_factor = sheet.control("factor", "Eqn 10 over the flow 10 % larger");

const Rival at_rest = sheet.rival(
    "at-rest", "attention does not act back: `B_n` grows in proportion to `Gamma`", "a rate");

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
  const std::vector<Quantity> integrated = run.along([](const Vector<double>& x) { return x[2]; });
  double product = 0, square = 0;
  for (std::size_t i = 0; i < integrated.size(); ++i) {
    const double accumulated = accumulated_at(token, run.times()[i]);
    product += integrated[i].value() * accumulated;
    square += accumulated * accumulated;
  }
  std::vector<Quantity> in_proportion;
  for (const double t : run.times()) {
    in_proportion.emplace_back(product / square * accumulated_at(token, t));
  }
  it.judge(conditional,
           equal("`B_n` of Eqn 13 integrated against `ln(1 + 4 Gamma/C0)/4`", integrated, claimed)
               .against(at_rest, in_proportion)
               .at(run.places())
               .unless(as_printed, printed)
               .unless(smaller_exponent, lower));
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
  const auto both = [](double of_first, double of_second) {
    return std::vector<Quantity>{of_first, of_second};
  };
  it.judge(off_by, equal("quotients of `B_n` as `t -> 0`")
                       .add("Eqn 13 over Eqn 10", limit_in(falling, first), to_reduced)
                       .add("Eqn 10 over the flow", limit_in(falling, second), to_flow)
                       .unless(all_classes, both(to_reduced * (k - 1) / k, to_flow))
                       .unless(effective_rate, both(to_reduced, k / (1 - rho)))
                       .unless(larger_factor, both(to_reduced, 1.1 * to_flow)));
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

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::growth_steps
