#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"

namespace popgrad::scan_snap::checks::assumptions {
namespace {

Statement sheet{.id = "scan-snap.assumptions",
                .paper = "arXiv 2305.16380, Assumption 1, Lemma 3, Eqn 10",
                .status = "derived here",
                .about = "flow, quasi-static, fast-decoder and reduced",
                .theorem = R"(
Relative distances of z at a fixed time, eta_Y fixed, as eta_Z -> 0:
  flow - quasi-static, fast-decoder - reduced: order 1 in eta_Z/eta_Y;
but reduced does not tend to flow: fast-decoder and quasi-static stay apart, by
  z_m/eta_Z -> -w v_m(beta) K (M-1)^2 h(t/K)^2/(2 eta_Y)
on fast-decoder, which is z of quasi-static at no other eta_Y; and as t -> 0, at any rates, over all queries m,
  |z'_reduced|/|z'_flow| -> (M-1)^2/M |v(beta)|/|v(1)|,
  v_m(B) = sum_{n: psi(n) = m} diag(f_n) (I - f_n f_n') sum_{n' != n} B_nn' f_n',
which grows as M E'.)",
                .reaches = {EvidenceKind::numerical},
                .false_version = "effective-rate",
                .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary,
                          rate_ratio, horizon},
                .reads = "flow"};

const Clause features_rest = sheet.clause("features at rest cost `O(eta_Z/eta_Y)`");
const Clause decoder_linear = sheet.clause("so does Eqn 10 for a fast decoder");
const Clause stay_apart =
    sheet.clause("the fast decoder costs a plateau, at `z = -eta_Z w v(beta)` int `gamma`");
const Clause starts_faster =
    sheet.clause("reduced begins `(M-1)^2/M |v(beta)|/|v(1)|` times as fast");

const Hypothesis overlapping = sheet.assume("overlapping classes");
const Hypothesis even_classes = sheet.assume(equally_likely);

const Control order_of_flow = sheet.control("order-of-flow", "order 1.1 for flow - quasi-static");
const Control order_of_fast =
    sheet.control("order-of-fast-decoder", "order 1.1 for fast-decoder - reduced");
const Control tends_to_flow = sheet.control("tends-to-flow", "reduced said to tend to flow");
const Control first_order =
    sheet.control("first-order", "`beta = q1 E - q0`, of first order in `E`");

const Rival effective_rate = sheet.rival(
    "effective-rate",
    "Lemma 3 and Eqn 10 change a rate only: the features are driven as by another `eta_Y`",
    "that rate, to the speed at the start");

constexpr double tolerance = 1e-12;

TrainingInstance<double> chosen_training(const Setting& setting) {
  return examined_training(setting, [&] {
    Stream stream(setting.seed, stream_of_drawn_classes, 4);
    return with_ratio(random_classes(stream, setting.count(class_count),
                                     setting.count(common_count), setting.count(distinct_count),
                                     setting.value(common_weight), setting.count(vocabulary)),
                      setting.value(rate_ratio));
  });
}

template <Flow F, class T = typename F::Scalar>
std::vector<Quantity> logits(const F& rung, double t) {
  return read_all(SolvedIn<T>(forget_type(rung), {t}, tolerance), rung.layout().pairs(),
                  [&](const Vector<T>& x) -> Vector<T> { return rung.logits_at(x); });
}

// |z'| at time t.
template <Flow F, class T = typename F::Scalar>
Quantity speed(const F& rung, double t) {
  return norm(read_all(SolvedIn<T>(forget_type(rung), {t}, tolerance), rung.layout().pairs(),
                       [&](const Vector<T>& x) -> Vector<T> {
                         Vector<T> rate(x.size());
                         rung.rhs(x, rate, T(0));
                         return rung.logits_at(rate);
                       }));
}

// v(B) (rows of Y x queries); B (K x K) counts off its diagonal.
template <class T>
Matrix<T> pull(const SequenceClasses<T>& classes, const Vector<T>& f,
               const Matrix<T>& coefficients) {
  const Layout layout = lay_out(classes, true);
  const Index k = classes.classes();
  Matrix<T> dense = Matrix<T>::Zero(layout.rows(), k);
  for (std::size_t e = 0; e < layout.entry_row.size(); ++e) {
    dense(layout.entry_row[e], layout.entry_class[e]) = f[static_cast<Index>(e)];
  }
  Matrix<T> off_diagonal = coefficients;
  off_diagonal.diagonal().setZero();
  const Matrix<T> others = dense * off_diagonal.transpose();
  Matrix<T> pulled = Matrix<T>::Zero(layout.rows(), layout.queries());
  for (Index n = 0; n < k; ++n) {
    const Vector<T> own = dense.col(n);
    pulled.col(layout.class_query[static_cast<std::size_t>(n)]) +=
        own.cwiseProduct(others.col(n) - own * own.dot(others.col(n)));
  }
  return pulled;
}

// |z'_reduced|/|z'_flow| as t -> 0, equally likely classes.
struct StartQuotients {
  double claimed = 0;
  double first_order = 0;  // with q1 E - q0 in place of beta
  Vector<double> pulls;    // v(beta), by pairs
};

template <class T>
StartQuotients start_quotients(const SequenceClasses<T>& classes) {
  const auto m = static_cast<T>(classes.tokens);
  const Layout layout = lay_out(classes, true);
  Vector<T> f;
  features(classes, layout, Vector<T>(Vector<T>::Zero(layout.pairs())), f);
  const Matrix<T> overlaps = gram(layout, classes.classes(), f);
  const Matrix<T> beta = beta_of<T>(
      solve_symmetric<T>(overlaps, Matrix<T>::Identity(overlaps.rows(), overlaps.cols())), m);
  const Matrix<T> even = Matrix<T>::Constant(beta.rows(), beta.cols(), T(1));
  const Matrix<T> of_first_order = own_scale(m) * overlaps - cross_scale(m) * even;
  const T unit = (m - T(1)) * (m - T(1)) / m / pull(classes, f, even).norm();
  const Matrix<T> pulled = pull(classes, f, beta);
  Vector<double> pulls(layout.pairs());
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    const Index query = layout.class_query[static_cast<std::size_t>(layout.entry_class[e])];
    pulls[layout.entry_pair[e]] = to_double(T(pulled(layout.entry_row[e], query)));
  }
  return {to_double(T(unit * pulled.norm())),
          to_double(T(unit * pull(classes, f, of_first_order).norm())), pulls};
}

