#include "popgrad/walks/ensemble.hpp"
#include "statistics/critical.hpp"
#include "theorems/scb/checks/plain_runs.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"

namespace popgrad::scb::checks::small_batch {
namespace {

Statement sheet{.id = "scb.small-batch",
                .paper = "arXiv 2410.23438, reply 2 to the reviewers",
                .status = "observed in source, rates derived here",
                .about = "SGD on sequences",
                .theorem = R"(
At a small batch plain SGD does not stay at the solution V = P, A = Q; l1 steps from the same
draws end nearer to it. While V is P, the noise of plain steps on A feeds on itself, as the
residual contains it: X_k = E |a^k - q^k|^2 becomes in a step, up to O(1/T),
  (1 - eta K_P)^2 X_k + eta^2 T (tr M C + (X_k - |q^k|^2) tr M^2)/(B mu_k),
C = diag(mu) - mu mu', M = P C P', which grows without bound below
  B = eta T tr M^2/(mu_k K_P (2 - eta K_P)).
(Gaussian noise scaled by <V,V> lacks it.) With V trained as well, d = K_Q + X drives V away
already above that batch, as long as eta d is not small. (l1 steps may end farther with Q = 1,
N = 4: plain steps nearer in 93 % of runs, T = 493, seed 27.) l1 steps have lambda = q_min K_P/2;
a run stays where it ends nearer than mu 1', 1/T are.)",
                .reaches = {EvidenceKind::statistical},
                .reads = "reduced"};

const Clause feeds_itself = sheet.clause("while V is P, noise on A feeds on itself");
const Clause farther = sheet.clause("where half of the plain runs stay, l1 steps end nearer");
[[maybe_unused]] const Clause stay = sheet.not_checked("l1 steps stay");

const Hypothesis quiet_values = sheet.assume("noise of V, eta sigma_V^2 n/(2 K_Q B), below K_P");
const Hypothesis quiet_steps =
    sheet.assume("noise of l1 steps, sigma_A sqrt(eta K_P/B), below q_min K_P");

const Control no_feedback =
    sheet.control("no-feedback", "noise that does not depend on A, as of Gaussian rungs");
const Control larger_noise = sheet.control("noise", "the noise 10 % larger");
const Control token_share = sheet.control("token-share", "1 in place of 1/mu_k");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 4, 3));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 300, 500, 400));
const Knob short_length =
    sheet.knob(logarithmic_knob("short-length",
                                "the same where V is lost to its own noise; 0: length", 4, 16, 0)
                   .breaking(quiet_values));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token looks at", 1, 2, 2));
const Knob step_knob =
    sheet.knob(linear_knob("step", "learning rate eta times K_Q", 0.2, 0.4, 0.3));

// Mean X while V stays, over what is derived.
void judge_noise(const SolutionRuns& made, const Setting& setting, Examination& it) {
  Comparison noise = equal("noise of plain steps on A over what is derived");
  std::vector<Quantity> gaussian;
  std::vector<Quantity> unweighted;
  std::uint32_t first_run = 0;
  for (const double share : {0.5, 2.0}) {
    const Index batch = made.batch(share);
    const double derived = made.derived_noise(batch, {});
    const std::uint32_t runs = setting.draws(300);
    const Matrix<double> squares = made.noise_of_runs(batch, runs, first_run, setting);
    first_run += runs;
    Quantity ratio = sample_moments(squares, setting.false_alarm / 2).mean.front() / derived;
    ratio.add(ErrorPart::next_order(made.left_out()));
    noise.add(fmt::format("B = {}", batch), ratio, 1);
    gaussian.emplace_back(made.derived_noise(batch, {.feedback = false}) / derived);
    unweighted.emplace_back(made.derived_noise(batch, {.weighted = false}) / derived);
  }
  it.judge(feeds_itself, noise.of_kind(EvidenceKind::statistical)
                             .unless(no_feedback, gaussian)
                             .unless(larger_noise, times(1.1))
                             .unless(token_share, unweighted));
}

void judge_runs(const SolutionRuns& made, double weight, const Setting& setting, Examination& it) {
  const std::uint32_t runs = std::max(16U, setting.draws(400));
  const auto half = [&](const char* what, double own) {
    const Crossing found = made.half_batch(own, std::max(4U, setting.draws(16)), setting);
    it.report(what, found.size, fmt::format("95 %: {:.4g} to {:.4g}", found.low, found.high));
    return found.size;
  };
  const Index batch = std::llround(half("batch at which half of the plain runs stay", 0));
  half("batch at which half of the l1 runs stay", weight);
  const Quantity plain_nearer =
      share_nearer(made.distances(batch, 0, runs, 0, setting),
                   made.distances(batch, weight, runs, 0, setting), setting.false_alarm);
  it.judge(farther, below("share of plain runs that end nearer than l1 steps from the same draws",
                          plain_nearer, 0.5)
                        .of_kind(EvidenceKind::statistical)
                        .with(fmt::format("{} runs at B = {}", runs, batch)));
}

void examine(const Setting& setting, Examination& it) {
  const Knob& own_length = setting.value(short_length) > 0 ? short_length : length;
  const Training<double> training = examined_training(setting, [&] {
    return clearest_training(setting.count(vocabulary), setting.count(own_length),
                             setting.count(few_positions), setting.seed);
  });
  const SolutionRuns made(training, setting.value(step_knob));
  it.parameters = {{"N", training.bigrams.tokens()},
                   {"T", training.bigrams.context},
                   {"eta", made.step()},
                   {"seed", setting.seed}};
  const double transition = transition_size(training.bigrams);
  const double shaken = made.noise_of_values(made.critical());
  it.require_positive(quiet_values, transition - shaken,
                      fmt::format("{:.3g} against {:.3g}", shaken, transition));
  judge_noise(made, setting, it);
  const double pull = made.least_pull();
  const double kick = made.l1_noise(made.critical());
  it.require_positive(quiet_steps, pull - kick, fmt::format("{:.3g} against {:.3g}", kick, pull));
  judge_runs(made, pull / 2, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::small_batch
