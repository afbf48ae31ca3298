#include <array>
#include <functional>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::softmax_patterns {
namespace {

Statement sheet{
    .id = "scb.softmax-patterns",
    .paper = "arXiv 2410.23438, reply 4 to the reviewers, Fig (2)",
    .status = "observed in source, law of the loss derived here",
    .about =
        "the population flow; SGD on sequences, of eight draws of `P` and `q` that with "
        "the largest `q_min K_P`",
    .theorem = R"(
After training linear and softmax patterns are alike, both match Q, and their losses are similar;
and this is one fact. Patterns are vectors with the product sum_k mu_k a^k.b^k. With phi the
angle of A to Q, once V has followed A,
  L - L_least = K_P K_Q/2 sin^2 phi
for either link, so that a loss within a hundredth of what can be learnt means a pattern within a
tenth. Linear attention on the flow ends with
  sin^2 phi = (1 - alpha_V)^2/(T K_Q)
(softmax as well once all tokens leave the same mass off their supports, but a position of small
weight, found at a rate as its attention squared, may be missing long). Alike means: patterns
scaled to length 1 less than 0.1 apart, losses over K_P K_Q/2 less than 0.01; for means over
pairs of runs on the same sequences, in a short context, 0.15 and 0.0225.)",
    .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
    .false_version = "supports-only"};

const Clause alike_on_flow =
    sheet.clause("linear and softmax attention end near `Q`, losses alike");
const Clause alike_in_runs = sheet.clause("in runs too");
const Clause law_of_loss = sheet.clause("`L - L_least = K_P K_Q/2 sin^2 phi`");
const Clause linear_angle = sheet.clause("if linear, `sin^2 phi = (1 - alpha_V)^2/(T K_Q)`");

const Hypothesis trained =
    sheet.assume("trained: loss below half, hardly falling in the second half");
const Hypothesis quiet =
    sheet.assume("noise of `A`, `eta T sigma_A^2/(2 K_P B)`, below a hundredth");

const Control unscaled = sheet.control("unscaled", "`|A - Q|^2/K_Q` in place of `sin^2 phi`");
const Control larger = sheet.control("larger", "the loss a tenth larger");
const Control length_power = sheet.control("length", "`sin^2 phi` as `T^-1.1`");
const Control next_token = sheet.control("next-token", "the `q` of the next token");

const Rival distance = sheet.rival(
    "distance", "the loss goes with the distance of `A` to `Q` and not with the angle", "a factor");
const Rival supports_only = sheet.rival(
    "supports-only", "patterns match the supports of `Q`, with any weights on them even");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 5, 3));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 500, 5000, 1000));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token attends to", 2, 4, 2));
const Knob sampled_length =
    sheet.knob(whole_knob("sampled-length", "positions T of sampled sequences", 14, 18, 16));
const Knob duration = sheet.knob(linear_knob(
    "duration", "time of training over sqrt(T/(K_P K_Q))/2, growth time of softmax", 15, 30, 20));
const Knob short_duration = sheet.knob(
    linear_knob("short-duration", "the same, too short; 0: duration", 1, 4, 0).breaking(trained));
const Knob noise_share = sheet.knob(linear_knob(
    "noise-share", "noise of linear steps on A over alpha_A^2 K_Q", 0.004, 0.006, 0.005));
const Knob loud_share = sheet.knob(
    linear_knob("loud-share", "the same, too much; 0: noise-share", 0.02, 0.2, 0).breaking(quiet));

// sum_k mu_k a^k.b^k.
double product(const Vector<double>& mu, const Matrix<double>& one, const Matrix<double>& other) {
  return mu.dot(one.cwiseProduct(other).colwise().sum().transpose());
}

// Distance of two patterns that are each scaled to length 1: 2 sin(phi/2), 0 to 2.
double apart(const Vector<double>& mu, const Matrix<double>& one, const Matrix<double>& other) {
  const Matrix<double> difference =
      one / std::sqrt(product(mu, one, one)) - other / std::sqrt(product(mu, other, other));
  return std::sqrt(product(mu, difference, difference));
}

