#include <array>

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::transfer {
namespace {

Statement sheet{.id = "scb.transfer",
                .paper = "arXiv 2410.23438, Theorem 4.1",
                .status = "bound proved in source",
                .about = "SGD with Gaussian noise, `V` kept",
                .theorem = R"(
From
  V(0) = mu 1' + theta (P_hat - mu 1') with <P_hat, P> = rho K_P > 0
one step on A (V stays) and a threshold at half of what the least q gets find all supports with
probability, up to O(1/T),
  prod_k Phi(z_k)^(T - Q_k) prod_t Phi((2 q^k_t/q_min - 1) z_k),
  z_k = rho K_P q_min sqrt(B)/(2 sigma_{A,k}),
for every theta: to leading order at
  B = 8 sigma_A^2 ln T/(rho K_P q_min)^2.
All supports are found where exactly as many positions survive as the supports have.)",
                .reaches = {EvidenceKind::statistical},
                .controls = {independent_batch},
                .false_version = "power",
                .reads = "reduced"};

const Clause found = sheet.clause(
    "`V` kept at a correlated start, one step on `A` with Gaussian noise and a threshold find all "
    "supports at a batch as `ln T`, at leading order");

const Hypothesis noise = sheet.assume(gaussian_noise);
const Hypothesis positive = sheet.assume(positive_correlation);
const Hypothesis one_law =
    sheet.assume(by_construction("`eta` and the instance fixed while `T` grows",
                                 "one law and one `eta` are run at all lengths"));

const Control weaker_power = sheet.control("correlation", "`z` as the power 0.9 of `rho`");
const Control same_noise = sheet.control("noise", "noise that does not scale with `theta`");

const Rival power =
    sheet.rival("power", "the batch goes as a power of `T`, that through the batches at both ends",
                "an exponent");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 6, 3));
const Knob shortest = sheet.knob(
    logarithmic_knob("shortest", "positions T of the shortest context", 500, 5000, 1000));
const Knob positions = sheet.knob(support_knob);
const Knob theta = sheet.knob(kernel_size);
const Knob correlation_knob =
    sheet.knob(linear_knob("correlation", "rho, of the transferred kernel with P", 0.1, 0.6, 0.5));
const Knob lost = sheet.knob(lost_correlation);
const Knob level_knob = sheet.knob(found_level);

// Beyond 10^6 positions the rung draws only large entries.
constexpr std::array growth{1.0, 4e3, 1e5};

void examine(const Setting& setting, Examination& it) {
  Training<double> training = examined_training(setting, [&] {
    return correlated_start(from_scratch(setting.count(vocabulary), setting.count(shortest),
                                         setting.count(positions), setting.seed),
                            correlation_knob, setting);
  });
  Bigrams<double>& b = training.bigrams;
  const NoiseLevels levels = levels_of_shape(b, NoiseShape::multiplicative);
  const double transition = transition_size(b);
  const double pull = covariance_product(training.start, b.transition, b.stationary);
  // What is left of a start without variance by rounding has no correlation.
  const double variance = covariance_product(training.start, training.start, b.stationary);
  const double rounding = static_cast<double>(b.tokens()) * std::numeric_limits<double>::epsilon() *
                          stationary_square(training.start, b.stationary);
  const double size = variance > rounding ? std::sqrt(variance / transition) : 0.0;
  const double rho = size > 0 ? pull / (size * transition) : 0.0;
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"rho", rho}, {"seed", setting.seed}};
  it.require_positive(positive, rho, fmt::format("`rho = {:.3g}`", rho));
  if (rho == 0) return;
  const double per_root = std::fabs(rho) * transition * b.law.minCoeff() / 2;
  const BatchGrowth made = batches_found(b, levels, per_root, growth, setting.value(level_knob));
  Comparison shares = equal("share of runs that find all supports");
  const Index context = b.context;
  for (std::size_t i = 0; i < growth.size(); ++i) {
    b.context = std::lround(growth[i] * static_cast<double>(context));
    shares.add(fmt::format("`T = {}`, `B = {}`", b.context, made.batch[i]),
               found_share(training, levels, FrozenSteps{}, counted(made.batch[i]),
                           static_cast<std::uint32_t>(i) << 20U, setting),
               made.found[i]);
  }
  it.judge(found, shares.of_kind(EvidenceKind::statistical)
                      .unless(independent_batch, made.independent)
                      .unless(weaker_power, made.larger_by(std::pow(std::fabs(rho), -0.2)))
                      .unless(same_noise, made.larger_by(size * size))
                      .against(power, made.power));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::transfer
