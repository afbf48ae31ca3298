#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/attention_formula.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_classes.hpp"

namespace popgrad::scan_snap::checks::position_bias {
namespace {

Statement sheet{
    .id = "scan-snap.position-bias",
    .paper = "arXiv 2305.16380, Section 7",
    .status = "derived here",
    .about = "the population flow; sampled sequences",
    .theorem = R"(
Attention of logits z_m + z0_m, z0 fixed by query and token, learns on P(l|n) as attention of logits
z_m does on
  prior(l|n) = P(l|n) exp(z0_ml)/sum_k P(k|n) exp(z0_mk),   m = psi(n):
Y and z are the same at all times (Section 7: a linear position bias is a prior e^{z0}). A bias -a j
by the distance j of a token is no such prior at z = 0, where P(l|n) does not depend on j: it leaves
c_n = P(l|n), but
  Var (X'b)_l = P(l|n) (1 - P(l|n)) tanh(a/2) (1 + q)/(1 - q),   q = exp(-a (T-1)),
which goes to 0 with 1/T if a T is fixed, and not at fixed a: Lemma 2 asks for a -> 0.)",
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
    .false_version = "fewer-tokens",
    .knobs = {class_count, common_count},
    .reads = "flow"};

const Clause is_prior =
    sheet.clause("a bias of the logits by query and token is a prior of the tokens");
const Clause of_distance = sheet.clause(
    "one by distance leaves `c_n`, with variance `P (1 - P) tanh(a/2) (1 + q)/(1 - q)`, also as "
    "`T` "
    "grows");

const Hypothesis fixed_bias =
    sheet.assume(by_construction("the bias is fixed, by query and token, or by distance",
                                 "`z0` and a are constants of the training"));

const Control other_sign = sheet.control("other-sign", "`-z0` in place of `z0`");
const Control weaker = sheet.control("weaker", "`0.9 z0` in place of `z0`");
const Control no_bias = sheet.control("no-bias", "variance `P (1 - P)/(T-1)`");

const Rival fewer_tokens = sheet.rival(
    "fewer-tokens",
    "a bias by distance attends to a part of the tokens, so that the variance falls as `1/T`",
    "that part");

const Knob bias_size = sheet.knob(
    logarithmic_knob("size-of-the-bias", "standard deviation of z0 over pairs", 0.1, 2, 1));
const Knob slope =
    sheet.knob(logarithmic_knob("slope", "bias a for each token of distance", 0.05, 1, 0.2));
const Knob ratio = sheet.knob(rate_ratio);
const Knob duration =
    sheet.knob(logarithmic_knob("time", "end of the trajectory, draws", 10, 300, 100));

// Is the field of a class of generic P at z + z0 that of P exp(share z0) at z, with
//   share = numerator/denominator?
Truth symbolic_prior(int numerator, int denominator) {
  TrainingInstance<Expression> training = generic_class_with_query();
  const PopulationFlow<Expression> biased(training);
  const Vector<Expression> x = symbols("x", biased.dimension());
  const Index pairs = biased.layout().pairs();
  const Vector<Expression> bias = symbols("z0", pairs);
  Vector<Expression> shifted = x;
  for (Index p = 0; p < pairs; ++p) {
    Expression& logit = shifted[x.size() - pairs + p];
    logit = logit + bias[p];
  }
  for (std::size_t e = 0; e < biased.layout().entry_pair.size(); ++e) {
    Expression& p = training.classes.law[static_cast<Index>(e)];
    p = p * GiNaC::exp(bias[biased.layout().entry_pair[e]] * numerator / denominator);
  }
  const PopulationFlow<Expression> prior(training);
  Vector<Expression> rate(x.size()), rate_of_prior(x.size());
  biased.rhs(shifted, rate, Expression(0));
  prior.rhs(x, rate_of_prior, Expression(0));
  return vanishes(Matrix<Expression>(rate - rate_of_prior));
}

// Training that begins at Z = z0 (pairs), so that z - z0 is what is learned.
template <class T>
TrainingInstance<T> with_bias(TrainingInstance<T> training, const Vector<T>& bias) {
  const Layout layout = lay_out(training.classes, true);
  const Index m = training.classes.tokens;
  training.logit_start = Matrix<T>::Zero(m, m);
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    training.logit_start(training.classes.query[static_cast<std::size_t>(layout.entry_class[e])],
                         training.classes.token[e]) = bias[layout.entry_pair[e]];
  }
  return training;
}

// Training on the prior of z0 (pairs).
template <class T>
TrainingInstance<T> with_prior(TrainingInstance<T> training, const Vector<T>& bias) {
  using std::exp;
  const Layout layout = lay_out(training.classes, true);
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    reweigh(training.classes, static_cast<Index>(e), exp(bias[layout.entry_pair[e]]));
  }
  return training;
}

