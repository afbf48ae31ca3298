#include <functional>

#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::softmax_patterns {
namespace {

Statement sheet{.id = "scb.softmax-patterns",
                .paper = "arXiv 2410.23438, reply 4 to the reviewers, Fig (2)",
                .status = "observed in source, law of the loss derived here",
                .about = "the population flow and SGD on sequences",
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
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical}};

const Clause alike_on_flow = sheet.clause("linear and softmax attention end near Q, losses alike");
const Clause alike_in_runs = sheet.clause("in runs too");
const Clause law_of_loss = sheet.clause("L - L_least = K_P K_Q/2 sin^2 phi");
const Clause linear_angle = sheet.clause("if linear, sin^2 phi = (1 - alpha_V)^2/(T K_Q)");

const Hypothesis trained =
    sheet.assume("trained: loss below half, hardly falling in the second half");
const Hypothesis quiet = sheet.assume("noise of A, eta T sigma_A^2/(2 K_P B), below a hundredth");

const Control unscaled = sheet.control("unscaled", "|A - Q|^2/K_Q in place of sin^2 phi");
const Control larger = sheet.control("larger", "the loss a tenth larger");
const Control length_power = sheet.control("length", "sin^2 phi as T^-1.1");
const Control next_token = sheet.control("next-token", "the q of the next token");
const Control supports_alone =
    sheet.control("supports-alone", "the supports alone, without their weights");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 5, 3));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 500, 5000, 1000));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token looks at", 2, 4, 2));
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

// So many times sqrt(T/(K_P K_Q))/2, the growth time of with_softmax.
double time_of(const Bigrams<double>& b, double times) {
  const double positions = static_cast<double>(b.context);
  return times * std::sqrt(positions / (transition_size(b) * context_size(b))) / 2;
}

// With eta_A = 4 T, so that it leaves the start in a time sqrt(T/(K_P K_Q))/2 and steps that suit V
// suit it where it is of order one.
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
  TrainedFlow(const Training<double>& training, double time)
      : flow(training),
        b(training.bigrams),
        solved(forget_type(PopulationFlow<double>(training)), {time / 2, time}, 1e-9) {}
  PopulationFlow<double> flow;
  Bigrams<double> b;
  Solved solved;

  [[nodiscard]] End at(const Vector<double>& x) const {
    const Index begin = b.tokens() * b.tokens();
    const auto stored = [&](Index k, Index e) { return x[begin + k + e]; };
    Vector<double> rest(b.tokens());  // behind the support
    for (Index k = 0; k < b.tokens(); ++k) {
      rest[k] = stored(k, b.first[static_cast<std::size_t>(k + 1)]);
    }
    Matrix<double> attention = dense_attention(b, stored, rest);
    for (auto own : attention.colwise()) {
      if (!flow.training().softmax) break;
      own = (own.array() - own.maxCoeff()).exp();
      own /= own.sum();
    }
    return end_of(b, std::move(attention), observed_at(flow, x, "loss"));
  }
  // sin^2 phi.
  [[nodiscard]] double square(const Vector<double>& x) const {
    const double square = std::pow(apart(b.stationary, at(x).attention, dense_law(b)), 2);
    return square * (1 - square / 4);
  }
  [[nodiscard]] Quantity distance_to(const Matrix<double>& pattern) const {
    return solved.at(
        1, [&](const Vector<double>& x) { return apart(b.stationary, at(x).attention, pattern); });
  }
  [[nodiscard]] Quantity excess() const {
    return solved.at(1, [&](const Vector<double>& x) { return at(x).excess; });
  }
  // Of the end: >= 0 where the loss, as `excess`, is below 1/2 and has fallen by less than 0.01 since
  // half of the time.
  [[nodiscard]] double trained_margin() const {
    const double before = at(solved.state(0)).excess;
    const double after = at(solved.state(1)).excess;
    return std::min(0.5 - after, 0.01 - (before - after));
  }
  // sin^2 phi over (1 - alpha_V)^2/(T K_Q).
  [[nodiscard]] Quantity angle_over_settled() const {
    const double size = static_cast<double>(b.context) * context_size(b);  // T K_Q
    return solved.at(1, [&](const Vector<double>& x) {
      return square(x) * size / std::pow(1 - observed_at(flow, x, "alpha_V"), 2);
    });
  }
};

