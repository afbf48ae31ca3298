// Theorem    scb.softmax-patterns
// Status     observed in source, law of the loss derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, reply 4 to the reviewers, Fig (2)
// Statement  after training linear and softmax patterns are alike, both match Q, and their losses
//            are similar; and this is one fact. With phi the angle of A to Q (patterns.hpp), once V
//            has followed A,
//              L - L_least = K_P K_Q/2 sin^2 phi
//            whatever the link is, so that a loss within a hundredth of what can be learnt means a
//            pattern within a tenth. Linear attention on the flow ends with
//              sin^2 phi = (1 - alpha_V)^2/(T K_Q)
//            (softmax as well once all tokens leave the same mass off their supports, but a
//            position of small weight, found at a rate as its attention squared, may be missing
//            long)
// Hypotheses H1 trained: loss within a half, and falling by less than a hundredth in the second
//            half of the run; H2 noise of A in steps, eta T sigma_A^2/(2 K_P B), below a hundredth
// Check      unit: patterns scaled to length 1, losses over K_P K_Q/2. On the flow the law for both
//            links, the angle of linear attention, distances of both to Q and to each other below
//            0.1, losses apart by less than 0.01; means over pairs of runs on the same
//            sampled sequences, in a short context, below 0.15 and 0.0225
// Controls   |A - Q|^2/K_Q in place of sin^2 phi; the loss a tenth larger; sin^2 phi as T^-1.1; the
//            q of the next token; the supports alone, without their weights
// Uses       rungs flow and sgd

#include <functional>

#include "theorems/scb/checks/patterns.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"

namespace popgrad::scb::checks::softmax_patterns {
namespace {

constexpr const char* trained_text = "trained: loss below half, hardly falling in the second half";
constexpr const char* quiet_text = "noise of A, eta T sigma_A^2/(2 K_P B), below a hundredth";
constexpr double alike_flows = 0.1;  // distances; losses by its square
constexpr double alike_runs = 0.15;

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 3, 5, 3);
constexpr Knob length = logarithmic_knob("length", "positions T of the context", 500, 5000, 1000);
constexpr Knob few_positions = whole_knob("support", "positions Q that a token looks at", 2, 4, 2);
constexpr Knob sampled_length =
    whole_knob("sampled-length", "positions T of sampled sequences", 14, 18, 16);
constexpr Knob duration = linear_knob(
    "duration", "time of training over sqrt(T/(K_P K_Q))/2, growth time of softmax", 15, 30, 20);
constexpr Knob short_duration =
    linear_knob("short-duration", "the same, too short; 0: duration", 1, 4, 0)
        .breaking(trained_text);
constexpr Knob noise_share = linear_knob(
    "noise-share", "noise of linear steps on A over alpha_A^2 K_Q", 0.004, 0.006, 0.005);
constexpr Knob loud_share =
    linear_knob("loud-share", "the same, too much; 0: noise-share", 0.02, 0.2, 0)
        .breaking(quiet_text);

// Distances and losses of the flow or of runs, against a law that Q is taken to be.
void judge_alike(const Bigrams<double>& b, EvidenceKind kind, std::string what,
                 const std::function<std::vector<Quantity>(const Matrix<double>&)>& measure,
                 double alike, Examination& it) {
  const Matrix<double> law = pattern_of_law(b);
  it.judge(Comparison{
      .kind = kind,
      .what = std::move(what),
      .measured = measure(law),
      .relation = Relation::below,
      .predicted = {alike, alike, alike, alike * alike},
      .mistakes = {measures("next-token", [&] { return measure(shifted(law)); }),
                   measures("supports-alone", [&] { return measure(pattern_of_law(b, true)); })},
      .places = {"linear to Q", "softmax to Q", "linear to softmax", "losses"}});
}

// Excess loss of both links against the angle of their patterns to Q, and that of linear attention.
void judge_law(const Bigrams<double>& b, const TrainedFlow& linear, const TrainedFlow& softmax,
               Examination& it) {
  it.judge(Comparison{.what = "excess loss over K_P K_Q/2 sin^2 phi",
                      .measured = {linear.excess_over_law(), softmax.excess_over_law()},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("larger", 1.1),
                                   predicts("unscaled", {linear.unscaled(), softmax.unscaled()})},
                      .places = {"linear", "softmax"}});
  it.judge(
      Comparison{.what = "sin^2 phi of linear attention over (1 - alpha_V)^2/(T K_Q)",
                 .measured = {linear.angle_over_settled()},
                 .predicted = {1.0},
                 .mistakes = {predicts("length", std::pow(static_cast<double>(b.context), -0.1))}});
  it.report("the same of softmax attention", softmax.angle_over_settled().value());
}

void examine(const Setting& setting, Examination& it) {
  const auto training_at = [&](const Knob& positions) {
    return from_scratch(setting.count(vocabulary), setting.count(positions),
                        setting.count(few_positions), setting.seed);
  };
  const Training<double> training = training_at(length);
  const Bigrams<double>& b = training.bigrams;
  it.parameters = {
      {"N", b.tokens()}, {"T", b.context}, {"Q", b.support(0)}, {"seed", setting.seed}};
  const double short_time = setting.value(short_duration);
  const double time =
      TrainedFlow::time_of(b, short_time > 0 ? short_time : setting.value(duration));
  const TrainedFlow linear(training, time);
  const TrainedFlow softmax(with_softmax(training), time);
  it.require(trained_text, std::min(linear.trained_margin(), softmax.trained_margin()));
  judge_law(b, linear, softmax, it);
  judge_alike(
      b, EvidenceKind::numerical, "patterns and losses of the flow",
      [&](const Matrix<double>& law) { return differences(linear, softmax, b.stationary, law); },
      alike_flows, it);
  const double loud = setting.value(loud_share);
  const double share = loud > 0 ? loud : setting.value(noise_share);
  it.require(quiet_text, 0.01 - share, fmt::format("{:.3g} of alpha_A^2 K_Q", share));
  const SampledPairs pairs(
      clearest_training(setting.count(vocabulary), setting.count(sampled_length),
                        setting.count(few_positions), setting.seed),
      share, setting);
  judge_alike(
      pairs.bigrams(), EvidenceKind::statistical,
      fmt::format("patterns and losses of pairs of runs, B = {}", pairs.batch()),
      [&](const Matrix<double>& law) { return pairs.differences(law, setting.false_alarm); },
      alike_runs, it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.softmax-patterns",
          .claim = "linear and softmax attention end with the pattern Q and the same loss",
          .paper = "arXiv 2410.23438, reply 4 to the reviewers",
          .status = "observed in source, law of the loss derived here",
          .hypotheses = {trained_text, quiet_text},
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"unscaled", "|A - Q|^2/K_Q in place of sin^2 phi"},
                       {"larger", "the loss a tenth larger"},
                       {"length", "sin^2 phi as T^-1.1"},
                       {"next-token", "the q of the next token"},
                       {"supports-alone", "the supports alone, without their weights"}},
          .knobs = {vocabulary, length, few_positions, sampled_length, duration, short_duration,
                    noise_share, loud_share},
          .examine = examine};
}

}  // namespace popgrad::scb::checks::softmax_patterns
