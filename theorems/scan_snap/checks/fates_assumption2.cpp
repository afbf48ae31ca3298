#include <Eigen/LU>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/assumption2_classes.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/fates_instance.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::fates_assumption2 {
namespace {

Statement sheet{.id = "scan-snap.fates-assumption2",
                .paper = "arXiv 2305.16380, Assumption 2, Theorems 1 and 2",
                .status = "proved in source, by another proof here",
                .about = "the reduced flow, the flow with features at rest",
                .theorem = R"(
With lambda_i, u_i the spectrum of E and G = (I + E)^-1, on the reduced flow
  xi_n = gamma q1 (sum_i u_in^2 lambda_i^2/(1 + lambda_i) - sum_{j != n} G_nj/(M-1)),
q1 = M/(M-1), which Assumption 2 keeps above
  gamma q1 (36/(M (1 + 1/K)) - sqrt(K)/((1 - 1/K) (M-1))) > 0;
so distinct tokens l of n gain, and a single common token c loses:
  z_l' =  eta_Z w f_nl^2 xi_n > 0
  z_c' = -eta_Z w sum_{n: psi(n) = m} (1 - f_nc^2) xi_n < 0.
On flow with features at rest, z_l'/eta_Z > 0 as well.)",
                .hypotheses = {"A2: M >> K^2, at least M > 36 K^2", "A2: |lambda_1(E)| < 1/K",
                               "A2: |lambda_i(E)| >= 6/sqrt(M) for all i", equally_likely},
                .reaches = {EvidenceKind::numerical},
                .reads = "reduced"};

const Clause gain_and_lose =
    sheet.clause("inside Assumption 2 distinct tokens gain and a single common one loses");
const Clause by_formula = sheet.clause("by xi_n of the spectrum");
const Clause bounded_below = sheet.clause("above its bound at first");
const Clause on_flow = sheet.clause("distinct ones gain on flow at rest");

const Control second_order =
    sheet.control("second-order", "lambda^2 in place of lambda^2/(1 + lambda)");
const Control other_sign = sheet.control("other-sign", "the sum over G with the other sign");

const Knob class_number = sheet.knob(whole_knob("classes", "classes K", 2, 5, 3));
const Knob common_number = sheet.knob(whole_knob("common-tokens", "common tokens", 1, 3, 1));
const Knob distinct_number =
    sheet.knob(whole_knob("distinct-tokens", "distinct tokens a class", 2, 6, 3));
const Knob overlap =
    sheet.knob(linear_knob("overlap", "lambda_1(E) in units of 1/K", 0.5, 0.99, 0.8));
const Knob vocabulary_part = sheet.knob(
    logarithmic_knob("vocabulary-part", "M in units of 36/min lambda_i^2", 1.001, 4, 1.5));
const Knob ratio_of_rates =
    sheet.knob(logarithmic_knob("rate-ratio", "eta_Y/eta_Z, eta_Y = 0.5", 1, 100, 10));
const Knob last_time =
    sheet.knob(logarithmic_knob("time", "end of the trajectory, draws", 30, 3000, 300));

constexpr double tolerance = 1e-11;

// The claim, and the mistakes.
enum class GainForm { claimed, second_order, other_sign };

TrainingInstance<double> drawn_training(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_classes, 5);
  TrainingInstance<double> training;
  training.classes = inside_assumption_2(stream,
                                         {setting.count(class_number), setting.count(common_number),
                                          setting.count(distinct_number), setting.value(overlap)},
                                         setting.value(vocabulary_part));
  training.decoder_rate = 0.5;
  training.attention_rate = training.decoder_rate / setting.value(ratio_of_rates);
  return training;
}

// xi_n/gamma of all classes from F'F.
Vector<double> relative_xi_of(const Matrix<double>& gram, double m, GainForm form) {
  const PrincipalAxes axes = principal_axes(gram);
  const Eigen::ArrayXd lambda = axes.values.array() - 1;
  Eigen::ArrayXd own = lambda.square();
  if (form != GainForm::second_order) own /= 1 + lambda;
  const Matrix<double> inverse = gram.inverse();
  const Vector<double> others = inverse.rowwise().sum() - inverse.diagonal();
  const double sign = form == GainForm::other_sign ? 1 : -1;
  const Matrix<double> squares = axes.vectors.cwiseAbs2();
  return own_scale(m) * (squares * own.matrix() + sign / (m - 1) * others);
}

// z_l'/(eta_Z w gamma f_nl^2) of every distinct token, then z_c'/(eta_Z w gamma) of a single common
// one by query, at features f (nnz).
Vector<double> predicted_gains(const FatesInstance& at, const Vector<double>& f, GainForm form) {
  const Index k = at.training().classes.classes();
  const Vector<double> xi = relative_xi_of(gram(at.layout(), k, f), at.vocabulary(), form);
  const Vector<double> common = at.common_parts(f);
  return at.numbers_by<double>(xi, xi.array() * (1 - common.array().square()));
}

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
  it.judge(by_formula, equal("z'/(eta_Z w gamma) on reduced", read_all(run, judged(at), measured),
                             of_form(GainForm::claimed))
                           .unless(second_order, of_form(GainForm::second_order))
                           .unless(other_sign, of_form(GainForm::other_sign)));
}

// What the token that gains least by its sign loses on the whole trajectory; gain at the start.
void judge_signs(const FatesInstance& at, double end, Examination& it) {
  const ReducedFlow<double> flow(at.training());
  const double gamma = backprop_scale(at.vocabulary(), 1 / at.vocabulary());
  const auto loss = [&](const Vector<double>& x) {
    const Vector<double> rate = rates_while_learning(flow, at.training().classes.tokens, x);
    Vector<double> gains = at.measured(flow.logits_at(rate), flow.features_at(x), gamma);
    gains.tail(at.numbers() - std::ssize(at.distinct())) *= -1;
    return -gains.head(judged(at)).minCoeff();
  };
  it.judge(gain_and_lose, below("largest loss on reduced, on the whole trajectory",
                                largest_along(forget_type(flow), end, tolerance, loss), 0));
  const auto k = static_cast<double>(at.training().classes.classes());
  const double m = at.vocabulary();
  const double bound = 36 / (m * (1 + 1 / k)) - std::sqrt(k) / ((1 - 1 / k) * (m - 1));
  const Vector<double> xi =
      predicted_gains(at, at.start<double>(), GainForm::claimed).head(std::ssize(at.distinct()));
  it.judge(bounded_below,
           below("bound of xi_n/gamma by Assumption 2 against the least at the start",
                 own_scale(m) * bound, xi.minCoeff()));
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
  const auto loss = [&](const Vector<double>& x) {
    return -at.measured(moving, x, unit).head(distinct).minCoeff();
  };
  it.judge(on_flow,
           below("largest loss of a distinct token on flow, features at rest", run.along(loss), 0)
               .at(run.places()));
}

void examine(const Setting& setting, Examination& it) {
  const FatesInstance at(examined_training(setting, [&] { return drawn_training(setting); }));
  const double end = setting.value(last_time);
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

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::fates_assumption2
