#include "theorems/scan_snap/checks/backprop_identity.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::backprop_gradient {
namespace {

Statement sheet{.id = "scan-snap.backprop-gradient",
                .paper = "arXiv 2305.16380, Theorem 1",
                .status = "proved in source",
                .about = "the flow of the fast decoder",
                .theorem = R"(
With F'F = I + E, (I + E)^-1 = I - E' = G and Y = F (I - E') W
  g_n  = Y (e_n - alpha_n)
       = gamma (iota_n f_n - sum_{n' != n} beta_nn' f_n')
  xi_n = gamma sum_{n' != n} beta_nn' f_n.f_n'
       = gamma q1 [G_nn - 1 - sum_{k != n} G_nk/(M-1)],
and xi_n > 0 if n overlaps another class and lambda_max(E) < 1/(1 + sqrt(K-1)). Eqn 88 prints the
second term of beta with another sign.)",
                .hypotheses = {features_rest, full_rank, zero_start, equal_classes},
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "true-gradient",
                .reads = "fast-decoder"};

const Clause in_features = sheet.clause("`g_n = gamma (iota_n f_n - sum beta_nn' f_n')`");
const Clause two_forms = sheet.clause("`xi_n = gamma q1 (G_nn - 1 - sum_{k != n} G_nk/(M-1))`");
const Clause positive = sheet.clause("`xi_n > 0` for small overlap");

[[maybe_unused]] const Clause with_draws =
    sheet.not_checked("at random draws, `theta` and `sigma` not 0");

const Hypothesis small_overlap =
    sheet.assume("`lambda_max(E) < 1/(1 + sqrt(K - 1))` for `xi_n > 0`");

const Control eqn_88 =
    sheet.control("eqn-88", "`+ q0` in `beta`, as Eqn 88 prints its second term");
const Control first_order = sheet.control("first-order", "`E` in place of `E'` in `iota`");
const Control no_sum = sheet.control("no-sum", "`xi_n` without `sum_{k != n} G_nk/(M-1)`");

const Rival true_gradient = sheet.rival(
    "true-gradient", "the gradient of the loss has the same coefficients (Lemma 3: a small change)",
    "a rate, to the coefficient of each class in its own gradient");

const Knob class_count = sheet.knob(class_count_knob(2, 8, 4));
const Knob vocabulary = sheet.knob(vocabulary_knob(8, 1e5, 1000));
const Knob share_of_most = sheet.knob(overlap_share);
const Knob draws = sheet.knob(logarithmic_knob("draws", "draws s of each class", 1, 1e4, 50));
const Knob excess = sheet.knob(
    linear_knob("excess-overlap",
                "lambda_max(E), as a share of the way from the bound to the largest there is", 0.01,
                0.99, 0)
        .breaking(small_overlap));
const Knob attention_rate = sheet.knob(attention_rate_knob);

void prove(Examination& it) {
  it.judge(in_features,
           identity("coefficients of `g_n/gamma` in `F` are `iota_n` and `-beta_nn'`", [] {
             return gradient_identity(Beta::derived);
           }).unless(eqn_88, [] {
               return gradient_identity(Beta::of_eqn_88);
             }).with("generic `E` of three classes, generic `M`"));
  it.judge(two_forms, identity("both forms of `xi_n`", [] {
                        return xi_identity(Beta::derived);
                      }).unless(eqn_88, [] { return xi_identity(Beta::of_eqn_88); }));
}

// Coefficients of f_n' in g_n, negated, by the gradient of the loss at the time of `run`, times what
// brings those of f_n nearest to `own`.
std::vector<Quantity> by_true_gradient(const Features& at, const TrainingInstance<double>& training,
                                       double t, const std::vector<Quantity>& own) {
  const Solved run(forget_type(PopulationFlow<double>(training)), {t}, 1e-12);
  const Matrix<double> found = at.coefficients(run.state(0));
  double product = 0;
  for (Index n = 0; n < found.rows(); ++n) {
    product += own[static_cast<std::size_t>(n)].value() * found(n, n);
  }
  const Vector<double> others = off_diagonal(-found.transpose());
  const Vector<double> scaled = product / found.diagonal().squaredNorm() * others;
  return {scaled.begin(), scaled.end()};
}

void judge_formulas(const Features& at, const TrainingInstance<double>& training, const Solved& run,
                    double m, double gamma, Examination& it) {
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
  const Matrix<double> by_e = 2 * Matrix<double>::Identity(g.rows(), g.cols()) - at.gram;
  const Matrix<double> beta = beta_of<double>(g, m);
  const std::vector<Quantity> own =
      measured([](const auto& c) -> Vector<double> { return c.diagonal(); });
  it.judge(in_features, equal("coefficient of `f_n` in `g_n` against `gamma iota_n`", own,
                              predicted(iota_of<double>(g, m)))
                            .unless(first_order, predicted(iota_of<double>(by_e, m))));
  it.judge(in_features,
           equal("coefficients of `f_{n'}` in `g_n`, negated, against `gamma beta_nn'`",
                 measured([](const auto& c) { return off_diagonal(-c.transpose()); }),
                 predicted(off_diagonal(beta)))
               .in_units_of(gamma * beta.cwiseAbs().maxCoeff())
               .unless(eqn_88, predicted(off_diagonal(beta_of_eqn_88<double>(g, m))))
               .against(true_gradient, instead([&] {
                          return by_true_gradient(at, training, run.times().back(), own);
                        })));
  const std::vector<Index> overlapping = at.overlapping();
  if (overlapping.empty()) return;
  const std::vector<Quantity> xi = measured([&](const Matrix<double>& c) -> Vector<double> {
    return (c.diagonal() - (at.gram * c).diagonal())(overlapping);
  });
  it.judge(two_forms,
           equal("`xi_n` of classes that overlap", xi, predicted(xi_formula(g, m, 1)(overlapping)))
               .unless(no_sum, predicted(xi_formula(g, m, 0)(overlapping))));
  it.judge(positive,
           below("`0 < xi_n` of classes that overlap", std::vector<Quantity>(xi.size(), 0.0), xi));
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
  it.require(small_overlap, overlap_bound(k) - lambda,
             fmt::format("{:.4g} against {:.4g}", lambda, overlap_bound(k)));
  if (!training.shares_column()) return;
  const double gamma = backprop_scale(m, decoder_scale(m, training.decoder_rate, s));
  judge_formulas(at, training, run, m, gamma, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::backprop_gradient
