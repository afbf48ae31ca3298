// Theorem    scb.transfer-range
// Status     claimed in source, exponent derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, abstract and replies to the reviewers
// Statement  the sample size of transfer is a power of Q, the range of context, not of T: with q^k
//            even on Q positions and V kept, one step on A and a threshold find all supports with
//            a given probability at a batch of, to leading order,
//              B = 8 sigma_A^2 Q^2 ln T/(rho K_P)^2,
//            with the exponent 2 of Q (a little more: sigma_A^2 falls with |q^k|^2)
// Hypotheses H1 T above 100 Q; H2 positive correlation; H3 P and eta fixed while Q grows
// Check      share of runs that find all supports at Q, 4 Q and 16 Q, with the batch that is
//            derived there; the exponent of the batch is reported
// Controls   an exponent smaller by 0.2; sigma_A of the smallest Q at all of them
// Uses       rung noisy-lumped, transfer

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/context_range.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::transfer_range {
namespace {

constexpr Knob correlation_knob =
    linear_knob("correlation", "rho, of the transferred kernel with P", 0.2, 0.8, 0.5);
constexpr Knob level_knob =
    linear_knob("level", "probability that all supports are found", 0.6, 0.8, 0.7);

void examine(const Setting& setting, Examination& it) {
  require_long_context(setting, it);
  const double rho = setting.value(correlation_knob);
  Comparison shares{.kind = EvidenceKind::statistical,
                    .what = "share of transferred runs that find all supports",
                    .measured = {},
                    .predicted = {}};
  std::vector<Quantity> weaker;
  std::vector<Quantity> one_level;
  std::vector<double> batches;
  double first_level = 0;
  for (const int times : range_growth) {
    Training<double> training = ranged_training(setting, times);
    const Bigrams<double>& b = training.bigrams;
    training.start = transfer_start(b, 0.5, rho, setting.seed);
    const NoiseLevels levels = levels_of_shape(b, NoiseShape::multiplicative);
    const double per_root = rho * transition_size(b) * b.law.minCoeff() / 2;
    batches.push_back(
        std::ceil(std::pow(scale_for(b, levels, setting.value(level_knob)) / per_root, 2)));
    const double scale = per_root * std::sqrt(batches.back());
    shares.measured.push_back(found_share(training, levels, FrozenSteps{}, counted(batches.back()),
                                          static_cast<std::uint32_t>(times) << 20U, setting));
    shares.predicted.push_back(found_probability(b, levels, scale));
    shares.places.push_back(fmt::format("Q = {}, B = {}", b.support(0), batches.back()));
    if (first_level == 0) first_level = levels.attention.norm();
    weaker.emplace_back(std::exp(log_found(b, levels, scale * std::pow(times, 0.1))));
    one_level.emplace_back(
        std::exp(log_found(b, levels, scale * levels.attention.norm() / first_level)));
  }
  shares.mistakes = {predicts("exponent", weaker), predicts("one-level", one_level)};
  report_exponent(batches, it);
  it.judge(shares);
}

}  // namespace

Statement statement() {
  return {.id = "scb.transfer-range",
          .claim = "transfer needs a batch that grows with the range of context as Q^2",
          .paper = "arXiv 2410.23438, abstract and replies to the reviewers",
          .status = "claimed in source, exponent derived here",
          .hypotheses = {long_context_text,
                         by_construction("positive correlation", "drawn from 0.2 to 0.8"),
                         by_construction("P and eta fixed while Q grows", "one seed and step")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"exponent", "an exponent of Q smaller by 0.2"},
                       {"one-level", "sigma_A of the smallest Q at all of them"}},
          .knobs = {range_vocabulary, range_length, short_range_length, least_range,
                    correlation_knob, level_knob},
          .examine = examine};
}

}  // namespace popgrad::scb::checks::transfer_range
