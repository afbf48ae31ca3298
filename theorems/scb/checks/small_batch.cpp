#include <array>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/plain_runs.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"

namespace popgrad::scb::checks::small_batch {
namespace {

Statement sheet{
    .id = "scb.small-batch",
    .paper = "arXiv 2410.23438, reply 2 to the reviewers",
    .status = "observed in source, rates derived here",
    .about = "SGD on sequences; of eight draws of `P` and `q` that with the largest `q_min K_P`",
    .theorem = R"(
At a small batch plain SGD does not stay at the solution V = P, A = Q; l1 steps from the same
draws end nearer to it; at a smaller batch they leave as well. While V is P, the noise of plain
steps on A feeds on itself, as the residual contains it: X_k = E |a^k - q^k|^2 becomes in a step,
up to O(1/T),
  (1 - eta K_P)^2 X_k + eta^2 T (tr M C + (X_k - |q^k|^2) tr M^2)/(B mu_k),
C = diag(mu) - mu mu', M = P C P', which grows without bound below
  B = eta T tr M^2/(mu_k K_P (2 - eta K_P)).
(Gaussian noise scaled by <V,V> lacks it.) With V trained as well, d = K_Q + X drives V away
already several times above that batch: where half of the runs stay follows from the residuals of
the samples and the noise of A in them, and grows nearly as eta T. l1 steps have
  lambda = sigma_A sqrt(eta K_P/B),
by which they pull a position back as hard as plain steps do from the size of their noise. (A larger
one drives V, alpha_V = v, and the batch above with it, as v^2 or faster. With q_min K_P/2, N = 4 and
Q = 1 it is tenfold, and plain steps end nearer: in 93 % of runs with T = 493, seed 27, in all with T
= 400, seed 1011. With the geometric mean of both lambda neither is nearer there.) A run stays where
it ends, after 3/(eta K_P) steps, nearer than mu 1', 1/T are.)",
    .reaches = {EvidenceKind::statistical},
    .false_version = "constant",
    .reads = "reduced"};

const Clause feeds_itself = sheet.clause("while `V` is `P`, noise on `A` feeds on itself");
const Clause leaves = sheet.clause(
    "with `V` trained half of the plain runs leave at a batch that grows nearly as `eta T`, from "
    "noise "
    "of `A` in the residual");
const Clause farther = sheet.clause("there `l1` steps end nearer");
const Clause leave_too = sheet.clause("at an eighth of it half of the `l1` runs leave as well");
[[maybe_unused]] const Clause no_constant =
    sheet.not_checked("whether 64 is where both methods diverge at `T = 5000`");

const Hypothesis quiet_values =
    sheet.assume("noise of `V`, `eta sigma_V^2 n/(2 K_Q B)`, below `K_P`");
const Hypothesis quiet_steps =
    sheet.assume("noise of `l1` steps, `sigma_A sqrt(eta K_P/B)`, below `q_min K_P`");

const Control no_feedback =
    sheet.control("no-feedback", "noise that does not depend on `A`, as of Gaussian rungs");
const Control larger_noise = sheet.control("noise", "the noise, or the batch, 10 % larger");
const Control token_share = sheet.control("token-share", "1 in place of `1/mu_k`");
const Rival square_length =
    sheet.rival("square", "plain runs leave at a batch as `eta T^2`", "a factor");
const Rival one_batch =
    sheet.rival("constant", "plain runs leave at one batch at all `T` and `eta`", "the batch");
const Rival outer_noise = sheet.rival(
    "outer-noise", "noise of `A` while `V` is `P` that does not depend on `A`", "its level");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 4, 3));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 300, 500, 400));
const Knob short_length =
    sheet.knob(logarithmic_knob("short-length",
                                "the same where V is lost to its own noise; 0: length", 4, 16, 0)
                   .breaking(quiet_values));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token attends to", 1, 2, 2));