// With eta_A = 4 T softmax leaves the start in a growth time, and steps that suit V suit it where it
// is of order one.
double growth_time(const Bigrams<double>& b) {
  return std::sqrt(static_cast<double>(b.context) / (transition_size(b) * context_size(b))) / 2;
}
Training<double> with_softmax(Training<double> training) {
  training.softmax = true;
  training.attention_rate = 4 * static_cast<double>(training.bigrams.context);
  return training;
}

// Where training has led.
struct End {
  Matrix<double> attention;  // A (T x N)
  double excess = 0;  // (L - L_least)/(K_P K_Q/2): 1 at the start as T grows, 0 at V = P, A = Q
};
End end_of(const Bigrams<double>& b, Matrix<double> attention, double loss) {
  const double scale = transition_size(b) * context_size(b) / 2;
  return {std::move(attention), (loss - ((1 - b.stationary.squaredNorm()) / 2 - scale)) / scale};
}

// The population flow at half of a time and at its end.
struct TrainedFlow {
  Training<double> training;
  double time;
  PopulationFlow<double> flow{training};
  Solved solved{forget_type(PopulationFlow<double>(training)), {time / 2, time}, 1e-9};

  [[nodiscard]] End at(const Vector<double>& x) const {
    const Bigrams<double>& b = training.bigrams;
    const auto on = [&](Index k, Index e) { return x[b.tokens() * b.tokens() + k + e]; };
    const auto off = [&](Index k) { return on(k, b.first[static_cast<std::size_t>(k + 1)]); };
    Matrix<double> attention = dense_attention(b, on, off);
    for (Index k = 0; k < b.tokens() && training.softmax; ++k) {
      attention.col(k) = (attention.col(k).array() - attention.col(k).maxCoeff()).exp();
      attention.col(k) /= attention.col(k).sum();
    }
    return end_of(b, std::move(attention), observed_at(flow, x, "loss"));
  }
  // >= 0 where the excess is below 1/2 and has fallen by less than 0.01 since half of the time.
  [[nodiscard]] double trained_margin() const {
    const double before = at(solved.state(0)).excess;
    const double after = at(solved.state(1)).excess;
    return std::min(0.5 - after, 0.01 - (before - after));
  }
};