void prove(Examination& it) {
  it.judge(is_prior, identity("field under the bias is that of the prior",
                              [] { return symbolic_prior(1, 1); })
                         .unless(other_sign, [] { return symbolic_prior(-1, 1); })
                         .unless(weaker, [] { return symbolic_prior(9, 10); })
                         .with("generic `P`, `w`, `Y`, `z`, `z0`"));
}

// Y, and z to which `bias` by pairs is added, at the save points.
template <class T>
std::vector<Quantity> followed(const TrainingInstance<T>& training, const Vector<T>& bias,
                               double end) {
  const PopulationFlow<T> flow(training);
  const SolvedIn<T> run(forget_type(flow), {end / 8, end}, 1e-10);
  return read_all(run, flow.dimension(), [&](const Vector<T>& x) {
    Vector<T> state = x;
    state.tail(bias.size()) += bias;
    return state;
  });
}

template <class T>
void judge_trajectories(const TrainingInstance<double>& in_double, double size, double end,
                        Stream stream, Examination& it) {
  const TrainingInstance<T> training = training_in<T>(in_double);
  const Vector<T> bias =
      random_state(stream, lay_out(training.classes, true).pairs(), size).template cast<T>();
  const Vector<T> none = Vector<T>::Zero(bias.size());
  const auto on_prior = [&](double share) {
    return followed<T>(with_prior<T>(training, T(share) * bias), bias, end);
  };
  double largest = 0;  // of what is learned
  for (const Quantity& number : followed<T>(with_prior<T>(training, bias), none, end)) {
    largest = std::max(largest, std::fabs(number.value()));
  }
  Comparison same = equal("`Y` and logits under the bias against `Y` and `z + z0` on the prior",
                          followed<T>(with_bias<T>(training, bias), none, end), on_prior(1))
                        .in_units_of(largest);
  it.judge(is_prior, same.unless(other_sign, instead([&] { return on_prior(-1); }))
                         .unless(weaker, instead([&] { return on_prior(0.9); })));
}

constexpr Index longer = 4;

// (X'b)_l of the first entry, a bias by distance, over sequences of class 0.
void judge_distance(const SequenceClasses<double>& classes, double a, const Setting& setting,
                    Examination& it) {
  const std::uint32_t runs = setting.draws(40'000);
  const double p = classes.law[0];
  const auto shortest = static_cast<Index>(std::ceil(4 / a));
  Comparison means = equal("mean of `(X'b)_l` under a bias by distance");
  Comparison variances = equal("variance of `(X'b)_l` under a bias by distance");
  std::vector<Quantity> unbiased, as_inverse;
  for (const Index length : {shortest, longer * shortest}) {
    const auto tokens = static_cast<double>(length);
    const double q = std::exp(-a * tokens);
    const double total = (1 - q) / (1 - std::exp(-a));
    Matrix<double> samples = Matrix<double>::Zero(runs, 1);
    Stream stream(setting.draw_seed(), 2, 0);
    for (double& attended : samples.col(0)) {
      throw_if_stopped();
      for (Index j = 0; j < length; ++j) {
        if (stream.uniform() < p) attended += std::exp(-a * static_cast<double>(j)) / total;
      }
    }
    const SampleMoments found = sample_moments(samples, setting.false_alarm / 2);
    const std::string place = fmt::format("`T - 1 = {}`", length);
    means.add(place, found.mean.front(), p);
    variances.add(place, found.variance.front(),
                  p * (1 - p) * std::tanh(a / 2) * (1 + q) / (1 - q));
    unbiased.emplace_back(p * (1 - p) / tokens);
    as_inverse.emplace_back(variances.measured.front().value() * static_cast<double>(shortest) /
                            tokens);
  }
  const std::string detail = fmt::format("{} sequences", runs);
  it.judge(of_distance, means.of_kind(EvidenceKind::statistical).with(detail));
  it.judge(of_distance, variances.of_kind(EvidenceKind::statistical)
                            .unless(no_bias, unbiased)
                            .against(fewer_tokens, as_inverse)
                            .with(detail));
}

void examine(const Setting& setting, Examination& it) {
  TrainingInstance<double> training = examined_training(setting, [&] {
    Stream stream(setting.seed, stream_of_drawn_classes, 9);
    auto drawn = with_ratio(
        random_classes(stream, setting.count(class_count), setting.count(common_count), 3, 1, 60),
        setting.value(ratio));
    for (Index& query : drawn.classes.query) query = static_cast<Index>(stream.index(2));
    return drawn;
  });
  training.track_growth = false;
  it.parameters = {{"K", training.classes.classes()},        {"M", training.classes.tokens},
                   {"size of z0", setting.value(bias_size)}, {"a", setting.value(slope)},
                   {"t", setting.value(duration)},           {"seed", setting.seed}};
  in_refined_digits([&]<class T>() {
    judge_trajectories<T>(training, setting.value(bias_size), setting.value(duration),
                          Stream(setting.seed, 1, 3), it);
  });
  judge_distance(training.classes, setting.value(slope), setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::position_bias