const Knob step_knob =
    sheet.knob(linear_knob("step", "learning rate eta times K_Q", 0.2, 0.4, 0.3));

// Mean X while V stays, over what is derived.
void judge_noise(const SolutionRuns& made, const Setting& setting, Examination& it) {
  Comparison noise = equal("noise of plain steps on `A` over what is derived");
  std::vector<Quantity> gaussian;
  std::vector<Quantity> unweighted;
  std::uint32_t first_run = 0;
  // Below the critical batch a few runs are most of the mean.
  for (const auto& [share, usual] : {std::pair{2.0, 160U}, std::pair{8.0, 24U}}) {
    const Index batch = made.batch(share);
    const double derived = made.derived_noise(batch, {});
    const std::uint32_t runs = setting.draws(usual);
    const Matrix<double> squares = made.noise_of_runs(batch, runs, first_run, setting);
    first_run += runs;
    Quantity ratio = sample_moments(squares, setting.false_alarm / 2).mean.front() / derived;
    ratio.add(ErrorPart::next_order(made.left_out()));
    noise.add(fmt::format("`B = {}`", batch), ratio, 1);
    gaussian.emplace_back(made.derived_noise(batch, {.feedback = false}) / derived);
    unweighted.emplace_back(made.derived_noise(batch, {.weighted = false}) / derived);
  }
  std::vector<Quantity> fitted_level;
  const double level = std::sqrt(noise.measured[0].value() * noise.measured[1].value() /
                                 (gaussian[0].value() * gaussian[1].value()));
  for (const Quantity& own : gaussian) fitted_level.push_back(level * own);
  it.judge(feeds_itself, noise.of_kind(EvidenceKind::statistical)
                             .against(outer_noise, fitted_level)
                             .unless(no_feedback, gaussian)
                             .unless(larger_noise, times(1.1))
                             .unless(token_share, unweighted));
}

Quantity share_within(const std::vector<double>& distances, const Setting& setting) {
  const auto stay =
      std::count_if(distances.begin(), distances.end(), [](double d) { return d < 1; });
  return success_probability(static_cast<std::uint32_t>(stay),
                             static_cast<std::uint32_t>(distances.size()), setting.false_alarm);
}

// Where half of the plain runs stay.
struct HalfBatch {
  CriticalBatch found;
  double length, step;            // T, eta
  std::vector<double> distances;  // of runs on sequences at found.batch
};

HalfBatch half_batch(const SolutionRuns& made, std::uint32_t runs, const Setting& setting) {
  HalfBatch own{{}, static_cast<double>(made.bigrams().context), made.step(), {}};
  own.found = made.half_batch(true, 5 * runs / 2, setting, [&](Index batch) {
    own.distances = made.distances(batch, 0, runs, 0, setting);
    return share_within(own.distances, setting);
  });
  return own;
}

using Cases = std::array<HalfBatch, 3>;

// Batches as `scale`, with the factor that fits those on sequences best, over those derived.
std::vector<Quantity> fitted(const Cases& cases,
                             const std::function<double(const HalfBatch&)>& scale) {
  double sum = 0;
  for (const HalfBatch& own : cases) sum += std::log(own.found.measured().value() / scale(own));
  const double factor = std::exp(sum / static_cast<double>(cases.size()));
  std::vector<Quantity> ratios;
  for (const HalfBatch& own : cases) {
    ratios.emplace_back(factor * scale(own) / own.found.derived().value());
  }
  return ratios;
}

