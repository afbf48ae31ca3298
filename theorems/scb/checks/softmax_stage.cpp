#include <array>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/stage_two.hpp"

namespace popgrad::scb::checks::softmax_stage {
namespace {

Statement sheet{.id = "scb.softmax-stage",
                .paper = "arXiv 2410.23438, global reply to the reviewers",
                .status = "claimed in source, measured here",
                .about = "SGD on sequences, its noise propagated",
                .theorem = R"(
Stage 2 of softmax attention is as sample-efficient as that of l1 steps: what noise leaves in
attention after it,
  X/B = E sum_k mu_k |a^k - that of expected gradients|^2,
and with it the sequences for a given distance, tends to a constant as T grows, since J^2 keeps
the noise off small weights. So does X of l1 steps, which keep positions off the supports at 0
(from a batch as ln T on, scb.convergence), while X of plain linear steps goes as T (on
sequences: scb.small-batch). X is propagated with the exact covariance of one sequence; that of
softmax is measured on sequences as well, in shorter contexts.)",
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical}};

const Clause powers =
    sheet.clause("noise after stage 2 goes as T^0 for softmax and l1 steps, T for plain ones");
const Clause on_sequences = sheet.clause("on sequences that of softmax grows as derived");

const Hypothesis small_noise = sheet.assume("noise small: X/B below a tenth of K_Q");
const Hypothesis one_start = sheet.assume(by_construction(
    "stage 2 begins at alpha = 1/2 without noise, in as many relaxation times at every T",
    "one start and one number of steps at all lengths"));

const Control exponent = sheet.control("exponent", "exponents 0.15 off");
const Control logarithm = sheet.control("logarithm", "ln T in place of a constant");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 4, 3));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token looks at", 2, 3, 2));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the shortest context", 80, 160, 100));
const Knob sampled_length = sheet.knob(
    whole_knob("sampled-length", "positions T of the shorter sampled sequences", 10, 14, 12));
const Knob step_knob = sheet.knob(linear_knob("step", "learning rate eta of V", 0.15, 0.25, 0.2));
const Knob noise_share = sheet.knob(linear_knob(
    "noise-share", "X/B over K_Q on sequences; the batch follows from it", 0.06, 0.08, 0.07));
const Knob loud_share =
    sheet.knob(linear_knob("loud-share", "the same, not small; 0: noise-share", 0.2, 1, 0)
                   .breaking(small_noise));

struct Growth {
  Link link;
  const char* name;
  double power;  // of T
};
constexpr std::array links{Growth{Link::softmax, "softmax", 0}, Growth{Link::l1, "l1", 0},
                           Growth{Link::plain, "plain", 1}};

Bigrams<double> lengthened(Bigrams<double> b, Index context) {
  b.context = context;  // supports are among the first positions, which are as good as any
  return b;
}

void judge_growth(const Bigrams<double>& b, double step, Examination& it) {
  Comparison growth = equal("exponent of T in the noise that stage 2 leaves");
  for (const auto& [link, name, power] : links) {
    std::vector<double> shortness;
    std::vector<Quantity> noise;
    for (const double part : falling_parameters(1, 4, 3)) {
      const Index longer = std::lround(1 / part);
      const StageTwo stage(lengthened(b, longer * b.context), link, step);
      shortness.push_back(1 / static_cast<double>(longer * b.context));
      noise.emplace_back(stage.derived());
      if (longer != 16) continue;
      it.report(fmt::format("sequences for a noise of 0.1, {}", name),
                100 * noise.back().value() * static_cast<double>(stage.steps()),
                fmt::format("T = {}; distance without noise {:.3g}", longer * b.context,
                            stage.quiet_distance()));
    }
    growth.add(name, -order_in(shortness, noise), power);
  }
  const double of_logarithm = 1 / std::log(16 * static_cast<double>(b.context));
  it.judge(powers, growth.in_units_of(1)
                       .unless(exponent, std::vector<Quantity>{0.15, 0.15, 0.85})
                       .unless(logarithm, std::vector<Quantity>{of_logarithm, of_logarithm, 1}));
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
  it.judge(on_sequences, equal("the same of softmax on sequences, over shorter contexts",
                               ratio * per_length, predicted)
                             .of_kind(EvidenceKind::statistical)
                             .in_units_of(1)
                             .unless(exponent, predicted + 0.15));
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
  it.require(small_noise, 0.1 - share, fmt::format("X/B = {:.3g} K_Q", share));
  judge_growth(b, setting.value(step_knob), it);
  judge_runs(bigrams_at(sampled_length), share, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_stage
