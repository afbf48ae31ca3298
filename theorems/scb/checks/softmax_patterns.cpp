#include <functional>

#include "theorems/scb/checks/patterns.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"

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

constexpr double alike_flows = 0.1;  // distances; losses by its square
constexpr double alike_runs = 0.15;

// Distances and losses of the flow or of runs, against a law that Q is taken to be.
void judge_alike(const Clause& clause, const Bigrams<double>& b, EvidenceKind kind,
                 std::string what,
                 const std::function<std::vector<Quantity>(const Matrix<double>&)>& measure,
                 double alike, Examination& it) {
  const Matrix<double> law = pattern_of_law(b);
  it.judge(clause, below(std::move(what), measure(law),
                         std::vector<Quantity>{alike, alike, alike, alike * alike})
                       .of_kind(kind)
                       .at({"linear to Q", "softmax to Q", "linear to softmax", "losses"})
                       .unless(next_token, [&] { return measure(shifted(law)); })
                       .unless(supports_alone, [&] { return measure(pattern_of_law(b, true)); }));
}

// Excess loss of both links against the angle of their patterns to Q, and that of linear attention.
void judge_law(const Bigrams<double>& b, const TrainedFlow& linear, const TrainedFlow& softmax,
               Examination& it) {
  it.judge(law_of_loss,
           equal("excess loss over K_P K_Q/2 sin^2 phi")
               .add("linear", linear.excess_over_law(), 1)
               .add("softmax", softmax.excess_over_law(), 1)
               .unless(larger, times(1.1))
               .unless(unscaled, std::vector<Quantity>{linear.unscaled(), softmax.unscaled()}));
  it.judge(linear_angle, equal("sin^2 phi of linear attention over (1 - alpha_V)^2/(T K_Q)",
                               linear.angle_over_settled(), 1)
                             .unless(length_power, std::pow(static_cast<double>(b.context), -0.1)));
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
  it.require(trained, std::min(linear.trained_margin(), softmax.trained_margin()));
  judge_law(b, linear, softmax, it);
  judge_alike(
      alike_on_flow, b, EvidenceKind::numerical, "patterns and losses of the flow",
      [&](const Matrix<double>& law) { return differences(linear, softmax, b.stationary, law); },
      alike_flows, it);
  const double loud = setting.value(loud_share);
  const double share = loud > 0 ? loud : setting.value(noise_share);
  it.require(quiet, 0.01 - share, fmt::format("{:.3g} of alpha_A^2 K_Q", share));
  const SampledPairs pairs(
      clearest_training(setting.count(vocabulary), setting.count(sampled_length),
                        setting.count(few_positions), setting.seed),
      share, setting);
  judge_alike(
      alike_in_runs, pairs.bigrams(), EvidenceKind::statistical,
      fmt::format("patterns and losses of pairs of runs, B = {}", pairs.batch()),
      [&](const Matrix<double>& law) { return pairs.differences(law, setting.false_alarm); },
      alike_runs, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_patterns
