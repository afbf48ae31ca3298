#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_measurements.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::residual_fates {
namespace {

Statement sheet{
    .id = "scan-snap.residual-fates",
    .paper = "arXiv 2305.16380, Section 7",
    .status = "derived here",
    .about = "modified and true gradient of the decoder, features at rest",
    .theorem = R"(
With the residual connection, no query token in a context, and gamma beta_nn' as
scan-snap.residual-backprop has it for either gradient of the decoder,
  2 z_ml' = eta_Z w gamma sum_{n: psi(n) = m} f_nl
              sum_{n' != n} beta_nn' (f_nl f_n.f_n' - f_n'l)
in the limit eta_Z -> 0 (Section 7 sketches it: Theorem 2 inside each psi^-1(m)). With E = F'F - I
distinct tokens of n gain by the modified gradient if overlaps inside the query outweigh the rest,
  sum_{n' != n: psi(n') = m} E_nn'/(1 + K_m)
    > |E e_n| l sqrt(1 + (K-1)/(M-1)^2)/(1 - l),   l = max |lambda_i(E)| < 1,
with no bound on M, nor from below on lambda_i; by the true gradient, as M -> infinity, if n shares
a token with any class. A token of only one class of its query that a class of another query has,
too, is pulled down by that class: for it the sum over all n' counts, not that over psi^-1(m).)",
    .hypotheses = {queries_apart, solved_at_rest, equal_classes},
    .reaches = {EvidenceKind::numerical},
    .false_version = "own-query",
    .knobs = {query_count, most_classes, across_weight, residual_vocabulary, decoder_time},
    .reads = "flow"};

const Clause driven_by_all =
    sheet.clause("with a residual connection `beta_nn'` of all classes drive `z_ml'`");
const Clause distinct_gain =
    sheet.clause("distinct tokens gain if overlaps inside the query outweigh the rest");

const Hypothesis inside_outweighs = sheet.assume("overlaps inside the query outweigh the rest");

const Control sketch = sheet.control("sketch", "`kappa - I` in place of `I - kappa^-1`");
const Control uniform = sheet.control("uniform", "`b = 1` for all times");

const Rival own_query =
    sheet.rival("own-query", "Section 7: only classes of the token's own query drive it", "a rate");

const Knob overlap = sheet.knob(
    linear_knob("overlap", "of the rest, in units of those inside the query", 0.1, 0.95, 0.5));
const Knob excess =
    sheet.knob(logarithmic_knob("excess-overlap", "the same, more than those inside", 1.01, 100, 0)
                   .breaking(inside_outweighs));

// How much of the overlaps inside its query the class has for which the rest weighs most:
//   |E e_n| l sqrt(1 + (K-1)/(M-1)^2)/(1 - l) / (sum_{j != n: psi(j) = psi(n)} E_nj/(1 + K_m)),
// l = max |lambda_i(E)|; infinite for l >= 1. Below 1: xi_n > 0 by the modified gradient.
double outside_share(const ResidualView& at, double tokens) {
  const double spread = at.spread();
  if (!(spread < 1)) return std::numeric_limits<double>::infinity();
  const auto k = static_cast<double>(at.classes());
  const double finite = std::sqrt(1 + (k - 1) / ((tokens - 1) * (tokens - 1)));
  double share = 0;
  for (Index n = 0; n < at.classes(); ++n) {
    const double inside =
        at.overlap.row(n).dot(at.same.row(n)) / (1 + static_cast<double>(at.of_query(n)));
    const double rest = at.overlap.row(n).norm() * spread * finite / (1 - spread);
    share = std::max(share, rest / inside);
  }
  return share;
}

// Classes in which the rest has the share of the overlaps that is asked for: the lower the weights of the
// tokens that they share, the lower the quotient.
TrainingInstance<double> drawn_training(const Setting& setting) {
  double low = -4;  // decimal logarithms of the weight inside
  double high = 1;
  const auto at = [&](double exponent) {
    return drawn_queries(setting, chosen_queries(setting, std::pow(10.0, exponent)));
  };
  const double wanted = std::max(setting.value(overlap), setting.value(excess));
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (outside_share(ResidualView(at(middle)), setting.value(residual_vocabulary)) < wanted ? low
                                                                                          : high) =
        middle;
  }
  return residual_training(at(low), static_cast<double>(setting.count(residual_vocabulary)));
}

