// Theorem    scan-snap.backprop-gradient
// Status     proved in source (Theorem 1), sign corrected
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Theorem 1, Eqn 88
// Statement  with Y = F (I - E') W and G = (I + E)^{-1}
//              g_n  = Y (e_n - alpha_n)
//                   = gamma (iota_n f_n - sum_{n' != n} beta_nn' f_n')
//              xi_n = gamma sum_{n' != n} beta_nn' f_n.f_n'
//                   = gamma q1 [G_nn - 1 - sum_{k != n} G_nk/(M-1)],
//            and xi_n > 0 if n overlaps another class and lambda_max(E) < 1/(1 + sqrt(K-1))
// Hypotheses H1 features at rest; H2 F has full rank; H3 Y(0) = 0; H4 P(n) = 1/K, a next token of
//            its own for each class; H5 lambda_max(E) < 1/(1 + sqrt(K-1)), for xi_n > 0
// Check      both identities for generic E and M, K = 3; coefficients of g_n in F and xi_n from the
//            Y that fast-decoder arrives at, against the formulas; the sign of every xi_n
// Controls   the sign of q0 in Eqn 88; E in place of E'; xi_n without the sum over k
// Uses       rung fast-decoder; backprop, decoder

#include "theorems/scan_snap/checks/backprop_identity.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::backprop_gradient {
namespace {

constexpr const char* overlap_text = "lambda_max(E) < 1/(1 + sqrt(K - 1)) for xi_n > 0";
constexpr Knob class_count = class_count_knob(2, 8, 4);
constexpr Knob vocabulary = vocabulary_knob(8, 1e5, 30);
constexpr Knob draws = logarithmic_knob("draws", "draws s of each class", 1, 1e4, 50);
constexpr Knob excess = excess_overlap(overlap_text);

void derive(Examination& it) {
  it.judge(Identity{.what = "coefficients of g_n/gamma in F are iota_n and -beta_nn'",
                    .holds = [] { return gradient_identity(Beta::derived); },
                    .mistakes = {{"eqn-88", [] { return gradient_identity(Beta::of_eqn_88); }}},
                    .detail = "generic E of three classes, generic M"});
  it.judge(Identity{.what = "both forms of xi_n",
                    .holds = [] { return xi_identity(Beta::derived); },
                    .mistakes = {{"eqn-88", [] { return xi_identity(Beta::of_eqn_88); }}}});
}

void judge_formulas(const Features& at, const Solved& run, double m, double gamma,
                    Examination& it) {
  const Matrix<double>& g = at.inverse;
  const auto predicted = [&](const Vector<double>& formula) {
    const double size = gamma * g.cwiseAbs().maxCoeff();
    std::vector<Quantity> values;
    for (const double v : formula) {
      values.push_back({gamma * v, {ErrorPart::rounding(at.operations(), size)}});
    }
    return values;
  };
  const auto measured = [&](const std::function<Vector<double>(const Matrix<double>&)>& part) {
    return read_off(run, 0, [&](const Vector<double>& x) { return part(at.coefficients(x)); });
  };
  const Matrix<double> first_order = 2 * Matrix<double>::Identity(g.rows(), g.cols()) - at.gram;
  const Matrix<double> beta = beta_of<double>(g, m);
  it.judge(Comparison{
      .what = "coefficient of f_n in g_n against gamma iota_n",
      .measured = measured([](const Matrix<double>& c) -> Vector<double> { return c.diagonal(); }),
      .predicted = predicted(iota_of<double>(g, m)),
      .mistakes = {predicts("first-order", predicted(iota_of<double>(first_order, m)))}});
  it.judge(Comparison{
      .what = "coefficients of f_n' in g_n, negated, against gamma beta_nn'",
      .measured = measured([](const Matrix<double>& c) { return off_diagonal(-c.transpose()); }),
      .predicted = predicted(off_diagonal(beta)),
      .scale = {gamma * beta.cwiseAbs().maxCoeff()},
      .mistakes = {predicts("eqn-88", predicted(off_diagonal(beta_of_eqn_88<double>(g, m))))}});
  const std::vector<Index> overlapping = at.overlapping();
  if (overlapping.empty()) return;
  const std::vector<Quantity> xi = measured([&](const Matrix<double>& c) -> Vector<double> {
    return (c.diagonal() - (at.gram * c).diagonal())(overlapping);
  });
  it.judge(
      Comparison{.what = "xi_n of classes that overlap",
                 .measured = xi,
                 .predicted = predicted(xi_formula(g, m, 1)(overlapping)),
                 .mistakes = {predicts("no-sum", predicted(xi_formula(g, m, 0)(overlapping)))}});
  it.judge(Comparison{.what = "0 < xi_n of classes that overlap",
                      .measured = std::vector<Quantity>(xi.size(), 0.0),
                      .relation = Relation::below,
                      .predicted = xi});
}

void examine(const Setting& setting, Examination& it) {
  const TrainingInstance<double> training = chosen_training(setting, [&] {
    const Stream stream(setting.seed, 0, 9);
    return at_chosen_overlap(setting, excess, [&](double mixing) {
      return mingled_classes(stream, setting.count(class_count), 0, mixing,
                             setting.count(vocabulary));
    });
  });
  const Index k = training.classes.classes();
  const auto m = static_cast<double>(training.classes.tokens);
  const double s = setting.value(draws);
  it.parameters = {{"K", k},
                   {"M", m},
                   {"s", s},
                   {"eta_Y", training.decoder_rate},
                   {"eta_Z", training.attention_rate},
                   {"seed", setting.seed}};
  const Features at(training.classes);
  const PopulationFlow<double> flow(training, DecoderRule::fast);
  const Solved run(forget_type(flow), {s * static_cast<double>(k)}, 1e-12);
  require_rest(training, at, flow.logits_at(run.state(0)).cwiseAbs().maxCoeff(), it);
  require_uniform(training.classes, it);
  const double lambda = at.spectrum[k - 1] - 1;
  it.require(overlap_text, overlap_bound(k) - lambda,
             fmt::format("{:.4g} against {:.4g}", lambda, overlap_bound(k)));
  if (!training.shares_column()) return;
  const double gamma = backprop_scale(m, decoder_scale(m, training.decoder_rate, s));
  judge_formulas(at, run, m, gamma, it);
}

}  // namespace

Statement statement() {
  std::vector<Hypothesis> hypotheses = rest_hypotheses();
  hypotheses.insert(hypotheses.end(), {uniform_text, overlap_text});
  return {.id = "scan-snap.backprop-gradient",
          .claim = "g_n = gamma (iota_n f_n - sum beta_nn' f_n'), and xi_n > 0 for small overlap",
          .paper = "arXiv 2305.16380, Theorem 1",
          .status = "proved in source",
          .hypotheses = hypotheses,
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"eqn-88", "+ q0 in beta, as Eqn 88 prints its second term"},
                       {"first-order", "E in place of E' in iota"},
                       {"no-sum", "xi_n without sum_{k != n} G_nk/(M-1)"}},
          .knobs = {class_count, vocabulary, overlap_share, draws, excess, attention_rate_knob},
          .reads = "fast-decoder",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::backprop_gradient
