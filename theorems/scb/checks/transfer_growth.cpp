#include <array>

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/residual_runs.hpp"

namespace popgrad::scb::checks::transfer_growth {
namespace {

Statement sheet{
    .id = "scb.transfer-growth",
    .paper = "arXiv 2410.23438, Theorem 4.1",
    .status = "bound proved in source",
    .about =
        "`V` kept: SGD with Gaussian noise; SGD on sequences, `P` a quarter drawn and three "
        "quarters identity",
    .theorem = R"(
While V stays at a correlated start, k steps on A and a threshold find all supports from a
critical batch that is, with Gaussian noise of the levels at the solution times <V,V>/K_P, at
every level of success,
  B = b (ln T - ln ln T/2 + O(1)),  b = 8 sigma_A^2/((rho K_P q_min)^2 k_eff)
  k_eff = (1 - r^k)(1 + r)/((1 + r^k)(1 - r)),  r = 1 - eta <V,V>
and no power of T: over six decades its exponent falls. k steps are worth k_eff < k batches, of V
nothing but rho counts. On sequences this is not so. At A = 1/T the residual is e_y - V mu, and
noise of A is larger; then it feeds on itself, as the residual contains it: its sum of squares X
becomes in a step
  r^2 X + eta^2 T (tr M C - 2 <q,a> tr M P C Z' + (|q|^2 alpha^2 + X) tr M^2)/(B mu_k),
M = Z C Z', Z = V - mu 1', C = diag(mu) - mu mu', a = alpha q on the support. So at one eta the
batch goes as T^(1 - 1/k) in the end. With eta as T^(-1/2), eta^2 T tr M^2/(B mu_k) falls, and B =
b' (ln T - ln ln T/2 + O(1)) on sequences as well, b' that of their noise. All supports are found
where exactly as many positions survive as the supports have.)",
    .reaches = {EvidenceKind::statistical},
    .controls = {independent_batch},
    .false_version = "logarithm",
    .reads = "reduced"};

const Clause logarithm = sheet.clause(
    "with `V` kept, `k` steps on `A` and a threshold need a batch `b (ln T - ln ln T/2 + O(1))`, "
    "no power "
    "of `T`, under Gaussian noise and on sequences with `eta` as `T^(-1/2)`");
const Clause feeds_itself = sheet.clause(
    "on sequences at one `eta` the batch outgrows any `a + b ln T`, as noise of `A` feeds on "
    "itself");
[[maybe_unused]] const Clause on_long_sequences = sheet.not_checked(
    "the exponent `1 - 1/k` in the end, sequences beyond `T = 4000` and of laws that need many");

const Hypothesis noise = sheet.assume(gaussian_noise);
const Hypothesis positive = sheet.assume(positive_correlation);
const Hypothesis stable = sheet.assume("`eta <V,V>` below 1");
const Hypothesis above_zero = sheet.assume({"threshold above 0", Basis::evaluated,
                                            "`alpha_A` beyond 1 leaves less than 0 off the "
                                            "support, and with a small `q_min T` half way is "
                                            "below it"});
const Hypothesis one_law = sheet.assume(
    by_construction("the instance fixed while `T` grows", "one law is run at all lengths"));

const Control every_step = sheet.control("every-step", "every step worth a batch: `k_eff = k`");
const Control smaller_batch = sheet.control("smaller", "the batch a tenth smaller");
const Control no_feedback =
    sheet.control("no-feedback", "on sequences, noise of `A` left out of the residual");
const Control gaussian_levels = sheet.control(
    "gaussian-levels", "on sequences with `eta` as `T^(-1/2)`, Gaussian noise of the levels above");
const Rival power =
    sheet.rival("power", "with Gaussian noise a power of `T`", "its factor and exponent");
const Rival power_on_sequences = sheet.rival(
    "power-on-sequences", "with `eta` as `T^(-1/2)` a power of `T`", "its factor and exponent");
const Rival only_logarithm = sheet.rival(
    "logarithm", "on sequences too, at one `eta`, a logarithm: `a + b (ln T - ln ln T/2)`",
    "a and `b`");
const Rival gaussian_model = sheet.rival(
    "gaussian-model", "at one `eta` the batch of Gaussian noise that does not depend on `A`",
    "its level");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 6, 3));
const Knob shortest =
    sheet.knob(logarithmic_knob("shortest", "positions T of the shortest context", 200, 800, 200));
