#include <Eigen/LU>

#include "theorems/scan_snap/checks/backprop_identity.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_measurements.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks::residual_backprop {
namespace {

Statement sheet{.id = "scan-snap.residual-backprop",
                .paper = "arXiv 2305.16380, Section 7",
                .status = "derived here",
                .about = "modified and true gradient of the decoder, features at rest",
                .theorem = R"(
With the residual connection and no query token in a context,
  g_n   = gamma (iota_n phi_n - sum_{n' != n} beta_nn' phi_n')
  kappa = Phi'Phi = (F'F + B)/2,   B_nn' = [psi(n) = psi(n')].
Section 7 sketches beta ~ f_n.f_n' + [psi(n) = psi(n')]. Modified gradient (Lemma 3): gamma and beta
are those of Theorem 1 at
  G = kappa^-1,
for all overlaps E = F'F - I; to first order in these, of a rest of order 2,
  G = 2 C - 2 C E C,   C_nn' = [n = n'] - B_nn'/(1 + K_m)
which at E = 0 is, with K_m classes of each query,
  beta_nn' = 2 q1 (1 + 2/(M-1))/(1 + K_m)   if psi(n) = psi(n') = m
  beta_nn' = 2 q1/((M-1) (1 + K_m))         if psi(n') = m is another query.
True gradient: at tau = eta_Y s, s draws of each class, as M -> infinity,
  gamma beta_nn' = (tau/M) b(tau kappa_nn'),  b(x) = (e^x - 1)/x + e^x - 1,
which is uniform at first and departs from that by (3/2) tau kappa_nn'.)",
                .hypotheses = {queries_apart, solved_at_rest, equal_classes, independent_inputs},
                .reaches = {EvidenceKind::numerical},
                .false_version = "sketch",
                .knobs = {query_count, most_classes},
                .reads = "flow"};

const Clause modified =
    sheet.clause("with a residual connection `beta` is that of `G = 2 (F'F + B)^-1`");
const Clause first_orders = sheet.clause("`G = 2 C - 2 C E C + O(E^2)`");
const Clause unmodified = sheet.clause("by the true gradient: `b(tau kappa)`");

const Control members = sheet.control("members", "`K_m` in place of `1 + K_m`");
const Control lower_order = sheet.control("order", "order 1.8 in place of 2");
const Control exponential = sheet.control("exponential", "`e^x` in place of `b(x)`");
const Control no_query = sheet.control("no-query", "`kappa` without `B`");

const Rival sketch = sheet.rival(
    "sketch", "Section 7: `beta` of two classes is their overlap, and 1 more inside a query",
    "a factor");

const Knob inside_weight = sheet.knob(logarithmic_knob(
    "weight-inside", "weight of the token that a query's classes share in units of one of a class",
    0.05, 2, 0.5));
const Knob across = sheet.knob(across_weight);
const Knob tokens = sheet.knob(residual_vocabulary);
const Knob time_of_decoder = sheet.knob(decoder_time);

// Sums of f_nl^2 over the tokens that only n has and over those of several classes (K each).
struct Squares {
  Vector<double> own, shared;

  explicit Squares(const ResidualView& at) : own(Vector<double>::Zero(at.classes())), shared(own) {
    for (Index e = 0; e < at.f.size(); ++e) {
      const auto entry = static_cast<std::size_t>(e);
      Vector<double>& part = at.layout.entry_distinct[entry] ? own : shared;
      part[at.layout.entry_class[entry]] += at.f[e] * at.f[e];
    }
  }
};

// f_nl of tokens that several classes have times `share`, |f_n| = 1 again by those of one class:
// all overlaps times share^2, as many as there are.
SequenceClasses<double> with_lighter(SequenceClasses<double> classes, double share) {
  const ResidualView at(classes);
  const Squares squares(at);
  for (Index e = 0; e < classes.entries(); ++e) {
    const auto entry = static_cast<std::size_t>(e);
    if (at.layout.entry_distinct[entry]) continue;
    const Index n = at.layout.entry_class[entry];
    const double own = squares.own[n];
    // The own part has to grow to 1 - share^2 shared, and only quotients of weights count.
    reweigh(classes, e, share * std::sqrt(own / (own + (1 - share * share) * squares.shared[n])));
  }
  return classes;
}

// Do classes share tokens, and has each class one of its own?
bool overlaps_can_vanish(const SequenceClasses<double>& classes) {
  const ResidualView at(classes);
  return Squares(at).own.minCoeff() > 0 && at.spread() > 0;
}

// The share at which max |lambda(E)| is `spread`, where overlaps can vanish; a smaller one where
// f_n of shared tokens would outweigh the rest by it.
double share_of_overlap(const SequenceClasses<double>& classes, double spread) {
  const ResidualView at(classes);
  const double largest = Squares(at).shared.maxCoeff();
  return std::sqrt(std::min(spread / at.spread(), std::max(1.0, 0.5 / largest)));
}

// beta_nn' of the different classes of `at`, row by row, over `unit`.
Reading couplings_over(const ResidualView& at, double unit) {
  return {
      .numbers = [](const ResidualFlow<double>& flow, const Vector<double>& x) -> Vector<double> {
        return off_diagonal(-input_coefficients(flow, x).transpose());
      },
      .unit = unit,
      .condition = at.condition()};
}

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
  const std::vector<Quantity> measured =
      read_at_rest(training, DecoderRule::fast, tau, couplings_over(at, driving(training, tau)));
  it.judge(modified, equal("`beta` of the modified gradient against that of `G = 2 (F'F + B)^-1`",
                           measured, predicted(at.inverse))
                         .in_units_of(size)
                         .against(sketch, nearest_multiple(off_diagonal(2 * at.kappa), measured))
                         .unless(no_query, predicted((at.overlap / 2 + unit).inverse())));
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
  it.judge(first_orders, equal("`beta` of the modified gradient as overlaps go to 0",
                               limits_in(squares, found), predicted(1))
                             .in_units_of(1)
                             .unless(members, predicted(0)));
  it.judge(first_orders, equal("order in the overlaps of `beta` less that of `G = 2 C - 2 C E C`",
                               order_in(squares, rests), 2)
                             .unless(lower_order, 1.8));
}

void judge_gradient(const TrainingInstance<double>& training, double tau, Examination& it) {
  const ResidualView at(training.classes);
  const Matrix<double> power = (tau * at.kappa).array().exp();
  it.judge(unmodified,
           equal("`M beta/tau` of the true gradient as `M -> infinity`",
                 limit_of_vocabulary(training.classes, tau,
                                     [&](double m) { return couplings_over(at, tau / m); }),
                 exactly(off_diagonal(couplings(at.kappa, tau))))
               .unless(exponential, exactly(off_diagonal(power)))
               .unless(no_query, exactly(off_diagonal(couplings(at.overlap / 2, tau)))));
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

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::residual_backprop