// At rates of attention so small that logits stay below a hundredth.
template <class T>
void judge_slow_attention(const TrainingInstance<double>& in_double, double end, Examination& it) {
  const auto m = static_cast<double>(in_double.classes.tokens);
  const double draws = end / static_cast<double>(in_double.classes.classes());
  const double gamma = backprop_scale(m, decoder_scale(m, in_double.decoder_rate, draws));
  TrainingInstance<T> training = training_in<T>(in_double);
  const std::vector<double> rates = falling_parameters(0.01 / (end * gamma), 2, 4);
  std::vector<Quantity> features_frozen, decoder_summed, plateau;
  std::vector<std::vector<Quantity>> driven;
  const auto over = [](std::vector<Quantity> numbers, double rate) {
    for (Quantity& number : numbers) number = number / Quantity(rate);
    return numbers;
  };
  for (const double rate : rates) {
    training.attention_rate = T(rate);
    const std::vector<Quantity> quasi_static = logits(QuasiStaticFlow<T>(training), end);
    const std::vector<Quantity> fast = logits(PopulationFlow<T>(training, DecoderRule::fast), end);
    features_frozen.push_back(distance(logits(PopulationFlow<T>(training), end), quasi_static));
    decoder_summed.push_back(distance(logits(ReducedFlow<T>(training), end), fast));
    plateau.push_back(distance(fast, quasi_static));
    driven.push_back(over(fast, rate));
  }
  it.judge(features_rest,
           equal("order of |flow - quasi-static| in `eta_Z`", order_in(rates, features_frozen), 1)
               .unless(order_of_flow, 1.1));
  it.judge(decoder_linear,
           equal("order of |reduced - fast-decoder| in `eta_Z`", order_in(rates, decoder_summed), 1)
               .unless(order_of_fast, 1.1));
  it.judge(stay_apart, below("0 against |fast-decoder - quasi-static| as `eta_Z -> 0`", 0,
                             limit_in(rates, plateau)));
  const StartQuotients start = start_quotients(training.classes);
  const double h = decoder_scale(m, in_double.decoder_rate, draws);
  const double integral = std::pow((m - 1) * h, 2) / (2 * in_double.decoder_rate);
  // At a hundredth of the slowest rate the features are as good as at rest.
  const auto by_effective_rate = [&] {
    TrainingInstance<T> other = training;
    const double slowest = 0.01 * rates.back();
    other.attention_rate = T(slowest);
    other.decoder_rate = training.decoder_rate * T(start.claimed);
    return over(logits(QuasiStaticFlow<T>(other), end), slowest);
  };
  std::vector<Quantity> claimed;
  for (const double one : start.pulls) claimed.emplace_back(-integral * one);
  it.judge(stay_apart, equal("`z` of fast-decoder over `eta_Z` as `eta_Z -> 0`",
                             limits_in(rates, driven), claimed)
                           .in_units_of(integral * start.pulls.cwiseAbs().maxCoeff())
                           .against(effective_rate, instead(by_effective_rate)));
}

template <class T>
void judge_start(const TrainingInstance<double>& in_double, Examination& it) {
  const auto k = static_cast<double>(in_double.classes.classes());
  const double early = 1e-5 * k / std::max(in_double.decoder_rate, in_double.attention_rate);
  const TrainingInstance<T> training = training_in<T>(in_double);
  const auto measured = [&](double t) {
    return speed(ReducedFlow<T>(training), t) / speed(PopulationFlow<T>(training), t);
  };
  const StartQuotients quotient = start_quotients(training.classes);
  it.judge(starts_faster, equal("`|z'_reduced|/|z'_flow|` as `t -> 0`",
                                limit_of(measured, early, 2, 3), quotient.claimed)
                              .unless(tends_to_flow, 1.0)
                              .unless(first_order, quotient.first_order));
}

void examine(const Setting& setting, Examination& it) {
  const TrainingInstance<double> training = chosen_training(setting);
  const SequenceClasses<double>& classes = training.classes;
  it.parameters = {{"K", classes.classes()},         {"M", classes.tokens},
                   {"eta_Y", training.decoder_rate}, {"eta_Z", training.attention_rate},
                   {"t", setting.value(horizon)},    {"seed", setting.seed}};
  const std::vector<Index> owners = classes_of_tokens(classes);
  const Index most = *std::max_element(owners.begin(), owners.end());
  it.require(overlapping, static_cast<double>(most) - 2,
             fmt::format("`lambda_max(E) = {:.3g}`", largest_overlap(classes)));
  require_equally_likely(it, classes.weight);
  if (most < 2) return;
  in_refined_digits([&]<class T>() {
    judge_slow_attention<T>(training, setting.value(horizon), it);
    judge_start<T>(training, it);
  });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::assumptions