const Knob positions = sheet.knob(support_knob);
const Knob theta = sheet.knob(kernel_size);
const Knob correlation_knob =
    sheet.knob(linear_knob("correlation", "rho, of the transferred kernel with P", 0.1, 0.9, 0.5));
const Knob lost = sheet.knob(lost_correlation);
const Knob count_knob = sheet.knob(whole_knob("steps", "steps k on A", 5, 20, 10));
const Knob decay_knob = sheet.knob(
    linear_knob("decay", "k eta <V,V>, by which A comes near its limit <V,P>/<V,V> q", 1, 3, 2));
const Knob long_step = sheet.knob(
    linear_knob("long-step", "eta <V,V>, too long; 0: as decay and steps say", 1.05, 1.9, 0)
        .breaking(stable));
const Knob level_knob = sheet.knob(found_level);

const Knob clear_vocabulary =
    sheet.knob(whole_knob("sampled-tokens", "tokens N of the law of sequences", 3, 4, 3));
const Knob few_positions =
    sheet.knob(whole_knob("sampled-support", "positions Q of that law, with even shares", 1, 2, 1));
const Knob clear_correlation =
    sheet.knob(linear_knob("sampled-correlation", "rho on sequences", 0.7, 0.9, 0.8));
const Knob few_steps =
    sheet.knob(whole_knob("sampled-steps", "steps k on A on sequences", 4, 6, 5));

// Beyond 10^6 positions the rung draws only large entries.
constexpr std::array growth{1.0, 2e4, 1e6};
constexpr Index first_length = 40;  // on sequences

// tr M C/mu_k and tr M^2, M = Z C Z': the variance that one sequence adds to a position off the support
// at A = 1/T, up to O(1/T), and what that of A there counts in the residual.
Matrix<double> covariance_of_values(const Training<double>& training) {
  return training.start * token_covariance(training.bigrams.stationary) *
         training.start.transpose();
}
Vector<double> noise_at_start(const Training<double>& training) {
  const Vector<double>& mu = training.bigrams.stationary;
  return (covariance_of_values(training) * token_covariance(mu)).trace() * mu.cwiseInverse();
}
double square_of_values(const Training<double>& training) {
  return covariance_of_values(training).squaredNorm();
}

// scale of found_probability over sqrt(B), with Gaussian noise.
double per_root_batch(const Training<double>& training, const FrozenSteps& steps) {
  const Bigrams<double>& b = training.bigrams;
  const double pull = covariance_product(training.start, b.transition, b.stationary);
  const double square = covariance_product(training.start, training.start, b.stationary);
  return pull * std::sqrt(transition_size(b) / square * steps.worth(training)) * b.law.minCoeff() /
         2;
}

// A law that needs few sequences: P is mostly the identity, mu that of what was drawn, q^k even.
Training<double> clear_training(const Setting& setting) {
  Training<double> training = from_scratch(setting.count(clear_vocabulary), first_length,
                                           setting.count(few_positions), setting.seed);
  Bigrams<double>& b = training.bigrams;
  b.transition *= 0.25;
  b.transition.diagonal().array() += 0.75;
  b.law.setConstant(1 / static_cast<double>(b.support(0)));
  training.start =
      transfer_start(b, setting.value(theta), setting.value(clear_correlation), setting.seed);
  return training;
}

// k steps on sequences at one length.
struct SampledLength {
  CriticalBatch found;
  double positions;
  double gaussian_batch;     // of the Gaussian model
  Quantity unfed, gaussian;  // shares at found.batch without feedback, and of that model
  [[nodiscard]] double batch() const { return static_cast<double>(found.batch); }
  [[nodiscard]] double logarithm() const {
    return std::log(positions) - std::log(std::log(positions)) / 2;
  }
};

