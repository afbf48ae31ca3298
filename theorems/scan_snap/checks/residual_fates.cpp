// Theorem    scan-snap.residual-fates
// Status     derived here (Section 7 sketches it: Theorem 2 inside each psi^-1(m))
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Section 7; Theorem 2
// Statement  with the residual connection, no query token in a context, and gamma beta_nn' as
//            scan-snap.residual-backprop has it for either gradient of the decoder,
//              2 z_ml' = eta_Z w gamma sum_{n: psi(n) = m} f_nl
//                          sum_{n' != n} beta_nn' (f_nl f_n.f_n' - f_n'l)
//            in the limit eta_Z -> 0. With E = F'F - I and l of its spectrum, distinct tokens of n
//            gain by the modified gradient if
//              sum_{n' != n: psi(n') = m} E_nn'/(1 + K_m)
//                > |E e_n| l sqrt(1 + (K-1)/(M-1)^2)/(1 - l),   l = max |lambda_i(E)| < 1,
//            with no bound on M, nor from below on lambda_i; by the true gradient, as M ->
//            infinity, if n shares a token with any class. A token of one class of its query alone
//            that a class of another query has, too, is pulled down by that class: for it the sum
//            over all n' counts, not that over psi^-1(m)
// Hypotheses H1 no query token is in a context; H2 features at rest, Y(0) = 0; H3 P(n) = 1/K, a
//            next token of its own for each class; H4 overlaps inside the query outweigh the rest
// Check      z' of all pairs of query and token from the Y that either rule arrives at, at two
//            times; the sign for distinct tokens
// Controls   beta of other queries left out, as inside psi^-1(m) alone; kappa - I in place of
//            I - kappa^-1; b(x) = 1 for all times
// Uses       rungs fast-decoder, flow; backprop

#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_measurements.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::residual_fates {
namespace {

constexpr const char* inside_text = "overlaps inside the query outweigh the rest";
constexpr Knob overlap =
    linear_knob("overlap", "right side of H4 in units of the left one", 0.1, 0.95, 0.5);
constexpr Knob excess =
    logarithmic_knob("excess-overlap", "the same beyond what H4 allows", 1.01, 100, 0)
        .breaking(inside_text);

// Classes whose overlaps meet H4 by the share that is asked for: the lower the weights of the
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
  it.judge(Comparison{.what = "2 z'/(eta_Z w gamma), modified gradient",
                      .measured = measured,
                      .predicted = predicted(beta),
                      .scale = {gains.cwiseAbs().maxCoeff()},
                      .mistakes = {predicts("own-query", predicted(beta.cwiseProduct(at.same))),
                                   predicts("sketch", predicted(beta_of<double>(first, m)))}});
  judge_gain("distinct tokens gain, modified gradient", at, measured, it);
}

void judge_gradient(const TrainingInstance<double>& training, double tau, Examination& it) {
  const ResidualView at(training.classes);
  for (const double time : {tau / 16, tau}) {
    const std::vector<Quantity> measured =
        limit_of_vocabulary(training.classes, time, [&](double m) { return gains_over(time / m); });
    const Matrix<double> b = couplings(at.kappa, time);
    const Matrix<double> uniform = Matrix<double>::Ones(at.classes(), at.classes());
    const Vector<double> gains = at.gains(b);
    it.judge(Comparison{
        .what = fmt::format("2 M z'/(eta_Z w tau) as M -> infinity at tau = {:.3g}", time),
        .measured = measured,
        .predicted = exactly(gains),
        .scale = {gains.cwiseAbs().maxCoeff()},
        .mistakes = {predicts("own-query", exactly(at.gains(b.cwiseProduct(at.same)))),
                     predicts("uniform", exactly(at.gains(uniform)))}});
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
  it.require_positive(inside_text, 1 - share, fmt::format("{:.4g} of them at most", share));
  judge_modified(training, tau, it);
  judge_gradient(training, tau, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.residual-fates",
          .claim = "with a residual connection distinct tokens gain, by overlaps of their query",
          .paper = "arXiv 2305.16380, Section 7",
          .status = "derived here",
          .hypotheses = {apart_text, at_rest(), uniform_text, inside_text},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"own-query", "beta of classes of other queries left out"},
                       {"sketch", "kappa - I in place of I - kappa^-1"},
                       {"uniform", "b = 1 for all times"}},
          .knobs = {query_count, most_classes, across_weight, residual_vocabulary, decoder_time,
                    overlap, excess},
          .reads = "flow",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::residual_fates
