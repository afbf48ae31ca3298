// Theorem    scb.softmax-stage
// Status     claimed in source, measured here
// Source     Ren, Wang, Lee, arXiv 2410.23438, global reply to the reviewers
// Statement  stage 2 of softmax attention is as sample-efficient as that of l1 steps: what noise
//            leaves in attention after it,
//              X/B = E sum_k mu_k |a^k - that of expected gradients|^2,
//            and with it the sequences for a given distance, tends to a constant as T grows, since
//            J^2 keeps the noise off small weights. So does X of l1 steps, which keep positions off
//            the supports at 0 (from a batch as ln T on, scb.convergence), while X of plain
//            linear steps goes as T (on sequences: scb.small-batch)
// Hypotheses H1 noise small: X/B below a tenth of K_Q; H2 stage 2 begins at alpha = 1/2 without
//            noise, in as many relaxation times at every T
// Check      exponents of T: of X propagated with the exact covariance of one sequence
//            (stage_two.hpp) as T grows fourfold twice, of all three; of the mean
//            square of softmax on sequences times B, as T grows 64-fold, against that of X there
// Controls   exponents 0.15 off; ln T in place of a constant
// Uses       rung sgd

#include <array>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/stage_two.hpp"

namespace popgrad::scb::checks::softmax_stage {
namespace {

constexpr const char* small_text = "noise small: X/B below a tenth of K_Q";
constexpr std::array links{Link::softmax, Link::l1, Link::plain};
constexpr std::array names{"softmax", "l1", "plain"};

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 3, 4, 3);
constexpr Knob few_positions = whole_knob("support", "positions Q that a token looks at", 2, 3, 2);
constexpr Knob length =
    logarithmic_knob("length", "positions T of the shortest context", 80, 160, 100);
constexpr Knob sampled_length =
    whole_knob("sampled-length", "positions T of the shorter sampled sequences", 10, 14, 12);
constexpr Knob step_knob = linear_knob("step", "learning rate eta of V", 0.15, 0.25, 0.2);
constexpr Knob noise_share = linear_knob(
    "noise-share", "X/B over K_Q on sequences; the batch follows from it", 0.06, 0.08, 0.07);
constexpr Knob loud_share =
    linear_knob("loud-share", "the same, not small; 0: noise-share", 0.2, 1, 0)
        .breaking(small_text);

Bigrams<double> lengthened(Bigrams<double> b, Index context) {
  b.context = context;  // supports are among the first positions, which are as good as any
  return b;
}

void judge_growth(const Bigrams<double>& b, double step, Examination& it) {
  Comparison growth{.what = "exponent of T in the noise that stage 2 leaves",
                    .measured = {},
                    .predicted = {0.0, 0.0, 1.0},
                    .scale = {1},
                    .mistakes = {predicts("exponent", {0.15, 0.15, 0.85})},
                    .places = {names.begin(), names.end()}};
  const double of_logarithm = 1 / std::log(16 * static_cast<double>(b.context));
  growth.mistakes.push_back(predicts("logarithm", {of_logarithm, of_logarithm, 1.0}));
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::vector<double> shortness;
    std::vector<Quantity> noise;
    for (const double part : falling_parameters(1, 4, 3)) {
      const Index longer = std::lround(1 / part);
      const StageTwo stage(lengthened(b, longer * b.context), links[i], step);
      shortness.push_back(1 / static_cast<double>(longer * b.context));
      noise.emplace_back(stage.derived());
      if (longer != 16) continue;
      it.report(fmt::format("sequences for a noise of 0.1, {}", names[i]),
                100 * noise.back().value() * static_cast<double>(stage.steps()),
                fmt::format("T = {}; distance without noise {:.3g}", longer * b.context,
                            stage.quiet_distance()));
    }
    growth.measured.push_back(-order_in(shortness, noise));
  }
  it.judge(growth);
}

// Of softmax attention, with one X/B at both lengths, so that what it adds is alike.
void judge_runs(const Bigrams<double>& b, double share, const Setting& setting, Examination& it) {
  constexpr Index longer = 64;
  const std::uint32_t runs = setting.draws(1250);
  std::array<Quantity, 2> noise;
  std::array<double, 2> derived{};
  for (const std::size_t i : {0U, 1U}) {
    const StageTwo stage(lengthened(b, i == 0 ? b.context : longer * b.context), Link::softmax,
                         setting.value(step_knob));
    derived[i] = stage.derived();
    const auto batch = static_cast<Index>(std::ceil(derived[i] / (share * context_size(b))));
    noise[i] =
        sample_moments(stage.squares(batch, runs, static_cast<std::uint32_t>(i) << 20U, setting),
                       setting.false_alarm / 2)
            .mean.front() *
        Quantity(static_cast<double>(batch));
  }
  const Quantity per_length = 1 / std::log(static_cast<double>(longer));
  Quantity ratio = log(noise[1] / noise[0]);
  ratio.add(ErrorPart::next_order(share));
  const double predicted = std::log(derived[1] / derived[0]) * per_length.value();
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "the same of softmax on sequences, over shorter contexts",
                      .measured = {ratio * per_length},
                      .predicted = {predicted},
                      .scale = {1},
                      .mistakes = {predicts("exponent", predicted + 0.15)}});
}

void examine(const Setting& setting, Examination& it) {
  const auto bigrams_at = [&](const Knob& positions) {
    const Index most = setting.count(few_positions);
    Bigrams<double> b = random_bigrams(setting.count(vocabulary), 3 * most, most, setting.seed);
    return lengthened(std::move(b), setting.count(positions));
  };
  const Bigrams<double> b = bigrams_at(length);
  it.parameters = {
      {"N", b.tokens()}, {"T", b.context}, {"Q", b.support(0)}, {"seed", setting.seed}};
  const double loud = setting.value(loud_share);
  const double share = loud > 0 ? loud : setting.value(noise_share);
  it.require(small_text, 0.1 - share, fmt::format("X/B = {:.3g} K_Q", share));
  judge_growth(b, setting.value(step_knob), it);
  judge_runs(bigrams_at(sampled_length), share, setting, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "scb.softmax-stage",
      .claim = "stage 2 of softmax needs sequences independent of T, as l1 steps, not plain ones",
      .paper = "arXiv 2410.23438, global reply to the reviewers",
      .status = "claimed in source, measured here",
      .hypotheses = {small_text,
                     by_construction("stage 2 begins at alpha = 1/2 without noise, in as many "
                                     "relaxation times at every T",
                                     "one start and one number of steps at all lengths")},
      .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
      .controls = {{"exponent", "exponents 0.15 off"},
                   {"logarithm", "ln T in place of a constant"}},
      .knobs = {vocabulary, few_positions, length, sampled_length, step_knob, noise_share,
                loud_share},
      .examine = examine};
}

}  // namespace popgrad::scb::checks::softmax_stage