// At multiples of the first length, where eta is `steps.step`; it goes as T^-fall.
std::vector<SampledLength> sampled_lengths(const Setting& setting, Training<double> training,
                                           FrozenSteps steps, std::array<double, 3> multiples,
                                           double fall) {
  const double first_step = steps.step;
  std::vector<SampledLength> made;
  std::uint32_t first_run = 1U << 22U;
  for (const double ratio : multiples) {
    Bigrams<double>& b = training.bigrams;
    b.context = std::lround(ratio * static_cast<double>(first_length));
    steps.step = first_step * std::pow(ratio, -fall);
    const NoiseLevels levels = levels_of_shape(b, NoiseShape::multiplicative);
    const double per_root = per_root_batch(training, steps);
    constexpr double level = 0.8;
    ResidualRequest request{.step = steps.step, .steps = steps.count};
    const auto law = [&](Index batch, std::uint32_t own) {
      return ResidualRuns(training).found(request, steps.threshold(training), batch, own, setting);
    };
    SampledLength& at = made.emplace_back();
    // A run costs B T, and the rivals miss at the middle length.
    const std::uint32_t runs = setting.draws(b.context < 1000 ? 2000 : 900);
    at.positions = static_cast<double>(b.context);
    at.gaussian_batch = std::pow(scale_for(b, levels, level) / per_root, 2);
    at.found = critical_batch(
        level, at.gaussian_batch, std::max(8U, setting.draws(900)), law, [&](Index batch) {
          return found_share_on_sequences(training, steps, batch, runs, first_run, setting);
        });
    first_run += runs;
    at.gaussian = std::exp(log_found(b, levels, per_root * std::sqrt(at.batch())));
    request.feedback = false;
    at.unfed = law(at.found.batch, std::max(8U, setting.draws(100)));
  }
  return made;
}

// Shares on sequences, and of the law of their residuals.
Comparison shares_of(const std::vector<SampledLength>& lengths, const char* what) {
  Comparison made = equal(what);
  std::vector<Quantity> smaller;
  for (const SampledLength& at : lengths) {
    made.add(fmt::format("`T = {}`, `B = {}`", at.positions, at.found.batch), at.found.share,
             at.found.law);
    smaller.push_back(at.found.law_at(at.batch() / 0.9));
  }
  return made.of_kind(EvidenceKind::statistical).unless(smaller_batch, smaller);
}

// The share of the law at the batch that something else makes of its batches at both ends.
std::vector<Quantity> with_middle(const std::vector<SampledLength>& lengths, double batch) {
  const SampledLength& middle = lengths[1];
  return {lengths[0].found.law, middle.found.law_at(middle.batch() * middle.batch() / batch),
          lengths[2].found.law};
}

// The share of the way from one end to the other, in ln T - ln ln T/2, of the middle length.
double way_to_middle(const std::vector<SampledLength>& at) {
  return (at[1].logarithm() - at[0].logarithm()) / (at[2].logarithm() - at[0].logarithm());
}

void report_exponent(const std::vector<SampledLength>& at, const char* what, Examination& it) {
  const Quantity exponent = (log(at[2].found.measured()) - log(at[0].found.measured())) /
                            Quantity(std::log(at[2].positions / at[0].positions));
  it.report(what, exponent.value(),
            fmt::format("+- {:.2g}, `B = {}`, {}, {}", exponent.error(), at[0].found.batch,
                        at[1].found.batch, at[2].found.batch));
}

void judge_sequences(const Setting& setting, Examination& it) {
  const Training<double> training = clear_training(setting);
  const Vector<double>& mu = training.bigrams.stationary;
  FrozenSteps steps;
  steps.count = static_cast<std::uint64_t>(setting.count(few_steps));
  const auto count = static_cast<double>(steps.count);
  steps.step =
      setting.value(decay_knob) / (count * covariance_product(training.start, training.start, mu));
  const auto fixed = sampled_lengths(setting, training, steps, {2, 4, 8}, 0);
  const double way = way_to_middle(fixed);
  std::vector<Quantity> unfed, gaussian;
  double factor = 1;  // of the Gaussian model's batch, that fits best
  for (const SampledLength& at : fixed) {
    factor *= std::cbrt(at.found.measured().value() / at.gaussian_batch);
  }
  for (const SampledLength& at : fixed) {
    unfed.push_back(at.unfed);
    gaussian.push_back(at.found.law_at(at.batch() * at.batch() / (factor * at.gaussian_batch)));
  }
  report_exponent(fixed, "exponent of `T` on sequences, one `eta`", it);
  it.judge(feeds_itself,
           shares_of(fixed, "share that finds all supports on sequences, one `eta`")
               .unless(no_feedback, unfed)
               .against(gaussian_model, gaussian)
               .against(only_logarithm,
                        with_middle(fixed, fixed[0].batch() * (1 - way) + fixed[2].batch() * way)));
  it.judge(feeds_itself,
           below("batch at the middle length over `a + b (ln T - ln ln T/2)` through both ends",
                 fixed[1].found.measured() /
                     (fixed[0].found.measured() * (1 - way) + fixed[2].found.measured() * way),
                 1)
               .of_kind(EvidenceKind::statistical));

  // What is fed back adds some 1/40 to the variance at the shortest length.
  constexpr double fed_back = 1.0 / 40;
  const double gain = std::pow(steps.step, 2) * static_cast<double>(first_length) *
                      square_of_values(training) / (mu.minCoeff() * fixed[0].batch());
  steps.step *= std::min(1.0, std::sqrt(2 * fed_back / (count * gain)));
  const auto quiet = sampled_lengths(setting, training, steps, {1, 10, 100}, 0.5);
  const double own_way = way_to_middle(quiet);
  report_exponent(quiet, "exponent of `T` on sequences, `eta` as `T^(-1/2)`", it);
  Comparison shares =
      shares_of(quiet, "share that finds all supports on sequences, `eta` as `T^(-1/2)`");
  shares.predicted =
      with_middle(quiet, quiet[0].batch() * (1 - own_way) + quiet[2].batch() * own_way);
  std::vector<Quantity> gaussian_shares;
  for (const SampledLength& at : quiet) gaussian_shares.push_back(at.gaussian);
  it.judge(logarithm,
           shares.unless(gaussian_levels, gaussian_shares)
               .against(power_on_sequences,
                        with_middle(quiet, std::sqrt(quiet[0].batch() * quiet[2].batch()))));
}

