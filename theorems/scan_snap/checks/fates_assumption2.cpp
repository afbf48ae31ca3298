#include <Eigen/LU>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/assumption2_classes.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/decoder_clock.hpp"
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
q1 = M/(M-1). Inside Assumption 2 the first sum is |E_n|^2/(1 + 1/K) at least, the second sqrt(K-1)
|E_n|/(1 - 1/K) at most, E_n row n of E, and |E_n| >= 6/sqrt(M). So as long as the features of the
moment meet it
  xi_n >= gamma q1 b,  b = 36/(M (1 + 1/K)) - 6 sqrt(K-1)/(sqrt(M) (1 - 1/K) (M-1)) > 0,
b having the sign of 6 (M-1)/sqrt(M) - (K+1)/sqrt(K-1), least at M = 36 K^2. Distinct tokens l of n
gain, and a single common token c loses:
  z_l' =  eta_Z w f_nl^2 xi_n > 0
  z_c' = -eta_Z w sum_{n: psi(n) = m} (1 - f_nc^2) xi_n < 0.
Overlaps fall by this: the flow leaves Assumption 2, and xi_n/gamma falls below q1 b before
eta_Z w q1 b int gamma = 10, but stays above 0. On flow with features at rest, z_l'/eta_Z > 0 as
well.)",
                .hypotheses = {"A2: `M >> K^2`, at least `M > 36 K^2`", "A2: `|lambda_1(E)| < 1/K`",
                               "A2: `|lambda_i(E)| >= 6/sqrt(M)` for all `i`", equally_likely},
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "for-ever",
                .reads = "reduced"};

const Clause gain_and_lose = sheet.clause(
    "from a start inside Assumption 2 distinct tokens gain and a single common one loses");
const Clause by_formula = sheet.clause("by `xi_n` of the spectrum");
const Clause bounded_below =
    sheet.clause("above a bound `> 0` while features meet Assumption 2, and below it later");
const Clause on_flow = sheet.clause("distinct ones gain on flow at rest");

const Control second_order =
    sheet.control("second-order", "`lambda^2` in place of `lambda^2/(1 + lambda)`");
const Control other_sign = sheet.control("other-sign", "the sum over `G` with the other sign");
const Control by_norm_of_g =
    sheet.control("norm-of-g", "`sqrt(K)/(1 - 1/K)` as bound of the second sum, for any `|E_n|`");

const Rival at_rest =
    sheet.rival("at-rest", "`xi_n/gamma` stays that of `P(l|n)` as attention learns", "a rate");
const Rival for_ever =
    sheet.rival("for-ever", "Assumption 2 at the start keeps `xi_n` above the bound at all times");

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

// Is a polynomial in K above 0 for all K >= 2? Yes if its coefficients in K - 2 are; no if it falls
// without bound.
Truth positive_from_two(const Expression& polynomial, const Expression& k) {
  const Expression shifted = polynomial.subs(k == k + 2).expand();
  const int degree = shifted.degree(k);
  if (shifted.coeff(k, degree).info(GiNaC::info_flags::negative)) return Truth::no;
  for (int power = 0; power <= degree; ++power) {
    if (!shifted.coeff(k, power).info(GiNaC::info_flags::positive)) return Truth::undecided;
  }
  return Truth::yes;
}

void prove(Examination& it) {
  const Expression k = symbol("K");
  // Both sides of 6 (M-1)/sqrt(M) > (K+1)/sqrt(K-1) at M = 36 K^2, squared, times K^2 (K-1).
  const Expression own = GiNaC::pow(36 * k * k - 1, 2) * (k - 1);
  const Expression cross = GiNaC::pow(k * (k + 1), 2);
  // 36 (K-1) (M-1)/M > sqrt(K) (K+1), squared, as M goes to infinity, where it holds soonest.
  const Expression by_norm = GiNaC::pow(36 * (k - 1), 2) - k * GiNaC::pow(k + 1, 2);
  it.judge(bounded_below, identity("`b > 0` for all `K >= 2` and `M >= 36 K^2`", [=] {
                            return positive_from_two(own - cross, k);
                          }).unless(by_norm_of_g, [=] { return positive_from_two(by_norm, k); }));
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
  const std::vector<Quantity> found = read_all(run, judged(at), measured);
  const auto of_start = [&] {
    const Vector<double> gains = predicted_gains(at, at.start<double>(), GainForm::claimed);
    double product = 0, square = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double gain = gains[static_cast<Index>(i) % judged(at)];
      product += found[i].value() * gain;
      square += gain * gain;
    }
    std::vector<Quantity> numbers;
    for (std::size_t i = 0; i < found.size(); ++i) {
      numbers.emplace_back(product / square * gains[static_cast<Index>(i) % judged(at)]);
    }
    return numbers;
  };
  it.judge(by_formula, equal("`z'/(eta_Z w gamma)` on reduced", found, of_form(GainForm::claimed))
                           .unless(second_order, of_form(GainForm::second_order))
                           .unless(other_sign, of_form(GainForm::other_sign))
                           .against(at_rest, of_start()));
}