// Patterns are vectors with the product sum_k mu_k a^k.b^k. With c = sum_k mu_k q^k.a^k and
// d = sum_k mu_k |a^k|^2 the angle phi of A to Q has cos phi = c/sqrt(d K_Q). Whatever made A, where
// its columns sum to 1 and V keeps its constraints,
//   L - L_least = K_P K_Q/2 sin^2 phi + d/2 <V - V*, V - V*>,  V* = mu 1' + (c/d) (P - mu 1'),
// V* the best values for A. Derived here.
void judge_law(const TrainedFlow& linear, const TrainedFlow& softmax, Examination& it) {
  const Bigrams<double>& b = linear.b;
  const Index n = b.tokens();
  const Matrix<double> law = dense_law(b);
  const double scale = transition_size(b) * context_size(b);
  Comparison loss = equal("excess loss over K_P K_Q/2 sin^2 phi");
  std::vector<Quantity> without_scaling;
  for (const TrainedFlow* const of : {&linear, &softmax}) {
    const Vector<double>& x = of->solved.state(1);
    const Matrix<double> a = of->at(x).attention;
    const double square = of->square(x);
    const double d = product(b.stationary, a, a);
    const Matrix<double> lag =
        x.head(n * n).reshaped(n, n) - product(b.stationary, law, a) / d * b.transition;
    Quantity ratio =
        of->solved.at(1, [&](const Vector<double>& y) { return of->at(y).excess / of->square(y); });
    ratio.add(
        ErrorPart::next_order(d * covariance_product(lag, lag, b.stationary) / scale / square));
    // Of the loss, a number below 1, over what is left of it.
    ratio.add(ErrorPart::rounding(static_cast<double>(n * n + b.entries()), 2 / (scale * square)));
    loss.add(of == &linear ? "linear" : "softmax", ratio, 1);
    without_scaling.emplace_back(product(b.stationary, a - law, a - law) / context_size(b) /
                                 square);
  }
  it.judge(law_of_loss, loss.unless(larger, times(1.1)).unless(unscaled, without_scaling));
  // Attention on the family 1/T + alpha_A (q^k - 1/T) adds:
  const Vector<double>& x = linear.solved.state(1);
  const double alpha_V = observed_at(linear.flow, x, "alpha_V");
  const double alpha_A = observed_at(linear.flow, x, "alpha_A");
  const double positions = static_cast<double>(b.context);
  Quantity angle = linear.angle_over_settled();
  angle.add(ErrorPart::next_order(2 * (1 - alpha_A * alpha_V) / (1 - alpha_V)));
  angle.add(ErrorPart::next_order(alpha_V * alpha_V / (positions * context_size(b))));
  it.judge(linear_angle,
           equal("sin^2 phi of linear attention over (1 - alpha_V)^2/(T K_Q)", angle, 1)
               .unless(length_power, std::pow(positions, -0.1)));
  it.report("the same of softmax attention", softmax.angle_over_settled().value());
}

// Distances of linear attention to a law, of softmax to it, of both to each other, and how far their
// excess losses are apart; against a law that Q is taken to be.
void judge_alike(const Clause& clause, const Bigrams<double>& b, Comparison comparison,
                 double alike,
                 const std::function<std::vector<Quantity>(const Matrix<double>&)>& measure,
                 Examination& it) {
  const auto even = [&](Index k, Index) { return 1 / static_cast<double>(b.support(k)); };
  const Matrix<double> law = dense_law(b);
  Matrix<double> of_next(law.rows(), law.cols());
  of_next << law.rightCols(law.cols() - 1), law.col(0);
  comparison.measured = measure(law);
  comparison.predicted = {alike, alike, alike, alike * alike};
  it.judge(clause, comparison.at({"linear to Q", "softmax to Q", "linear to softmax", "losses"})
                       .unless(next_token, [&] { return measure(of_next); })
                       .unless(supports_alone, [&] {
                         return measure(dense_attention(b, even, Vector<double>::Zero(b.tokens())));
                       }));
}