// 2 z'/(eta_Z w) of all pairs, over `unit`.
Reading gains_over(double unit) {
  return {
      .numbers = [](const ResidualFlow<double>& flow, const Vector<double>& x) -> Vector<double> {
        Vector<double> rate(x.size());
        flow.rhs(x, rate, 0.0);
        const TrainingInstance<double>& training = flow.instance();
        return 2 * flow.logits_at(flow.field(x)) /
               (training.attention_rate * training.classes.weight[0]);
      },
      .unit = unit};
}

// 0 < gains of distinct tokens, of the gains of all pairs.
void judge_gain(const char* what, const ResidualView& at, const std::vector<Quantity>& gains,
                Examination& it) {
  std::vector<Quantity> distinct;
  for (const Index pair : at.distinct_pairs()) {
    distinct.push_back(gains[static_cast<std::size_t>(pair)]);
  }
  if (distinct.empty()) return;
  it.judge(distinct_gain, below(what, std::vector<Quantity>(distinct.size(), 0.0), distinct));
}

void judge_modified(const TrainingInstance<double>& training, double tau, Examination& it) {
  const ResidualView at(training.classes);
  const auto m = static_cast<double>(training.classes.tokens);
  const auto k = static_cast<double>(at.classes());
  const Matrix<double> beta = beta_of<double>(at.inverse, m);
  const Vector<double> gains = at.gains(beta);
  const auto predicted = [&](const Matrix<double>& couplings) {
    std::vector<Quantity> values = exactly(at.gains(couplings));
    for (Quantity& v : values) v.add(ErrorPart::rounding(k * k * k, beta.cwiseAbs().maxCoeff()));
    return values;
  };
  const Matrix<double> first = 2 * Matrix<double>::Identity(at.classes(), at.classes()) - at.kappa;
  const std::vector<Quantity> measured =
      read_at_rest(training, DecoderRule::fast, tau, gains_over(driving(training, tau)));
  it.judge(driven_by_all,
           equal("`2 z'/(eta_Z w gamma)`, modified gradient", measured, predicted(beta))
               .in_units_of(gains.cwiseAbs().maxCoeff())
               .against(own_query, nearest_multiple(at.gains(beta.cwiseProduct(at.same)), measured))
               .unless(sketch, predicted(beta_of<double>(first, m))));
  judge_gain("distinct tokens gain, modified gradient", at, measured, it);
}

void judge_gradient(const TrainingInstance<double>& training, double tau, Examination& it) {
  const ResidualView at(training.classes);
  for (const double time : {tau / 16, tau}) {
    const std::vector<Quantity> measured =
        limit_of_vocabulary(training.classes, time, [&](double m) { return gains_over(time / m); });
    const Matrix<double> b = couplings(at.kappa, time);
    const Matrix<double> ones = Matrix<double>::Ones(at.classes(), at.classes());
    const Vector<double> gains = at.gains(b);
    it.judge(driven_by_all,
             equal(fmt::format("`2 M z'/(eta_Z w tau)` as `M -> infinity` at `tau = {:.3g}`", time),
                   measured, exactly(gains))
                 .in_units_of(gains.cwiseAbs().maxCoeff())
                 .against(own_query, nearest_multiple(at.gains(b.cwiseProduct(at.same)), measured))
                 .unless(uniform, exactly(at.gains(ones))));
    judge_gain("distinct tokens gain, true gradient", at, measured, it);
  }
}

void examine(const Setting& setting, Examination& it) {
  const TrainingInstance<double> training =
      examined_training(setting, [&] { return drawn_training(setting); });
  const ResidualView at(training.classes);
  const double tau = setting.value(decoder_time);
  it.parameters = {{"K", training.classes.classes()},
                   {"M", training.classes.tokens},
                   {"max |lambda(E)|", at.spread()},
                   {"tau", tau},
                   {"seed", setting.seed}};
  at.require_apart(it);
  require_uniform(training.classes, it);
  const double share = outside_share(at, static_cast<double>(training.classes.tokens));
  it.require_positive(inside_outweighs, 1 - share, fmt::format("{:.4g} of them at most", share));
  judge_modified(training, tau, it);
  judge_gradient(training, tau, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::residual_fates
