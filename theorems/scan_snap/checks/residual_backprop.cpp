// Theorem    scan-snap.residual-backprop
// Status     derived here (Section 7 sketches it: beta ~ f_n.f_n' + [psi(n) = psi(n')])
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Section 7; Theorem 1
// Statement  with the residual connection and no query token in a context,
//              g_n   = gamma (iota_n phi_n - sum_{n' != n} beta_nn' phi_n')
//              kappa = Phi'Phi = (F'F + B)/2,   B_nn' = [psi(n) = psi(n')].
//            Modified gradient (Lemma 3): gamma and beta are those of Theorem 1 at
//              G = kappa^-1,
//            whatever the overlaps E = F'F - I; to first order in these, of a rest of order 2,
//              G = 2 C - 2 C E C,   C_nn' = [n = n'] - B_nn'/(1 + K_m)
//            which at E = 0 is, with K_m classes of each query,
//              beta_nn' = 2 q1 (1 + 2/(M-1))/(1 + K_m)   if psi(n) = psi(n') = m
//              beta_nn' = 2 q1/((M-1) (1 + K_m))         if psi(n') = m is another query.
//            True gradient: at tau = eta_Y s, s draws of each class, as M -> infinity,
//              gamma beta_nn' = (tau/M) b(tau kappa_nn'),  b(x) = (e^x - 1)/x + e^x - 1,
//            which is uniform at first and departs from that by (3/2) tau kappa_nn'
// Hypotheses H1 no query token is in a context; H2 features at rest, Y(0) = 0; H3 P(n) = 1/K, a
//            next token of its own for each class; H4 the phi_n are independent, as kappa^-1 asks
// Check      coefficients of g_n in Phi from the Y that either rule arrives at; limits of small
//            overlaps and of large M, the order of the rest
// Controls   kappa - I in place of I - kappa^-1, which is the sketch; K_m for 1 + K_m; order 1.8;
//            e^x for b; kappa without B
// Uses       rungs fast-decoder, flow; backprop, decoder

#include <Eigen/LU>

#include "theorems/scan_snap/checks/backprop_identity.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_measurements.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::residual_backprop {
namespace {

constexpr Knob inside_weight = logarithmic_knob(
    "weight-inside", "weight of the token that a query's classes share in units of one of a class",
    0.05, 2, 0.5);

void judge_formula(const TrainingInstance<double>& training, double tau, Examination& it) {
  const ResidualView at(training.classes);
  const auto m = static_cast<double>(training.classes.tokens);
  const auto k = at.classes();
  const auto predicted = [&](const Matrix<double>& inverse) {
    std::vector<Quantity> values = exactly(off_diagonal(beta_of<double>(inverse, m)));
    // What an inverse makes of roundings of the matrix.
    const double size = std::pow(inverse.cwiseAbs().maxCoeff(), 2) * at.kappa.cwiseAbs().maxCoeff();
    for (Quantity& v : values) v.add(ErrorPart::rounding(static_cast<double>(k * k * k), size));
    return values;
  };
  const Matrix<double> unit = Matrix<double>::Identity(k, k);
  const double size = beta_of<double>(at.inverse, m).cwiseAbs().maxCoeff();
  it.judge(
      Comparison{.what = "beta of the modified gradient against that of G = 2 (F'F + B)^-1",
                 .measured = read_at_rest(training, DecoderRule::fast, tau,
                                          couplings_over(at, driving(training, tau))),
                 .predicted = predicted(at.inverse),
                 .scale = {size},
                 .mistakes = {predicts("sketch", predicted(2 * unit - at.kappa)),
                              predicts("no-query", predicted((at.overlap / 2 + unit).inverse()))}});
}

// All overlaps times one number, which falls.
void judge_small_overlap(const TrainingInstance<double>& given, double tau, Examination& it) {
  const auto m = static_cast<double>(given.classes.tokens);
  const double first_share = share_of_overlap(given.classes, 0.02);
  std::vector<double> squares;
  std::vector<std::vector<Quantity>> found;
  std::vector<Quantity> rests;
  // Four, as the term of the next order may happen to be near 0.
  for (const double share : falling_parameters(first_share, 2, 4)) {
    TrainingInstance<double> training = given;
    training.classes = with_lighter(given.classes, share);
    squares.push_back(share * share);
    const ResidualView at(training.classes);
    found.push_back(
        read_at_rest(training, DecoderRule::fast, tau, couplings_over(at, driving(training, tau))));
    const Matrix<double> first = at.first_order();
    std::vector<Quantity> rest = exactly(off_diagonal(beta_of<double>(first, m)));
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = found.back()[i] - rest[i];
    rests.push_back(norm(rest));
  }
  const ResidualView at(given.classes);
  const auto predicted = [&](double one) {
    return exactly(off_diagonal(at.isolated_beta(m, one)));
  };
  it.judge(Comparison{.what = "beta of the modified gradient as overlaps go to 0",
                      .measured = limits_in(squares, found),
                      .predicted = predicted(1),
                      .scale = {1.0},
                      .mistakes = {predicts("members", predicted(0))}});
  it.judge(Comparison{.what = "order in the overlaps of beta less that of G = 2 C - 2 C E C",
                      .measured = {order_in(squares, rests)},
                      .predicted = {2},
                      .mistakes = {predicts("order", 1.8)}});
}

void judge_gradient(const TrainingInstance<double>& training, double tau, Examination& it) {
  const ResidualView at(training.classes);
  const Matrix<double> power = (tau * at.kappa).array().exp();
  it.judge(Comparison{
      .what = "M beta/tau of the true gradient as M -> infinity",
      .measured = limit_of_vocabulary(training.classes, tau,
                                      [&](double m) { return couplings_over(at, tau / m); }),
      .predicted = exactly(off_diagonal(couplings(at.kappa, tau))),
      .mistakes = {predicts("exponential", exactly(off_diagonal(power))),
                   predicts("no-query", exactly(off_diagonal(couplings(at.overlap / 2, tau))))}});
}

void examine(const Setting& setting, Examination& it) {
  const QueryDraw draw = chosen_queries(setting, setting.value(inside_weight));
  const TrainingInstance<double> training = examined_training(setting, [&] {
    return residual_training(drawn_queries(setting, draw), static_cast<double>(draw.tokens));
  });
  const double tau = setting.value(decoder_time);
  it.parameters = {{"K", training.classes.classes()},
                   {"M", training.classes.tokens},
                   {"tau", tau},
                   {"seed", setting.seed}};
  const ResidualView at(training.classes);
  at.require_apart(it);
  require_uniform(training.classes, it);
  at.require_independent(it);
  if (it.hypotheses.back().met != Truth::yes) return;
  judge_formula(training, tau, it);
  if (overlaps_can_vanish(training.classes)) judge_small_overlap(training, tau, it);
  judge_gradient(training, tau, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.residual-backprop",
          .claim = "with a residual connection beta is that of G = 2 (F'F + B)^-1, or b(tau kappa)",
          .paper = "arXiv 2305.16380, Section 7",
          .status = "derived here",
          .hypotheses = {apart_text, at_rest(), uniform_text, independent_text},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"sketch", "kappa - I in place of I - kappa^-1"},
                       {"members", "K_m in place of 1 + K_m"},
                       {"order", "order 1.8 in place of 2"},
                       {"exponential", "e^x in place of b(x)"},
                       {"no-query", "kappa without B"}},
          .knobs = {query_count, most_classes, inside_weight, across_weight, residual_vocabulary,
                    decoder_time},
          .reads = "flow",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::residual_backprop