void judge_flows(const TrainedFlow& linear, const TrainedFlow& softmax, Examination& it) {
  const Matrix<double> of_linear = linear.at(linear.solved.state(1)).attention;
  const Matrix<double> of_softmax = softmax.at(softmax.solved.state(1)).attention;
  Quantity between = linear.distance_to(of_softmax);
  const Quantity again = softmax.distance_to(of_linear);
  for (const ErrorPart& part : again.parts()) between.add(part);
  judge_alike(
      alike_on_flow, linear.b, below("patterns and losses of the flow"), 0.1,
      [&](const Matrix<double>& law) {
        return std::vector{linear.distance_to(law), softmax.distance_to(law), between,
                           abs(linear.excess() - softmax.excess())};
      },
      it);
}

std::vector<End> ends_of_runs(const Training<double>& training, Index batch, double step,
                              const Setting& setting) {
  const Bigrams<double>& b = training.bigrams;
  const SequenceSgd<double> reader(training);
  const AnyRung<double> rung = forget_type(SequenceSgd<double>(training));
  WalkRequest request;
  request.step_size = step;
  request.steps = static_cast<std::uint64_t>(time_of(b, 10) / step);
  request.save_steps = {request.steps};
  request.batch = batch;
  request.runs = std::max(6U, setting.draws(12));
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  std::vector<End> ends;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    if (run.rows.empty()) continue;
    Matrix<double> attention(b.context, b.tokens());
    for (Index k = 0; k < b.tokens(); ++k) {
      attention.col(k) = reader.attention(run.last_state, k);
    }
    ends.push_back(end_of(b, std::move(attention), run.column("loss").back()));
  }
  return ends;
}

// Pairs of runs from scratch by plain steps on the same sequences, with a batch at which the noise of
// linear steps on A is, to leading order, `share` of alpha_A^2 K_Q, alpha_A^2 = sqrt(K_P/K_Q) where
// linear attention settles.
void judge_runs(const Training<double>& training, double share, const Setting& setting,
                Examination& it) {
  constexpr double step = 0.1;  // eta
  const Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const double transition = transition_size(b);
  const Vector<double> squares = noise_at_solution(b).attention.array().square().matrix();
  const double noise_of_one =
      step * static_cast<double>(b.context) * mu.dot(squares) / (2 * transition);
  const double size = std::sqrt(transition * context_size(b));  // alpha_A^2 K_Q
  const auto batch = static_cast<Index>(std::ceil(noise_of_one / (share * size)));
  const std::vector<End> linear = ends_of_runs(training, batch, step, setting);
  const std::vector<End> softmax = ends_of_runs(with_softmax(training), batch, step, setting);
  judge_alike(
      alike_in_runs, b,
      below(fmt::format("patterns and losses of pairs of runs, B = {}", batch))
          .of_kind(EvidenceKind::statistical),
      0.15,
      [&](const Matrix<double>& law) {
        Matrix<double> samples(std::ssize(linear), 4);
        for (std::size_t r = 0; r < linear.size(); ++r) {
          const Matrix<double>& one = linear[r].attention;
          const Matrix<double>& other = softmax.at(r).attention;
          samples.row(static_cast<Index>(r)) << apart(mu, one, law), apart(mu, other, law),
              apart(mu, one, other), std::fabs(linear[r].excess - softmax[r].excess);
        }
        return sample_moments(samples, setting.false_alarm).mean;
      },
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
  const double time = time_of(b, short_time > 0 ? short_time : setting.value(duration));
  const TrainedFlow linear(training, time);
  const TrainedFlow softmax(with_softmax(training), time);
  it.require(trained, std::min(linear.trained_margin(), softmax.trained_margin()));
  judge_law(linear, softmax, it);
  judge_flows(linear, softmax, it);
  const double loud = setting.value(loud_share);
  const double share = loud > 0 ? loud : setting.value(noise_share);
  it.require(quiet, 0.01 - share, fmt::format("{:.3g} of alpha_A^2 K_Q", share));
  judge_runs(clearest_training(tokens, setting.count(sampled_length), support, setting.seed), share,
             setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_patterns
