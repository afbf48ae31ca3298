// Theorem    scb.transfer-growth
// Status     bound proved in source; measured here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 4.1
// Statement  while V stays at a correlated start, k steps on A and a threshold find all supports
//            from a critical batch that is, whatever the level of success,
//              B = b (ln T - ln ln T/2 + O(1)),  b = 8 sigma_A^2/((rho K_P q_min)^2 k_eff)
//              k_eff = (1 - r^k)(1 + r)/((1 + r^k)(1 - r)),  r = 1 - eta <V,V>
//            and no power of T: over six decades its exponent falls. k steps are worth k_eff < k
//            batches, of V nothing but rho counts. (The procedure that boosts V and A together is
//            another: without a threshold it sums the noise of T positions, figure scb-transfer)
// Hypotheses H1 positive correlation; H2 eta <V,V> below 1; H3 threshold above 0 (alpha_A beyond 1
//            leaves less than 0 off the support, and with a small q_min T half way is below it);
//            H4 eta and the instance fixed while T grows
// Check      share of runs after whose k steps exactly as many positions survive as are looked at,
//            at three lengths T, with the batch whose probability (one_step.hpp) is
//            the level; local exponents of that batch, between lengths, are reported
// Controls   a batch independent of T; the power of T through the batches at both ends; k_eff = k;
//            the batch a tenth smaller
// Uses       rung noisy-lumped, transfer

#include <array>

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::transfer_growth {
namespace {

constexpr const char* stable_text = "eta <V,V> below 1";
constexpr const char* threshold_text = "threshold above 0";
// Beyond 10^6 positions the rung draws large entries alone.
constexpr std::array growth{1.0, 2e4, 1e6};

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 3, 6, 3);
constexpr Knob shortest =
    logarithmic_knob("shortest", "positions T of the shortest context", 200, 800, 200);
constexpr Knob theta =
    logarithmic_knob("theta", "size of the transfer start, in units of P - mu 1'", 0.3, 0.8, 0.5);
constexpr Knob correlation_knob =
    linear_knob("correlation", "rho, of the transferred kernel with P", 0.1, 0.9, 0.5);
constexpr Knob lost_correlation =
    linear_knob("lost-correlation", "the same, not positive; 1: as correlation says", -0.5, -0.01,
                1)
        .breaking("positive correlation");
constexpr Knob count_knob = whole_knob("steps", "steps k on A", 5, 20, 10);
constexpr Knob decay_knob =
    linear_knob("decay", "k eta <V,V>, by which A comes near its limit <V,P>/<V,V> q", 1, 3, 2);
constexpr Knob long_step =
    linear_knob("long-step", "eta <V,V>, too long; 0: as decay and steps say", 1.05, 1.9, 0)
        .breaking(stable_text);
constexpr Knob level_knob =
    linear_knob("level", "probability that all supports are found", 0.6, 0.8, 0.7);

Training<double> drawn_training(const Setting& setting) {
  Training<double> training = from_scratch(setting.count(vocabulary), setting.count(shortest),
                                           setting.count(support_knob), setting.seed);
  const double lost = setting.value(lost_correlation);
  training.start = transfer_start(training.bigrams, setting.value(theta),
                                  lost < 0 ? lost : setting.value(correlation_knob), setting.seed);
  return training;
}

void examine(const Setting& setting, Examination& it) {
  Training<double> training = examined_training(setting, [&] { return drawn_training(setting); });
  Bigrams<double>& b = training.bigrams;
  const NoiseLevels levels = levels_of_shape(b, NoiseShape::multiplicative);
  const Vector<double>& mu = b.stationary;
  const double pull = covariance_product(training.start, b.transition, mu);
  const double square = covariance_product(training.start, training.start, mu);
  const double rho = square > 0 ? pull / std::sqrt(square * transition_size(b)) : 0.0;
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"rho", rho}, {"seed", setting.seed}};
  it.require_positive("positive correlation", rho, fmt::format("rho = {:.3g}", rho));
  FrozenSteps steps;
  steps.count = static_cast<std::uint64_t>(setting.count(count_knob));
  const double too_long = setting.value(long_step);
  const double decay =
      too_long > 0 ? too_long : setting.value(decay_knob) / static_cast<double>(steps.count);
  steps.step = decay / square;
  it.require_positive(stable_text, 1 - decay, fmt::format("eta <V,V> = {:.3g}", decay));
  if (!(rho > 0)) return;
  const double threshold = steps.threshold(training);
  it.require_positive(threshold_text, threshold, fmt::format("tau = {:.3g}", threshold));
  if (!(threshold > 0)) return;
  const double worth = steps.worth(training);
  it.parameters["k_eff"] = worth;
  const double per_root = rho * transition_size(b) * b.law.minCoeff() / 2 * std::sqrt(worth);
  const BatchGrowth made = batches_found(b, levels, per_root, growth, setting.value(level_knob));
  Comparison shares;
  shares.kind = EvidenceKind::statistical;
  shares.what = "share of runs that find all supports";
  shares.predicted = made.found;
  const Index context = b.context;
  for (std::size_t i = 0; i < growth.size(); ++i) {
    b.context = std::lround(growth[i] * static_cast<double>(context));
    shares.measured.push_back(found_share(training, levels, steps, counted(made.batch[i]),
                                          static_cast<std::uint32_t>(i) << 20U, setting));
    shares.places.push_back(fmt::format("T = {}, B = {}", b.context, made.batch[i]));
    if (i == 0) continue;
    it.report("exponent of T in the batch since the length before",
              std::log(made.batch[i] / made.batch[i - 1]) / std::log(growth[i] / growth[i - 1]),
              shares.places.back());
  }
  shares.mistakes = {
      predicts("independent", made.independent), predicts("power", made.power),
      predicts("every-step", made.larger_by(static_cast<double>(steps.count) / worth)),
      predicts("smaller", made.larger_by(1 / 0.9))};
  it.judge(shares);
}

}  // namespace

Statement statement() {
  return {.id = "scb.transfer-growth",
          .claim = "with V kept, k steps on A and a threshold need a batch as a + b ln T",
          .paper = "arXiv 2410.23438, Theorem 4.1",
          .status = "bound proved in source",
          .hypotheses = {"positive correlation", stable_text, threshold_text,
                         by_construction("eta and the instance fixed while T grows",
                                         "one law and one eta are run at all lengths")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"independent", "a batch independent of T"},
                       {"power", "the power of T through the batches at both ends"},
                       {"every-step", "every step worth a batch: k_eff = k"},
                       {"smaller", "the batch a tenth smaller"}},
          .knobs = {vocabulary, shortest, support_knob, theta, correlation_knob, lost_correlation,
                    count_knob, decay_knob, long_step, level_knob},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::transfer_growth