// With c = sum_k mu_k q^k.a^k and d = sum_k mu_k |a^k|^2 the angle phi of A to Q has
// cos phi = c/sqrt(d K_Q). Whatever made A, where its columns sum to 1 and V keeps its constraints,
//   L - L_least = K_P K_Q/2 sin^2 phi + d/2 <V - V*, V - V*>,  V* = mu 1' + (c/d) (P - mu 1'),
// V* the best values for A. Derived here.
void judge_law(const std::array<TrainedFlow, 2>& flows, Examination& it) {
  const Bigrams<double>& b = flows[0].training.bigrams;
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  const auto positions = static_cast<double>(b.context);
  const double size = positions * context_size(b);  // T K_Q
  const double scale = transition_size(b) * context_size(b);
  const Matrix<double> law = dense_law(b);
  Comparison loss = equal("excess loss over `K_P K_Q/2 sin^2 phi`");
  std::vector<Quantity> without_scaling, settled;
  for (const TrainedFlow& of : flows) {
    const auto numbers = [&](const Vector<double>& x) {
      const End end = of.at(x);
      const double chord = std::pow(apart(mu, end.attention, law), 2);
      const double square = chord * (1 - chord / 4);  // sin^2 phi
      const double alpha_V = observed_at(of.flow, x, "alpha_V");
      return Vector<double>{
          {end.excess / square, square * size / std::pow(1 - alpha_V, 2), square, alpha_V}};
    };
    const Vector<double>& x = of.solved.state(1);
    const Matrix<double> a = of.at(x).attention;
    const double square = numbers(x)[2];
    const double alpha_V = numbers(x)[3];
    const double d = product(mu, a, a);
    const Matrix<double> lag =
        x.head(n * n).reshaped(n, n) - product(mu, law, a) / d * b.transition;
    std::vector<Quantity> found = of.solved.all_at(1, numbers);
    // What the lag of V adds is known as well: counted as an error, it would be all of the miss.
    const double of_lag = d * covariance_product(lag, lag, mu) / scale / square;
    found[0] = found[0] - Quantity(of_lag, {ErrorPart::next_order(of_lag)});
    // Of the loss, a number below 1, over what is left of it.
    found[0].add(
        ErrorPart::rounding(static_cast<double>(n * n + b.entries()), 2 / (scale * square)));
    // What attention on the family 1/T + alpha_A (q^k - 1/T) adds.
    const double grown = observed_at(of.flow, x, "alpha_A") * alpha_V;
    found[1].add(ErrorPart::next_order(2 * (1 - grown) / (1 - alpha_V)));
    found[1].add(ErrorPart::next_order(alpha_V * alpha_V / size));
    loss.add(of.training.softmax ? "softmax" : "linear", found[0], 1);
    without_scaling.emplace_back(product(mu, a - law, a - law) / context_size(b) / square);
    settled.push_back(found[1]);
  }
  // With the factor that suits linear attention.
  const Quantity factor = loss.measured[0] / without_scaling[0];
  it.judge(law_of_loss, loss.unless(larger, times(1.1))
                            .unless(unscaled, without_scaling)
                            .against(distance, std::vector<Quantity>{loss.measured[0],
                                                                     factor * without_scaling[1]}));
  it.judge(linear_angle,
           equal("`sin^2 phi` of linear attention over `(1 - alpha_V)^2/(T K_Q)`", settled[0], 1)
               .unless(length_power, std::pow(positions, -0.1)));
  it.report("the same of softmax attention", settled[1].value());
}

// Reads numbers off the ends of linear and softmax attention.
using Read = std::function<Vector<double>(const End& linear, const End& softmax)>;
// The same with their errors.
using Measure = std::function<std::vector<Quantity>(const Read&)>;

// Both against a law that Q is taken to be.
void judge_alike(const Clause& clause, const Bigrams<double>& b, double alike,
                 const Measure& measure, Comparison comparison, Examination& it) {
  const Vector<double>& mu = b.stationary;
  const Matrix<double> q = dense_law(b);
  const auto against = [&](const Matrix<double>& law) {
    return measure([&](const End& linear, const End& softmax) {
      return Vector<double>{{apart(mu, linear.attention, law), apart(mu, softmax.attention, law),
                             apart(mu, linear.attention, softmax.attention),
                             std::fabs(linear.excess - softmax.excess)}};
    });
  };
  Matrix<double> shifted(q.rows(), q.cols());
  shifted << q.rightCols(q.cols() - 1), q.col(0);
  const Matrix<double> on = (q.array() > 0).cast<double>();
  const Matrix<double> even = on.array().rowwise() / on.colwise().sum().array();
  comparison.measured = against(q);
  comparison.predicted = {alike, alike, alike, alike * alike};
  it.judge(clause, comparison.at({"linear to `Q`", "softmax to `Q`", "linear to softmax", "losses"})
                       .unless(next_token, [&] { return against(shifted); })
                       .against(supports_only, [&] { return against(even); }));
}

void judge_flows(const TrainedFlow& linear, const TrainedFlow& softmax, Examination& it) {
  const End linear_end = linear.at(linear.solved.state(1));
  const End softmax_end = softmax.at(softmax.solved.state(1));
  const Measure measure = [&](const Read& read) {
    std::vector<Quantity> both = linear.solved.all_at(
        1, [&](const Vector<double>& x) { return read(linear.at(x), softmax_end); });
    const std::vector<Quantity> again = softmax.solved.all_at(
        1, [&](const Vector<double>& x) { return read(linear_end, softmax.at(x)); });
    both[1] = again[1];  // softmax to Q
    for (const std::size_t i : {2U, 3U}) {
      for (const ErrorPart& part : again[i].parts()) both[i].add(part);
    }
    return both;
  };
  judge_alike(alike_on_flow, linear.training.bigrams, 0.1, measure,
              below("patterns and losses of the flow"), it);
}

