// Theorem    scan-snap.fates-assumption2
// Status     proved in source (Theorem 2), by another proof here
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Assumption 2, Theorems 1 and 2
// Statement  with lambda_i, u_i the spectrum of E and G = (I + E)^-1,
//              xi_n = gamma q1 (sum_i u_in^2 lambda_i^2/(1 + lambda_i) - sum_{j != n} G_nj/(M-1))
//            which Assumption 2 keeps above
//              gamma q1 (36/(M (1 + 1/K)) - sqrt(K)/((1 - 1/K) (M-1))) > 0;
//            so distinct tokens l of n gain, and a single common token c loses, on reduced:
//              z_l' =  eta_Z w f_nl^2 xi_n > 0
//              z_c' = -eta_Z w sum_{n: psi(n) = m} (1 - f_nc^2) xi_n < 0.
//            On flow with features at rest, z_l'/eta_Z > 0 as well
// Hypotheses H1 M > 36 K^2; H2 |lambda_1(E)| < 1/K; H3 |lambda_i(E)| >= 6/sqrt(M) for all i;
//            H4 classes are equally likely
// Check      z'/(eta_Z w gamma) of distinct tokens and a single common one on reduced against the
//            formula; its sign on the whole trajectory, its bound at the start; sign on flow
// Controls   lambda^2 for lambda^2/(1 + lambda); the other sign of the sum over G
// Uses       rungs reduced, flow; decoder

#include "theorems/scan_snap/checks/assumption2_gains.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/fates_instance.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::fates_assumption2 {
namespace {

constexpr double tolerance = 1e-11;

// How many of these are judged: Theorem 2 says nothing of several common tokens.
Index judged(const FatesInstance& at) {
  return at.commons() == 1 ? at.numbers() : static_cast<Index>(at.distinct().size());
}

void judge_formula(const FatesInstance& at, double end, Examination& it) {
  const ReducedFlow<double> flow(at.training());
  const Solved run(forget_type(flow), {end / 64, end / 8, end}, tolerance);
  const auto measured = [&](const Vector<double>& x) {
    return at.measured(flow, x, backprop_scale(at.vocabulary(), x[flow.layout().pairs()]));
  };
  const auto of_form = [&](GainForm form) {
    std::vector<Quantity> gains = read_all(run, judged(at), [&](const Vector<double>& x) {
      return predicted_gains(at, flow.features_at(x), form);
    });
    // xi_n/gamma is a difference of numbers about 1, each a sum over pairs of classes.
    const auto k = static_cast<double>(at.training().classes.classes());
    for (Quantity& gain : gains) gain.add(ErrorPart::rounding(k * k, 1));
    return gains;
  };
  it.judge(Comparison{.what = "z'/(eta_Z w gamma) on reduced",
                      .measured = read_all(run, judged(at), measured),
                      .predicted = of_form(GainForm::claimed),
                      .mistakes = {predicts("second-order", of_form(GainForm::second_order)),
                                   predicts("other-sign", of_form(GainForm::other_sign))}});
}

// What the token that gains least by its sign loses, on the whole trajectory; its gain at the start.
void judge_signs(const FatesInstance& at, double end, Examination& it) {
  const ReducedFlow<double> flow(at.training());
  const double gamma = backprop_scale(at.vocabulary(), 1 / at.vocabulary());
  const auto loss = [&](const Vector<double>& x) {
    const Vector<double> rate = rates_while_learning(flow, at.training().classes.tokens, x);
    Vector<double> gains = at.measured(flow.logits_at(rate), flow.features_at(x), gamma);
    gains.tail(at.numbers() - std::ssize(at.distinct())) *= -1;
    return -gains.head(judged(at)).minCoeff();
  };
  it.judge(Comparison{.what = "largest loss on reduced, on the whole trajectory",
                      .measured = {largest_along(forget_type(flow), end, tolerance, loss)},
                      .relation = Relation::below,
                      .predicted = {0.0}});
  const auto k = static_cast<double>(at.training().classes.classes());
  const double m = at.vocabulary();
  const double bound = 36 / (m * (1 + 1 / k)) - std::sqrt(k) / ((1 - 1 / k) * (m - 1));
  const Vector<double> xi =
      predicted_gains(at, at.start<double>(), GainForm::claimed).head(std::ssize(at.distinct()));
  it.judge(Comparison{.what = "bound of xi_n/gamma by Assumption 2 against the least at the start",
                      .measured = {own_scale(m) * bound},
                      .relation = Relation::below,
                      .predicted = {xi.minCoeff()}});
}

// Sign of z_l'/eta_Z where Y learns by its gradient and features rest.
void judge_flow(const FatesInstance& at, double end, Examination& it) {
  TrainingInstance<double> resting = at.training();
  resting.attention_rate = 0;
  const PopulationFlow<double> moving(at.training());
  const Solved run(forget_type(PopulationFlow<double>(resting)), {end / 64, end / 8, end, 64 * end},
                   tolerance);
  const auto distinct = static_cast<Index>(at.distinct().size());
  const double unit = at.training().decoder_rate / at.vocabulary();
  std::vector<Quantity> losses = run.along([&](const Vector<double>& x) {
    return -at.measured(moving, x, unit).head(distinct).minCoeff();
  });
  it.judge(Comparison{.what = "largest loss of a distinct token on flow, features at rest",
                      .measured = std::move(losses),
                      .relation = Relation::below,
                      .predicted = {0.0},
                      .places = run.places()});
}

void examine(const Setting& setting, Examination& it) {
  const FatesInstance at(assumption2_training(setting));
  const double end = setting.value(assumption2_horizon);
  it.parameters = at.parameters();
  it.parameters["t"] = end;
  it.parameters["seed"] = setting.seed;
  require_assumption_2(at.training().classes, it);
  require_equally_likely(it, at.training().classes.weight);
  if (at.distinct().empty()) return;
  judge_formula(at, end, it);
  judge_signs(at, end, it);
  judge_flow(at, end, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.fates-assumption2",
          .claim = "inside Assumption 2 distinct tokens gain and a single common one loses",
          .paper = "arXiv 2305.16380, Assumption 2, Theorems 1 and 2",
          .status = "proved in source",
          .hypotheses = {"A2: M >> K^2, at least M > 36 K^2", "A2: |lambda_1(E)| < 1/K",
                         "A2: |lambda_i(E)| >= 6/sqrt(M) for all i", equally_likely},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"second-order", "lambda^2 in place of lambda^2/(1 + lambda)"},
                       {"other-sign", "the sum over G with the other sign"}},
          .knobs = assumption2_knobs(),
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::fates_assumption2