void judge_plain_runs(const Cases& cases, const SolutionRuns& first, const Setting& setting,
                      Examination& it) {
  Comparison batches = equal("batch at which half of the plain runs stay, over that derived");
  for (const HalfBatch& own : cases) {
    batches.add(
        fmt::format("`T = {}`, `eta = {:.3g}`, `B = {}`", own.length, own.step, own.found.batch),
        own.found.ratio(), 1);
  }
  std::vector<Quantity> unfed(cases.size(), 1);
  const auto not_run = [](Index) { return Quantity(0.5); };
  unfed[0] = first.half_batch(false, setting.draws(160), setting, not_run).derived().value() /
             cases[0].found.derived().value();
  it.judge(leaves, batches.of_kind(EvidenceKind::statistical)
                       .unless(no_feedback, unfed)
                       .unless(larger_noise, times(1.1))
                       .against(square_length, fitted(cases,
                                                      [](const HalfBatch& own) {
                                                        return own.step * own.length * own.length;
                                                      }))
                       .against(one_batch, fitted(cases, [](const HalfBatch&) { return 1.0; })));
  const auto batch = [&](std::size_t i) { return log(cases[i].found.measured()); };
  const auto of_ratio = [](double high, double low) { return Quantity(std::log(high / low)); };
  const Quantity of_length = (batch(2) - batch(0)) / of_ratio(cases[2].length, cases[0].length);
  const Quantity of_step =
      (batch(2) - batch(1) - of_length * of_ratio(cases[2].length, cases[1].length)) /
      of_ratio(cases[2].step, cases[1].step);
  it.judge(leaves, below("distance from 1 of the exponents of `T` and `eta`, over that of 0 and 2",
                         std::vector<Quantity>{abs(of_length - 1), abs(of_step - 1)}, 0.5)
                       .at(std::vector<std::string>{fmt::format("T^{:.3f}", of_length.value()),
                                                    fmt::format("eta^{:.3f}", of_step.value())})
                       .of_kind(EvidenceKind::statistical));
  it.report("exponent of `T` in that batch", of_length.value(),
            fmt::format("+- {:.2g}", of_length.error()));
  it.report("exponent of `eta` in that batch", of_step.value(),
            fmt::format("+- {:.2g}", of_step.error()));
}

void judge_runs(const SolutionRuns& made, const Setting& setting, Examination& it) {
  const auto shorter = [&](Index times) {
    const Bigrams<double>& b = made.bigrams();
    return std::max(b.context / times, b.entries() / b.tokens() + 1);
  };
  const SolutionRuns first = made.changed(shorter(4), 1);
  const std::uint32_t runs = std::max(16U, setting.draws(64));
  const Cases cases{half_batch(first, 3 * runs, setting),
                    half_batch(made.changed(shorter(1), 0.25), runs, setting),
                    half_batch(made, runs, setting)};
  judge_plain_runs(cases, first, setting, it);
  const Index batch = cases[2].found.batch;
  const auto weight = [&](Index own) { return made.l1_noise(static_cast<double>(own)); };
  it.report("`lambda` of the `l1` steps over `q_min K_P`", weight(batch) / made.least_pull());
  it.report("that batch over the one below which noise grows without bound while `V` is `P`",
            static_cast<double>(batch) / made.critical());
  it.judge(farther, below("share of plain runs that end nearer than `l1` steps from the same draws",
                          share_nearer(cases[2].distances,
                                       made.distances(batch, weight(batch), runs, 0, setting),
                                       setting.false_alarm),
                          0.5)
                        .of_kind(EvidenceKind::statistical)
                        .with(fmt::format("{} runs at `B = {}`", runs, batch)));
  const Index eighth = std::max<Index>(1, batch / 8);
  it.judge(
      leave_too,
      below("share of `l1` runs that stay at an eighth of that batch",
            share_within(made.distances(eighth, weight(eighth), runs, 0, setting), setting), 0.5)
          .of_kind(EvidenceKind::statistical)
          .with(fmt::format("{} runs at `B = {}`", runs, eighth)));
}

void examine(const Setting& setting, Examination& it) {
  const Knob& own_length = setting.value(short_length) > 0 ? short_length : length;
  const Training<double> training = examined_training(setting, [&] {
    return clearest_training(setting.count(vocabulary), setting.count(own_length),
                             setting.count(few_positions), setting.seed);
  });
  report_least_pull(training, it);
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
  judge_runs(made, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::small_batch