// Pairs of runs from scratch by plain steps on the same sequences, with a batch at which the noise of
// linear steps on A is, to leading order, `share` of alpha_A^2 K_Q, alpha_A^2 = sqrt(K_P/K_Q) where
// linear attention settles.
void judge_runs(const Training<double>& training, double share, const Setting& setting,
                Examination& it) {
  constexpr double step = 0.1;  // eta
  const Bigrams<double>& b = training.bigrams;
  const Vector<double> squares = noise_at_solution(b).attention.array().square();
  const double noise_of_one =
      step * static_cast<double>(b.context) * b.stationary.dot(squares) / (2 * transition_size(b));
  const double size = std::sqrt(transition_size(b) * context_size(b));  // alpha_A^2 K_Q
  const auto batch = static_cast<Index>(std::ceil(noise_of_one / (share * size)));
  const auto steps = static_cast<std::uint64_t>(10 * growth_time(b) / step);
  const auto ends_of = [&](const Training<double>& own) {
    const SequenceSgd<double> reader(own);
    const AnyRung<double> rung = forget_type(SequenceSgd<double>(own));
    std::vector<End> ends;
    for (const Trajectory<double>& run :
         runs_to_end(rung, step, steps, batch, std::max(6U, setting.draws(12)), 0, setting)) {
      if (run.rows.empty()) continue;
      Matrix<double> attention(b.context, b.tokens());
      for (Index k = 0; k < b.tokens(); ++k) {
        attention.col(k) = reader.attention(run.last_state, k);
      }
      ends.push_back(end_of(b, std::move(attention), run.column("loss").back()));
    }
    return ends;
  };
  const std::vector<End> linear = ends_of(training);
  const std::vector<End> softmax = ends_of(with_softmax(training));
  const Measure measure = [&](const Read& read) {
    Matrix<double> samples(std::min(std::ssize(linear), std::ssize(softmax)), 4);
    for (Index r = 0; r < samples.rows(); ++r) {
      const auto run = static_cast<std::size_t>(r);
      samples.row(r) = read(linear[run], softmax[run]);
    }
    return sample_moments(samples, setting.false_alarm).mean;
  };
  judge_alike(alike_in_runs, b, 0.15, measure,
              below(fmt::format("patterns and losses of pairs of runs, `B = {}`", batch))
                  .of_kind(EvidenceKind::statistical),
              it);
}

void examine(const Setting& setting, Examination& it) {
  const Index tokens = setting.count(vocabulary);
  const Index support = setting.count(few_positions);
  const Training<double> training =
      from_scratch(tokens, setting.count(length), support, setting.seed);
  const Bigrams<double>& b = training.bigrams;
  it.parameters = {
      {"N", b.tokens()}, {"T", b.context}, {"Q", b.support(0)}, {"seed", setting.seed}};
  const double short_time = setting.value(short_duration);
  const double time = (short_time > 0 ? short_time : setting.value(duration)) * growth_time(b);
  const std::array flows{TrainedFlow{training, time}, TrainedFlow{with_softmax(training), time}};
  it.require(trained, std::min(flows[0].trained_margin(), flows[1].trained_margin()));
  judge_law(flows, it);
  judge_flows(flows[0], flows[1], it);
  const double loud = setting.value(loud_share);
  const double share = loud > 0 ? loud : setting.value(noise_share);
  it.require(quiet, 0.01 - share, fmt::format("{:.3g} of `alpha_A^2 K_Q`", share));
  const Training<double> sampled =
      clearest_training(tokens, setting.count(sampled_length), support, setting.seed);
  report_least_pull(sampled, it);
  judge_runs(sampled, share, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_patterns