void examine(const Setting& setting, Examination& it) {
  Training<double> training = examined_training(setting, [&] {
    return correlated_start(from_scratch(setting.count(vocabulary), setting.count(shortest),
                                         setting.count(positions), setting.seed),
                            correlation_knob, setting);
  });
  Bigrams<double>& b = training.bigrams;
  const NoiseLevels levels = levels_of_shape(b, NoiseShape::multiplicative);
  const Vector<double>& mu = b.stationary;
  const double pull = covariance_product(training.start, b.transition, mu);
  const double square = covariance_product(training.start, training.start, mu);
  const double rho = square > 0 ? pull / std::sqrt(square * transition_size(b)) : 0.0;
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"rho", rho}, {"seed", setting.seed}};
  const bool correlated = it.require_positive(positive, rho, fmt::format("`rho = {:.3g}`", rho));
  FrozenSteps steps;
  steps.count = static_cast<std::uint64_t>(setting.count(count_knob));
  const double too_long = setting.value(long_step);
  const double decay =
      too_long > 0 ? too_long : setting.value(decay_knob) / static_cast<double>(steps.count);
  steps.step = decay / square;
  it.require_positive(stable, 1 - decay, fmt::format("`eta <V,V> = {:.3g}`", decay));
  if (!correlated) return;
  const double threshold = steps.threshold(training);
  if (!it.require_positive(above_zero, threshold, fmt::format("`tau = {:.3g}`", threshold))) return;
  const double worth = steps.worth(training);
  it.parameters["k_eff"] = worth;
  const double per_root = per_root_batch(training, steps);
  const BatchGrowth made = batches_found(b, levels, per_root, growth, setting.value(level_knob));
  Comparison shares = equal("share of runs that find all supports");
  const Index context = b.context;
  for (std::size_t i = 0; i < growth.size(); ++i) {
    b.context = std::lround(growth[i] * static_cast<double>(context));
    shares.add(fmt::format("`T = {}`, `B = {}`", b.context, made.batch[i]),
               found_share(training, levels, steps, counted(made.batch[i]),
                           static_cast<std::uint32_t>(i) << 20U, setting),
               made.found[i]);
    if (i == 0) continue;
    it.report("exponent of `T` in the batch since the length before",
              std::log(made.batch[i] / made.batch[i - 1]) / std::log(growth[i] / growth[i - 1]),
              shares.places.back());
  }
  it.judge(logarithm,
           shares.of_kind(EvidenceKind::statistical)
               .unless(independent_batch, made.independent)
               .against(power, made.power)
               .unless(every_step, made.larger_by(static_cast<double>(steps.count) / worth))
               .unless(smaller_batch, made.larger_by(1 / 0.9)));
  b.context = context;
  const Vector<double> formula = levels.attention.cwiseAbs2() * (square / transition_size(b));
  it.report("noise of one sequence at `A = 1/T` over that level, largest of a token",
            (noise_at_start(training).array() / formula.array()).maxCoeff());
  if (it.broken() == nullptr) judge_sequences(setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::transfer_growth
