#include <array>

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::transfer_growth {
namespace {

Statement sheet{.id = "scb.transfer-growth",
                .paper = "arXiv 2410.23438, Theorem 4.1",
                .status = "bound proved in source",
                .about = "SGD with Gaussian noise, V kept",
                .theorem = R"(
While V stays at a correlated start, k steps on A and a threshold find all supports from a
critical batch that is, at every level of success,
  B = b (ln T - ln ln T/2 + O(1)),  b = 8 sigma_A^2/((rho K_P q_min)^2 k_eff)
  k_eff = (1 - r^k)(1 + r)/((1 + r^k)(1 - r)),  r = 1 - eta <V,V>
and no power of T: over six decades its exponent falls. k steps are worth k_eff < k batches, of V
nothing but rho counts. (The procedure that boosts V and A together is another: without a
threshold it sums the noise of T positions, figure scb-transfer.) All supports are found where
exactly as many positions survive as the supports have.)",
                .reaches = {EvidenceKind::statistical},
                .controls = {independent_batch},
                .reads = "reduced"};

const Clause logarithm = sheet.clause(
    "with V kept, k steps on A and a threshold need a batch b (ln T - ln ln T/2 + O(1)), no power "
    "of T");

const Hypothesis positive = sheet.assume(positive_correlation);
const Hypothesis stable = sheet.assume("eta <V,V> below 1");
const Hypothesis above_zero = sheet.assume(
    {"threshold above 0", Basis::evaluated,
     "alpha_A beyond 1 leaves less than 0 off the support, and with a small q_min T half way is "
     "below it"});
const Hypothesis one_law = sheet.assume(by_construction(
    "eta and the instance fixed while T grows", "one law and one eta are run at all lengths"));

const Control power = sheet.control("power", "the power of T through the batches at both ends");
const Control every_step = sheet.control("every-step", "every step worth a batch: k_eff = k");
const Control smaller_batch = sheet.control("smaller", "the batch a tenth smaller");

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

// Beyond 10^6 positions the rung draws only large entries.
constexpr std::array growth{1.0, 2e4, 1e6};

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
  const bool correlated = it.require_positive(positive, rho, fmt::format("rho = {:.3g}", rho));
  FrozenSteps steps;
  steps.count = static_cast<std::uint64_t>(setting.count(count_knob));
  const double too_long = setting.value(long_step);
  const double decay =
      too_long > 0 ? too_long : setting.value(decay_knob) / static_cast<double>(steps.count);
  steps.step = decay / square;
  it.require_positive(stable, 1 - decay, fmt::format("eta <V,V> = {:.3g}", decay));
  if (!correlated) return;
  const double threshold = steps.threshold(training);
  if (!it.require_positive(above_zero, threshold, fmt::format("tau = {:.3g}", threshold))) return;
  const double worth = steps.worth(training);
  it.parameters["k_eff"] = worth;
  const double per_root = rho * transition_size(b) * b.law.minCoeff() / 2 * std::sqrt(worth);
  const BatchGrowth made = batches_found(b, levels, per_root, growth, setting.value(level_knob));
  Comparison shares = equal("share of runs that find all supports");
  const Index context = b.context;
  for (std::size_t i = 0; i < growth.size(); ++i) {
    b.context = std::lround(growth[i] * static_cast<double>(context));
    shares.add(fmt::format("T = {}, B = {}", b.context, made.batch[i]),
               found_share(training, levels, steps, counted(made.batch[i]),
                           static_cast<std::uint32_t>(i) << 20U, setting),
               made.found[i]);
    if (i == 0) continue;
    it.report("exponent of T in the batch since the length before",
              std::log(made.batch[i] / made.batch[i - 1]) / std::log(growth[i] / growth[i - 1]),
              shares.places.back());
  }
  it.judge(logarithm,
           shares.of_kind(EvidenceKind::statistical)
               .unless(independent_batch, made.independent)
               .unless(power, made.power)
               .unless(every_step, made.larger_by(static_cast<double>(steps.count) / worth))
               .unless(smaller_batch, made.larger_by(1 / 0.9)));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::transfer_growth
