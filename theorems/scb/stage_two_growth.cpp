// Theorem    scb.stage-two-growth
// Status     upper bound proved in source, growth derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 3.1, stage 2
// Statement  once supports are found, l1 steps need a batch, in steps whose number does not depend on
//            T, that grows with T by logarithms alone: noise off the supports is X (l1_noise.hpp), and
//            the batch that keeps it at a given size is
//              B = (2 sigma_A^2 <V,V>/(K_P lambda^2)) (ln T - O(ln ln T)),
//            no power of T. Where few positions reach lambda it grows faster than ln T at first: an
//            exponent of ln T above 1 over a finite range says no more
// Hypotheses H1 lambda below q_min K_P; H2 T large: what X leaves out (creep and noise of V, the mean
//            taken off gradients) below a tenth; H3 lambda, eta and the instance fixed while T grows
// Check      sum of squares off the supports over X at T, 100 T and 10^4 T, with the batch for one X
//            at each; exponents of ln T of that batch are reported
// Controls   a batch a tenth smaller; independent of T; the power of T through both ends
// Uses       rung noisy-lumped, three-part

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/ensemble.hpp"
#include "popgrad/scb/geometry.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/l1_noise.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr const char* light_text = "lambda below q_min K_P";
constexpr const char* long_text = "T large: what is left out below a tenth";
constexpr std::array growth{1.0, 100.0, 1e4};

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 2, 5, 3);
constexpr Knob length =
    logarithmic_knob("length", "positions T of the shortest context", 2000, 2e4, 5000);
constexpr Knob short_length =
    logarithmic_knob("short-length", "the same, too short; 0: length", 20, 100, 0)
        .breaking(long_text);
constexpr Knob weight_knob = linear_knob("l1-weight", "lambda over q_min K_P", 0.2, 0.5, 0.3);
constexpr Knob heavy_weight =
    linear_knob("heavy-weight", "the same, too heavy; 0: l1-weight", 1.5, 5, 0)
        .breaking(light_text);
constexpr Knob reach_knob = linear_knob(
    "reach", "lambda sqrt(B)/sigma_A in the shortest context, which sets X", 2.2, 2.8, 2.6);

void examine(const Setting& setting, Examination& it) {
  const Index support = setting.count(support_knob);
  const Bigrams<double> b =
      random_bigrams(setting.count(vocabulary), 4 * support, support, setting.seed);
  const double given = setting.value(short_length);
  const double positions = std::round(given > 0 ? given : setting.value(length));
  const double heavy = setting.value(heavy_weight);
  const double pull = b.law.minCoeff() * transition_size(b);
  const double weight = (heavy > 0 ? heavy : setting.value(weight_knob)) * pull;
  it.parameters = {{"N", b.tokens()},
                   {"T", positions},
                   {"Q", support},
                   {"lambda", weight},
                   {"seed", setting.seed}};
  it.require_positive(light_text, pull - weight, fmt::format("{:.3g} of {:.3g}", weight, pull));
  const L1Noise noise(b, weight);
  const double square = noise.derived(positions, noise.batch_of(setting.value(reach_knob))).value();
  std::array<double, growth.size()> batch{};
  for (std::size_t i = 0; i < growth.size(); ++i) {
    batch[i] = std::round(noise.batch_for(growth[i] * positions, square));
  }
  const Quantity shortest = noise.derived(positions, batch[0]);
  const double left_out = shortest.error("next order") / shortest.value();

  it.require(long_text, noticed_share - left_out, fmt::format("{:.3g}", left_out));
  Comparison off{.kind = EvidenceKind::statistical,
                 .what = "squares off the supports over X",
                 .measured = {},
                 .predicted = {1.0}};
  // What is measured there if a batch is worth `factor` times as much.
  std::vector<Quantity> smaller, independent, power;
  const double exponent = std::log(batch[2] / batch[0]) / std::log(growth[2]);
  const std::uint32_t runs = setting.draws(100);
  for (std::size_t i = 0; i < growth.size(); ++i) {
    const double own = growth[i] * positions;
    const Quantity derived = noise.derived(own, batch[i]);
    const auto worth = [&](double factor) {
      return Quantity(noise.derived(own, factor * batch[i]).value() / derived.value());
    };
    const Matrix<double> squares = noise.squares(own, std::llround(batch[i]), runs,
                                                 static_cast<std::uint32_t>(i) << 20U, setting);
    Quantity ratio = sample_moments(squares, setting.false_alarm / 3).mean.front() / derived;
    off.measured.push_back(ratio);
    off.places.push_back(fmt::format("T = {:.3g}, B = {:.5g}", own, batch[i]));
    smaller.push_back(worth(1 / 0.9));
    independent.push_back(worth(batch[i] / batch[0]));
    power.push_back(worth(batch[i] / (batch[0] * std::pow(growth[i], exponent))));
    if (i == 0) continue;
    const double before = std::log(growth[i - 1] * positions);
    it.report("exponent of ln T in the batch since the length before",
              std::log(batch[i] / batch[i - 1]) / std::log(std::log(own) / before),
              off.places.back());
  }
  off.mistakes = {predicts("smaller", smaller), predicts("independent", independent),
                  predicts("power", power)};
  it.judge(off);
}

}  // namespace

Statement stage_two_growth() {
  return {.id = "scb.stage-two-growth",
          .claim = "l1 steps need a batch that grows with T by logarithms alone",
          .paper = "arXiv 2410.23438, Theorem 3.1",
          .status = "upper bound proved in source, growth derived here",
          .hypotheses = {light_text, long_text,
                         by_construction("lambda, eta and the instance fixed while T grows",
                                         "one law, lambda and eta are run at all lengths")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"smaller", "a batch a tenth smaller"},
                       {"independent", "a batch independent of T"},
                       {"power", "the power of T through the batches at both ends"}},
          .knobs = {vocabulary, support_knob, length, short_length, weight_knob, heavy_weight,
                    reach_knob},
          .examine = examine};
}

}  // namespace popgrad::theorems::scb