// b: xi_n/gamma is q1 b at least inside Assumption 2.
double least_gain(double k, double m) {
  return 36 / (m * (1 + 1 / k)) - 6 * std::sqrt(k - 1) / (std::sqrt(m) * (1 - 1 / k) * (m - 1));
}

// Signs on the reduced flow up to eta_Z w q1 b int gamma = 10, and the bound up to where |lambda_i|
// is 6/sqrt(M) or 1/K.
void judge_reduced(const FatesInstance& at, Examination& it) {
  const TrainingInstance<double>& training = at.training();
  const DecoderClock clock(training);
  const ReducedFlow<double> flow(training);
  AnyRung<double> rung = in_clock_of_decoder(flow, training);
  const double bound = own_scale(clock.m) * least_gain(clock.k, clock.m);
  const double weight = training.clock == Clock::consistent ? 1 / clock.k : 1;
  const double end = std::log1p(20 / (weight * bound * gamma_per_half_square(training))) / 2;
  const double gamma = backprop_scale(clock.m, 1 / clock.m);
  const auto gains = [&](const Vector<double>& x) -> Vector<double> {
    const Vector<double> rate = rates_while_learning(flow, training.classes.tokens, x);
    return at.measured(flow.logits_at(rate), flow.features_at(x), gamma);
  };
  const auto loss = [&](const Vector<double>& x) {
    Vector<double> signed_gains = gains(x);
    signed_gains.tail(at.numbers() - std::ssize(at.distinct())) *= -1;
    return -signed_gains.head(judged(at)).minCoeff();
  };
  it.judge(gain_and_lose, below("largest loss on reduced, on the whole trajectory",
                                largest_along(rung, end, tolerance, loss), 0)
                              .at(fmt::format("some `M h` up to {:.4g}", y_at(end)))
                              .in_units_of(bound));

  const auto least = [&](const Vector<double>& x) {
    return gains(x).head(std::ssize(at.distinct())).minCoeff();
  };
  rung.events.push_back(
      {.name = "Assumption 2 left",
       .column = "lambda",
       .value = [&](const Vector<double>& x, const double&) {
         const Vector<double> lambda =
             (symmetric_eigenvalues<double>(
                  gram(at.layout(), training.classes.classes(), flow.features_at(x)))
                  .array() -
              1)
                 .abs();
         return std::min(lambda.minCoeff() * std::sqrt(clock.m) / 6 - 1,
                         1 - lambda.maxCoeff() * clock.k);
       }});
  rung.events.back().report = rung.events.back().value;
  const std::vector<FoundEvent> left = events_of(rung, end, tolerance);
  const double until = left.empty() ? end : left.front().time.value();
  const Quantity later = Solved(rung, {end}, tolerance).at(0, least);
  it.judge(bounded_below,
           below("bound of `xi_n/gamma` against the least of it while features meet Assumption 2",
                 bound, smallest_along(rung, until, tolerance, least))
               .against(for_ever, later)
               .at(fmt::format("up to `M h = {:.4g}`, `t = {:.4g}`", y_at(until),
                               clock.t(y_at(until)))));
  it.judge(bounded_below, below("least `xi_n/gamma` later against that bound", later, bound)
                              .at(fmt::format("`M h = {:.4g}`", y_at(end))));
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
  if (it.broken() == nullptr) judge_reduced(at, it);
  judge_flow(at, end, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::fates_assumption2
