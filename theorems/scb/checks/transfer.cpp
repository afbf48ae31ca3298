// Theorem    scb.transfer
// Status     bound proved in source; measured here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 4.1
// Statement  from
//              V(0) = mu 1' + theta (P_hat - mu 1') with <P_hat, P> = rho K_P > 0
//            one step on A (V stays) and a threshold at half of what the least q gets find all
//            supports with probability, up to O(1/T),
//              prod_k Phi(z_k)^(T - Q_k) prod_t Phi((2 q^k_t/q_min - 1) z_k),
//              z_k = rho K_P q_min sqrt(B)/(2 sigma_{A,k}),
//            whatever theta is: to leading order at B = 8 sigma_A^2 ln T/(rho K_P q_min)^2
// Hypotheses H1 positive correlation; H2 eta and the instance fixed while T grows
// Check      share of runs after whose first step exactly as many positions survive as are looked
//            at, at two lengths, with the batch that the probability asks for
// Controls   a batch independent of T; z as rho^0.9; noise that does not scale with theta
// Uses       rung noisy-lumped, transfer

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::transfer {
namespace {

constexpr double longer = 1e4;  // times

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 3, 6, 3);
constexpr Knob shortest =
    logarithmic_knob("shortest", "positions T of the shorter context", 500, 5000, 1000);
constexpr Knob theta =
    logarithmic_knob("theta", "size of the transfer start, in units of P - mu 1'", 0.3, 0.8, 0.5);
constexpr Knob correlation_knob =
    linear_knob("correlation", "rho, of the transferred kernel with P", 0.1, 0.6, 0.5);
constexpr Knob lost_correlation =
    linear_knob("lost-correlation", "the same, not positive; 1: as correlation says", -0.5, -0.01,
                1)
        .breaking("positive correlation");
constexpr Knob level_knob =
    linear_knob("level", "probability that all supports are found", 0.6, 0.8, 0.7);

Training<double> drawn_training(const Setting& setting) {
  Training<double> training = from_scratch(setting.count(vocabulary), setting.count(shortest),
                                           setting.count(support_knob), setting.seed);
  const double lost = setting.value(lost_correlation);
  const double rho = lost < 0 ? lost : setting.value(correlation_knob);
  training.start = transfer_start(training.bigrams, setting.value(theta), rho, setting.seed);
  return training;
}

void examine(const Setting& setting, Examination& it) {
  Training<double> training = examined_training(setting, [&] { return drawn_training(setting); });
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
  it.require_positive("positive correlation", rho, fmt::format("rho = {:.3g}", rho));
  if (rho == 0) return;
  const double per_root = std::fabs(rho) * transition * b.law.minCoeff() / 2;
  Comparison shares;
  shares.kind = EvidenceKind::statistical;
  shares.what = "share of runs that find all supports";
  std::vector<Quantity> weaker;
  std::vector<Quantity> unscaled;
  std::vector<Quantity> independent;
  const Index shorter = b.context;
  for (const double ratio : {1.0, longer}) {
    b.context = std::lround(ratio * static_cast<double>(shorter));
    const double wanted = scale_for(b, levels, setting.value(level_knob)) / per_root;
    const Index batch = counted(std::ceil(wanted * wanted));
    const double scale = per_root * std::sqrt(static_cast<double>(batch));
    const auto chance = [&](double own) { return std::exp(log_found(b, levels, own)); };
    shares.measured.push_back(
        found_share(training, levels, FrozenSteps{}, batch, ratio > 1 ? 1U << 20U : 0, setting));
    shares.predicted.push_back(found_probability(b, levels, scale));
    shares.places.push_back(fmt::format("T = {}, B = {}", b.context, batch));
    weaker.emplace_back(chance(scale * std::pow(std::fabs(rho), -0.1)));
    unscaled.emplace_back(chance(scale * size));
    const Index own_context = std::exchange(b.context, shorter);
    independent.emplace_back(chance(scale));
    b.context = own_context;
  }
  shares.mistakes = {predicts("independent", independent), predicts("correlation", weaker),
                     predicts("noise", unscaled)};
  it.judge(shares);
}

}  // namespace

Statement statement() {
  return {.id = "scb.transfer",
          .claim =
              "from a correlated start a threshold after one step on A finds the supports at a "
              "batch that grows as ln T",
          .paper = "arXiv 2410.23438, Theorem 4.1",
          .status = "bound proved in source",
          .hypotheses = {"positive correlation",
                         by_construction("eta and the instance fixed while T grows",
                                         "one law and one eta are run at both lengths")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"independent", "a batch independent of T"},
                       {"correlation", "z as the power 0.9 of rho"},
                       {"noise", "noise that does not scale with theta"}},
          .knobs = {vocabulary, shortest, support_knob, theta, correlation_knob, lost_correlation,
                    level_knob},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::transfer
