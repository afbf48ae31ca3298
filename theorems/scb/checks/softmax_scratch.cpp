// Theorem    scb.softmax-scratch
// Status     claimed in source, scaling derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, global reply to the reviewers
// Statement  softmax does not cure stage 1: with noise as SGD's, T alpha_V and the logits obey, as
//            T grows with eta_A = T^2, equations in which T and B occur as T/B alone
//            (softmax_boost.hpp), so that the batch at which runs leave the start with a given
//            probability goes as T, as for linear attention (scb.two-stages)
// Hypotheses H1 T large: noise of logits, sqrt(K_Q/T) sigma_A K_P/(sigma_V |P C|), and 10/T below
//            0.05; H2 Gaussian noise, eta, eta_A/T^2 and the instance fixed while T grows
// Check      share of runs in which T alpha_A reaches 10 within twice the time without noise, at T
//            and a thousand times T with B as T, against that of the limiting equations
// Controls   B as T^0.9; B as T^1.1; half the batch
// Uses       rung flow

#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/softmax_boost.hpp"

namespace popgrad::scb::checks::softmax_scratch {
namespace {

constexpr const char* long_text =
    "T large: noise of logits, sqrt(K_Q/T) sigma_A K_P/(sigma_V |P C|), and 10/T below 0.05";
constexpr double longer = 1000;

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 2, 5, 3);
constexpr Knob length =
    logarithmic_knob("length", "positions T of the shorter context", 1e4, 1e5, 2e4);
constexpr Knob short_length =
    logarithmic_knob("short-length", "the same, too short; 0: length", 20, 100, 0)
        .breaking(long_text);
constexpr Knob step_knob =
    linear_knob("step", "learning rate eta times the growth rate", 0.1, 0.3, 0.2);
constexpr Knob argument_knob =
    linear_knob("argument", "z, where Phi(z) would be the share of linear attention", 0.6, 1, 0.8);

void examine(const Setting& setting, Examination& it) {
  const Index support = setting.count(support_knob);
  const Bigrams<double> b =
      random_bigrams(setting.count(vocabulary), 4 * support, support, setting.seed);
  const double given = setting.value(short_length);
  const double positions = std::round(given > 0 ? given : setting.value(length));
  it.parameters = {{"N", b.tokens()}, {"T", positions}, {"Q", support}, {"seed", setting.seed}};
  const SoftmaxBoost boost(b, setting.value(step_knob));
  const double load = boost.load(setting.value(argument_knob));
  const std::uint32_t runs = setting.draws(16000);
  std::uint32_t first_run = 0;
  const auto share = [&](double ratio, double own_load) {
    first_run += runs;
    return boost.share(ratio * positions, own_load, runs, first_run, setting);
  };
  const Quantity at_first = share(1, load);
  const double of_logits = at_first.error("next order");
  constexpr double twentieth = 0.05;
  it.require(long_text, twentieth - of_logits, fmt::format("{:.3g}", of_logits));
  const auto grown = [&](double power) {
    return std::vector{at_first, share(longer, load * std::pow(longer, 1 - power))};
  };
  const Quantity limit = boost.limit_share(load, runs, 0, setting);
  const double half = load * 2;
  it.judge(
      Comparison{.kind = EvidenceKind::statistical,
                 .what = "share of softmax runs that leave the start, B as T",
                 .measured = grown(1),
                 .predicted = {limit},
                 .scale = {1},
                 .mistakes = {measures("smaller-power", [&] { return grown(0.9); }),
                              measures("larger-power", [&] { return grown(1.1); }),
                              measures("smaller", [&] { return std::vector{share(1, half)}; })},
                 .detail = fmt::format("{} runs, T/B = {:.4g}", runs, load)});
}

}  // namespace

Statement statement() {
  return {.id = "scb.softmax-scratch",
          .claim = "from scratch softmax attention as well needs a batch that grows as T",
          .paper = "arXiv 2410.23438, global reply to the reviewers",
          .status = "claimed in source, scaling derived here",
          .hypotheses = {long_text,
                         by_construction("Gaussian noise, eta, eta_A/T^2 and the instance fixed "
                                         "while T grows",
                                         "one law and one step are run at both lengths")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"smaller-power", "B as T^0.9"},
                       {"larger-power", "B as T^1.1"},
                       {"smaller", "half the batch"}},
          .knobs = {vocabulary, support_knob, length, short_length, step_knob, argument_knob},
          .examine = examine};
}

}  // namespace popgrad::scb::checks::softmax_scratch
